"""An event that cannot be applied is put aside with its stream; nobody else is held up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

import asyncpg
import pytest

from shared.bus import parking
from shared.bus.parking import ParkedEvent, list_parked, request_retry
from shared.log import Append, Connection, NewEvent, RecordedEvent
from tests.integration.bus import probe
from tests.integration.bus.conftest import House
from tests.integration.bus.probe import PoisonError, Probe
from tests.polling import eventually


async def parked(house: House) -> list[ParkedEvent]:
    return await list_parked(house.root, probe.SCHEMA)


async def settled(house: House, handler: Probe, streams: int) -> None:
    """Waits until so many streams stand as the log has them."""

    async def reached() -> bool:
        wanted = await probe.expected_totals(house.log)
        have = await probe.totals(house.root)
        return sum(have.get(stream) == total for stream, total in wanted.items()) >= streams

    await eventually(reached)


@pytest.fixture(params=["from the bus", "from the log"])
async def source(request: pytest.FixtureRequest, house: House) -> None:
    """With and without a relay."""
    if request.param == "from the bus":
        house.relay()


@pytest.mark.usefixtures("source")
async def test_a_poison_event_parks_its_stream_and_no_other(house: House, handler: Probe) -> None:
    await house.write("good", 1)
    await house.write("bad", 5, b"poison", 7)
    await house.write("good", 2)
    await house.write("other", 3)
    house.consumer(handler)
    await settled(house, handler, 2)
    await house.write("bad", 11)
    await house.write("good", 4)
    await eventually(lambda: _parks(house, 3))
    await settled(house, handler, 2)
    assert await probe.totals(house.root) == {"table/good": 7, "table/bad": 5, "table/other": 3}
    first, *behind = await parked(house)
    assert (first.consumer, first.stream, first.version) == ("probe", "table/bad", 2)
    assert (first.partition, first.position, first.type) == ("table.0", 3, "BetPlaced")
    assert first.error == "PoisonError: table/bad 2"
    assert [(each.version, each.error) for each in behind] == [
        (3, "behind a parked event of its stream"),
        (4, "behind a parked event of its stream"),
    ]


@pytest.mark.usefixtures("source")
async def test_types_that_nobody_wants_move_the_position_only(house: House, handler: Probe) -> None:
    handler.types = frozenset({"BetPlaced"})
    house.consumer(handler)

    async def write(stream: str, version: int, *kinds: str) -> int:
        events = tuple(NewEvent(kind, b"1", "player:7") for kind in kinds)
        [answer] = await house.log.append([Append(uuid4(), f"table/{stream}", version, events)])
        return answer.first_position + len(kinds) - 1

    await write("a", 0, "HandOpened", "BetPlaced", "HandOpened")
    await write("b", 0, "HandOpened")
    last = await write("a", 3, "BetPlaced", "HandOpened")
    await eventually(lambda: _stands_at(house, last))
    assert await probe.applied(house.root) == [2, 5]


@pytest.mark.usefixtures("source")
async def test_behind_a_parked_event_nothing_is_left_out(house: House, handler: Probe) -> None:
    """Whatever it is: a retry reads the stream without gaps."""
    handler.types = frozenset({"BetPlaced"})
    house.consumer(handler)
    await house.write("bad", b"poison")
    await eventually(lambda: _parks(house, 1))
    events = (NewEvent("HandOpened", b"1", "player:7"), NewEvent("BetPlaced", b"1", "player:7"))
    await house.log.append([Append(uuid4(), "table/bad", 1, events)])
    await eventually(lambda: _parks(house, 3))
    handler.poisoned = False
    await request_retry(house.root, probe.SCHEMA, "table/bad")
    await eventually(lambda: _parks(house, 0))
    assert await probe.applied(house.root) == [1, 3]


@pytest.mark.usefixtures("source")
async def test_a_retry_applies_what_was_parked_in_order(house: House, handler: Probe) -> None:
    house.consumer(handler)
    await house.write("bad", b"poison", 2, 3)
    await house.write("good", 1)
    await eventually(lambda: _parks(house, 3))
    handler.poisoned = False
    assert await request_retry(house.root, probe.SCHEMA, "table/bad") == 3
    await eventually(lambda: _parks(house, 0))
    await house.write("bad", 4)
    await eventually(lambda: _has(house, {"table/bad": 9, "table/good": 1}))
    assert await parked(house) == []
    assert await probe.applied(house.root) in ([4, 1, 2, 3, 5], [1, 2, 3, 4, 5])


async def test_all_that_is_parked_is_tried_again_however_much(
    house: House, handler: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than a list of it shows: one stream alone may have that many."""
    monkeypatch.setattr(parking, "MAX_LISTED", 2)
    house.consumer(handler)
    await house.write("bad", b"poison", 2, 3)
    await house.write("worse", b"poison")
    await eventually(lambda: _parked_in_all(house, 4))
    handler.poisoned = False
    assert await request_retry(house.root, probe.SCHEMA, None) == 4
    await house.becomes_equal()
    assert await parked(house) == []


