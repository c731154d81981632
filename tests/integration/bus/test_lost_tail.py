"""A log that lost its tail: positions are used twice, and consumers that saw the first use stop."""

from __future__ import annotations

import asyncio

import pytest

from shared.bus.consumer import Consumer
from shared.bus.consumers import Consumers
from shared.log import LogDivergedError
from tests.integration.bus import probe
from tests.integration.bus.conftest import House
from tests.integration.bus.probe import Probe
from tests.logs import assert_sound
from tests.polling import eventually

TABLES = ("events", "blocks", "partitions", "streams")


async def lose_tail(house: House, keep: int) -> None:
    """What a restore from an older backup does: the log as it was after `keep` events."""
    async with house.root.transaction():
        for table in TABLES:
            await house.root.execute(f"ALTER TABLE log.{table} DISABLE TRIGGER ALL")
        await house.root.execute(
            f"DELETE FROM log.events WHERE partition = 'table.0' AND position > {keep}"
        )
        await house.root.execute(
            f"DELETE FROM log.blocks WHERE partition = 'table.0' AND first_position > {keep}"
        )
        await house.root.execute(
            "DELETE FROM log.streams WHERE stream NOT IN (SELECT stream FROM log.events)"
        )
        await house.root.execute(
            "UPDATE log.streams AS s SET version = "
            "(SELECT max(version) FROM log.events AS e WHERE e.stream = s.stream)"
        )
        await house.root.execute(
            f"""
            UPDATE log.partitions SET (position, head) = (
                SELECT {keep}, head FROM log.blocks
                 WHERE partition = 'table.0' AND first_position = {keep}
            ) WHERE name = 'table.0'
            """
        )
    rows = await house.root.fetch("SELECT stream, version FROM log.streams")
    house.versions = {row["stream"]: row["version"] for row in rows}


async def diverges(task: asyncio.Task[None]) -> str:
    """Waits for a consumer to stop, and returns what it says."""
    await eventually(task.done)
    with pytest.raises(LogDivergedError) as stopped:
        await task
    assert stopped.value.reason == "LOG_DIVERGED"
    return str(stopped.value)


async def test_a_consumer_stops_when_what_it_applied_is_gone(house: House, handler: Probe) -> None:
    house.relay()
    task = house.consumer(handler)
    await house.write_many(20)
    await house.becomes_equal()
    await lose_tail(house, 12)
    assert "table.0:20" in await diverges(task)
    assert len(await probe.applied(house.root)) == 20, "it touches nothing any more"


async def test_a_consumer_stops_when_something_else_stands_there_now(
    house: House, handler: Probe
) -> None:
    house.relay()
    task = house.consumer(handler)
    await house.write_many(20)
    await house.becomes_equal()
    await house.stop(task)
    await lose_tail(house, 12)
    for number in range(30):
        await house.write("new", number)
    await assert_sound(house.log, "table.0")
    before = await probe.totals(house.root)
    assert "table.0:20" in await diverges(house.consumer(Probe()))
    assert await probe.totals(house.root) == before


async def test_a_consumer_that_had_not_come_so_far_goes_on(house: House, handler: Probe) -> None:
    """What is left of the lost tail on the bus is not believed: the log is right."""
    relaying = house.relay()
    task = house.consumer(handler)
    await house.write_many(10)
    await house.becomes_equal()
    await house.stop(task)
    await house.write_many(10)
    await house.stores(20)
    await house.stop(relaying)
    await lose_tail(house, 12)
    for number in range(5):
        await house.write("new", number)
    house.consumer(handler)
    await house.becomes_equal()
    house.relay()
    await house.write("new", 77)
    await house.becomes_equal()


async def test_a_leftover_message_alone_stops_nobody(
    house: House, handler: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The consumer is idle at the end of the log when the bus brings what the log has lost."""
    relaying = house.relay()
    await house.write_many(20)
    await house.stores(20)
    await house.stop(relaying)
    await lose_tail(house, 12)
    contradicted: list[int] = []
    original = Consumer._contradicted

    async def told(self: Consumer, connection: object) -> None:
        contradicted.append(1)
        await original(self, connection)  # type: ignore[arg-type]

    monkeypatch.setattr(Consumer, "_contradicted", told)
    house.consumer(handler)
    await eventually(lambda: contradicted)
    await house.write("new", 1)
    await house.becomes_equal()


async def test_the_other_partitions_go_on(house: House, handler: Probe) -> None:
    await house.root.execute("SELECT log.add_partition('table')")
    consumers = Consumers(
        handler.consuming(), {"table"}, house.log, house.database.dsn(probe.ROLE), house.client
    )
    house.start(consumers.run())
    await house.write_many(40, streams=20)
    await house.becomes_equal()
    await eventually(lambda: probe.equal_to_the_log(house.root, house.log, "table.1"))
    await lose_tail(house, 5)
    await eventually(lambda: consumers.diverged == {"table.0"})
    await house.write_many(40, streams=20)
    await eventually(lambda: probe.equal_to_the_log(house.root, house.log, "table.1"))
