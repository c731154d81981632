"""What of a message the log's chain binds: all of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from croupier.event.v1 import event_pb2

from shared.bus.batch import Batch, encode
from shared.bus.chain import follows
from shared.log import RecordedEvent, block_head, envelope_hash, event_hash, genesis

AT = datetime(2026, 11, 30, 2, 15, 0, 123_456, tzinfo=UTC)
BEFORE = genesis("table.0")
SOME_ID = UUID("00000000-0000-4000-8000-0000000000ab")


def recorded(position: int) -> RecordedEvent:
    bare = RecordedEvent(
        partition="table.0",
        position=position,
        stream="table/7",
        version=position + 10,
        type="BetPlaced",
        schema_version=1,
        payload=b"%d" % position,
        hash=b"",
        hand_id="7-1",
        causation_id=UUID(int=position),
        correlation_id=None,
        actor="player:7",
        recorded_at=AT,
    )
    return bare._replace(hash=event_hash(bare.stream, bare.version, bare))


def batch_of(*events: RecordedEvent) -> Batch:
    first = events[0].position
    hashes = b"".join(event.hash for event in events)
    return Batch("table.0", first, block_head(BEFORE, "table.0", first, AT, hashes), events)


TRUE = batch_of(recorded(41), recorded(42), recorded(43))


def holds(batch: Batch, previous: bytes = BEFORE) -> bool:
    return follows(event_pb2.Batch.FromString(encode(batch)), previous)


def test_what_the_log_says_follows() -> None:
    assert holds(TRUE)
    assert not holds(TRUE, bytes(32))


OTHERS: dict[str, Any] = {
    "partition": "table.1",
    "position": 40,
    "stream": "table/8",
    "version": 99,
    "type": "SeatTaken",
    "schema_version": 2,
    "payload": b"1000000",
    "hash": bytes(32),
    "hand_id": None,
    "causation_id": None,
    "correlation_id": SOME_ID,
    "actor": "player:8",
    "recorded_at": AT + timedelta(microseconds=1),
}


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("field", RecordedEvent._fields)
def test_every_field_of_every_event_is_bound(field: str, place: int) -> None:
    events = list(TRUE.events)
    events[place] = events[place]._replace(**{field: OTHERS[field]})
    assert not holds(replace(TRUE, events=tuple(events)))


def test_no_event_can_be_added_left_out_or_moved() -> None:
    one, two, three = TRUE.events
    for events in (
        (),
        (one, two),
        (two, three),
        (one, three),
        (two, one, three),
        (*TRUE.events, three),
    ):
        assert not holds(replace(TRUE, events=events))
    assert not holds(replace(TRUE, first_position=42))


@pytest.mark.parametrize(
    "changes",
    [{"causation_id": "no id"}, {"version": -1}, {"schema_version": -1}],
)
def test_what_no_event_can_have_is_no_error(changes: dict[str, Any]) -> None:
    message = event_pb2.Batch.FromString(encode(TRUE))
    for name, value in changes.items():
        setattr(message.events[0], name, value)
    assert follows(message, BEFORE) is False


@pytest.mark.parametrize("text", ["ab", " " + "ab" * 15 + " ", "ab" * 16 + "cd", "-"])
def test_what_is_no_id_follows_from_nothing(text: str) -> None:
    """Not even where the hashes are made to fit: whoever takes the event apart would fail on it."""
    odd = bytes.fromhex(text.replace("-", ""))
    message = event_pb2.Batch.FromString(encode(batch_of(recorded(41))))
    [event] = message.events
    event.causation_id = text
    event.hash = envelope_hash(
        event.stream,
        event.version,
        event.type,
        event.schema_version,
        event.hand_id,
        odd,
        b"",
        event.actor,
        event.payload,
    )
    message.head = block_head(BEFORE, "table.0", 41, AT, event.hash)
    assert follows(message, BEFORE) is False


def test_a_time_that_no_calendar_has_is_no_error() -> None:
    message = event_pb2.Batch.FromString(encode(TRUE))
    for event in message.events:
        event.recorded_at.seconds = 1 << 60
    assert follows(message, BEFORE) is False
