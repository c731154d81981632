"""Finished hands, out of the log, each as its viewer may see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import asyncpg
from croupier.shuffle.v1 import events_pb2 as shuffle_events
from croupier.table.v1 import events_pb2, table_pb2
from croupier.type.v1.card_pb2 import CardProof

from shared.errors import CroupierError
from shared.log import EventLog, RecordedEvent
from shared.rpc import pages
from shared.sealing import Keyring, Sealed, card_place, player_audience
from shared.table import events as e
from shared.table.codec import TableCodec
from shared.table.view import event_view

_ENDED = """
SELECT version, type, payload, hand_id, recorded_at FROM log.events
WHERE stream = $1 AND version < $2 AND type IN ('HandSettled', 'HandVoided')
ORDER BY version DESC LIMIT $3
"""
_LATEST = 2**62


class Hands:
    """Reads hands for players and front ends; auditors have more (AuditService)."""

    def __init__(
        self, log: EventLog, pool: asyncpg.Pool[Any], codec: TableCodec, keyring: Keyring
    ) -> None:
        self._log = log
        self._pool = pool
        self._codec = codec
        self._keyring = keyring

    async def of_table(
        self, table_id: str, page_size: int, page_token: str
    ) -> tuple[list[table_pb2.HandSummary], str]:
        """A page of a table's finished hands, newest first, and the next page's token."""
        count = pages.size(page_size)
        before = pages.last_number(page_token, _LATEST)
        rows = await self._pool.fetch(_ENDED, f"table/{table_id}", before, count + 1)
        following = pages.token(str(rows[count - 1]["version"])) if len(rows) > count else ""
        opened = await self._log.read_stream(f"table/{table_id}", 0, 1)
        if not opened:
            raise CroupierError("TABLE_NOT_FOUND", "no such table", "table_id")
        game = events_pb2.TableOpened.FromString(opened[0].payload).game
        return [_line(row, table_id, game) for row in rows[:count]], following

    async def one(self, hand_id: str, viewer: str) -> table_pb2.GetHandResponse:
        """A hand with the cards and proofs that `viewer` may see; `HAND_NOT_FOUND`."""
        recorded = await self._log.read_hand(hand_id)
        own = [event for event in recorded if event.stream.startswith("table/")]
        if not own:
            raise CroupierError("HAND_NOT_FOUND", "no such hand", "hand_id")
        response = table_pb2.GetHandResponse()
        for event in own:
            decoded = self._codec.decode(event.type, event.payload, hand_id)
            response.events.append(event_view(decoded, event.version, hand_id, viewer))
            _note(response.hand, decoded, event)
            if isinstance(decoded, e.HandOpened):
                response.shoe_id = decoded.shoe_id
        response.hand.hand_id = hand_id
        response.hand.table_id = own[0].stream.partition("/")[2]
        response.shoe_root = await self._root(response.shoe_id)
        asked = [event.id for event in own if event.type == "CardsDue"]
        answers = await self._log.find_by_causation(asked) if asked else []
        # A hand that was dealt again had cards of an earlier shoe as well.
        of_shoe = [each for each in answers if each.stream == f"shuffle/{response.shoe_id}"]
        response.proofs.extend(self._proofs(of_shoe, response.shoe_id, hand_id, viewer))
        return response

    async def _root(self, shoe_id: str) -> bytes:
        row = await self._pool.fetchrow(
            "SELECT payload FROM log.events WHERE stream = $1 AND type = 'ShoeSealed'",
            f"shuffle/{shoe_id}",
        )
        return shuffle_events.ShoeSealed.FromString(row["payload"]).root if row else b""

    def _proofs(
        self, recorded: Sequence[RecordedEvent], shoe_id: str, hand_id: str, viewer: str
    ) -> list[CardProof]:
        """The proofs of cards shown to everybody, those burned open included, and of the viewer's
        own."""
        proofs: dict[int, CardProof] = {}
        for event in recorded:
            if event.type == "CardsBurned":
                for open_ in shuffle_events.CardsBurned.FromString(event.payload).open:
                    proofs[open_.position] = open_
            if event.type != "CardsShown":
                continue
            for shown in shuffle_events.CardsShown.FromString(event.payload).cards:
                if shown.HasField("open"):
                    proofs[shown.position] = shown.open
                elif shown.player == viewer:
                    sealed = shown.sealed
                    plain = self._keyring.unseal_field(
                        Sealed(sealed.key_id, sealed.nonce, sealed.ciphertext),
                        hand_id,
                        player_audience(viewer),
                        card_place(shoe_id, shown.position),
                    )
                    proofs[shown.position] = CardProof.FromString(plain)
        return [proofs[position] for position in sorted(proofs)]


def _line(row: Any, table_id: str, game: str) -> table_pb2.HandSummary:
    line = table_pb2.HandSummary(hand_id=row["hand_id"], table_id=table_id, game=game)
    line.ended_at.FromDatetime(row["recorded_at"])
    if row["type"] == "HandSettled":
        line.result = events_pb2.HandSettled.FromString(row["payload"]).result
    else:
        line.result = "void"
    return line


def _note(line: table_pb2.HandSummary, event: e.Event, recorded: RecordedEvent) -> None:
    match event:
        case e.HandOpened():
            line.game, line.number = event.game, event.number
        case e.HandSettled():
            line.result = event.result
            line.ended_at.FromDatetime(recorded.recorded_at)
        case e.HandVoided():
            line.result = "void"
            line.ended_at.FromDatetime(recorded.recorded_at)
        case _:
            pass
