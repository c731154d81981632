"""The SQL that is said to the log: one call for all appends, and what its answers mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, cast
from uuid import UUID

import asyncpg

from shared.log.hashing import event_hash
from shared.log.types import (
    Append,
    Appended,
    Block,
    CommandRecord,
    Head,
    Outcome,
    RecordedEvent,
)

# In quotes: the classes take parameters in their stubs only.
Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)

_APPEND = """
    SELECT outcomes, partitions, first_positions, first_versions, last_versions, recorded_ats
      FROM log.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
"""
_READ_STREAM = """
    SELECT partition, position, stream, version, type, schema_version, payload, hash, hand_id,
           causation_id, correlation_id, actor, recorded_at
      FROM log.events WHERE stream = $1 AND version > $2
     ORDER BY version LIMIT $3
"""
_READ_PARTITION = """
    SELECT partition, position, stream, version, type, schema_version, payload, hash, hand_id,
           causation_id, correlation_id, actor, recorded_at
      FROM log.events WHERE partition = $1 AND position > $2
     ORDER BY position LIMIT $3
"""
_READ_BLOCKS = """
    SELECT partition, first_position, count, append_id, recorded_at, head FROM log.blocks
     WHERE partition = $1 AND first_position > $2 ORDER BY first_position LIMIT $3
"""
_READ_HAND = """
    SELECT partition, position, stream, version, type, schema_version, payload, hash, hand_id,
           causation_id, correlation_id, actor, recorded_at
      FROM log.events WHERE hand_id = $1
     ORDER BY recorded_at, partition, position LIMIT 10000
"""
_FIND_BY_CAUSATION = """
    SELECT partition, position, stream, version, type, schema_version, payload, hash, hand_id,
           causation_id, correlation_id, actor, recorded_at
      FROM log.events WHERE causation_id = ANY ($1::uuid[])
     ORDER BY partition, position LIMIT 10000
"""
_FIND_COMMAND = """
    SELECT body_hash, first_version, last_version FROM log.commands
     WHERE stream = $1 AND caller = $2 AND command_id = $3
"""

# What `log.append` says of an append whose own id is in already. Another append with the same
# command is "same_command": whoever repeats an append must tell the two apart.
SAME_APPEND = "same"
_OUTCOMES = {
    "ok": Outcome.OK,
    "conflict": Outcome.CONFLICT,
    SAME_APPEND: Outcome.SAME,
    "same_command": Outcome.SAME,
    "body_differs": Outcome.BODY_DIFFERS,
}


def append_arguments(appends: Sequence[Append]) -> list[list[Any]]:
    """The parallel arrays of `log.append`. The hashing happens here, before any lock is held."""
    events = [event for append in appends for event in append.events]
    hashes = [
        b"".join(
            event_hash(append.stream, version, event)
            for version, event in enumerate(append.events, append.expected_version + 1)
        )
        for append in appends
    ]
    commands = [append.command for append in appends]
    return [
        [append.id for append in appends],
        [append.stream for append in appends],
        [append.expected_version for append in appends],
        [len(append.events) for append in appends],
        hashes,
        [command and command.caller for command in commands],
        [command and command.command_id for command in commands],
        [command and command.body_hash for command in commands],
        [event.type for event in events],
        [event.schema_version for event in events],
        [event.payload for event in events],
        [event.hand_id for event in events],
        [event.causation_id for event in events],
        [event.correlation_id for event in events],
        [event.actor for event in events],
    ]


async def call_append(
    connection: Connection, arguments: Sequence[Sequence[Any]], timeout_s: float | None = None
) -> list[tuple[str, Appended]]:
    """Calls `log.append`; each answer with the function's own word for its outcome."""
    row = await connection.fetchrow(_APPEND, *arguments, timeout=timeout_s)
    assert row is not None
    return [
        (
            word,
            Appended(
                outcome=_OUTCOMES[word],
                partition=partition or "",
                first_position=first_position or 0,
                first_version=first_version or 0,
                last_version=last_version or 0,
                recorded_at=recorded_at,
            ),
        )
        for word, partition, first_position, first_version, last_version, recorded_at in zip(
            *row, strict=True
        )
    ]


