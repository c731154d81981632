"""How far a consumer has come: its row in the service's schema, moved with what it applies."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from shared.bus.tables import ConsumerTables
from shared.log import Connection, LogDivergedError, RecordedEvent, genesis


class Link(NamedTuple):
    """A block of the chain: where it begins, and the head after it; 0 and the genesis before the
    first."""

    first_position: int
    head: bytes


@dataclass(frozen=True, slots=True)
class Bookmark:
    """The last event that was applied, and its hash; 0 and None before the first.

    `link` is the block that ends with it, where that is known: one that a message brought, and
    whose head says that all before it is what the log has.
    """

    position: int
    hash: bytes | None
    link: Link | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Bookmarks:
    """The row of one consumer and partition."""

    tables: ConsumerTables
    consumer: str
    partition: str

    async def read(self, connection: Connection) -> tuple[Bookmark, datetime | None]:
        """Where the row stands, and when that event was recorded (None: there is none).

        Makes the row if it is not there.
        """
        await connection.execute(self.tables.add_bookmark, self.consumer, self.partition)
        row = await connection.fetchrow(self.tables.read_bookmark, self.consumer, self.partition)
        assert row is not None
        return Bookmark(row["position"], row["hash"]), row["recorded_at"]

    async def move(
        self, connection: Connection, held: Bookmark, last: Bookmark | RecordedEvent
    ) -> bool:
        """Moves the row from `held` to `last`; it stays locked until the transaction ends.

        That is the fence: False means that another replica has moved it meanwhile, or that the log
        has no such event as `last`, or no such block where a link is known; then nothing may be
        applied.
        """
        row = (self.consumer, self.partition, held.position, last.position, last.hash)
        link = last.link if isinstance(last, Bookmark) else None
        if link is None:
            return bool(await connection.fetchval(self.tables.move_bookmark, *row))
        return bool(await connection.fetchval(self.tables.move_bookmark_by_block, *row, *link))

    async def link(self, connection: Connection, held: Bookmark) -> Link | None:
        """The block of the log that ends with `held`; None where `held` lies inside of one."""
        if not held.position:
            return Link(0, genesis(self.partition))
        row = await connection.fetchrow(
            """
            SELECT first_position, count, head FROM log.blocks
             WHERE partition = $1 AND first_position <= $2 ORDER BY first_position DESC LIMIT 1
            """,
            self.partition,
            held.position,
        )
        if row is None or row["first_position"] + row["count"] - 1 != held.position:
            return None
        return Link(row["first_position"], row["head"])

    async def hold(self, connection: Connection, held: Bookmark) -> bool:
        """Locks the row as it is; False when it stands elsewhere than `held`."""
        row = await connection.fetchrow(self.tables.lock_bookmark, self.consumer, self.partition)
        return row is not None and row["position"] == held.position

    async def look(self, connection: Connection, held: Bookmark) -> int:
        """The position of the partition's head now.

        Raises `LogDivergedError` if the log no longer has the event that `held` says was applied.
        """
        row = await connection.fetchrow(
            """
            SELECT position,
                   (SELECT e.hash FROM log.events AS e
                     WHERE e.partition = name AND e.position = $2) AS hash
              FROM log.partitions WHERE name = $1
            """,
            self.partition,
            held.position,
        )
        head = 0 if row is None else int(row["position"])
        if held.position and (row is None or row["hash"] != held.hash):
            raise LogDivergedError(
                f"{self.consumer} applied another event at {self.partition}:{held.position} than "
                f"the log, which goes to {head}, holds there now"
            )
        return head
