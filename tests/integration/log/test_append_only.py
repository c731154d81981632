"""Nobody changes the record, and nobody writes it but by the function."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import asyncpg
import pytest

from shared.log import append_on, lock_heads, open_pool
from shared.log.postgres import PostgresLog
from tests.integration.log.conftest import Root
from tests.logs import append, assert_sound, commanded
from tests.servers import Database

ROLES = [
    "croupier_table",
    "croupier_shuffle",
    "croupier_wallet",
    "croupier_audit",
    "croupier_relay",
    "croupier_auditor",
]
RECORD = ["events", "blocks", "commands"]
HEADS = ["partitions", "streams"]
CHANGES = {
    "update": "UPDATE log.{} SET {} = {}",
    "delete": "DELETE FROM log.{}",
    "truncate": "TRUNCATE log.{}",
}
A_COLUMN = {
    "events": "payload",
    "blocks": "head",
    "commands": "body_hash",
    "partitions": "head",
    "streams": "version",
    "writers": "category",
}


def change(kind: str, table: str) -> str:
    column = A_COLUMN[table]
    return CHANGES[kind].format(table, column, column)


@pytest.fixture
async def written(root: Root, database: Database) -> AsyncIterator[PostgresLog]:
    """A log with something in every table."""
    pool = await open_pool(database.dsn("croupier_table"))
    async with PostgresLog(pool) as log:
        await log.append([append("table/a", 0, b"1", b"2"), commanded("table/b", 0, uuid4())])
        before = await contents(root)
        yield log
        assert await contents(root) == before
        await assert_sound(log, "table.0")
    await pool.close()


async def contents(root: Root) -> list[list[asyncpg.Record]]:
    return [
        await root.fetch(f"SELECT * FROM log.{table} AS t ORDER BY t.*")
        for table in (*RECORD, *HEADS)
    ]


async def refused(connection: Root, statement: str) -> str:
    """The SQLSTATE with which a statement is refused."""
    with pytest.raises(asyncpg.PostgresError) as error:
        async with connection.transaction():
            await connection.execute(statement)
    return error.value.sqlstate or ""


@pytest.mark.parametrize("role", ROLES)
async def test_a_login_role_changes_nothing(
    written: PostgresLog, database: Database, role: str
) -> None:
    connection = await asyncpg.connect(database.dsn(role))
    for table in (*RECORD, *HEADS, "writers"):
        for kind in CHANGES:
            assert await refused(connection, change(kind, table)) == "42501", (table, kind)
        insert = f"INSERT INTO log.{table} SELECT * FROM log.{table}"
        assert await refused(connection, insert) == "42501", table
        for trick in ("DISABLE TRIGGER ALL", "OWNER TO CURRENT_USER"):
            assert await refused(connection, f"ALTER TABLE log.{table} {trick}") == "42501"
    for trick in (
        "SET session_replication_role = replica",
        "SET ROLE croupier_owner",
        "SET SESSION AUTHORIZATION postgres",
        "CREATE TABLE log.mine ()",
        "SELECT log.add_partition('table')",
    ):
        assert await refused(connection, trick) == "42501", trick
    await connection.close()


@pytest.mark.parametrize("replication_role", ["origin", "replica"])
@pytest.mark.parametrize("role", ["croupier_owner", "postgres"])
async def test_the_owner_and_a_superuser_change_nothing(
    written: PostgresLog, root: Root, role: str, replication_role: str
) -> None:
    await root.execute(f"SET session_replication_role = {replication_role}")
    await root.execute(f"SET ROLE {role}")
    for table in RECORD:
        for kind in CHANGES:
            assert await refused(root, change(kind, table)) == "LG001", (table, kind)
        assert await refused(root, f"{change('update', table)} WHERE false") == "LG001"
    for table in HEADS:
        for kind in ("delete", "truncate"):
            assert await refused(root, change(kind, table)) == "LG001", (table, kind)
    for backwards in (
        "UPDATE log.partitions SET position = position - 1 WHERE name = 'table.0'",
        "UPDATE log.partitions SET head = head",
        "UPDATE log.partitions SET position = position + 1, recorded_at = 'epoch'",
        "UPDATE log.streams SET version = version - 1",
        "UPDATE log.streams SET partition = 'table.1', version = version + 1",
    ):
        assert await refused(root, backwards) == "LG001", backwards
    await root.execute("RESET ROLE")


@pytest.mark.parametrize("table", RECORD)
async def test_no_way_in_through_a_parent_table(
    written: PostgresLog, root: Root, table: str
) -> None:
    columns = await root.fetchval(
        """
        SELECT string_agg(format('%I %s %s NOT NULL', a.attname,
                                 format_type(a.atttypid, a.atttypmod),
                                 CASE WHEN a.attcollation = 0 THEN '' ELSE 'COLLATE "C"' END), ', ')
          FROM pg_attribute AS a
         WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND a.attnotnull
        """,
        f"log.{table}",
    )
    await root.execute(f"CREATE TABLE log.parent ({columns})")
    await root.execute(f"ALTER TABLE log.{table} INHERIT log.parent")
    column = A_COLUMN[table]
    assert await refused(root, f"UPDATE log.parent SET {column} = {column}") == "LG001"
    assert await refused(root, "DELETE FROM log.parent") == "LG001"
    assert await refused(root, "TRUNCATE log.parent") == "LG001"


@pytest.mark.parametrize("role", ROLES)
async def test_a_role_writes_its_own_category_only(
    written: PostgresLog, database: Database, role: str
) -> None:
    own = {"croupier_table", "croupier_shuffle", "croupier_wallet", "croupier_audit"}
    connection = await asyncpg.connect(database.dsn(role))
    for category in ("table", "shuffle", "wallet", "audit"):
        mine = role in own and role == f"croupier_{category}"
        if mine:
            continue
        expected = "LG002" if role in own else "42501"
        with pytest.raises(asyncpg.PostgresError) as error:
            await append_on(connection, [append(f"{category}/x", 0)])
        assert error.value.sqlstate == expected
        with pytest.raises(asyncpg.PostgresError) as error:
            await lock_heads(connection, [f"{category}.0"])
        assert error.value.sqlstate == expected
        # An id that exists does not help either.
        if category == "table":
            with pytest.raises(asyncpg.PostgresError) as error:
                await append_on(connection, [append("table/a", 2)])
            assert error.value.sqlstate == expected
    await connection.close()


async def test_set_role_does_not_lend_a_category(written: PostgresLog, root: Root) -> None:
    """The session's user counts: here the superuser, who has no category."""
    await root.execute("SET ROLE croupier_table")
    with pytest.raises(asyncpg.PostgresError) as error:
        await append_on(root, [append("table/x", 0)])
    assert error.value.sqlstate == "LG002"
    await root.execute("RESET ROLE")


async def test_a_search_path_of_the_callers_does_not_matter(database: Database, root: Root) -> None:
    """A function of the caller's with the name of one that `append` uses is never called."""
    async with root.transaction():
        await root.execute("CREATE SCHEMA trap; GRANT ALL ON SCHEMA trap TO PUBLIC")
    connection = await asyncpg.connect(database.dsn("croupier_wallet"))
    await connection.execute(
        """
        CREATE FUNCTION trap.sha256(bytea) RETURNS bytea LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;
        SET search_path = trap, pg_catalog
        """
    )
    await append_on(connection, [append("wallet/x", 0)])
    await connection.close()
