"""The implementations of the log, and a way past the rules for tests that tamper."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from random import Random
from typing import TypeAlias

import asyncpg
import pytest

from shared.log import EventLog, MemoryLog, PostgresLog, open_pool
from tests.chaos.simulated.database import Database as SimulatedDatabase
from tests.chaos.simulated.database import FarLog, FarPool
from tests.chaos.simulated.loop import Process
from tests.chaos.simulated.wires import Wires
from tests.servers import Database

Root: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture(params=["postgres", "memory", "simulated"])
def log(request: pytest.FixtureRequest) -> EventLog:
    """Each implementation in turn: what holds for one holds for the others. The simulated one is
    what the processes of a simulated house have."""
    if request.param == "memory":
        return MemoryLog()
    if request.param == "simulated":
        database = Process("postgres")
        pool = FarPool(lambda: database, Wires(Random(1)))
        return FarLog(SimulatedDatabase(MemoryLog(), lambda: datetime.now(UTC)), pool)
    postgres_log: PostgresLog = request.getfixturevalue("postgres_log")
    return postgres_log


@pytest.fixture
async def postgres_log(database: Database) -> AsyncIterator[PostgresLog]:
    """The log in Postgres, as the table service has it."""
    pool = await open_pool(database.dsn("croupier_table"))
    async with PostgresLog(pool) as log:
        yield log
    await pool.close()


@pytest.fixture
async def root(database: Database) -> AsyncIterator[Root]:
    """A superuser's connection."""
    connection = await asyncpg.connect(database.dsn())
    yield connection
    await connection.close()
