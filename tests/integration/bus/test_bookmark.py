"""The position row is the fence: of two that believe to be active, one gets through."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from shared.bus.bookmark import Bookmark, Bookmarks, Link
from shared.bus.tables import ConsumerTables
from shared.log import LogDivergedError, genesis
from tests.integration.bus import probe
from tests.integration.bus.conftest import House

BOOKMARKS = Bookmarks(ConsumerTables(probe.SCHEMA), "probe", "table.0")
BEGINNING = Bookmark(0, None)


async def test_two_movers_at_once(house: House) -> None:
    await house.write("a", 1, 2)
    first, second = await house.log.read_stream("table/a")
    one = await asyncpg.connect(house.database.dsn(probe.ROLE))
    two = await asyncpg.connect(house.database.dsn(probe.ROLE))
    assert await BOOKMARKS.read(one) == (BEGINNING, None)
    assert await BOOKMARKS.read(two) == (BEGINNING, None)
    async with two.transaction():
        async with one.transaction():
            assert await BOOKMARKS.move(one, BEGINNING, first)
            late = asyncio.create_task(BOOKMARKS.move(two, BEGINNING, second))
        assert await late is False
        assert await BOOKMARKS.hold(two, BEGINNING) is False
    assert await BOOKMARKS.read(two) == (Bookmark(1, first.hash), first.recorded_at)
    await one.close()
    await two.close()


async def test_it_moves_only_to_events_that_the_log_has(house: House) -> None:
    await house.write("a", 1)
    [event] = await house.log.read_stream("table/a")
    connection = await asyncpg.connect(house.database.dsn(probe.ROLE))
    await BOOKMARKS.read(connection)
    for other in (event._replace(hash=bytes(32)), event._replace(position=2)):
        assert await BOOKMARKS.move(connection, BEGINNING, other) is False
        assert await BOOKMARKS.hold(connection, BEGINNING) is True
    assert await BOOKMARKS.move(connection, BEGINNING, event) is True
    await connection.close()


async def test_a_head_that_the_log_has_not_moves_nothing(house: House) -> None:
    await house.write("a", 1, 2)
    await house.write("a", 3)
    events = await house.log.read_stream("table/a")
    first, second = await house.log.read_blocks("table.0", 0)
    connection = await asyncpg.connect(house.database.dsn(probe.ROLE))
    await BOOKMARKS.read(connection)
    for link in (Link(1, second.head), Link(3, first.head), Link(2, first.head)):
        forged = Bookmark(2, events[1].hash, link)
        assert await BOOKMARKS.move(connection, BEGINNING, forged) is False
    true = Bookmark(2, events[1].hash, Link(1, first.head))
    assert await BOOKMARKS.move(connection, BEGINNING, true) is True
    await connection.close()


async def test_a_link_is_the_block_that_ends_there(house: House) -> None:
    await house.write("a", 1, 2)
    await house.write("b", 3)
    blocks = await house.log.read_blocks("table.0", 0)
    assert await BOOKMARKS.link(house.root, BEGINNING) == Link(0, genesis("table.0"))
    assert await BOOKMARKS.link(house.root, Bookmark(1, None)) is None, "it ends with the second"
    assert await BOOKMARKS.link(house.root, Bookmark(2, None)) == Link(1, blocks[0].head)
    assert await BOOKMARKS.link(house.root, Bookmark(3, None)) == Link(3, blocks[1].head)
    assert await BOOKMARKS.link(house.root, Bookmark(4, None)) is None, "the log has no such event"


async def test_a_look_compares_what_was_applied_with_the_log(house: House) -> None:
    await house.write("a", 1, 2, 3)
    events = await house.log.read_stream("table/a")
    assert await BOOKMARKS.look(house.root, BEGINNING) == 3
    assert await BOOKMARKS.look(house.root, Bookmark(2, events[1].hash)) == 3
    for held in (Bookmark(2, events[0].hash), Bookmark(4, events[0].hash)):
        with pytest.raises(LogDivergedError):
            await BOOKMARKS.look(house.root, held)


def test_a_schema_is_a_plain_name() -> None:
    with pytest.raises(ValueError, match="no schema"):
        ConsumerTables("wallet; DROP TABLE x")
