"""What each event of the log adds to the audit's tables. Pure; `storage` writes the rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

from croupier.table.v1 import events_pb2 as table
from croupier.wallet.v1 import events_pb2 as wallet

from services.audit.rows import Into, Row, moment
from services.audit.shoe_rows import AUDIT_ROWS, SHUFFLE_ROWS, shoe_ready, shoe_requested
from shared.cards import DECK
from shared.events import decode, event_type, to_json
from shared.log import RecordedEvent, category_of


def rows_of(event: RecordedEvent) -> list[Row]:
    """All that `event` adds.

    Raises `UnknownEventError` or `UnreadableEventError` for an event that this version cannot read.
    """
    message = decode(event.type, event.payload)
    body = to_json(message)
    text = _as_text(body)
    storable = _ESCAPED_NUL not in text
    if not storable:
        text = _as_text(_without_nul(body))
    derived = event_type(event.type).derived
    rows = [Row(Into.EVENT, (event.position, derived, event.partition, text))]
    make = _ROWS[category_of(event.stream)].get(event.type)
    if make is not None:
        rows.extend(make(event, message))
    if storable:
        return rows
    return [Row(row.into, tuple(map(_without_nul, row.values))) for row in rows]


_as_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

# Postgres keeps no NUL in a text. The log has them, from before they were refused.
_ESCAPED_NUL = "\\u0000"


def _without_nul(value: Any) -> Any:
    """The same, at any depth, with U+FFFD in the place of each NUL."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, list):
        return [_without_nul(each) for each in value]
    if isinstance(value, dict):
        return {name: _without_nul(each) for name, each in value.items()}
    return value


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
    yield Row(Into.SHOE_HAND, (opened.shoe_id, opened.hand_id))


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
    "ShoeRequested": shoe_requested,
    "ShoeReady": shoe_ready,
    "HandOpened": _hand_opened,
    "CardsDealt": _cards_dealt,
    "DecisionMade": _decision_made,
    "DecisionDefaulted": _decision_defaulted,
    "HandSettled": _hand_settled,
    "HandVoided": _hand_voided,
}
_ROWS: Mapping[str, Mapping[str, _Maker]] = {
    "table": _TABLE_ROWS,
    "wallet": {"TransferPosted": _transfer_posted},
    "shuffle": SHUFFLE_ROWS,
    "audit": AUDIT_ROWS,
}

FACES: Mapping[int, str] = {table.FACE_UP: "up", table.FACE_DOWN: "down", table.FACE_OWNER: "owner"}


def table_of(stream: str) -> str:
    """The table's id in the name of its stream."""
    return stream.removeprefix("table/")


def kind_of(transfer_kind: int) -> str:
    """`settlement` for TRANSFER_KIND_SETTLEMENT."""
    name = wallet.TransferKind.Name(transfer_kind)  # type: ignore[arg-type]
    return name.removeprefix("TRANSFER_KIND_").lower()
