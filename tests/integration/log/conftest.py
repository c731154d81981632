"""The two implementations of the log, and a way past the rules for tests that tamper."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TypeAlias

import asyncpg
import pytest

from shared.log import EventLog, MemoryLog, PostgresLog, open_pool
from tests.servers import Database

Root: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture(params=["postgres", "memory"])
def log(request: pytest.FixtureRequest) -> EventLog:
    """Each implementation in turn: what holds for one holds for the other."""
    if request.param == "memory":
        return MemoryLog()
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
