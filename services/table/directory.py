"""Live nodes and who has which table, in Postgres by its clock (architecture, 5)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg


@dataclass(frozen=True, slots=True)
class Placed:
    """A table in the directory: its owner's name and process, None where it has none that lives."""

    table_id: str
    owner: str | None
    incarnation: UUID | None
    epoch: int


@dataclass(frozen=True, slots=True)
class Census:
    """Who lives, and all open tables, at one moment of the database's clock."""

    nodes: tuple[str, ...]
    placed: tuple[Placed, ...]


def preferred_node(table_id: str, nodes: Iterable[str]) -> str | None:
    """Rendezvous hashing: the node with the highest score for the table (Thaler and Ravishankar,
    1998). When a node comes or goes only its own tables move."""
    return max(nodes, key=lambda node: _score(table_id, node), default=None)


def _score(table_id: str, node: str) -> bytes:
    return hashlib.sha256(f"{node}\0{table_id}".encode()).digest()


_HEARTBEAT = """
INSERT INTO tables.nodes (node, incarnation, address, lease_until, draining)
VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4), $5)
ON CONFLICT (node) DO UPDATE SET
    incarnation = excluded.incarnation, address = excluded.address,
    lease_until = excluded.lease_until, draining = excluded.draining
"""

_DISCOVER = """
INSERT INTO tables.directory (table_id)
SELECT split_part(stream, '/', 2) FROM log.streams WHERE stream LIKE 'table/%'
ON CONFLICT DO NOTHING
"""

_CENSUS = """
SELECT d.table_id, n.node AS owner, n.incarnation, d.epoch
FROM tables.directory d
LEFT JOIN tables.nodes n
    ON n.node = d.owner AND n.incarnation = d.incarnation AND n.lease_until > clock_timestamp()
WHERE NOT d.closed
"""

_LIVE = """
SELECT node FROM tables.nodes WHERE lease_until > clock_timestamp() AND NOT draining ORDER BY node
"""

_CLAIMED = """
INSERT INTO tables.directory (table_id, owner, incarnation, epoch) VALUES ($1, $2, $3, $4)
ON CONFLICT (table_id) DO UPDATE SET
    owner = excluded.owner, incarnation = excluded.incarnation, epoch = excluded.epoch
WHERE tables.directory.epoch <= excluded.epoch
"""

_RELEASED = """
UPDATE tables.directory SET owner = NULL, incarnation = NULL
WHERE table_id = ANY($1) AND owner = $2 AND incarnation = $3
"""


class Directory:
    """The directory as one node uses it. Raises what asyncpg raises when the database is away."""

    def __init__(self, pool: asyncpg.Pool[Any], node: str, incarnation: UUID, address: str) -> None:
        self._pool = pool
        self._node = node
        self._incarnation = incarnation
        self._address = address

    async def heartbeat(self, lease_ttl_s: float, draining: bool) -> None:
        """Says that this node lives for `lease_ttl_s` more."""
        await self._pool.execute(
            _HEARTBEAT, self._node, self._incarnation, self._address, lease_ttl_s, draining
        )

    async def discover(self) -> None:
        """Enters tables that the log has and the directory has not."""
        await self._pool.execute(_DISCOVER)

    async def discovered(self, table_id: str) -> None:
        """Enters a new table, owned by nobody yet."""
        await self._pool.execute(
            "INSERT INTO tables.directory (table_id) VALUES ($1) ON CONFLICT DO NOTHING", table_id
        )

    async def census(self) -> Census:
        """Live nodes that take tables, and all open tables with the owner that lives."""
        async with self._pool.acquire() as connection:
            live = await connection.fetch(_LIVE)
            rows = await connection.fetch(_CENSUS)
        placed = tuple(
            Placed(row["table_id"], row["owner"], row["incarnation"], row["epoch"]) for row in rows
        )
        return Census(tuple(row["node"] for row in live), placed)

    async def claimed(self, table_id: str, epoch: int) -> None:
        """Says that this node has the table, after the log has said so."""
        await self._pool.execute(_CLAIMED, table_id, self._node, self._incarnation, epoch)

    async def released(self, table_ids: Sequence[str]) -> None:
        """Says that this node has these tables no longer."""
        await self._pool.execute(_RELEASED, list(table_ids), self._node, self._incarnation)

    async def closed(self, table_id: str) -> None:
        """Says that nothing will happen at the table any more."""
        await self._pool.execute(
            "UPDATE tables.directory SET closed = true WHERE table_id = $1", table_id
        )

    async def address_of(self, table_id: str) -> tuple[str, str, int] | None:
        """Owner, its address and epoch, of a table whose owner lives; else None."""
        row = await self._pool.fetchrow(
            """
            SELECT n.node, n.address, d.epoch FROM tables.directory d JOIN tables.nodes n
                ON n.node = d.owner AND n.incarnation = d.incarnation
            WHERE d.table_id = $1 AND n.lease_until > clock_timestamp()
            """,
            table_id,
        )
        return None if row is None else (row["node"], row["address"], row["epoch"])

    async def gone(self) -> None:
        """Ends this node's lease: others may take its tables at once."""
        await self._pool.execute(
            "DELETE FROM tables.nodes WHERE node = $1 AND incarnation = $2",
            self._node,
            self._incarnation,
        )
