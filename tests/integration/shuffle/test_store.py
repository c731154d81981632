"""What shuffle keeps beside the log, in Postgres and in a simulated house: both or neither."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from random import Random
from typing import TypeAlias
from uuid import uuid4

import pytest

from services.shuffle.storage import SeedGoneError, SeedUsedError, ShoeStore
from shared.log import Append, EventLog, MemoryLog, NewEvent, Outcome, PostgresLog, open_pool
from tests.chaos.simulated.database import Database as SimulatedDatabase
from tests.chaos.simulated.database import FarLog, FarPool, FarStore
from tests.chaos.simulated.loop import Process
from tests.chaos.simulated.wires import Wires
from tests.integration.shuffle.conftest import SEED_KEYS
from tests.servers import Database

Kept: TypeAlias = tuple[EventLog, ShoeStore | FarStore]

SEED = bytes(range(32))


@pytest.fixture
async def really_kept(module_database: Database) -> AsyncIterator[Kept]:
    """In Postgres."""
    pool = await open_pool(module_database.dsn("croupier_shuffle"))
    async with PostgresLog(pool) as log:
        yield log, ShoeStore(pool, SEED_KEYS)
    await pool.close()


@pytest.fixture(params=["postgres", "simulated"])
def kept(request: pytest.FixtureRequest) -> Kept:
    """A log and a store over the same database."""
    if request.param == "postgres":
        kept: Kept = request.getfixturevalue("really_kept")
        return kept
    process = Process("postgres")
    pool = FarPool(lambda: process, Wires(Random(1)))
    database = SimulatedDatabase(MemoryLog(), lambda: datetime.now(UTC))
    return FarLog(database, pool), FarStore(database, pool)


@pytest.fixture
def shoe() -> str:
    return f"shoe-{uuid4().hex}"


def append(shoe: str, version: int, kind: str = "ShoeOpened") -> Append:
    return Append(uuid4(), f"shuffle/{shoe}", version, (NewEvent(kind, b"", "test"),))


async def types(log: EventLog, shoe: str) -> list[str]:
    return [event.type for event in await log.read_stream(f"shuffle/{shoe}")]


async def test_an_opening_brings_its_seed(kept: Kept, shoe: str) -> None:
    log, store = kept
    opened = await store.append_opening(append(shoe, 0), shoe, SEED)
    assert opened.outcome is Outcome.OK
    assert await store.server_seed(shoe) == SEED
    assert shoe in await store.open_shoes("", 10_000)
    assert await types(log, shoe) == ["ShoeOpened"]


async def test_an_opening_that_conflicts_changes_nothing(kept: Kept, shoe: str) -> None:
    log, store = kept
    await store.append_opening(append(shoe, 0), shoe, SEED)
    again = await store.append_opening(append(shoe, 0), shoe, bytes(32))
    assert again.outcome is Outcome.CONFLICT
    assert await store.server_seed(shoe) == SEED
    assert await types(log, shoe) == ["ShoeOpened"]


async def test_the_same_opening_again_is_the_same(kept: Kept, shoe: str) -> None:
    log, store = kept
    opening = append(shoe, 0)
    await store.append_opening(opening, shoe, SEED)
    assert (await store.append_opening(opening, shoe, SEED)).outcome is Outcome.SAME
    assert await types(log, shoe) == ["ShoeOpened"]


async def test_a_players_seed_serves_once(kept: Kept, shoe: str) -> None:
    log, store = kept
    fingerprint = uuid4().bytes * 2
    await store.append_opening(append(shoe, 0), shoe, SEED)
    await store.append_player_seed(append(shoe, 1, "SeedOpened"), shoe, fingerprint)
    with pytest.raises(SeedUsedError):
        await store.append_player_seed(append(shoe, 2, "SeedOpened"), shoe, fingerprint)
    assert await types(log, shoe) == ["ShoeOpened", "SeedOpened"]


@pytest.mark.parametrize("published", [True, False])
async def test_a_retired_shoe_keeps_its_seed_only_while_it_is_secret(
    kept: Kept, shoe: str, published: bool
) -> None:
    log, store = kept
    await store.append_opening(append(shoe, 0), shoe, SEED)
    await store.append_retiring(append(shoe, 1, "ShoeRetired"), shoe, published)
    assert shoe not in await store.open_shoes("", 10_000)
    if published:
        with pytest.raises(SeedGoneError):
            await store.server_seed(shoe)
    else:
        assert await store.server_seed(shoe) == SEED
    assert await types(log, shoe) == ["ShoeOpened", "ShoeRetired"]


async def test_open_shoes_come_in_order_and_in_pages(kept: Kept, shoe: str) -> None:
    _, store = kept
    for number in (2, 1, 3):
        name = f"{shoe}-{number}"
        await store.append_opening(append(name, 0), name, SEED)
    assert await store.open_shoes(f"{shoe}-1", 1) == [f"{shoe}-2"]
    assert await store.open_shoes(f"{shoe}-0", 2) == [f"{shoe}-1", f"{shoe}-2"]
