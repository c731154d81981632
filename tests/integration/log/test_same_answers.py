"""The log in memory and the one in Postgres answer alike, whatever they are asked."""

from __future__ import annotations

import random
from collections.abc import Iterator
from uuid import UUID

import pytest

from shared.log import Append, CommandKey, MemoryLog, NewEvent, PostgresLog
from tests.integration.log.conftest import Root
from tests.logs import assert_sound

STREAMS = [f"table/{n}" for n in range(12)]
CALLS = 120


def calls(seed: int) -> Iterator[list[Append]]:
    """Appends of every kind: right and stale versions, repeated ids, repeated commands."""
    source = random.Random(seed)
    versions = dict.fromkeys(STREAMS, 0)
    earlier: list[Append] = []
    commands = [UUID(int=source.getrandbits(128), version=4) for _ in range(15)]
    for _ in range(CALLS):
        call: list[Append] = []
        for stream in source.sample(STREAMS, source.randint(1, 6)):
            if earlier and source.random() < 0.1:
                repeated = source.choice(earlier)
                if all(repeated.stream != each.stream and repeated.id != each.id for each in call):
                    call.append(repeated)
                continue
            if any(stream == each.stream for each in call):
                continue
            events = tuple(
                NewEvent(
                    source.choice(["BetPlaced", "CardsDealt"]),
                    source.randbytes(source.randint(0, 40)),
                    source.choice(["player:7", "table@n1", ""]),
                    source.randint(1, 3),
                    source.choice([None, "h1", "h2"]),
                    source.choice([None, *commands]),
                    source.choice([None, *commands]),
                )
                for _ in range(source.randint(1, 4))
            )
            command = None
            if source.random() < 0.3:
                body = bytes([source.randint(0, 1)]) * 32
                command = CommandKey("player:7", source.choice(commands), body)
            expected = versions[stream] if source.random() < 0.8 else source.randint(0, 9)
            if expected == versions[stream]:
                # A repeated command may still refuse it: then later expectations are stale.
                versions[stream] += len(events)
            append = Append(
                UUID(int=source.getrandbits(128), version=4), stream, expected, events, command
            )
            call.append(append)
            earlier.append(append)
        if call:
            yield call


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_memory_answers_as_postgres(postgres_log: PostgresLog, root: Root, seed: int) -> None:
    for _ in range(2):
        await root.fetchval("SELECT log.add_partition('table')")
    memory = MemoryLog({"table": 3, "shuffle": 1, "wallet": 1, "audit": 1})
    outcomes = set()
    for call in calls(seed):
        ours = await postgres_log.append(call)
        theirs = await memory.append(call)
        assert [_untimed(each) for each in ours] == [_untimed(each) for each in theirs]
        outcomes |= {each.outcome.value for each in ours}
    assert outcomes == {"ok", "conflict", "same", "body_differs"}
    for partition in ("table.0", "table.1", "table.2"):
        ours_events = await assert_sound(postgres_log, partition)
        theirs_events = await assert_sound(memory, partition)
        assert ours_events
        assert [_untimed(each) for each in ours_events] == [
            _untimed(each) for each in theirs_events
        ]
    for hand in ("h1", "h2"):
        ours_hand = await postgres_log.read_hand(hand)
        theirs_hand = await memory.read_hand(hand)
        assert {(each.stream, each.version) for each in ours_hand} == {
            (each.stream, each.version) for each in theirs_hand
        }


def _untimed(record: object) -> list[object]:
    slots = getattr(record, "__slots__", ())
    return [getattr(record, name) for name in slots if name != "recorded_at"]
