"""The directory of nodes and tables, in Postgres and in a simulated house."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from random import Random
from typing import TypeAlias
from uuid import uuid4

import pytest

from services.table.directory import Directory, Place, Placed, home, preferred_node
from services.table.load import Load
from shared.log import MemoryLog, open_pool
from tests.chaos.simulated.database import Database as SimulatedDatabase
from tests.chaos.simulated.database import FarPool
from tests.chaos.simulated.directory import FarDirectory
from tests.chaos.simulated.loop import Process
from tests.chaos.simulated.wires import Wires
from tests.servers import Database

AnyDirectory: TypeAlias = Directory | FarDirectory
New: TypeAlias = Callable[[str], AnyDirectory]

LONG_S = 600.0
NODES = ("n1", "n2")


@pytest.fixture
async def real(database: Database) -> AsyncIterator[New]:
    """In Postgres."""
    pool = await open_pool(database.dsn("croupier_table"))
    yield lambda node: Directory(pool, node, uuid4(), f"{node}:1")
    await pool.close()


@pytest.fixture(params=["postgres", "simulated"])
def new(request: pytest.FixtureRequest) -> New:
    """Makes the directory as a new process of a node has it."""
    if request.param == "postgres":
        real: New = request.getfixturevalue("real")
        return real
    process = Process("postgres")
    pool = FarPool(lambda: process, Wires(Random(1)))
    database = SimulatedDatabase(MemoryLog(), lambda: datetime.now(UTC))
    return lambda node: FarDirectory(database, pool, node, uuid4(), f"{node}:1")


async def alive(new: New, node: str, *, draining: bool = False) -> AnyDirectory:
    directory = new(node)
    await directory.heartbeat(LONG_S, draining, Load())
    return directory


async def test_a_lease_is_held_from_one_heartbeat_to_the_next(new: New) -> None:
    n1 = new("n1")
    assert not await n1.heartbeat(LONG_S, False, Load())
    assert await n1.heartbeat(LONG_S, False, Load())
    again = new("n1")
    assert not await again.heartbeat(LONG_S, False, Load()), "another process of the same name"
    await again.gone()
    assert await again.peers() == ()


async def test_a_lease_that_has_run_out_is_nobodys(new: New) -> None:
    n1, n2 = new("n1"), await alive(new, "n2")
    await n1.heartbeat(-1.0, False, Load())
    await n1.claimed({"t1": 1})
    assert [peer.node for peer in await n2.peers()] == ["n2"]
    assert await n2.place("t1") == Place(None, None, 1, False)
    assert not await n1.heartbeat(LONG_S, False, Load())


async def test_who_drains_lives_and_takes_no_tables(new: New) -> None:
    n1 = await alive(new, "n1")
    await alive(new, "n2", draining=True)
    look = await n1.look()
    assert [peer.node for peer in look.peers] == ["n1", "n2"]
    assert [peer.node for peer in look.takers] == ["n1"]
    assert await n1.others() == ["n2:1"]


async def test_a_table_is_where_its_latest_claim_says(new: New) -> None:
    n1, n2 = await alive(new, "n1"), await alive(new, "n2")
    await n1.discovered("t1")
    assert (await n1.look()).unowned == (Placed("t1", None, 0, None),)
    await n2.claimed({"t1": 2})
    await n1.claimed({"t1": 1})
    assert await n1.place("t1") == Place("n2", "n2:1", 2, False)
    assert await n1.census() == (Placed("t1", "n2", 2, None),)
    assert (await n1.look()).unowned == ()


async def test_only_who_has_a_table_lets_it_go(new: New) -> None:
    n1, n2 = await alive(new, "n1"), await alive(new, "n2")
    await n1.claimed({"t1": 1})
    await n2.released(["t1"])
    assert await n1.place("t1") == Place("n1", "n1:1", 1, False)
    await n1.released(["t1"])
    assert await n1.place("t1") == Place(None, None, 1, False)


async def test_a_closed_table_is_nobodys_business(new: New) -> None:
    n1 = await alive(new, "n1")
    await n1.claimed({"t1": 1})
    await n1.closed("t1")
    assert await n1.census() == ()
    assert (await n1.look()).unowned == ()
    assert (await n1.places(["t1", "t2"])).keys() == {"t1"}
    assert await n1.place("t1") == Place("n1", "n1:1", 1, True)


async def test_a_table_belongs_to_a_node_that_knows_its_rules(new: New) -> None:
    n1, n2 = await alive(new, "n1"), await alive(new, "n2")
    table_id = next(each for each in map(str, range(99)) if preferred_node(each, NODES) == "n1")
    await n1.discovered(table_id)
    before = await n2.look()
    [placed] = before.unowned
    assert home(placed, before.takers) == "n1"
    await n1.not_known(table_id)
    look = await n2.look()
    assert look.revision > before.revision, "every node looks again"
    assert [home(each, look.takers) for each in look.unowned] == ["n2"]
    await n2.not_known(table_id)
    look = await n1.look()
    assert [home(each, look.takers) for each in await n1.census()] == [None]
    # Another process of the name may know more; the one before is forgotten with the next word.
    again = await alive(new, "n1")
    look = await again.look()
    assert [home(each, look.takers) for each in look.unowned] == ["n1"]
    await again.not_known(table_id)
    [placed] = await again.census()
    assert len(placed.unknown_to) == 2
