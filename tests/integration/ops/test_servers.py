"""The embedded servers: made, killed, started again on the same port with the same data."""

from __future__ import annotations

import os
from pathlib import Path

import asyncpg
import nats
import psutil

from tests.servers import Database, PostgresForTests, Running


async def test_postgres_takes_connections_with_the_password_only(
    postgres: PostgresForTests,
) -> None:
    connection = await asyncpg.connect(postgres.server.dsn())
    try:
        assert await connection.fetchval("SHOW synchronous_commit") == "on"
        assert await connection.fetchval("SHOW unix_socket_directories") == ""
    finally:
        await connection.close()
    try:
        await asyncpg.connect(postgres.server.dsn(password="wrong"))
    except asyncpg.InvalidPasswordError:
        pass
    else:
        raise AssertionError("a wrong password was taken")


async def test_postgres_never_runs_as_root(postgres: PostgresForTests) -> None:
    assert postgres.process is not None
    assert psutil.Process(postgres.process.pid).uids().effective != 0
    if os.geteuid() != 0:
        assert postgres.server.data.stat().st_uid == os.geteuid()


async def test_committed_rows_survive_a_killed_postgres(own_postgres: PostgresForTests) -> None:
    connection = await asyncpg.connect(own_postgres.server.dsn())
    await connection.execute("CREATE TABLE kept (n int)")
    await connection.execute("INSERT INTO kept VALUES (7)")
    own_postgres.kill()
    connection.terminate()

    await own_postgres.start_again()

    connection = await asyncpg.connect(own_postgres.server.dsn())
    assert await connection.fetchval("SELECT n FROM kept") == 7
    await connection.close()


async def test_a_foreign_process_with_the_old_pid_is_no_obstacle(
    own_postgres: PostgresForTests,
) -> None:
    own_postgres.kill()
    pid_file: Path = own_postgres.server.data / "postmaster.pid"
    lines = pid_file.read_text().split("\n")
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]))

    await own_postgres.start_again()

    await (await asyncpg.connect(own_postgres.server.dsn())).close()


async def test_a_postgres_left_running_is_ended_before_a_new_one(
    own_postgres: PostgresForTests,
) -> None:
    orphan = own_postgres.process
    assert orphan is not None

    await own_postgres.start_again()

    assert orphan.poll() is not None
    await (await asyncpg.connect(own_postgres.server.dsn())).close()


async def test_a_stream_survives_a_killed_nats(own_nats: Running) -> None:
    client = await nats.connect(own_nats.server.url)  # type: ignore[union-attr]
    await client.jetstream().add_stream(name="KEPT", subjects=["kept.>"])
    await client.jetstream().publish("kept.one", b"1")
    await client.close()
    own_nats.kill()

    await own_nats.start_again()

    client = await nats.connect(own_nats.server.url)  # type: ignore[union-attr]
    assert (await client.jetstream().stream_info("KEPT")).state.messages == 1
    await client.close()


async def test_nats_left_running_is_ended_before_a_new_one(own_nats: Running) -> None:
    orphan = own_nats.process
    assert orphan is not None

    await own_nats.start_again()

    assert orphan.poll() is not None


async def test_each_test_has_a_database_of_its_own(
    postgres: PostgresForTests, database: Database
) -> None:
    other = await postgres.database()
    connection = await asyncpg.connect(database.dsn())
    await connection.execute("CREATE TABLE mine (n int)")
    await connection.close()
    connection = await asyncpg.connect(other.dsn())
    assert await connection.fetchval("SELECT to_regclass('mine')") is None
    await connection.close()
    await postgres.drop(other)
