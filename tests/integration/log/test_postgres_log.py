"""What only the log in Postgres has: partitions to add, locks to take, calls to share."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import asyncpg
import pytest

from shared.log import (
    Append,
    Outcome,
    PostgresLog,
    append_on,
    lock_heads,
    open_pool,
    partitions_of,
    stream_versions,
)
from tests.integration.log.conftest import Root
from tests.logs import append, assert_sound, event, payloads
from tests.servers import Database


async def test_appends_of_one_process_share_a_transaction(database: Database, root: Root) -> None:
    commits: list[frozenset[str]] = []
    pool = await open_pool(database.dsn("croupier_table"))
    async with PostgresLog(pool, commits.append) as log:
        answers = await asyncio.gather(*(log.append([append(f"table/{n}", 0)]) for n in range(40)))
    await pool.close()
    assert {answer[0].outcome for answer in answers} == {Outcome.OK}
    assert commits == [frozenset({"table.0"})]
    writers = await root.fetchval("SELECT count(DISTINCT xmin::text) FROM log.events")
    assert writers == 1


async def test_nobody_is_told_of_a_commit_that_moved_nothing(database: Database) -> None:
    commits: list[frozenset[str]] = []
    pool = await open_pool(database.dsn("croupier_table"))
    async with PostgresLog(pool, commits.append) as log:
        await log.append([append("table/a", 3)])
    await pool.close()
    assert commits == []


async def test_one_callers_foreign_stream_is_nobody_elses_error(postgres_log: PostgresLog) -> None:
    good, bad, also_good = await asyncio.gather(
        postgres_log.append([append("table/a", 0)]),
        postgres_log.append([append("wallet/a", 0)]),
        postgres_log.append([append("table/b", 0)]),
        return_exceptions=True,
    )
    assert not isinstance(good, BaseException)
    assert not isinstance(also_good, BaseException)
    assert isinstance(bad, asyncpg.PostgresError)
    assert bad.sqlstate == "LG002"
    await assert_sound(postgres_log, "table.0")


async def test_streams_stay_where_they_began_when_partitions_are_added(
    postgres_log: PostgresLog, root: Root
) -> None:
    old = [f"table/old-{n}" for n in range(20)]
    await postgres_log.append([append(stream, 0) for stream in old])
    assert await root.fetchval("SELECT log.add_partition('table')") == "table.1"
    new = [f"table/new-{n}" for n in range(20)]
    answers = await postgres_log.append(
        [*(append(stream, 1) for stream in old), *(append(stream, 0) for stream in new)]
    )
    assert {each.outcome for each in answers} == {Outcome.OK}
    assert {each.partition for each in answers[:20]} == {"table.0"}
    assert {each.partition for each in answers[20:]} == {"table.0", "table.1"}
    await assert_sound(postgres_log, "table.0")
    await assert_sound(postgres_log, "table.1")


async def test_a_partition_is_added_between_appends_not_during_one(
    database: Database, root: Root
) -> None:
    writer = await asyncpg.connect(database.dsn("croupier_table"))
    adding: asyncio.Task[str] | None = None
    async with writer.transaction():
        await append_on(writer, [append("table/a", 0)])
        await root.execute("SET lock_timeout = '50ms'")
        with pytest.raises(asyncpg.LockNotAvailableError):
            await root.fetchval("SELECT log.add_partition('table')")
        await root.execute("RESET lock_timeout")
        adding = asyncio.create_task(root.fetchval("SELECT log.add_partition('table')"))
    assert await adding == "table.1"
    await writer.close()


async def test_recorded_at_never_runs_backwards(postgres_log: PostgresLog, root: Root) -> None:
    """A head from the future, as a server's clock that was set back leaves it."""
    await root.execute("SELECT log.add_partition('table')")
    ahead = await root.fetchval(
        """
        INSERT INTO log.partitions (name, category, number, head, recorded_at)
        SELECT 'table.2', 'table', 2, head, clock_timestamp() + interval '1 hour'
          FROM log.partitions WHERE name = 'table.1' RETURNING recorded_at
        """
    )
    answers = await postgres_log.append([append(f"table/{n}", 0) for n in range(30)])
    late = [each for each in answers if each.partition == "table.2"]
    assert late
    assert {each.recorded_at for each in late} == {ahead}
    assert all(
        each.recorded_at is not None and each.recorded_at < ahead
        for each in answers
        if each.partition != "table.2"
    )


