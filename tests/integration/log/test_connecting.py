"""Which server is connected to, and what becomes of a connection that is held up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from shared.log import (
    Outcome,
    PostgresLog,
    connect,
    is_infrastructure,
    lock_heads,
    session_settings,
)
from tests.logs import append
from tests.servers import Database


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
    monkeypatch.setattr("shared.log.connecting.CONNECT_TIMEOUT_S", 0.3)
    real = f"127.0.0.1:{database.server.port}"
    dsn = database.dsn("croupier_table").replace(real, f"127.0.0.1:{silent},{real}")
    connection = await connect(dsn + "?target_session_attrs=primary")
    assert await connection.fetchval("SELECT NOT pg_is_in_recovery()")
    await connection.close()
    with pytest.raises(Exception) as away:
        await connect(dsn.replace(f",{real}", ""))
    assert is_infrastructure(away.value)


async def test_who_is_held_up_in_a_transaction_does_not_hold_up_the_others(
    database: Database, postgres_log: PostgresLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is paused with a partition's head in its hands."""
    monkeypatch.setattr("shared.log.connecting.IDLE_IN_TRANSACTION_S", 1)
    connection = await connect(
        database.dsn("croupier_table"), server_settings=session_settings("held up")
    )
    await connection.transaction().start()
    await lock_heads(connection, ["table.0"])
    [answer] = await postgres_log.append([append("table/a", 0)])
    assert answer.outcome is Outcome.OK
    with pytest.raises(Exception) as ended:
        await connection.fetchval("SELECT 1")
    assert is_infrastructure(ended.value)
    connection.terminate()
