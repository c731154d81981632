"""Live nodes and who has which table, in Postgres by its clock (architecture, 5)."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import asyncpg

from services.table.load import Load
from shared.log import on_connection
from shared.log.patience import Pool

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Peer:
    """A node that lives: its process, where others reach it, whether it takes tables (it is not
    stopping, and no operator wants it empty), and for how many seconds its lease runs."""

    node: str
    incarnation: UUID
    address: str
    takes_tables: bool
    left_s: float


@dataclass(frozen=True, slots=True)
class Placed:
    """An open table in the directory: its owner, None where it has none that lives; the node where
    an operator wants it, None for any; the processes that do not know its rules."""

    table_id: str
    owner: str | None
    epoch: int
    wanted: str | None
    unknown_to: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where one table is: the live node that owns it (None: nobody), and how to reach that."""

    owner: str | None
    address: str | None
    epoch: int
    closed: bool


@dataclass(frozen=True, slots=True)
class Look:
    """What a node sees at each heartbeat: who lives, how often operators have wished something, and
    the open tables that nobody has."""

    peers: tuple[Peer, ...]
    revision: int
    unowned: tuple[Placed, ...]

    @property
    def takers(self) -> tuple[Peer, ...]:
        """The nodes that take tables."""
        return tuple(peer for peer in self.peers if peer.takes_tables)


def preferred_node(table_id: str, nodes: Iterable[str]) -> str | None:
    """Rendezvous hashing: the node with the highest score for the table (Thaler and Ravishankar,
    1998). When a node comes or goes only its own tables move."""
    return max(nodes, key=lambda node: _score(table_id, node), default=None)


def _score(table_id: str, node: str) -> bytes:
    return hashlib.sha256(f"{node}\0{table_id}".encode()).digest()


def home(placed: Placed, takers: Sequence[Peer]) -> str | None:
    """The node where the table belongs: where an operator wants it, else by its hash; None where
    no node takes tables, or none that does knows its rules."""
    nodes = [peer.node for peer in takers if peer.incarnation not in placed.unknown_to]
    return placed.wanted if placed.wanted in nodes else preferred_node(placed.table_id, nodes)


_HEARTBEAT = """
WITH before AS (
    SELECT incarnation = $2 AND lease_until > clock_timestamp() AS held
    FROM tables.nodes WHERE node = $1
)
INSERT INTO tables.nodes (
    node, incarnation, address, lease_until, draining,
    tables, hands, watchers, commands_per_s, busy
)
VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4), $5, $6, $7, $8, $9, $10)
ON CONFLICT (node) DO UPDATE SET
    incarnation = excluded.incarnation, address = excluded.address,
    lease_until = excluded.lease_until, draining = excluded.draining,
    tables = excluded.tables, hands = excluded.hands, watchers = excluded.watchers,
    commands_per_s = excluded.commands_per_s, busy = excluded.busy
RETURNING COALESCE((SELECT held FROM before), false) AS held
"""

_DISCOVER = """
INSERT INTO tables.directory (table_id)
SELECT split_part(stream, '/', 2) FROM log.streams WHERE stream LIKE 'table/%'
ON CONFLICT DO NOTHING
"""

_PEERS = """
SELECT n.node, n.incarnation, n.address,
       NOT n.draining AND d.node IS NULL AS takes_tables,
       extract(epoch FROM n.lease_until - clock_timestamp())::float8 AS left_s
FROM tables.nodes n LEFT JOIN tables.drained d ON d.node = n.node
WHERE n.lease_until > clock_timestamp() ORDER BY n.node
"""

_UNOWNED = """
SELECT table_id, NULL AS owner, epoch, wanted, unknown_to FROM tables.directory
WHERE owner IS NULL AND NOT closed ORDER BY table_id LIMIT 10000
"""

_CENSUS = """
SELECT d.table_id, n.node AS owner, d.epoch, d.wanted, d.unknown_to
FROM tables.directory d
LEFT JOIN tables.nodes n
    ON n.node = d.owner AND n.incarnation = d.incarnation AND n.lease_until > clock_timestamp()
WHERE NOT d.closed
"""

_PLACES = """
SELECT d.table_id, d.closed, d.epoch, n.node, n.address
FROM tables.directory d
LEFT JOIN tables.nodes n
    ON n.node = d.owner AND n.incarnation = d.incarnation AND n.lease_until > clock_timestamp()
WHERE d.table_id = ANY($1)
"""

