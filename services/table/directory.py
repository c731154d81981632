"""Live nodes and who has which table, in Postgres by its clock (architecture, 5)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg

from shared.log import on_connection
from shared.log.patience import Pool


@dataclass(frozen=True, slots=True)
class Placed:
    """An open table in the directory: its owner and where that is reached, None where it has none
    that lives."""

    table_id: str
    owner: str | None
    address: str | None
    epoch: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where one table is: the live node that owns it (None: nobody), and how to reach that."""

    owner: str | None
    address: str | None
    epoch: int
    closed: bool


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
SELECT d.table_id, n.node AS owner, n.address, d.epoch
FROM tables.directory d
LEFT JOIN tables.nodes n
    ON n.node = d.owner AND n.incarnation = d.incarnation AND n.lease_until > clock_timestamp()
WHERE NOT d.closed
"""

_LIVE = """
SELECT node FROM tables.nodes WHERE lease_until > clock_timestamp() AND NOT draining ORDER BY node
"""

_PEERS = """
SELECT address FROM tables.nodes WHERE lease_until > clock_timestamp() AND node <> $1 ORDER BY node
"""

_PLACE = """
SELECT d.closed, d.epoch, n.node, n.address
FROM tables.directory d
LEFT JOIN tables.nodes n
    ON n.node = d.owner AND n.incarnation = d.incarnation AND n.lease_until > clock_timestamp()
WHERE d.table_id = $1
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

GIVE_UP_AFTER_S = 2.0
CALL_TIMEOUT_S = 2.0


class Directory:
    """The directory as one node uses it. Every method may be repeated without harm, and raises
    `LOG_UNAVAILABLE` when the database is away."""

    def __init__(self, pool: Pool, node: str, incarnation: UUID, address: str) -> None:
        self._pool = pool
        self._node = node
        self._incarnation = incarnation
        self._address = address

    async def heartbeat(self, lease_ttl_s: float, draining: bool) -> None:
        """Says that this node lives for `lease_ttl_s` more."""
        await self._execute(
            _HEARTBEAT, self._node, self._incarnation, self._address, lease_ttl_s, draining
        )

    async def discover(self) -> None:
        """Enters tables that the log has and the directory has not."""
        await self._execute(_DISCOVER)

    async def discovered(self, table_id: str) -> None:
        """Enters a table that nobody owns yet."""
        await self._execute(
            "INSERT INTO tables.directory (table_id) VALUES ($1) ON CONFLICT DO NOTHING", table_id
        )

    async def census(self) -> Census:
        """Live nodes that take tables, and all open tables with the owner that lives."""
        live = await self._fetch(_LIVE)
        rows = await self._fetch(_CENSUS)
        placed = tuple(
            Placed(row["table_id"], row["owner"], row["address"], row["epoch"]) for row in rows
        )
        return Census(tuple(row["node"] for row in live), placed)

    async def place(self, table_id: str) -> Place | None:
        """Where a table is; None where the directory does not know it."""
        for row in await self._fetch(_PLACE, table_id):
            return Place(row["node"], row["address"], row["epoch"], row["closed"])
        return None

    async def peers(self) -> list[str]:
        """The addresses of the other live nodes."""
        return [row["address"] for row in await self._fetch(_PEERS, self._node)]

    async def claimed(self, table_id: str, epoch: int) -> None:
        """Says that this node has the table, after the log has said so."""
        await self._execute(_CLAIMED, table_id, self._node, self._incarnation, epoch)

    async def released(self, table_ids: Sequence[str]) -> None:
        """Says that this node has these tables no longer."""
        await self._execute(_RELEASED, list(table_ids), self._node, self._incarnation)

    async def closed(self, table_id: str) -> None:
        """Says that nothing will happen at the table any more."""
        await self._execute(
            "UPDATE tables.directory SET closed = true WHERE table_id = $1", table_id
        )

    async def gone(self) -> None:
        """Ends this node's lease: others may take its tables at once."""
        await self._execute(
            "DELETE FROM tables.nodes WHERE node = $1 AND incarnation = $2",
            self._node,
            self._incarnation,
        )

    async def _execute(self, sql: str, *arguments: Any) -> None:
        await on_connection(
            self._pool,
            lambda connection: connection.execute(sql, *arguments, timeout=CALL_TIMEOUT_S),
            GIVE_UP_AFTER_S,
            CALL_TIMEOUT_S,
        )

    async def _fetch(self, sql: str, *arguments: Any) -> list[asyncpg.Record]:
        return await on_connection(
            self._pool,
            lambda connection: connection.fetch(sql, *arguments, timeout=CALL_TIMEOUT_S),
            GIVE_UP_AFTER_S,
            CALL_TIMEOUT_S,
        )
