"""What the relay reads and remembers in Postgres."""

from __future__ import annotations

from shared.bus.batch import Batch
from shared.log import Connection, read_blocks_on, read_partition_on

MAX_BLOCKS = 200
# At least what one append may have.
MAX_EVENTS = 1_000


async def batches_after(connection: Connection, partition: str, position: int) -> list[Batch]:
    """The next appends of a partition behind `position`, whole ones, in order."""
    blocks = await read_blocks_on(connection, partition, position, MAX_BLOCKS)
    if not blocks:
        return []
    fitting = [
        block for block in blocks if block.last_position - blocks[0].first_position < MAX_EVENTS
    ]
    first, last = fitting[0].first_position, fitting[-1].last_position
    events = await read_partition_on(connection, partition, first - 1, last - first + 1)
    return [
        Batch(
            partition,
            block.first_position,
            block.head,
            tuple(events[block.first_position - first : block.last_position - first + 1]),
        )
        for block in fitting
    ]


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