_CLAIMED = """
INSERT INTO tables.directory (table_id, owner, incarnation, epoch)
SELECT c.table_id, $1, $2, c.epoch FROM unnest($3::text[], $4::bigint[]) AS c (table_id, epoch)
ON CONFLICT (table_id) DO UPDATE SET
    owner = excluded.owner, incarnation = excluded.incarnation, epoch = excluded.epoch
WHERE tables.directory.epoch <= excluded.epoch
"""

_RELEASED = """
UPDATE tables.directory SET owner = NULL, incarnation = NULL
WHERE table_id = ANY($1) AND owner = $2 AND incarnation = $3
"""

_NOT_KNOWN = """
WITH wished AS (UPDATE tables.wishes SET revision = revision + 1)
UPDATE tables.directory SET unknown_to = array(
    SELECT incarnation FROM tables.nodes
    WHERE incarnation = ANY(unknown_to) AND lease_until > clock_timestamp()
    UNION SELECT $2
)
WHERE table_id = $1
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

    async def heartbeat(self, lease_ttl_s: float, draining: bool, load: Load) -> bool:
        """Says that this node lives for `lease_ttl_s` more, and how much it has to do. False where
        its lease had run out, or is new: others may have taken its tables."""
        figures = (load.tables, load.hands, load.watchers, load.commands_per_s, load.busy)
        [row] = await self._fetch(
            _HEARTBEAT,
            self._node,
            self._incarnation,
            self._address,
            lease_ttl_s,
            draining,
            *figures,
        )
        held: bool = row["held"]
        return held

    async def discover(self) -> None:
        """Enters tables that the log has and the directory has not."""
        await self._execute(_DISCOVER)

    async def discovered(self, table_id: str) -> None:
        """Enters a table that nobody owns yet, if it is not there."""
        await self._execute(
            "INSERT INTO tables.directory (table_id) VALUES ($1) ON CONFLICT DO NOTHING", table_id
        )

    async def look(self) -> Look:
        """What may have changed since the last heartbeat."""
        peers = await self.peers()
        [wishes] = await self._fetch("SELECT revision FROM tables.wishes")
        unowned = await self._fetch(_UNOWNED)
        return Look(peers, wishes["revision"], tuple(map(_placed, unowned)))

    async def peers(self) -> tuple[Peer, ...]:
        """The nodes that live, this one among them."""
        return tuple(Peer(*row) for row in await self._fetch(_PEERS))

    async def others(self) -> list[str]:
        """The addresses of the other nodes that live."""
        return [peer.address for peer in await self.peers() if peer.node != self._node]

    async def census(self) -> tuple[Placed, ...]:
        """All open tables, with the owner that lives."""
        return tuple(map(_placed, await self._fetch(_CENSUS)))

    async def place(self, table_id: str) -> Place | None:
        """Where a table is; None where the directory does not know it."""
        return (await self.places([table_id])).get(table_id)

    async def places(self, table_ids: Sequence[str]) -> dict[str, Place]:
        """Where these tables are, as far as the directory knows them."""
        return {
            row["table_id"]: Place(row["node"], row["address"], row["epoch"], row["closed"])
            for row in await self._fetch(_PLACES, list(table_ids))
        }

    async def claimed(self, epochs: Mapping[str, int]) -> None:
        """Says that this node has these tables, after the log has said so; their epochs by id."""
        await self._execute(
            _CLAIMED, self._node, self._incarnation, list(epochs), list(epochs.values())
        )

    async def released(self, table_ids: Sequence[str]) -> None:
        """Says that this node has these tables no longer."""
        await self._execute(_RELEASED, list(table_ids), self._node, self._incarnation)

    async def not_known(self, table_id: str) -> None:
        """Says that this process cannot take the table up: from now on it belongs elsewhere, and
        every node looks where."""
        await self._execute(_NOT_KNOWN, table_id, self._incarnation)

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
        await self._with_connection(
            lambda connection: connection.execute(sql, *arguments, timeout=CALL_TIMEOUT_S)
        )

    async def _fetch(self, sql: str, *arguments: Any) -> list[asyncpg.Record]:
        return await self._with_connection(
            lambda connection: connection.fetch(sql, *arguments, timeout=CALL_TIMEOUT_S)
        )

    async def _with_connection(self, call: Callable[[Any], Awaitable[T]]) -> T:
        return await on_connection(self._pool, call, GIVE_UP_AFTER_S, CALL_TIMEOUT_S)


def _placed(row: asyncpg.Record) -> Placed:
    table_id, owner, epoch, wanted, unknown_to = row
    return Placed(table_id, owner, epoch, wanted, tuple(unknown_to))