async def append_on(connection: Connection, appends: Sequence[Append]) -> list[Appended]:
    """Appends inside the caller's own transaction; the answers hold once that is committed.

    The heads stay locked until then. Whoever reads before it appends takes them first, with
    `lock_heads`. Ping the relay after the commit with the partitions of the answers.
    """
    if not appends:
        return []
    check_streams_once(appends)
    return [answer for _, answer in await call_append(connection, append_arguments(appends))]


async def lock_heads(connection: Connection, partitions: Iterable[str]) -> dict[str, Head]:
    """Locks the heads of `partitions`, in name order, until the transaction ends.

    All that the transaction will append to must be among them, else two transactions can wait for
    each other; Postgres then ends one of them (a deadlock, which is safe to try again).
    """
    rows = await connection.fetch(
        "SELECT name, position, head, recorded_at FROM log.lock_heads($1)", sorted(set(partitions))
    )
    return {row["name"]: Head(row["position"], row["head"], row["recorded_at"]) for row in rows}


async def partitions_of(connection: Connection, streams: Iterable[str]) -> dict[str, str]:
    """Where each stream lives; one without events: where it will, unless a partition is added."""
    rows = await connection.fetch(
        "SELECT s AS stream, log.partition_of(s) AS partition FROM unnest($1::text[]) AS s",
        sorted(set(streams)),
    )
    return {row["stream"]: row["partition"] for row in rows}


async def stream_versions(connection: Connection, streams: Iterable[str]) -> dict[str, int]:
    """How many events each of `streams` has; 0 for one that does not exist."""
    names = sorted(set(streams))
    rows = await connection.fetch(
        "SELECT stream, version FROM log.streams WHERE stream = ANY ($1::text[])", names
    )
    return {**dict.fromkeys(names, 0), **{row["stream"]: row["version"] for row in rows}}


async def read_stream_on(
    connection: Connection, stream: str, after_version: int, limit: int
) -> list[RecordedEvent]:
    """`EventLog.read_stream` on a connection of the caller's."""
    return recorded_events(await connection.fetch(_READ_STREAM, stream, after_version, limit))


async def read_partition_on(
    connection: Connection, partition: str, after_position: int, limit: int
) -> list[RecordedEvent]:
    """`EventLog.read_partition` on a connection of the caller's."""
    return recorded_events(
        await connection.fetch(_READ_PARTITION, partition, after_position, limit)
    )


async def read_blocks_on(
    connection: Connection, partition: str, after_position: int, limit: int
) -> list[Block]:
    """`EventLog.read_blocks` on a connection of the caller's."""
    rows = await connection.fetch(_READ_BLOCKS, partition, after_position, limit)
    return [Block(*row) for row in rows]


async def read_hand_on(connection: Connection, hand_id: str) -> list[RecordedEvent]:
    """`EventLog.read_hand` on a connection of the caller's."""
    return recorded_events(await connection.fetch(_READ_HAND, hand_id))


async def find_by_causation_on(
    connection: Connection, causes: Iterable[UUID]
) -> list[RecordedEvent]:
    """`EventLog.find_by_causation` on a connection of the caller's."""
    return recorded_events(await connection.fetch(_FIND_BY_CAUSATION, list(causes)))


async def heads_on(connection: Connection) -> dict[str, Head]:
    """`EventLog.heads` on a connection of the caller's."""
    rows = await connection.fetch(
        "SELECT name, position, head, recorded_at FROM log.partitions ORDER BY name"
    )
    return {row["name"]: Head(row["position"], row["head"], row["recorded_at"]) for row in rows}


async def find_command_on(
    connection: Connection, stream: str, caller: str, command_id: UUID
) -> CommandRecord | None:
    """`EventLog.find_command` on a connection of the caller's."""
    row = await connection.fetchrow(_FIND_COMMAND, stream, caller, command_id)
    return None if row is None else CommandRecord(*row)


def recorded_events(rows: Iterable[Sequence[Any] | asyncpg.Record]) -> list[RecordedEvent]:
    """Rows with the columns of `log.events` in the order of `RecordedEvent`."""
    return [RecordedEvent._make(cast("tuple[Any, ...]", row)) for row in rows]


def check_streams_once(appends: Sequence[Append]) -> None:
    """Refuses appends that name a stream twice, or an id twice."""
    if len({append.stream for append in appends}) != len(appends):
        raise ValueError("one append a stream in a call")
    if len({append.id for append in appends}) != len(appends):
        raise ValueError("two appends with one id")
