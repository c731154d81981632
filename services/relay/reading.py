"""What the relay reads and remembers in Postgres."""

from __future__ import annotations

from shared.bus.batch import Batch
from shared.log import Connection
from shared.log.statements import recorded_events

MAX_BLOCKS = 200
# At least what one append may have.
MAX_EVENTS = 1_000
# Both in one round trip: at a partition where little happens that is most of what a message costs.
_NEXT = """
    WITH blocks AS MATERIALIZED (
        SELECT first_position, count, head FROM log.blocks
         WHERE partition = $1 AND first_position > $2 ORDER BY first_position LIMIT $3
    ), events AS MATERIALIZED (
        SELECT partition, position, stream, version, type, schema_version, payload, hash, hand_id,
               causation_id, correlation_id, actor, recorded_at
          FROM log.events
         WHERE partition = $1 AND position > $2
           AND position < (SELECT max(first_position + count) FROM blocks)
         ORDER BY position LIMIT $4
    )
    SELECT e.*, b.count, b.head
      FROM events AS e LEFT JOIN blocks AS b ON b.first_position = e.position
     ORDER BY e.position
"""


async def batches_after(
    connection: Connection, partition: str, position: int
) -> tuple[list[Batch], bool]:
    """The next appends of a partition behind `position`, whole ones, in order; and whether a bound
    cut them off, so that there are more."""
    rows = await connection.fetch(_NEXT, partition, position, MAX_BLOCKS, MAX_EVENTS)
    batches = []
    at = 0
    while at < len(rows):
        # The first event of an append has the append's own columns beside it.
        *_, count, head = rows[at]
        events = recorded_events(row[:-2] for row in rows[at : at + count])
        if len(events) < count:
            break  # cut off: it comes whole the next time
        batches.append(Batch(partition, events[0].position, head, tuple(events)))
        at += count
    return batches, len(rows) == MAX_EVENTS or len(batches) == MAX_BLOCKS


async def read_position(connection: Connection, partition: str) -> int:
    """Up to where this partition is known to be confirmed: never behind its head."""
    position = await connection.fetchval(
        """
        SELECT least(p.position, r.position) FROM log.partitions AS p
          JOIN relay.positions AS r ON r.partition = p.name WHERE p.name = $1
        """,
        partition,
    )
    return int(position or 0)


async def save_position(connection: Connection, partition: str, position: int) -> None:
    """Remembers how far this partition is confirmed."""
    await connection.execute(
        """
        INSERT INTO relay.positions AS r (partition, position) VALUES ($1, $2)
        ON CONFLICT (partition) DO UPDATE
           SET position = excluded.position, moved_at = clock_timestamp()
        """,
        partition,
        position,
    )
