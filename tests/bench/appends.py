"""The log's group commit beside the library `eventsourcing` and beside bare INSERTs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import asyncpg

from shared.log import Append, NewEvent, PostgresLog, event_hash, open_pool
from tests.bench.figures import Effort, Figure
from tests.bench.library import recorder, save_rate
from tests.bench.places import durable_postgres
from tests.servers import Database

WRITERS = 32
BATCH = 100
_POOL = 4
_RAW = """
    INSERT INTO raw (position, version, partition, stream, type, schema_version, payload, hash,
                     hand_id, causation_id, correlation_id, actor, recorded_at)
    SELECT *, clock_timestamp() FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[],
        $5::text[], $6::integer[], $7::bytea[], $8::bytea[], $9::text[], $10::uuid[], $11::uuid[],
        $12::text[])
"""


async def appends(effort: Effort) -> list[Figure]:
    """One event and a hundred a save, 32 under way, against the library."""
    figures = [
        Figure(
            "appends",
            f"appends a second: {WRITERS} streams, {events} event{'s' * (events > 1)} each",
            "1/s",
            "eventsourcing 9.5, psycopg binary, database functions",
            goal,
        )
        for events, goal in ((1, 20.0), (BATCH, 3.0))
    ]
    async with durable_postgres() as postgres:
        database = await postgres.database()
        with recorder(database.dsn(), WRITERS) as library:
            for _ in range(effort.turns):
                for figure, events in zip(figures, (1, BATCH), strict=True):
                    theirs = await asyncio.to_thread(
                        save_rate, library, WRITERS, events, effort.seconds
                    )
                    ours = await append_rate(database, events, effort.seconds)
                    figure.add(ours, theirs)
    return figures


async def inserts(effort: Effort) -> list[Figure]:
    """The same batches of a hundred against bare INSERTs of the same rows."""
    figure = Figure(
        "inserts",
        f"appends a second: {WRITERS} streams, {BATCH} events each",
        "1/s",
        f"INSERT ... unnest of the same rows, {_POOL} connections",
        0.5,
    )
    async with durable_postgres() as postgres:
        database = await postgres.database()
        root = await asyncpg.connect(database.dsn())
        await root.execute("CREATE TABLE raw (LIKE log.events INCLUDING ALL)")
        await root.close()
        for _ in range(effort.turns):
            bare = await _insert_rate(database, effort.seconds)
            figure.add(await append_rate(database, BATCH, effort.seconds), bare)
    return [figure]


async def append_rate(database: Database, events: int, seconds: float) -> float:
    """Appends a second of 32 writers, each with a stream of its own."""
    pool = await open_pool(database.dsn("croupier_table"), _POOL)
    run = uuid4().hex[:8]
    until = time.perf_counter() + seconds

    async def write(log: PostgresLog, stream: str) -> int:
        turn = 0
        while time.perf_counter() < until:
            await log.append([_append(stream, turn, events)])
            turn += 1
        return turn

    async with PostgresLog(pool) as log:
        counts = await asyncio.gather(*(write(log, f"table/{run}-{n}") for n in range(WRITERS)))
    await pool.close()
    return sum(counts) / seconds


def _append(stream: str, turn: int, events: int) -> Append:
    """Events as bets are: 120 bytes, in a hand, with cause and correlation."""
    cause, correlation = uuid4(), uuid4()
    hand = f"{stream}-{turn}"
    return Append(
        uuid4(),
        stream,
        turn * events,
        tuple(
            NewEvent("BetPlaced", bytes(120), "player:7f3a", 1, hand, cause, correlation)
            for _ in range(events)
        ),
    )


async def _insert_rate(database: Database, seconds: float) -> float:
    """INSERTs of a hundred rows a second, over as many connections as the log has. The rows are
    made beforehand: only what Postgres does is measured."""
    connections = [await asyncpg.connect(database.dsn()) for _ in range(_POOL)]
    started = time.perf_counter()

    async def write(connection: asyncpg.Connection[asyncpg.Record]) -> int:
        stream, turn = f"table/{uuid4().hex}", 0
        # A partition a connection: the key is (partition, position).
        columns = _columns(_append(stream, 0, BATCH), f"table.{stream[-8:]}")
        while time.perf_counter() < started + seconds:
            numbers = list(range(turn * BATCH + 1, (turn + 1) * BATCH + 1))
            await connection.execute(_RAW, numbers, numbers, *columns)
            turn += 1
        return turn

    counts = await asyncio.gather(*map(write, connections))
    passed = time.perf_counter() - started
    for connection in connections:
        await connection.close()
    return sum(counts) / passed


def _columns(append: Append, partition: str) -> Sequence[list[Any]]:
    events = append.events
    return (
        [partition] * BATCH,
        [append.stream] * BATCH,
        [each.type for each in events],
        [each.schema_version for each in events],
        [each.payload for each in events],
        [event_hash(append.stream, 1, each) for each in events],
        [each.hand_id for each in events],
        [each.causation_id for each in events],
        [each.correlation_id for each in events],
        [each.actor for each in events],
    )
