"""The library `eventsourcing`, as fast as it goes: psycopg's C code, a function in the database, a
thread and a connection for every save under way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import urlsplit
from uuid import uuid4

from eventsourcing.persistence import StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore

_PAYLOAD = bytes(120)


@contextmanager
def recorder(dsn: str, connections: int) -> Iterator[PostgresApplicationRecorder]:
    """A recorder with its table in the database of `dsn`."""
    where = urlsplit(dsn)
    store = PostgresDatastore(
        dbname=where.path.removeprefix("/"),
        host=where.hostname or "",
        port=where.port or 0,
        user=where.username or "",
        password=where.password or "",
        pool_size=connections,
        enable_db_functions=True,
    )
    with store:
        made = PostgresApplicationRecorder(store)
        made.create_table()
        yield made


def save_rate(
    made: PostgresApplicationRecorder, writers: int, events: int, seconds: float
) -> float:
    """Saves a second of so many writers, each with an aggregate of its own, `events` a save."""
    until = time.perf_counter() + seconds

    def write(_: int) -> int:
        stream, version = uuid4(), 0
        while time.perf_counter() < until:
            made.insert_events(
                [
                    StoredEvent(stream, version + number, "BetPlaced", _PAYLOAD)
                    for number in range(events)
                ]
            )
            version += events
        return version // events

    with ThreadPoolExecutor(writers) as threads:
        return sum(threads.map(write, range(writers))) / seconds
