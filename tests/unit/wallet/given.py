"""Events of a table as the log would hold them."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from croupier.table.v1 import events_pb2 as table_events
from google.protobuf.message import Message

from shared.log import RecordedEvent

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
CORRELATION = UUID("99999999-8888-7777-6666-555555555555")


def recorded(body: Message, table: str = "b1", version: int = 5) -> RecordedEvent:
    """`body` as an event of a table's stream."""
    return raw(body.DESCRIPTOR.name, body.SerializeToString(), table, version)


def raw(event_type: str, payload: bytes, table: str = "b1", version: int = 5) -> RecordedEvent:
    """Any bytes as an event of a table's stream."""
    return RecordedEvent(
        partition="table.0",
        position=version,
        stream=f"table/{table}",
        version=version,
        type=event_type,
        schema_version=1,
        payload=payload,
        hash=bytes(32),
        hand_id=None,
        causation_id=None,
        correlation_id=CORRELATION,
        actor="table",
        recorded_at=AT,
    )


def line(player: str, stake: int, returned: int, wager: str = "player") -> table_events.SettledLine:
    """A settled wager."""
    return table_events.SettledLine(
        box=1, player=player, wager=wager, stake=stake, returned=returned
    )


def share(player: str, amount: int) -> table_events.PotShare:
    """Part of a pot that is paid out."""
    return table_events.PotShare(player=player, amount=amount)
