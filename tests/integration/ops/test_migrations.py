"""Migrations are applied once, in order, whole or not at all, and never changed afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from shared.ops.migrations import MigrationError, Source, load, migrate
from tests.servers import Database, PostgresForTests


@pytest.fixture
def sources(tmp_path: Path) -> list[Source]:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    (first / "0001_base.sql").write_text("CREATE TABLE base (n int PRIMARY KEY);")
    (first / "0002_row.sql").write_text("INSERT INTO base VALUES (1);")
    (second / "0001_more.sql").write_text("CREATE TABLE more (n int REFERENCES base);")
    return [Source("first", first), Source("second", second)]


@pytest.fixture
async def empty(postgres: PostgresForTests) -> AsyncIterator[Database]:
    fresh = await postgres.empty_database()
    yield fresh
    await postgres.drop(fresh)


async def count(empty: Database, table: str) -> int | None:
    connection = await asyncpg.connect(empty.dsn())
    try:
        if await connection.fetchval("SELECT to_regclass($1)", table) is None:
            return None
        found: int = await connection.fetchval(f"SELECT count(*) FROM {table}")
        return found
    finally:
        await connection.close()


async def test_files_are_applied_source_by_source_in_order_of_name(
    empty: Database, sources: list[Source]
) -> None:
    done = await migrate(empty.dsn(), load(sources))
    assert [f"{each.source}/{each.name}" for each in done] == [
        "first/0001_base.sql",
        "first/0002_row.sql",
        "second/0001_more.sql",
    ]
    assert await count(empty, "base") == 1


async def test_the_second_time_nothing_is_left_to_do(
    empty: Database, sources: list[Source]
) -> None:
    await migrate(empty.dsn(), load(sources))
    assert await migrate(empty.dsn(), load(sources)) == []
    assert await count(empty, "base") == 1


async def test_a_new_file_is_applied_to_an_older_database(
    empty: Database, sources: list[Source]
) -> None:
    await migrate(empty.dsn(), load(sources))
    (sources[0].folder / "0003_row.sql").write_text("INSERT INTO base VALUES (2);")
    assert [each.name for each in await migrate(empty.dsn(), load(sources))] == ["0003_row.sql"]
    assert await count(empty, "base") == 2


async def test_a_changed_file_is_refused_before_anything_is_done(
    empty: Database, sources: list[Source]
) -> None:
    await migrate(empty.dsn(), load(sources))
    (sources[0].folder / "0002_row.sql").write_text("INSERT INTO base VALUES (3);")
    (sources[1].folder / "0002_new.sql").write_text("CREATE TABLE newer ();")
    with pytest.raises(MigrationError, match=r"first/0002_row\.sql has changed"):
        await migrate(empty.dsn(), load(sources))
    assert await count(empty, "newer") is None


async def test_a_missing_file_is_refused(empty: Database, sources: list[Source]) -> None:
    await migrate(empty.dsn(), load(sources))
    (sources[1].folder / "0001_more.sql").unlink()
    with pytest.raises(MigrationError, match=r"second/0001_more\.sql is applied but unknown"):
        await migrate(empty.dsn(), load(sources))


async def test_a_file_that_comes_too_late_is_refused(
    empty: Database, sources: list[Source]
) -> None:
    await migrate(empty.dsn(), load(sources))
    (sources[0].folder / "0001_late.sql").write_text("CREATE TABLE late ();")
    with pytest.raises(MigrationError, match=r"first/0001_late\.sql is new"):
        await migrate(empty.dsn(), load(sources))


async def test_a_file_that_fails_leaves_nothing_of_itself(
    empty: Database, sources: list[Source]
) -> None:
    (sources[0].folder / "0003_bad.sql").write_text("CREATE TABLE half (); SELECT 1 / 0;")
    with pytest.raises(MigrationError, match=r"first/0003_bad\.sql: division by zero"):
        await migrate(empty.dsn(), load(sources))
    assert await count(empty, "half") is None
    assert await count(empty, "base") == 1
    (sources[0].folder / "0003_bad.sql").write_text("CREATE TABLE half ();")
    done = await migrate(empty.dsn(), load(sources))
    assert [each.name for each in done] == ["0003_bad.sql", "0001_more.sql"]


async def test_two_at_the_same_time_take_turns(empty: Database, sources: list[Source]) -> None:
    both = await asyncio.gather(
        *(migrate(empty.dsn(), load(sources)) for _ in range(2)),
    )
    assert sorted(len(done) for done in both) == [0, 3]
    assert await count(empty, "base") == 1
