"""What a table asks of shuffle, and the answers as inputs of the table.

An errand is named by its request id, so that whoever asks again, this node or the next owner, gets
the same answer. Each runs once at a time here, and again after a pause when it fails.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any
from uuid import UUID, uuid4, uuid5

import grpc
import structlog
from croupier.shuffle.v1 import events_pb2, shuffle_pb2, shuffle_pb2_grpc

from services.table import metrics
from services.table.dealing import CALL_TIMEOUT_S, Dealing
from services.table.owner import TableOwner
from services.table.proposal import MakeFact, Proposal
from shared.cards import parse_card
from shared.errors import CroupierError
from shared.games.play import Face
from shared.rpc.channel import call_metadata
from shared.rpc.errors import from_rpc_error
from shared.table import events as e
from shared.table.apply_hand import BURN
from shared.table.next_step import (
    Cards,
    Chips,
    OpenShoe,
    PutAway,
    RecordCut,
    SealShoe,
    ShoeErrand,
    opening_of,
)

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0

# Whatever else a table gives a shoe up for, a void hand most of all, is counted as an abort.
_WHY = {
    "played": events_pb2.RETIRE_REASON_PLAYED,
    "table_closed": events_pb2.RETIRE_REASON_TABLE_CLOSED,
    "redeal": events_pb2.RETIRE_REASON_REDEAL,
    "log_recovered": events_pb2.RETIRE_REASON_LOG_RECOVERED,
}

_log = structlog.get_logger()


class Errands:
    """Runs the errands of all tables on this node."""

    def __init__(
        self, shuffle: shuffle_pb2_grpc.ShuffleServiceAsyncStub, service_token: str
    ) -> None:
        self._shuffle = shuffle
        self._token = service_token
        self._dealing = Dealing(shuffle, service_token)
        self._running: dict[tuple[TableOwner, str, str], asyncio.Task[None]] = {}
        self._run: Mapping[type[Any], Callable[[TableOwner, Any], Awaitable[MakeFact]]] = {
            OpenShoe: self._open_shoe,
            RecordCut: self._record_cut,
            SealShoe: self._seal_shoe,
            Cards: self._cards,
            PutAway: self._put_away,
        }

    def act(self, owner: TableOwner) -> None:
        """Starts what is due at the table and not under way; called after every change."""
        if owner.released:
            return
        for errand in owner.waiting.errands:
            if isinstance(errand, Chips):
                continue  # `Cashier` looks for the wallet's word
            # A table that comes back to this node asks for itself: what its owner of before had on
            # the way ends with that one.
            key = (owner, type(errand).__name__, errand.request_id)
            if key not in self._running:
                name = f"{owner.table_id} {key[1]} {key[2]}"
                task = asyncio.create_task(self._until_done(owner, errand), name=name)
                self._running[key] = task
                task.add_done_callback(partial(self._ended, key))

    def _ended(self, key: tuple[TableOwner, str, str], task: asyncio.Task[None]) -> None:
        del self._running[key]
        if not task.cancelled() and task.exception() is not None:
            _log.error(
                "errand_broke", errand=key[1], table=key[0].table_id, exc_info=task.exception()
            )

    async def fence(self, owner: TableOwner) -> None:
        """Tells shuffle of a new owner before it decides anything about its shoes: from then on an
        older one that was paused gets no card, whatever it has still on the way (architecture, 5).

        Goes on until shuffle has heard it, or the table is let go. Nothing is on the way from
        before the first owner.
        """
        if owner.state.epoch == 1:
            return
        for shoe in (owner.state.shoe, owner.state.next_shoe):
            if shoe is not None:
                await self._fence(owner, shoe.shoe_id)

    async def _fence(self, owner: TableOwner, shoe_id: str) -> None:
        request = shuffle_pb2.ClaimShoeRequest(
            shoe_id=shoe_id, table_id=owner.table_id, epoch=owner.state.epoch
        )
        pause_s = FIRST_PAUSE_S
        while not owner.released:
            try:
                await self._call(self._shuffle.ClaimShoe, request)
            except CroupierError as refused:
                match refused.reason:
                    case "SHOE_NOT_FOUND":
                        return  # Not opened yet: whoever opens it names his epoch.
                    case "STALE_EPOCH":
                        await owner.release(_taken())
                    case _:
                        _log.warning(
                            "shoe_not_claimed", table=owner.table_id, reason=refused.reason
                        )
                        await asyncio.sleep(pause_s)
                        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            else:
                return

    async def stop(self) -> None:
        """Ends all errands; the next owner asks again."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _until_done(self, owner: TableOwner, errand: ShoeErrand) -> None:
        kind = type(errand).__name__
        started = time.perf_counter()
        pause_s = FIRST_PAUSE_S
        while not owner.released and errand in owner.waiting.errands:
            try:
                make = await self._made(owner, errand)
                causation = UUID(errand.request_id)
                await owner.submit(Proposal(make, "house", uuid4(), causation=causation))
            except CroupierError as refused:
                metrics.errands.labels(kind, refused.reason).inc()
                if refused.reason == "STALE_EPOCH":
                    await owner.release(_taken())
                    return
                _log.warning(
                    "errand_failed",
                    table=owner.table_id,
                    errand=kind,
                    reason=refused.reason,
                    message=refused.message,
                )
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            else:
                metrics.errands.labels(kind, "OK").inc()
                metrics.errand_seconds.labels(kind).observe(time.perf_counter() - started)

    async def _made(self, owner: TableOwner, errand: ShoeErrand) -> MakeFact:
        """What the errand ends with. A shoe that shuffle says is over, and the table does not know
        of it, is given up: a hand that cannot go on is void."""
        try:
            return await self._run[type(errand)](owner, errand)
        except CroupierError as refused:
            if refused.reason != "SHOE_RETIRED" or errand not in owner.waiting.errands:
                raise
        _log.error("shoe_lost", table=owner.table_id, errand=type(errand).__name__)
        return lambda at: e.ShoesLost("shoe_retired", at, errand.shoe_id)

    async def call(self, method: Callable[[Any], Any], request: Any) -> Any:
        """Calls a method of shuffle, `lambda shuffle: shuffle.GetShoe`; its answer, or the
        `CroupierError` that its refusal tells."""
        return await self._call(method(self._shuffle), request)

    async def _call(self, method: Any, request: Any) -> Any:
        try:
            return await method(
                request, timeout=CALL_TIMEOUT_S, metadata=call_metadata(self._token)
            )
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error

    async def _open_shoe(self, owner: TableOwner, errand: OpenShoe) -> MakeFact:
        answer = await self._call(self._shuffle.OpenShoe, _opening(owner, errand))
        commitment = answer.commitment
        return lambda at: e.ShoeOffered(errand.shoe_id, commitment, at)

    async def _record_cut(self, owner: TableOwner, errand: RecordCut) -> MakeFact:
        place = await self._cut(owner, errand)
        return lambda at: e.CutRecorded(errand.shoe_id, place, at)

    async def _cut(self, owner: TableOwner, errand: RecordCut) -> int:
        for player, commitment in errand.pledges:
            await self._call(
                self._shuffle.CommitSeed,
                shuffle_pb2.CommitSeedRequest(
                    **_named(owner, errand.shoe_id, _part(errand.request_id, f"pledge/{player}")),
                    player=player,
                    commitment=commitment,
                ),
            )
        answer = await self._call(
            self._shuffle.CutShoe,
            shuffle_pb2.CutShoeRequest(
                **_named(owner, errand.shoe_id, _part(errand.request_id, "cut")),
                player=errand.player,
                at=errand.place,
            ),
        )
        place: int = answer.at
        return place

    async def _seal_shoe(self, owner: TableOwner, errand: SealShoe) -> MakeFact:
        place = 0
        if errand.record is not None:
            place = await self._cut(owner, errand.record)
        elif owner.state.shoe is not None:
            place = owner.state.shoe.cut_place
        for player, seed in errand.reveals:
            await self._reveal(owner, errand, player, seed)
        answer = await self._call(
            self._shuffle.SealShoe,
            shuffle_pb2.SealShoeRequest(
                **_named(owner, errand.shoe_id, _part(errand.request_id, "seal"))
            ),
        )
        size = owner.state.table.decks * 52
        used, withheld = tuple(answer.used), tuple(answer.withheld)
        return lambda at: e.ShoeReady(errand.shoe_id, answer.root, size, place, used, withheld, at)

    async def _reveal(self, owner: TableOwner, errand: SealShoe, player: str, seed: bytes) -> None:
        request = shuffle_pb2.OpenSeedRequest(
            **_named(owner, errand.shoe_id, _part(errand.request_id, f"reveal/{player}")),
            player=player,
            seed=seed,
        )
        try:
            await self._call(self._shuffle.OpenSeed, request)
        except CroupierError as refused:
            # A seed that is not the pledged one, or was used before, is left out and named.
            if refused.reason not in ("SEED_MISMATCH", "SEED_REUSED", "SEED_REFUSED"):
                raise

    async def _cards(self, owner: TableOwner, errand: Cards) -> MakeFact:
        answer = await self._dealing.deal(
            shuffle_pb2.DealRequest(
                **_named(owner, errand.shoe_id, errand.request_id),
                hand_id=errand.hand_id,
                draws=[_draw(slot) for slot in errand.slots],
            )
        )
        shown = {card.position: parse_card(card.card) for card in answer.cards}
        cards = tuple(
            e.DealtCard(slot.position, slot.hand, slot.face, slot.viewer, shown.get(slot.position))
            for slot in errand.slots
        )
        return lambda at: e.CardsDealt(errand.request_id, cards, at)

    async def _put_away(self, owner: TableOwner, errand: PutAway) -> MakeFact:
        # An opening of our own that is still under way comes first.
        under_way = [
            task
            for (opener, kind, _), task in self._running.items()
            if opener.table_id == owner.table_id and kind == OpenShoe.__name__
        ]
        if under_way:
            await asyncio.wait(under_way)
        try:
            await self._retire(owner, errand)
        except CroupierError as refused:
            match refused.reason:
                case "SHOE_NOT_FOUND":
                    # An older owner's opening may still be on the way, and would leave a shoe that
                    # nobody ends. It is made to come first: the same request opens nothing twice.
                    opening = opening_of(owner.state, errand.shoe_id)
                    await self._call(self._shuffle.OpenShoe, _opening(owner, opening))
                    await self._retire(owner, errand)
                case "SHOE_RETIRED":
                    pass
                case _:
                    raise
        return lambda at: e.ShoePutAway(errand.shoe_id, at)

    async def _retire(self, owner: TableOwner, errand: PutAway) -> None:
        await self._call(
            self._shuffle.RetireShoe,
            shuffle_pb2.RetireShoeRequest(
                **_named(owner, errand.shoe_id, errand.request_id),
                retire_reason=_WHY.get(errand.why, events_pb2.RETIRE_REASON_ABORTED),
            ),
        )