async def test_a_service_appends_inside_its_own_transaction(
    postgres_log: PostgresLog, database: Database
) -> None:
    connection = await asyncpg.connect(database.dsn("croupier_table"))
    transaction = connection.transaction()
    await transaction.start()
    [answer] = await append_on(connection, [append("table/a", 0, b"gone")])
    assert answer.outcome is Outcome.OK
    await transaction.rollback()
    assert await postgres_log.read_stream("table/a") == []
    async with connection.transaction():
        await append_on(connection, [append("table/a", 0, b"1"), append("table/b", 0, b"2")])
        [second] = await append_on(connection, [append("table/a", 1, b"3")])
        assert second.first_position == 3
        assert await postgres_log.read_stream("table/a") == []
    await connection.close()
    assert payloads(await assert_sound(postgres_log, "table.0")) == [b"1", b"2", b"3"]


async def test_who_locked_the_heads_first_reads_what_it_will_append_to(
    postgres_log: PostgresLog, database: Database
) -> None:
    await postgres_log.append([append("table/a", 0)])
    connection = await asyncpg.connect(database.dsn("croupier_table"))
    async with connection.transaction():
        heads = await lock_heads(connection, {"table.0"})
        assert heads["table.0"].position == 1
        competing = asyncio.create_task(postgres_log.append([append("table/a", 1, b"late")]))
        versions = await stream_versions(connection, ["table/a", "table/new"])
        assert versions == {"table/a": 1, "table/new": 0}
        [answer] = await append_on(connection, [append("table/a", versions["table/a"], b"first")])
        assert answer.outcome is Outcome.OK
        assert not competing.done()
    [lost] = await competing
    assert lost.outcome is Outcome.CONFLICT
    await connection.close()


async def test_partitions_of_tells_where_a_stream_will_begin(
    postgres_log: PostgresLog, database: Database, root: Root
) -> None:
    await postgres_log.append([append("table/old", 0)])
    for _ in range(3):
        await root.execute("SELECT log.add_partition('table')")
    streams = ["table/old", *(f"table/{n}" for n in range(10))]
    connection = await asyncpg.connect(database.dsn("croupier_table"))
    foreseen = await partitions_of(connection, streams)
    await connection.close()
    assert foreseen["table/old"] == "table.0"
    answers = await postgres_log.append([append(stream, 0) for stream in streams[1:]])
    assert [each.partition for each in answers] == [foreseen[stream] for stream in streams[1:]]


@pytest.mark.parametrize(
    "change",
    [
        {"streams": ["table/a b"]},
        {"streams": ["roulette/a"]},
        {"event_counts": [2]},
        {"event_counts": [0]},
        {"hashes": [b"short"]},
        {"expected_versions": [-1]},
        {"types": ["BetPlaced", "BetPlaced"]},
        {"ids": []},
    ],
    ids=str,
)
async def test_the_function_refuses_what_no_client_should_say(
    database: Database, change: dict[str, object]
) -> None:
    arguments: dict[str, object] = {
        "ids": [uuid4()],
        "streams": ["table/a"],
        "expected_versions": [0],
        "event_counts": [1],
        "hashes": [bytes(32)],
        "callers": [None],
        "command_ids": [None],
        "body_hashes": [None],
        "types": ["BetPlaced"],
        "schema_versions": [1],
        "payloads": [b""],
        "hand_ids": [None],
        "causation_ids": [None],
        "correlation_ids": [None],
        "actors": [""],
    }
    connection = await asyncpg.connect(database.dsn("croupier_table"))
    marks = ", ".join(f"${number}" for number in range(1, len(arguments) + 1))
    call = f"SELECT outcomes FROM log.append({marks})"
    with pytest.raises(asyncpg.PostgresError) as refused:
        await connection.execute(call, *{**arguments, **change}.values())
    assert refused.value.sqlstate == "LG003"
    await connection.execute(call, *arguments.values())
    await connection.close()


async def test_an_appends_size_is_bounded() -> None:
    with pytest.raises(ValueError, match="bytes of payload"):
        append("table/a", 0, bytes(600_000))
    with pytest.raises(ValueError, match="1 to 1000 events"):
        Append(uuid4(), "table/a", 0, tuple(event() for _ in range(1_001)))
    with pytest.raises(ValueError, match="1 to 1000 events"):
        Append(uuid4(), "table/a", 0, ())
