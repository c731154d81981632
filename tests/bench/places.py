"""Where the benchmark runs: servers as in production (Postgres waits for the disk), own folders."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import psutil

from clients.api.house import House, find_house
from deploy.embedded_postgres import EmbeddedPostgres
from deploy.folder import HouseFolder
from deploy.house import House as OpenHouse
from deploy.program import free_port
from deploy.programs import DATABASE
from tests.servers import (
    PASSWORD,
    PostgresForTests,
    Running,
    nats_for_tests,
    remove,
    temporary_folder,
)

_POLL_S = 0.01
_LAG = """
    SELECT coalesce(sum(p.position - coalesce(c.position, 0)), 0)::bigint FROM log.partitions AS p
      LEFT JOIN {schema}.consumer_positions AS c ON c.partition = p.name
     WHERE p.position > 0 AND p.category = ANY ($1::text[])
"""


@asynccontextmanager
async def durable_postgres() -> AsyncIterator[PostgresForTests]:
    """A Postgres that waits for the disk at every commit."""
    folder = temporary_folder()
    server = EmbeddedPostgres(folder / "postgres", free_port(), PASSWORD)
    (folder / "postgres").mkdir()
    server.prepare()
    postgres = PostgresForTests(server.program(folder / "postgres.log"), server=server)
    await postgres.start_again()
    try:
        yield postgres
    finally:
        postgres.stop()
        remove(folder)


@asynccontextmanager
async def nats() -> AsyncIterator[Running]:
    """A NATS server with JetStream on disk."""
    folder = temporary_folder()
    running = nats_for_tests(folder)
    await running.start_again()
    try:
        yield running
    finally:
        running.stop()
        remove(folder)


class RunningHouse:
    """A whole house: every process that `croupier up` starts."""

    def __init__(self, folder: HouseFolder) -> None:
        self.folder = folder
        self.house: House = find_house(folder.file)
        port = folder.read()["ports"]["postgres"]
        self.keys = folder.keys.load()
        self.postgres = EmbeddedPostgres(folder.path / "postgres", port, self.keys.postgres)
        self.dsn = self.postgres.dsn(DATABASE)

    async def caught_up(self) -> None:
        """Waits until the wallet has settled and the audit has indexed all that is in the log."""
        connection = await asyncpg.connect(self.dsn)
        try:
            while await self._lag(connection):
                await asyncio.sleep(_POLL_S)
        finally:
            await connection.close()

    async def lag(self) -> int:
        """Events that the wallet or the audit have not applied yet, both together."""
        connection = await asyncpg.connect(self.dsn)
        try:
            return await self._lag(connection)
        finally:
            await connection.close()

    async def _lag(self, connection: asyncpg.Connection[asyncpg.Record]) -> int:
        wallet = await connection.fetchval(_LAG.format(schema="wallet"), ["table"])
        audit = await connection.fetchval(
            _LAG.format(schema="audit"), ["table", "shuffle", "wallet"]
        )
        return int(wallet + audit)

    def processor_s(self) -> dict[str, float]:
        """Seconds of the processor that each process has used so far, its children's included."""
        told = self.folder.read()["processes"]
        return {name: _family_s(psutil.Process(each["pid"])) for name, each in told.items()}


def _family_s(root: psutil.Process) -> float:
    """What a process and its children have used, those that have ended included."""
    times = root.cpu_times()
    used = times.user + times.system + times.children_user + times.children_system
    for child in root.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # Postgres ends a worker now and then
            used += sum(child.cpu_times()[:2])
    return float(used)


@asynccontextmanager
async def open_house() -> AsyncIterator[RunningHouse]:
    """A house of its own, opened and closed."""
    place = temporary_folder()
    folder = HouseFolder(place / "house")
    try:
        with folder.held():
            house = OpenHouse(folder)
            try:
                await house.open()
                yield RunningHouse(folder)
            finally:
                await house.close()
    finally:
        remove(place)