def _taken() -> CroupierError:
    return CroupierError("NOT_OWNER", "another node has the table", "table_id")


def _named(owner: TableOwner, shoe_id: str, request_id: str) -> dict[str, Any]:
    return {
        "request_id": request_id,
        "shoe_id": shoe_id,
        "table_id": owner.table_id,
        "epoch": owner.state.epoch,
    }


def _opening(owner: TableOwner, errand: OpenShoe) -> shuffle_pb2.OpenShoeRequest:
    return shuffle_pb2.OpenShoeRequest(
        **_named(owner, errand.shoe_id, errand.request_id),
        decks=errand.decks,
        cut_min_top=errand.cut_low,
        cut_min_bottom=errand.decks * 52 - errand.cut_high,
        behind_cut_card=errand.behind_cut_card,
        publish=errand.publish,
    )


def _part(request_id: str, part: str) -> str:
    """The id of one call of an errand that takes several."""
    return str(uuid5(UUID(request_id), part))


def _draw(slot: e.CardSlot) -> shuffle_pb2.DealRequest.Draw:
    match slot.face:
        case Face.UP:
            use = shuffle_pb2.USE_BURN_OPEN if slot.hand == BURN else shuffle_pb2.USE_OPEN
        case Face.OWNER:
            use = shuffle_pb2.USE_PLAYER
        case Face.DOWN:
            use = shuffle_pb2.USE_BURN if slot.hand == BURN else shuffle_pb2.USE_DOWN
    return shuffle_pb2.DealRequest.Draw(position=slot.position, use=use, player=slot.viewer)