async def _parked_in_all(house: House, count: int) -> bool:
    found = await house.root.fetchval("SELECT count(*) FROM probe.parked_events")
    return bool(found == count)


async def test_a_retry_that_fails_leaves_the_rest_parked(house: House, handler: Probe) -> None:
    house.consumer(handler)
    await house.write("bad", b"poison", 2)
    await eventually(lambda: _parks(house, 2))
    await request_retry(house.root, probe.SCHEMA, "table/bad", "probe")
    await eventually(lambda: _tried(house, 2))
    assert [each.retry_requested for each in await parked(house)] == [False, False]
    assert await request_retry(house.root, probe.SCHEMA, "table/bad", "somebody else") == 0
    handler.poisoned = False
    await request_retry(house.root, probe.SCHEMA, "table/bad")
    await house.becomes_equal()


async def test_infrastructure_parks_nothing_even_while_poison_is_sorted_out(
    house: House, handler: Probe
) -> None:
    """The one-by-one pass and a retry meet a lost connection: they begin again."""
    await house.write("good", 1)
    await house.write("bad", b"poison")
    handler.errors = [OSError("one by one"), PoisonError("together")]
    house.consumer(handler)
    await eventually(lambda: _parks(house, 1))
    assert handler.errors == []
    handler.poisoned = False
    handler.errors = [OSError("in the retry")]
    await request_retry(house.root, probe.SCHEMA, "table/bad")
    await house.becomes_equal()
    assert handler.errors == []
    assert await parked(house) == []


@dataclass
class Deliberate(Probe):
    """Stands still, with all done, where an event is applied by itself that adds 9."""

    async def apply(
        self, connection: Connection, events: Sequence[RecordedEvent]
    ) -> frozenset[str]:
        moved = await super().apply(connection, events)
        if [event.payload for event in events] == [b"9"]:
            self.at_gate = True
            await asyncio.Event().wait()
        return moved


async def test_what_is_applied_alone_holds_nothing_for_the_next(house: House) -> None:
    """It would hold what others need who hold what the next one needs: they would wait for each
    other."""
    handler = Deliberate()
    await house.write("good", 1)
    await house.write("bad", b"poison")
    await house.write("late", 9)
    house.consumer(handler)
    await eventually(lambda: handler.at_gate)
    assert await probe.totals(house.root) == {"table/good": 1}
    assert [event.stream for event in await parked(house)] == ["table/bad"]


async def test_what_is_tried_again_holds_nothing_for_the_next(house: House) -> None:
    handler = Deliberate()
    await house.write("bad", b"poison", 2, 9)
    house.consumer(handler)
    await eventually(lambda: _parks(house, 3))
    handler.poisoned = False
    await request_retry(house.root, probe.SCHEMA, "table/bad")
    await eventually(lambda: handler.at_gate)
    assert await probe.totals(house.root) == {"table/bad": 2}
    assert [event.version for event in await parked(house)] == [3]


async def test_what_is_parked_stays_parked_for_the_next_replica(
    house: House, handler: Probe
) -> None:
    first = house.consumer(handler)
    await house.write("bad", b"poison")
    await eventually(lambda: _parks(house, 1))
    await house.stop(first)
    mended = Probe(poisoned=False)
    house.consumer(mended)
    await house.write("bad", 2)
    await house.write("good", 1)
    await eventually(lambda: _parks(house, 2))
    await eventually(lambda: _has(house, {"table/good": 1}))
    await request_retry(house.root, probe.SCHEMA, "table/bad")
    await eventually(lambda: _has(house, {"table/good": 1, "table/bad": 2}))


async def _parks(house: House, count: int) -> bool:
    return len(await parked(house)) == count


async def _tried(house: House, attempts: int) -> bool:
    return (await parked(house))[0].attempts == attempts


async def _stands_at(house: House, position: int) -> bool:
    found = await house.root.fetchval("SELECT max(position) FROM probe.consumer_positions")
    return bool(found == position)


async def _has(house: House, wanted: dict[str, int]) -> bool:
    return await probe.totals(house.root) == wanted


async def test_a_database_that_was_not_migrated_parks_nothing(house: House, handler: Probe) -> None:
    """Every event would be parked, by a replica of a new version that was started too early."""
    await house.write("good", 1)
    await house.write("other", 2)
    early = asyncpg.UndefinedColumnError('column "new" does not exist')
    handler.errors = [early, PoisonError("together"), early]
    house.consumer(handler)
    await house.becomes_equal()
    assert handler.errors == []
    assert await parked(house) == []


async def test_the_words_of_an_error_may_be_such_as_postgres_does_not_take(
    house: House, handler: Probe
) -> None:
    """They may repeat what the event says. Without its words it could not be parked, ever."""
    await house.write("bad", b"poison")
    await house.write("good", 1)
    handler.errors = [PoisonError("a \0 and \ud800"), PoisonError("together")]
    house.consumer(handler)
    await eventually(lambda: _parks(house, 1))
    [event] = await parked(house)
    assert event.error == "PoisonError: a \ufffd and ?"
    await eventually(lambda: _has(house, {"table/good": 1}))
