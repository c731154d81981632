"""How fast the log takes appends, against a bare INSERT of the same rows:
`python -m tests.bench.log_append`. Postgres runs with fsync, as it does in production."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import uuid4

import asyncpg

from deploy.embedded_postgres import EmbeddedPostgres
from deploy.program import free_port
from shared.log import Append, CommandKey, NewEvent, PostgresLog, event_hash, open_pool
from shared.log.statements import append_arguments, call_append
from tests.servers import PASSWORD, Database, PostgresForTests, remove, temporary_folder

MEASURE_S = 3.0
CALLS = 150
_RAW = """
    INSERT INTO raw (position, version, partition, stream, type, schema_version, payload, hash,
                     hand_id, causation_id, correlation_id, actor, recorded_at)
    SELECT *, clock_timestamp() FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[],
        $5::text[], $6::integer[], $7::bytea[], $8::bytea[], $9::text[], $10::uuid[], $11::uuid[],
        $12::text[])
"""


def event(hand: str) -> NewEvent:
    """As a bet is: 120 bytes, in a hand, with cause and correlation."""
    return NewEvent("BetPlaced", bytes(120), "player:7f3a", 1, hand, uuid4(), uuid4())


def call_of(streams: Sequence[str], events: int, turn: int, *, command: bool) -> list[Append]:
    """One append of `events` events to each of `streams`, which have had `turn` such before."""
    return [
        Append(
            uuid4(),
            stream,
            turn * events,
            tuple(event(f"{stream}-{turn}") for _ in range(events)),
            CommandKey("player:7f3a", uuid4(), bytes(32)) if command else None,
        )
        for stream in streams
    ]


async def median_ms(call: Callable[[int], Awaitable[object]]) -> float:
    """The median of many calls, the first few not counted."""
    times = []
    for turn in range(CALLS):
        started = time.perf_counter()
        await call(turn)
        times.append(time.perf_counter() - started)
    return statistics.median(times[10:]) * 1e3


async def one_call(dsn: str, streams: int, events: int, *, command: bool = False) -> float:
    """`log.append` by itself, hashing included."""
    connection = await asyncpg.connect(dsn)
    run = uuid4().hex[:8]
    names = [f"table/{run}-{number}" for number in range(streams)]
    calls = [call_of(names, events, turn, command=command) for turn in range(CALLS)]

    async def call(turn: int) -> None:
        await call_append(connection, append_arguments(calls[turn]))

    spent = await median_ms(call)
    await connection.close()
    return spent


async def bare_insert(dsn: str, rows: int) -> float:
    """The same rows into a table like `log.events`, indexes and checks included."""
    connection = await asyncpg.connect(dsn)
    await connection.execute("CREATE TABLE raw (LIKE log.events INCLUDING ALL)")
    arguments: list[list[list[Any]]] = []
    for turn in range(CALLS):
        [append] = call_of(["table/raw"], rows, turn, command=False)
        first = turn * rows + 1
        events = append.events
        arguments.append(
            [
                list(range(first, first + rows)),
                list(range(first, first + rows)),
                ["table.0"] * rows,
                [append.stream] * rows,
                [each.type for each in events],
                [each.schema_version for each in events],
                [each.payload for each in events],
                [event_hash(append.stream, 1, each) for each in events],
                [each.hand_id for each in events],
                [each.causation_id for each in events],
                [each.correlation_id for each in events],
                [each.actor for each in events],
            ]
        )

    async def call(turn: int) -> None:
        await connection.execute(_RAW, *arguments[turn])

    spent = await median_ms(call)
    await connection.execute("DROP TABLE raw")
    await connection.close()
    return spent


async def group_commit(dsn: str, streams: int) -> tuple[float, float]:
    """Appends a second, and the median wait in ms, of writers that append one event at a time."""
    pool = await open_pool(dsn)
    waits: list[float] = []
    until = time.perf_counter() + MEASURE_S
    run = uuid4().hex[:8]

    async def write(log: PostgresLog, stream: str) -> None:
        turn = 0
        while (started := time.perf_counter()) < until:
            await log.append(call_of([stream], 1, turn, command=True))
            waits.append(time.perf_counter() - started)
            turn += 1

    async with PostgresLog(pool) as log:
        await asyncio.gather(*(write(log, f"table/{run}-{n}") for n in range(streams)))
    await pool.close()
    return len(waits) / MEASURE_S, statistics.median(waits) * 1e3


async def measure(database: Database) -> None:
    dsn = database.dsn("croupier_table")
    raw = await bare_insert(database.dsn(), 100)
    print(f"bare INSERT ... unnest of 100 rows       {raw:7.2f} ms")
    whole = await one_call(dsn, 1, 100)
    print(f"log.append, 1 append of 100 events       {whole:7.2f} ms  {raw / whole:.2f} of it")
    many = await one_call(dsn, 100, 1)
    print(f"log.append, 100 appends of 1 event       {many:7.2f} ms  {raw / many:.2f} of it")
    few = await one_call(dsn, 32, 1)
    print(f"log.append, 32 appends of 1 event        {few:7.2f} ms")
    few = await one_call(dsn, 32, 1, command=True)
    print(f"log.append, 32 appends with commands     {few:7.2f} ms")
    one = await one_call(dsn, 1, 1)
    print(f"log.append, 1 append of 1 event          {one:7.2f} ms")
    for streams in (1, 32, 128):
        rate, wait = await group_commit(dsn, streams)
        print(f"group commit, {streams:3} writers  {rate:8.0f} appends/s {wait:7.2f} ms each")


def main() -> None:
    folder = temporary_folder()
    server = EmbeddedPostgres(folder / "postgres", free_port(), PASSWORD)
    (folder / "postgres").mkdir()
    server.prepare()
    postgres = PostgresForTests(server.program(folder / "postgres.log"), server=server)
    postgres.start()
    try:
        asyncio.run(_with_database(postgres))
    finally:
        postgres.stop()
        remove(folder)


async def _with_database(postgres: PostgresForTests) -> None:
    await measure(await postgres.database())


if __name__ == "__main__":
    main()
