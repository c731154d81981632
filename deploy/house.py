"""The house: all processes on one machine, opened and closed in order, kept running in between."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import asyncpg
import structlog

from deploy.folder import HouseFolder, processes_of, service_of
from deploy.keeper import Keeper
from deploy.migrate import bring_up_to_date
from deploy.programs import DATABASE, Programs, end_orphans

_LOG_LIMIT_BYTES = 64 * 1024 * 1024
_LOG_CHECK_S = 10.0

T = TypeVar("T")

_log = structlog.get_logger()


class House:
    """A house in a folder that its maker holds (`HouseFolder.held`)."""

    def __init__(self, folder: HouseFolder, table_nodes: int = 1) -> None:
        end_orphans(folder)
        self._folder = folder
        self._processes = processes_of(table_nodes)
        self._ports = folder.choose_ports(table_nodes)
        self._keys = folder.keys.load()
        self._programs = Programs(folder, self._keys, self._ports)
        self._keepers: dict[str, Keeper] = {}
        self._trimming: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Starts Postgres and NATS, migrates, starts the services; returns when all serve.

        Raises `StartFailedError` and leaves it to `close` to end what had started.
        """
        for program, server in self._programs.servers():
            await self._start(Keeper(program, server.prepare, server.ready, self._tell))
        await self._migrate()
        try:
            async with asyncio.TaskGroup() as group:
                for name in self._processes:
                    service = service_of(name)
                    if service is None:
                        continue
                    program = self._programs.service(name, service)
                    ready = self._programs.ready(name)
                    keeper = Keeper(program, _nothing_to_prepare, ready, self._tell)
                    group.create_task(self._start(keeper))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        self._trimming = asyncio.create_task(self._trim_logs(), name="trim-logs")

    async def close(self) -> None:
        """Ends everything in the reverse order: who asks stops before who answers. Table nodes stop
        together, so that none waits to hand its tables to another."""
        if self._trimming is not None:
            self._trimming.cancel()
        tables = [name for name in self._keepers if service_of(name) == "table"]
        await asyncio.gather(*(self._stop(name) for name in tables))
        for name in reversed([name for name in self._keepers if name not in tables]):
            await self._stop(name)
        self._folder.write(self._ports, {})

    async def _stop(self, name: str) -> None:
        await self._keepers[name].stop()
        _log.info("process_stopped", process=name)

    async def _start(self, keeper: Keeper) -> None:
        self._keepers[keeper.program.name] = keeper
        await keeper.start()
        _log.info("process_up", process=keeper.program.name)

    async def _migrate(self) -> None:
        postgres = self._programs.postgres
        connection = await asyncpg.connect(postgres.dsn())
        try:
            if not await connection.fetchval(
                "SELECT true FROM pg_database WHERE datname = $1", DATABASE
            ):
                await connection.execute(f"CREATE DATABASE {DATABASE}")
        finally:
            await connection.close()
        applied = await bring_up_to_date(postgres.dsn(DATABASE), self._keys.roles)
        _log.info("database_up_to_date", applied=len(applied))

    def _tell(self) -> None:
        states = {name: keeper.snapshot() for name, keeper in self._keepers.items()}
        self._folder.write(self._ports, states)

    async def _trim_logs(self) -> None:
        while True:
            await asyncio.sleep(_LOG_CHECK_S)
            own = self._folder.log("house")
            kept = [keeper.program.log for keeper in self._keepers.values()]
            for log in (*kept, *([own] if own.exists() else [])):
                try:
                    trim(log, _LOG_LIMIT_BYTES)
                except OSError as error:
                    # Somebody has moved it, or the disk is full: it is looked at again.
                    _log.warning("log_not_trimmed", log=log.name, error=repr(error))


def trim(log: Path, limit_bytes: int) -> None:
    """Moves a log that is too long to `<name>.log.1`, in place of the last one there.

    The process that writes it has it open to append, and goes on at the beginning of the file.
    """
    if log.stat().st_size > limit_bytes:
        shutil.copyfile(log, log.with_suffix(".log.1"))
        os.truncate(log, 0)


def _nothing_to_prepare() -> None:
    """A service process keeps nothing on disk."""


async def keep_open(
    folder: HouseFolder,
    table_nodes: int,
    stopping: asyncio.Event,
    visit: Callable[[], Awaitable[T]],
) -> T | None:
    """Opens the house in `folder` with so many table nodes, awaits `visit()`, closes the house,
    whatever happens.

    `stopping` cuts the opening short; `visit` looks at it by itself. Returns what `visit` gave, or
    None if it did not come to it. Raises `HouseIsRunningError`, `StartFailedError`.
    """
    with folder.held():
        house = House(folder, table_nodes)
        opening = asyncio.create_task(house.open())
        told = asyncio.create_task(stopping.wait())
        try:
            await asyncio.wait({opening, told}, return_when=asyncio.FIRST_COMPLETED)
            if not opening.done():
                return None
            await opening
            return await visit()
        finally:
            for task in (opening, told):
                task.cancel()
            await asyncio.wait({opening, told})
            await house.close()
