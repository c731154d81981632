"""Fixtures that all tests share: real servers, fresh databases, no silent failure in a loop."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

# Before gRPC is there: its fork handlers can end a child before that runs initdb.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

import pytest
import structlog

from deploy import program
from tests.e2e.houses import HouseOnDisk
from tests.servers import (
    Database,
    PostgresForTests,
    Running,
    in_own_loop,
    nats_for_tests,
    postgres_for_tests,
    remove,
    temporary_folder,
)


def pytest_configure() -> None:
    """Tests take ports below those that houses take: one that is closed for a moment opens on its
    old ports again, where its clients look for it, as nobody has taken them meanwhile."""
    program._PORTS = range(10_000, program._PORTS.start)


@pytest.fixture(scope="session", autouse=True)
def plain_tracebacks() -> None:
    """What a service in the test's own loop logs of a fault holds it up: drawn in boxes, with all
    variables, for seconds, which is longer than a lease."""
    for each in structlog.get_config()["processors"]:
        if isinstance(each, structlog.dev.ConsoleRenderer):
            each.exception_formatter = structlog.dev.plain_traceback


@pytest.fixture(scope="session")
def server_folder() -> Iterator[Path]:
    """Where the session's servers keep their data and logs; removed at the end."""
    folder = temporary_folder()
    yield folder
    remove(folder)


@pytest.fixture(scope="session")
def postgres(server_folder: Path) -> Iterator[PostgresForTests]:
    """The session's Postgres server. A test that kills servers makes its own (`own_postgres`)."""
    server = postgres_for_tests(server_folder)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def nats_server(server_folder: Path) -> Iterator[Running]:
    """The session's NATS server. A test that kills servers makes its own (`own_nats`)."""
    server = nats_for_tests(server_folder)
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def database(postgres: PostgresForTests) -> AsyncIterator[Database]:
    """A fresh migrated database for one test."""
    fresh = await postgres.database()
    yield fresh
    await postgres.drop(fresh)


@pytest.fixture(scope="module")
def module_database(postgres: PostgresForTests) -> Iterator[Database]:
    """A fresh migrated database for the tests of one module together."""
    fresh = in_own_loop(postgres.database())
    yield fresh
    in_own_loop(postgres.drop(fresh))


@pytest.fixture
def own_folder() -> Iterator[Path]:
    """A folder with a short path for the servers of one test."""
    folder = temporary_folder()
    yield folder
    remove(folder)


@pytest.fixture
def own_postgres(own_folder: Path) -> Iterator[PostgresForTests]:
    """A started Postgres that the test may kill and start again."""
    server = postgres_for_tests(own_folder)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def own_nats(own_folder: Path) -> Iterator[Running]:
    """A started NATS server that the test may kill and start again."""
    server = nats_for_tests(own_folder)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def house() -> Iterator[HouseOnDisk]:
    """A house that is still closed; closed again at the end, whatever the test did."""
    folder = temporary_folder()
    made = HouseOnDisk(folder)
    yield made
    made.run_now("down")
    remove(folder)


@pytest.fixture(autouse=True)
async def no_unhandled_loop_exceptions() -> AsyncIterator[None]:
    """Fails a test in whose loop something raised that nobody looked at."""
    unhandled: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: unhandled.append(context))
    yield
    # A task's lost exception is only told when the task is collected.
    gc.collect(1)
    loop.set_exception_handler(None)
    unhandled = [context for context in unhandled if not _is_for_a_loop_that_is_gone(context)]
    assert not unhandled, f"unhandled in the event loop: {unhandled}"


def _is_for_a_loop_that_is_gone(context: dict[str, Any]) -> bool:
    """gRPC has one poller for all loops of a process: what comes for a loop that an earlier test
    has closed it cannot deliver, and complains of it in whichever loop runs now."""
    of_grpc = "PollerCompletionQueue" in repr(context.get("handle"))
    return of_grpc and str(context.get("exception")) == "Event loop is closed"
