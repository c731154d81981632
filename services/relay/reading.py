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
    SELECT e.partition, e.position, e.stream, e.version, e.type, e.schema_version, e.payload,
           e.hash, e.hand_id, e.causation_id, e.correlation_id, e.actor, e.recorded_at,
           b.first_position, b.count, b.head
      FROM (SELECT first_position, count, head FROM log.blocks
             WHERE partition = $1 AND first_position > $2
             ORDER BY first_position LIMIT $3) AS b
      JOIN log.events AS e ON e.partition = $1
       AND e.position BETWEEN b.first_position AND b.first_position + b.count - 1
     ORDER BY b.first_position, e.position LIMIT $4
"""
_EVENT_COLUMNS = 13


async def batches_after(connection: Connection, partition: str, position: int) -> list[Batch]:
    """The next appends of a partition behind `position`, whole ones, in order."""
    rows = await connection.fetch(_NEXT, partition, position, MAX_BLOCKS, MAX_EVENTS)
    batches = []
    at = 0
    while at < len(rows):
        *_, first, count, head = rows[at]
        of_block = rows[at : at + count]
        if len(of_block) < count:
            break  # cut off: it comes whole the next time
        events = recorded_events(row[:_EVENT_COLUMNS] for row in of_block)
        batches.append(Batch(partition, first, head, tuple(events)))
        at += count
    return batches


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
