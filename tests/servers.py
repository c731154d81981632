"""Real servers for tests: one Postgres and one NATS a session, a fresh database a test."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import asyncpg

from deploy.embedded_nats import EmbeddedNats
from deploy.embedded_postgres import EmbeddedPostgres, binary
from deploy.migrate import LOGIN_ROLES, bring_up_to_date
from deploy.program import Program, free_port
from tests.network import Host

# Test servers listen on 127.0.0.1 only and hold nothing: one word for all their users.
PASSWORD = "for-tests-only"
TEMPLATE = "croupier_template"
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0

T = TypeVar("T")

_numbers = itertools.count(1)


@dataclass
class Running:
    """A server process that a test may stop, kill and start again on the same port and data."""

    program: Program
    server: EmbeddedPostgres | EmbeddedNats
    process: subprocess.Popen[bytes] | None = None
    within: Callable[[], AbstractContextManager[None]] = nullcontext

    def start(self) -> None:
        """Starts the server and waits until it serves."""
        self._begin()
        in_own_loop(self.server.ready(START_TIMEOUT_S))

    async def start_again(self) -> None:
        """The same from inside a running loop, after `kill` or `stop`."""
        self._begin()
        await self.server.ready(START_TIMEOUT_S)

    def _begin(self) -> None:
        self.server.prepare()
        with self.within():
            self.process = self.program.start()

    def kill(self) -> None:
        """kill -9, and waits for the end."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """The clean stop, and waits for the end."""
        self._end(self.program.stop_signal)

    def _end(self, number: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(number)
        self.process.wait(STOP_TIMEOUT_S)
        self.process = None


@dataclass(frozen=True)
class Database:
    """A migrated database of one test: `dsn()` for the superuser, `dsn("croupier_table")` for a
    service's role."""

    server: EmbeddedPostgres
    name: str

    def dsn(self, role: str = "postgres") -> str:
        return self.server.dsn(self.name, role, PASSWORD)


@dataclass
class PostgresForTests(Running):
    """The session's Postgres. A database is cloned from a template that is migrated once."""

    server: EmbeddedPostgres = field(kw_only=True)
    migrated: bool = False

    async def database(self) -> Database:
        """A fresh migrated database."""
        if not self.migrated:
            await self._create(TEMPLATE, "template1")
            await bring_up_to_date(self.server.dsn(TEMPLATE), dict.fromkeys(LOGIN_ROLES, PASSWORD))
            self.migrated = True
        return await self._create(f"test_{next(_numbers)}", TEMPLATE)

    async def empty_database(self) -> Database:
        """A fresh database without anything in it."""
        return await self._create(f"test_{next(_numbers)}", "template1")

    async def copy_of(self, database: Database) -> Database:
        """A database with all that is in another one, to which nobody is connected now."""
        return await self._create(f"test_{next(_numbers)}", database.name)

    async def _create(self, name: str, template: str) -> Database:
        connection = await asyncpg.connect(self.server.dsn())
        try:
            await connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        finally:
            await connection.close()
        return Database(self.server, name)

    async def drop(self, database: Database) -> None:
        """Drops a test's database, whoever is still connected."""
        connection = await asyncpg.connect(self.server.dsn())
        try:
            await connection.execute(f"DROP DATABASE {database.name} WITH (FORCE)")
        finally:
            await connection.close()


def postgres_for_tests(folder: Path, host: Host | None = None) -> PostgresForTests:
    """A Postgres whose writes need not survive a power cut (a killed server loses nothing)."""
    server = EmbeddedPostgres(
        folder / "postgres",
        free_port(),
        PASSWORD,
        {"fsync": "off", "full_page_writes": "off", "max_connections": "300"},
        _address(host),
    )
    folder.joinpath("postgres").mkdir()
    server.prepare()
    program = server.program(folder / "postgres.log")
    return PostgresForTests(program, server=server, within=_inside(host))


def standby_of(primary: PostgresForTests, folder: Path) -> PostgresForTests:
    """A standby that follows `primary`, as soon as it is started."""
    return _copied(primary, folder, "standby", None, "-R")


def twin_of(other: PostgresForTests, folder: Path, host: Host | None = None) -> PostgresForTests:
    """A server of its own with all that is in `other` now: quicker than to make and migrate one."""
    twin = _copied(other, folder, "twin", host)
    twin.migrated = other.migrated
    return twin


def _copied(
    other: PostgresForTests, folder: Path, name: str, host: Host | None, *options: str
) -> PostgresForTests:
    server = EmbeddedPostgres(
        folder / name, free_port(), PASSWORD, other.server.settings, _address(host)
    )
    account = other.program.user
    server.data.mkdir(parents=True, mode=0o700)
    if account is not None:
        folder.chmod(0o711)
        os.chown(server.data, *account)
    where = ("-D", str(server.data), "-d", other.server.dsn())
    subprocess.run(
        (str(binary("pg_basebackup")), *where, "-c", "fast", "--no-sync", *options),
        check=True,
        capture_output=True,
        user=account[0] if account else None,
        group=account[1] if account else None,
        extra_groups=[] if account else None,
    )
    program = server.program(folder / f"{name}.log")
    return PostgresForTests(program, server=server, within=_inside(host))


def nats_for_tests(folder: Path, host: Host | None = None) -> Running:
    """A NATS server with JetStream."""
    server = EmbeddedNats(folder / "nats", free_port(), PASSWORD, _address(host))
    return Running(server.program(folder / "nats.log"), server, within=_inside(host))


def _address(host: Host | None) -> str:
    return host.address if host else "127.0.0.1"


def _inside(host: Host | None) -> Callable[[], AbstractContextManager[None]]:
    return host.inside if host else nullcontext


def temporary_folder() -> Path:
    """A folder with a short path, which the account that Postgres runs under can reach (pytest's
    own are closed to others)."""
    return Path(tempfile.mkdtemp(prefix="croupier-"))


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def in_own_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine from a fixture that is not async, whatever loop the tests have."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.close()
