"""Appends for tests, and what must be true of a log whatever happened to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID, uuid4

from shared.log import Append, CommandKey, EventLog, NewEvent, RecordedEvent, verify_chain

BODY = bytes(32)
OTHER_BODY = bytes([1]) * 32


def event(payload: bytes = b"", kind: str = "BetPlaced", hand_id: str | None = None) -> NewEvent:
    """An event; tests that care for more say it themselves."""
    return NewEvent(kind, payload, "player:7", hand_id=hand_id)


def append(stream: str, expected_version: int, *payloads: bytes) -> Append:
    """An append of one event a payload (without any: one empty event)."""
    return Append(uuid4(), stream, expected_version, tuple(map(event, payloads or (b"",))))


def commanded(
    stream: str, expected_version: int, command_id: UUID, body_hash: bytes = BODY
) -> Append:
    """An append of one event that carries out a command of one caller."""
    key = CommandKey("player:7", command_id, body_hash)
    return Append(uuid4(), stream, expected_version, (event(),), key)


async def whole_partition(log: EventLog, partition: str) -> list[RecordedEvent]:
    """All events of a partition."""
    found: list[RecordedEvent] = []
    while page := await log.read_partition(partition, found[-1].position if found else 0):
        found += page
    return found


async def assert_sound(log: EventLog, partition: str) -> list[RecordedEvent]:
    """No gap, no version left out or doubled, time never backwards, the chain holds."""
    events = await whole_partition(log, partition)
    assert [event.position for event in events] == list(range(1, len(events) + 1))
    versions: dict[str, list[int]] = defaultdict(list)
    for each in events:
        versions[each.stream].append(each.version)
    for stream, seen in versions.items():
        assert seen == list(range(1, len(seen) + 1)), stream
    times = [event.recorded_at for event in events]
    assert times == sorted(times)
    report = await verify_chain(log, partition)
    assert report.holds, report.faults
    assert report.last_position == len(events)
    return events


def payloads(events: Sequence[RecordedEvent]) -> list[bytes]:
    """What the events carry, in order."""
    return [event.payload for event in events]
