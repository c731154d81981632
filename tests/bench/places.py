"""Where the benchmark runs: servers as in production (Postgres waits for the disk), own folders."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.request import urlopen

import asyncpg
import psutil

from clients.api.house import House, find_house
from deploy.embedded_nats import EmbeddedNats
from deploy.embedded_postgres import EmbeddedPostgres
from deploy.folder import HouseFolder
from deploy.house import House as OpenHouse
from deploy.program import free_port
from deploy.programs import DATABASE
from shared.bus.batch import STREAM
from shared.bus.stream import connect
from tests.servers import (
    PASSWORD,
    PostgresForTests,
    Running,
    nats_for_tests,
    remove,
    temporary_folder,
)

LOAD = "load"
"""This process, where the players are, among those of the house."""
_POLL_S = 0.01
_SIZES = """
    SELECT n.nspname, sum(pg_total_relation_size(c.oid))::bigint
      FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
     WHERE c.relkind = 'r' AND n.nspname IN ('log', 'tables', 'shuffle', 'wallet', 'audit')
     GROUP BY 1 ORDER BY 1
"""
_HEADS = "SELECT category, sum(position)::bigint FROM log.partitions GROUP BY 1 ORDER BY 1"
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
        ports = folder.read()["ports"]
        self.keys = folder.keys.load()
        self.postgres = EmbeddedPostgres(
            folder.path / "postgres", ports["postgres"], self.keys.postgres
        )
        self.nats = EmbeddedNats(folder.path / "nats", ports["nats"], self.keys.nats)
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

    async def bound_bus(self, most_bytes: int) -> None:
        """Lets the bus keep so much at most; it forgets the oldest."""
        client = await connect(self.nats.url, "bench")
        try:
            stream = client.jetstream()
            config = (await stream.stream_info(STREAM)).config
            await stream.update_stream(config, max_bytes=most_bytes)
        finally:
            await client.close()

    async def sizes(self) -> dict[str, int]:
        """Bytes of each schema with its indexes, of the bus, and the number of each category's
        events."""
        connection = await asyncpg.connect(self.dsn)
        try:
            sizes = {f"{schema}, bytes": size for schema, size in await connection.fetch(_SIZES)}
            heads = {f"{name} events": head for name, head in await connection.fetch(_HEADS)}
        finally:
            await connection.close()
        bus = (self.folder.path / "nats").rglob("*")
        return sizes | heads | {"bus, bytes": sum(file.stat().st_size for file in bus)}

    async def metrics(self, service: str) -> str:
        """What a service tells Prometheus."""
        [address] = self.folder.read()["metrics"][service]
        url = f"http://{address}/metrics"
        return await asyncio.to_thread(lambda: urlopen(url).read().decode())

    def processor_s(self) -> dict[str, float]:
        """Seconds of the processor that each process has used so far, its children's included; this
        one under `LOAD`."""
        told = self.folder.read()["processes"]
        used = {name: _family_s(psutil.Process(each["pid"])) for name, each in told.items()}
        return used | {LOAD: time.process_time()}


def _family_s(root: psutil.Process) -> float:
    """What a process and its children have used, those that have ended included."""
    times = root.cpu_times()
    used = times.user + times.system + times.children_user + times.children_system
    for child in root.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # Postgres ends a worker now and then
            used += sum(child.cpu_times()[:2])
    return float(used)


@asynccontextmanager
async def open_house(table_nodes: int = 1) -> AsyncIterator[RunningHouse]:
    """A house of its own, opened and closed."""
    place = temporary_folder()
    folder = HouseFolder(place / "house")
    try:
        with folder.held():
            house = OpenHouse(folder, table_nodes)
            try:
                await house.open()
                yield RunningHouse(folder)
            finally:
                await house.close()
    finally:
        remove(place)
