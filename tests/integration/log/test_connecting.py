"""Which server is connected to, and what becomes of a connection that is held up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest

from shared.log import (
    Outcome,
    PostgresLog,
    connect,
    connecting,
    is_infrastructure,
    lock_heads,
    open_pool,
    session_settings,
)
from tests.logs import append
from tests.polling import eventually
from tests.servers import Database

_SLEEP = "SELECT pg_sleep(3600)"
_IDLE = "idle_in_transaction_session_timeout"
_ASLEEP = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
_ONE_SLEEPS = f"SELECT count(*) = 1 {_ASLEEP}"
# Also one that has been told to sleep and has not begun to: it would count among the next.
_END = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
    "WHERE datname = current_database() AND usename = 'croupier_table'"
)


@pytest.fixture
async def silent() -> AsyncIterator[int]:
    """The port of a server that takes connections and says nothing."""
    kept: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: kept.append(writer), "127.0.0.1", 0)
    yield int(server.sockets[0].getsockname()[1])
    for writer in kept:
        writer.close()
    server.close()


async def test_a_server_that_is_silent_is_passed_over(
    database: Database, silent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = asyncpg.connect

    async def hurried(dsn: str, **options: Any) -> Any:
        """The silent one is given up sooner than usual; the other one has its time."""
        if f":{silent}/" in dsn:
            options["timeout"] /= 10
        return await really(dsn, **options)

    monkeypatch.setattr(asyncpg, "connect", hurried)
    real = f"127.0.0.1:{database.server.port}"
    dsn = database.dsn("croupier_table").replace(real, f"127.0.0.1:{silent},{real}")
    connection = await connect(dsn + "?target_session_attrs=primary")
    assert await connection.fetchval("SELECT NOT pg_is_in_recovery()")
    await connection.close()
    with pytest.raises(Exception) as away:
        await connect(dsn.replace(f",{real}", ""))
    assert is_infrastructure(away.value)


async def test_behind_two_silent_servers_the_third_is_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody has the time to wait for both of them in one call, and most begin again and again."""
    tried: list[str] = []

    async def connect_to(dsn: str, **options: Any) -> Any:
        host = dsn.partition("@")[2].partition(":")[0]
        tried.append(host)
        if host != "three":
            await asyncio.Event().wait()
        return SimpleNamespace(_transport=SimpleNamespace(get_extra_info=lambda _: None))

    monkeypatch.setattr(asyncpg, "connect", connect_to)
    dsn = "postgresql://croupier:word@one:1,two:2,three:3/croupier"
    for _ in range(2):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await connect(dsn)
    await connect(dsn)
    assert tried == ["one", "two", "three"]


async def test_what_a_transaction_is_given_up_for_is_heard(database: Database) -> None:
    """Not that it could not be rolled back, or given back: its connection is gone."""
    pool = await open_pool(database.dsn("croupier_table"), 1)
    root = await asyncpg.connect(database.dsn())

    async def wait(timeout_s: float | None = None) -> None:
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute(_SLEEP, timeout=timeout_s)

    async def waits() -> bool:
        return bool(await root.fetchval(_ONE_SLEEPS))

    for waiting in (wait(0.1), asyncio.wait_for(wait(), 0.1), pool.execute(_SLEEP, timeout=0.1)):
        with pytest.raises(TimeoutError):
            await waiting
        await root.execute(_END)
    for waiting in (wait(), pool.execute(_SLEEP)):
        task = asyncio.ensure_future(waiting)
        await eventually(waits)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await root.execute(_END)
    assert await pool.fetchval("SELECT 1") == 1
    await root.close()
    await pool.close()


async def test_who_is_held_up_in_a_transaction_does_not_hold_up_the_others(
    database: Database, postgres_log: PostgresLog
) -> None:
    """A process that is paused with a partition's head in its hands."""
    connection = await connect(
        database.dsn("croupier_table"), server_settings=session_settings("held up")
    )
    await connection.transaction().start()
    await lock_heads(connection, ["table.0"])
    assert await connection.fetchval(f"SHOW {_IDLE}") == f"{connecting.IDLE_IN_TRANSACTION_S}s"
    # Sooner than usual, but not before it has what it is to be parted from.
    await connection.execute(f"SET LOCAL {_IDLE} = '1s'")
    [answer] = await postgres_log.append([append("table/a", 0)])
    assert answer.outcome is Outcome.OK
    with pytest.raises(Exception) as ended:
        await connection.fetchval("SELECT 1")
    assert is_infrastructure(ended.value)
    connection.terminate()
