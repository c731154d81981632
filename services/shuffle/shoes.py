"""What is asked of shoes: decides, appends, and only then answers; the same again alike."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID, uuid4

from croupier.type.v1.card_pb2 import CardProof

from services.shuffle import codec, metrics
from services.shuffle.decide import (
    Asker,
    Claim,
    Command,
    CommitSeed,
    Cut,
    Deal,
    Disclose,
    NoteReuse,
    Open,
    OpenSeed,
    Retire,
    Seal,
    admit,
    cut_range,
    decide,
    reused,
)
from services.shuffle.live import MAX_LIVE_SHOES, LiveShoe, LiveShoes, stream_of
from services.shuffle.shoe import (
    CardsBurned,
    CardsExposed,
    CardsShown,
    CutCardReached,
    Event,
    Phase,
    RetireReason,
    SeedReused,
    Shoe,
    ShoeCut,
    ShoeOpened,
    ShoeRetired,
    ShoeSealed,
)
from services.shuffle.storage import SeedGoneError, SeedUsedError, ShoeStore
from shared.errors import CroupierError
from shared.log import Append, Appended, CommandKey, EventLog, NewEvent, Outcome
from shared.proofs.sealed_shoe import SealedShoe
from shared.proofs.seeds import (
    SERVER_SEED_BYTES,
    player_seed_fingerprint,
    server_seed_commitment,
)
from shared.proofs.shoe_order import dealer_cut
from shared.sealing import Keyring

_MAX_TRIES = 5

_E = TypeVar("_E")
_Write = Callable[[Append], Awaitable[Appended]]
_Prepare = Callable[[Shoe | None], Awaitable[Command]]


@dataclass(frozen=True, slots=True)
class Request:
    """One call: its id, unique for `caller` and shoe; the hash of its body without id and epoch;
    who is on record for it. A call that is the same whenever it is made has no id."""

    id: UUID | None
    body_hash: bytes
    caller: str
    actor: str
    correlation_id: UUID
    shoe_id: str


@dataclass(frozen=True, slots=True)
class Dealt:
    """The answer to a `Deal`: the cards somebody may see, by position."""

    cards: tuple[CardProof, ...] = field(repr=False)
    cut_card_reached: bool


class Shoes:
    """Every method answers once its events are committed. `CroupierError` for refusals.

    A shoe in memory is a cache of its stream: another process may write to the same shoe; the
    version check of the log then makes this one read again and think again.
    """

    def __init__(
        self,
        log: EventLog,
        store: ShoeStore,
        field_keys: Keyring,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        max_live: int = MAX_LIVE_SHOES,
    ) -> None:
        self._log = log
        self._store = store
        self._field_keys = field_keys
        self._now = now
        self._live = LiveShoes(max_live)

    async def open(
        self,
        request: Request,
        asker: Asker,
        decks: int,
        cut_min: tuple[int, int],
        behind_cut_card: int,
        publish: bool,
    ) -> ShoeOpened:
        """Draws a server seed from the operating system, commits to it and stores it encrypted.

        `cut_min`: the least number of cards above and below the cut.
        """
        shoe_id = request.shoe_id
        seed = secrets.token_bytes(SERVER_SEED_BYTES)
        commitment = server_seed_commitment(shoe_id, seed)
        command = Open(asker, shoe_id, decks, *cut_min, behind_cut_card, publish, commitment)

        async def write(append: Append) -> Appended:
            return await self._store.append_opening(append, shoe_id, seed)

        async with self._live.locked(shoe_id) as live:
            # No asker yet: whoever repeats the opening of his own shoe is checked by that.
            events = await self._carry_out(live, request, None, _ready(command), write)
        return _one(events, ShoeOpened)

    async def commit_seed(
        self, request: Request, asker: Asker, player: str, commitment: bytes
    ) -> None:
        """Takes the hash of a player's seed."""
        command = CommitSeed(asker, player, commitment)
        async with self._live.locked(request.shoe_id) as live:
            await self._carry_out(live, request, asker, _ready(command))

    async def cut(self, request: Request, asker: Asker, player: str, at: int) -> ShoeCut:
        """Cuts where the player says, or without one where the dealer's DRBG says."""

        async def prepare(shoe: Shoe | None) -> Command:
            if player or shoe is None or shoe.phase is not Phase.OPEN:
                return Cut(asker, player, at)
            if at:
                raise CroupierError("BAD_REQUEST", "the dealer's place is drawn", "at")
            seed = await self._store.server_seed(shoe.shoe_id)
            return Cut(asker, player, dealer_cut(seed, shoe.shoe_id, *cut_range(shoe)))

        async with self._live.locked(request.shoe_id) as live:
            return _one(await self._carry_out(live, request, asker, prepare), ShoeCut)

    async def open_seed(self, request: Request, asker: Asker, player: str, seed: bytes) -> None:
        """Takes a committed seed; one that the player has used in any shoe is refused, and that he
        told it is put on record."""
        fingerprint = player_seed_fingerprint(player, seed)

        async def write(append: Append) -> Appended:
            return await self._store.append_player_seed(append, request.shoe_id, fingerprint)

        command = OpenSeed(asker, player, seed)
        async with self._live.locked(request.shoe_id) as live:
            try:
                events = await self._carry_out(live, request, asker, _ready(command), write)
            except SeedUsedError:
                note = _ready(NoteReuse(asker, player))
                events = await self._carry_out(live, request, asker, note)
        if any(isinstance(event, SeedReused) for event in events):
            raise reused()

    async def seal(self, request: Request, asker: Asker) -> ShoeSealed:
        """Fixes the order from all seeds opened by now."""
        async with self._live.locked(request.shoe_id) as live:

            async def prepare(shoe: Shoe | None) -> Command:
                if shoe is None or shoe.phase is not Phase.CUT:
                    return Seal(asker, b"")
                live.cards = await self._derive(shoe)
                return Seal(asker, live.cards.root)

            return _one(await self._carry_out(live, request, asker, prepare), ShoeSealed)

    async def deal(self, request: Request, command: Deal) -> Dealt:
        """Deals and shows cards: see `DealRequest`."""
        async with self._live.locked(request.shoe_id) as live:
            events = await self._carry_out(live, request, command.asker, _ready(command))
            cards = await self._cards(live)
        write = codec.Writer(request.shoe_id, cards, self._field_keys)
        return Dealt(
            tuple(write.proof(position) for position in sorted(_seen(events))),
            any(isinstance(event, CutCardReached) for event in events),
        )

    async def claim(self, request: Request, asker: Asker) -> Shoe:
        """Puts a new owner's epoch on record; from then on older ones are refused."""
        async with self._live.locked(request.shoe_id) as live:
            await live.catch_up(self._log)
            await self._carry_out(live, request, asker, _ready(Claim(asker)))
            return _there(live)

    async def retire(self, request: Request, asker: Asker, reason: RetireReason) -> ShoeRetired:
        """Ends the shoe; publishes its server seed where it was opened so."""
        async with self._live.locked(request.shoe_id) as live:

            async def prepare(shoe: Shoe | None) -> Command:
                if shoe is None or shoe.phase is Phase.RETIRED or not shoe.publish:
                    return Retire(asker, reason, b"")
                return Retire(asker, reason, await self._store.server_seed(shoe.shoe_id))

            async def write(append: Append) -> Appended:
                return await self._store.append_retiring(
                    append, request.shoe_id, _there(live).publish
                )

            events = await self._carry_out(live, request, asker, prepare, write)
            live.cards = None
            self._live.drop(request.shoe_id)
        return _one(events, ShoeRetired)

    async def disclose(self, request: Request, command: Disclose) -> bytes:
        """The server seed of a retired shoe, once the asking is on record."""
        async with self._live.locked(request.shoe_id) as live:
            await self._carry_out(live, request, None, _ready(command))
            return await self._server_seed(_there(live))

    async def get(self, shoe_id: str) -> Shoe:
        """What anyone may know of the shoe, as of now."""
        async with self._live.locked(shoe_id) as live:
            await live.catch_up(self._log)
            return _there(live)

    async def open_shoes(self, after: str, most: int) -> list[str]:
        """At most `most` shoes that are not retired, behind `after`, by their ids."""
        return await self._store.open_shoes(after, most)

    async def _carry_out(
        self,
        live: LiveShoe,
        request: Request,
        asker: Asker | None,
        prepare: _Prepare,
        write: _Write | None = None,
    ) -> tuple[Event, ...]:
        """The events of the request: those it brings about now, or those of the first time.

        `prepare` makes the command for the shoe as it is, again for each try.
        """
        for _ in range(_MAX_TRIES):
            if live.shoe is None:
                await live.catch_up(self._log)
            if asker is not None:
                admit(live.shoe, asker)
            try:
                command = await prepare(live.shoe)
            except SeedGoneError as gone:
                await self._retired_elsewhere(live, gone)
                continue
            try:
                events = decide(live.shoe, command, self._now())
            except CroupierError:
                # Before a refusal: another process may have moved the shoe, and what cannot be
                # done now may be what this very request has done already.
                if await live.catch_up(self._log):
                    continue
                earlier = await self._again(live, request, command)
                if earlier is None:
                    raise
                return earlier
            if not events:
                return ()
            try:
                append = await self._append_of(live, request, command, events)
            except SeedGoneError as gone:
                await self._retired_elsewhere(live, gone)
                continue
            answer = await self._write(live, append, write)
            if answer.outcome is Outcome.OK:
                live.apply(events)
                metrics.count(events)
                return events
            if answer.outcome is Outcome.CONFLICT and answer.last_version < live.version:
                live.forget()  # The log has lost what is remembered here: it is right.
            await live.catch_up(self._log)
            if answer.outcome is not Outcome.CONFLICT:
                # The id is in already: with this body, or it is refused for having another.
                return await self._again(live, request, command) or ()
        raise CroupierError("LOG_CONFLICT", "others write to this shoe: try again")

    async def _again(
        self, live: LiveShoe, request: Request, command: Command
    ) -> tuple[Event, ...] | None:
        """What this request did when it was first made, for whoever may still ask by what has been
        written since. A new owner that repeats the old one's request fences him all the same."""
        if request.id is None:
            return None  # A claim.
        earlier = await self._earlier(request, request.id)
        if earlier is not None and not isinstance(command, Disclose):
            claim = _ready(Claim(command.asker))
            await self._carry_out(live, request, command.asker, claim)
        return earlier

    async def _retired_elsewhere(self, live: LiveShoe, gone: SeedGoneError) -> None:
        """Another process may have published the seed and thrown the stored one away; where nothing
        is new, the log may have lost what is remembered here."""
        if await live.catch_up(self._log):
            return
        known = live.shoe
        live.forget()
        await live.catch_up(self._log)
        if live.shoe == known:
            raise gone

    async def _write(self, live: LiveShoe, append: Append, write: _Write | None) -> Appended:
        try:
            if write is not None:
                return await write(append)
            [answer] = await self._log.append([append])
        except BaseException:
            # Whether it is in is not known.
            live.forget()
            raise
        return answer

    async def _append_of(
        self, live: LiveShoe, request: Request, command: Command, events: tuple[Event, ...]
    ) -> Append:
        cards, hand_id, key = None, "", None
        if isinstance(command, Deal):
            cards, hand_id = await self._cards(live), command.hand_id
        if request.id is not None and not isinstance(command, Claim):
            key = CommandKey(request.caller, request.id, request.body_hash)
        writer = codec.Writer(request.shoe_id, cards, self._field_keys)
        written = tuple(
            NewEvent(
                type(event).__name__,
                writer.message(event).SerializeToString(deterministic=True),
                request.actor,
                hand_id=hand_id or None,
                causation_id=request.id,
                correlation_id=request.correlation_id,
            )
            for event in events
        )
        return Append(uuid4(), stream_of(request.shoe_id), live.version, written, key)

    async def _earlier(self, request: Request, request_id: UUID) -> tuple[Event, ...] | None:
        """What this request did when it was first made; REQUEST_BODY_DIFFERS for another body."""
        stream = stream_of(request.shoe_id)
        record = await self._log.find_command(stream, request.caller, request_id)
        if record is None:
            return None
        if record.body_hash != request.body_hash:
            raise CroupierError(
                "REQUEST_BODY_DIFFERS", "this request id came with another body", "request_id"
            )
        count = record.last_version - record.first_version + 1
        recorded = await self._log.read_stream(stream, record.first_version - 1, count)
        return tuple(codec.read(event.type, event.payload) for event in recorded)

    async def _cards(self, live: LiveShoe) -> SealedShoe:
        shoe = _there(live)
        if live.cards is None or live.cards.root != shoe.root:
            live.cards = await self._derive(shoe)
            if live.cards.root != shoe.root:
                raise RuntimeError(f"the seeds do not give the root of shoe {shoe.shoe_id}")
        return live.cards

    async def _derive(self, shoe: Shoe) -> SealedShoe:
        metrics.derived.inc()
        seed = await self._server_seed(shoe)
        return SealedShoe(seed, shoe.shoe_id, shoe.opened_seeds, shoe.decks, shoe.cut_at)

    async def _server_seed(self, shoe: Shoe) -> bytes:
        return shoe.server_seed or await self._store.server_seed(shoe.shoe_id)


def _ready(command: Command) -> _Prepare:
    async def prepare(_: Shoe | None) -> Command:
        return command

    return prepare


def _there(live: LiveShoe) -> Shoe:
    if live.shoe is None:
        raise CroupierError("SHOE_NOT_FOUND", "there is no such shoe", "shoe_id")
    return live.shoe


def _seen(events: tuple[Event, ...]) -> set[int]:
    """Positions whose cards a request showed to somebody."""
    seen: set[int] = set()
    for event in events:
        match event:
            case CardsShown(cards):
                seen.update(card.position for card in cards)
            case CardsBurned(_, up):
                seen.update(up)
            case CardsExposed(positions):
                seen.update(positions)
            case _:
                pass
    return seen


def _one(events: tuple[Event, ...], kind: type[_E]) -> _E:
    [found] = [event for event in events if isinstance(event, kind)]
    return found
