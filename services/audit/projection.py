"""What each event of the log adds to the audit's tables. Pure; `storage` writes the rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any
from uuid import UUID

from croupier.table.v1 import events_pb2 as table
from croupier.wallet.v1 import events_pb2 as wallet
from google.protobuf.timestamp_pb2 import Timestamp

from shared.cards import DECK
from shared.events import decode, event_type, to_json
from shared.log import RecordedEvent, category_of


class Into(Enum):
    """Where a row goes, in the order in which the rows of several events are written.

    The order matters only within a hand: it is opened, then filled, then ended.
    """

    EVENT = 1
    TABLE_OPENED = 2
    TABLE_CLOSED = 3
    HAND_OPENED = 4
    HAND_PLAYER = 5
    BET = 6
    CARD = 7
    DECISION = 8
    POSTING = 9
    HAND_SETTLED = 10
    BET_SETTLED = 11
    HAND_VOIDED = 12


@dataclass(frozen=True, slots=True)
class Row:
    """Values for one statement of `storage`, in its order."""

    into: Into
    values: tuple[Any, ...]


def rows_of(event: RecordedEvent) -> list[Row]:
    """All that `event` adds.

    Raises `UnknownEventError` or `UnreadableEventError` for an event that this version cannot read.
    """
    message = decode(event.type, event.payload)
    rows = [_event_row(event, message)]
    makers = _TABLE_ROWS if category_of(event.stream) == "table" else _WALLET_ROWS
    make = makers.get(event.type)
    if make is not None:
        rows.extend(make(event, message))
    return rows


def _event_row(event: RecordedEvent, message: Any) -> Row:
    return Row(
        Into.EVENT,
        (
            event.position,
            event.version,
            event.recorded_at,
            event.causation_id,
            event.correlation_id,
            event.partition,
            event.stream,
            event.type,
            event_type(event.type).derived,
            event.hand_id,
            event.actor,
            event.hash,
            json.dumps(to_json(message), ensure_ascii=False, separators=(",", ":")),
        ),
    )


def _table_opened(event: RecordedEvent, opened: table.TableOpened) -> Iterator[Row]:
    yield Row(
        Into.TABLE_OPENED,
        (
            opened.table_id,
            opened.name,
            opened.game,
            opened.rules_version,
            opened.rules_json or "{}",
            opened.currency,
            event.recorded_at,
        ),
    )


def _table_closed(event: RecordedEvent, _: table.TableClosed) -> Iterator[Row]:
    yield Row(Into.TABLE_CLOSED, (table_of(event.stream), event.recorded_at))


def _hand_opened(event: RecordedEvent, opened: table.HandOpened) -> Iterator[Row]:
    bets = [(box.box, bet) for box in opened.boxes for bet in box.bets]
    owners = [box.owner for box in opened.boxes]
    players = sorted({*owners, *(bet.player for _, bet in bets)} - {""})
    yield Row(
        Into.HAND_OPENED,
        (
            opened.hand_id,
            table_of(event.stream),
            opened.number,
            opened.game,
            opened.rules_version,
            opened.shoe_id,
            players,
            event.version,
            event.recorded_at,
        ),
    )
    for player in players:
        yield Row(Into.HAND_PLAYER, (player, opened.hand_id))
    for box, bet in bets:
        yield Row(Into.BET, (opened.hand_id, box, bet.player, bet.wager, bet.stake))


def _cards_dealt(event: RecordedEvent, dealt: table.CardsDealt) -> Iterator[Row]:
    for ordinal, card in enumerate(dealt.cards):
        yield Row(
            Into.CARD,
            (
                event.stream,
                event.version,
                ordinal,
                event.hand_id,
                card.position,
                card.hand,
                FACES[card.face],
                card.viewer or None,
                str(DECK[card.card_plus_one - 1]) if card.card_plus_one else None,
                event.recorded_at,
            ),
        )


def _decision_made(event: RecordedEvent, made: table.DecisionMade) -> Iterator[Row]:
    yield Row(
        Into.DECISION,
        (
            event.stream,
            event.version,
            event.hand_id,
            made.box,
            made.player,
            made.action,
            made.amount,
            list(made.positions),
            False,
            moment(made.at),
        ),
    )


def _decision_defaulted(event: RecordedEvent, made: table.DecisionDefaulted) -> Iterator[Row]:
    yield Row(
        Into.DECISION,
        (
            event.stream,
            event.version,
            event.hand_id,
            made.box,
            None,
            made.action,
            0,
            [],
            True,
            event.recorded_at,
        ),
    )


def _hand_settled(event: RecordedEvent, settled: table.HandSettled) -> Iterator[Row]:
    yield Row(
        Into.HAND_SETTLED,
        (
            settled.hand_id,
            event.version,
            event.recorded_at,
            settled.result,
            sum(line.stake for line in settled.lines),
            sum(line.returned for line in settled.lines),
            settled.pot_change,
            settled.rake,
        ),
    )
    for line in settled.lines:
        yield Row(
            Into.BET_SETTLED,
            (settled.hand_id, line.box, line.player, line.wager, line.stake, line.returned),
        )


def _hand_voided(event: RecordedEvent, voided: table.HandVoided) -> Iterator[Row]:
    yield Row(Into.HAND_VOIDED, (voided.hand_id, event.version, event.recorded_at, voided.why))


def _transfer_posted(event: RecordedEvent, posted: wallet.TransferPosted) -> Iterator[Row]:
    for leg, posting in enumerate(posted.postings):
        yield Row(
            Into.POSTING,
            (
                event.stream,
                event.version,
                leg,
                UUID(posted.transfer_id),
                kind_of(posted.transfer_kind),
                posting.account,
                posted.currency,
                posting.minor_units,
                posted.hand_id or None,
                posted.note,
                moment(posted.at),
            ),
        )


_Maker = Callable[[RecordedEvent, Any], Iterator[Row]]

_TABLE_ROWS: Mapping[str, _Maker] = {
    "TableOpened": _table_opened,
    "TableClosed": _table_closed,
    "HandOpened": _hand_opened,
    "CardsDealt": _cards_dealt,
    "DecisionMade": _decision_made,
    "DecisionDefaulted": _decision_defaulted,
    "HandSettled": _hand_settled,
    "HandVoided": _hand_voided,
}
_WALLET_ROWS: Mapping[str, _Maker] = {"TransferPosted": _transfer_posted}

FACES: Mapping[int, str] = {table.FACE_UP: "up", table.FACE_DOWN: "down", table.FACE_OWNER: "owner"}


def table_of(stream: str) -> str:
    """The table's id in the name of its stream."""
    return stream.removeprefix("table/")


def kind_of(transfer_kind: int) -> str:
    """`settlement` for TRANSFER_KIND_SETTLEMENT."""
    name = wallet.TransferKind.Name(transfer_kind)  # type: ignore[arg-type]
    return name.removeprefix("TRANSFER_KIND_").lower()


def moment(stamp: Timestamp) -> datetime:
    """A time of an event, in UTC."""
    return stamp.ToDatetime(UTC)
