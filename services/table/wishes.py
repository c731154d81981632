"""What operators see of the table nodes and wish of them (`NodeService`)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import grpc
from croupier.table.v1 import nodes_pb2, nodes_pb2_grpc

from services.table.nudges import Nudges
from shared.errors import CroupierError
from shared.log import on_connection
from shared.log.patience import Pool, PooledConnection

_Context = grpc.aio.ServicerContext[Any, Any]

_NODES = """
SELECT n.node, n.address, n.lease_until - clock_timestamp() AS lease_left,
       d.node IS NOT NULL AS drained, n.draining AS stopping,
       n.tables, n.hands, n.watchers, n.commands_per_s, n.busy,
       (SELECT count(*) FROM tables.directory t
        WHERE n.incarnation = ANY (t.unknown_to) AND NOT t.closed) AS unknown_tables
FROM tables.nodes n LEFT JOIN tables.drained d ON d.node = n.node
WHERE n.lease_until > clock_timestamp() ORDER BY n.node
"""

_DRAIN = """
INSERT INTO tables.drained (node)
SELECT node FROM tables.nodes WHERE node = $1 AND lease_until > clock_timestamp()
ON CONFLICT (node) DO UPDATE SET node = excluded.node RETURNING node
"""

_UNDO = "DELETE FROM tables.drained WHERE node = $1 RETURNING node"

_TABLES_OF = """
SELECT count(*) FROM tables.directory d JOIN tables.nodes n
    ON n.node = d.owner AND n.incarnation = d.incarnation AND n.lease_until > clock_timestamp()
WHERE n.node = $1 AND NOT d.closed
"""

_TAKES_TABLES = """
SELECT true FROM tables.nodes n
WHERE n.node = $1 AND n.lease_until > clock_timestamp() AND NOT n.draining
    AND NOT EXISTS (SELECT FROM tables.drained d WHERE d.node = n.node)
"""

_DOES_NOT_KNOW = """
SELECT true FROM tables.nodes n JOIN tables.directory d ON n.incarnation = ANY (d.unknown_to)
WHERE n.node = $1 AND d.table_id = $2
"""

_WANT = "UPDATE tables.directory SET wanted = $2 WHERE table_id = $1 AND NOT closed RETURNING owner"

_WISHED = "UPDATE tables.wishes SET revision = revision + 1"


class Wishes(nodes_pb2_grpc.NodeServiceServicer):
    """Answers operators. Their wishes stand in the database; every node looks for new ones at each
    heartbeat, and is nudged to do so now."""

    def __init__(self, pool: Pool, nudges: Nudges) -> None:
        self._pool = pool
        self._nudges = nudges

    async def ListNodes(  # noqa: N802
        self, request: nodes_pb2.ListNodesRequest, context: _Context
    ) -> nodes_pb2.ListNodesResponse:
        rows = await on_connection(self._pool, lambda connection: connection.fetch(_NODES))
        return nodes_pb2.ListNodesResponse(nodes=[_node(**row) for row in rows])

    async def DrainNode(  # noqa: N802
        self, request: nodes_pb2.DrainNodeRequest, context: _Context
    ) -> nodes_pb2.DrainNodeResponse:
        async def drain(connection: PooledConnection) -> int:
            async with connection.transaction():
                if request.undo:
                    await connection.execute(_UNDO, request.node)
                elif await connection.fetchval(_DRAIN, request.node) is None:
                    raise CroupierError("NODE_NOT_FOUND", "no such node lives", "node")
                await connection.execute(_WISHED)
            return int(await connection.fetchval(_TABLES_OF, request.node))

        tables = await on_connection(self._pool, drain)
        self._nudges.nudge("")
        return nodes_pb2.DrainNodeResponse(tables=tables)

    async def MoveTable(  # noqa: N802
        self, request: nodes_pb2.MoveTableRequest, context: _Context
    ) -> nodes_pb2.MoveTableResponse:
        async def move(connection: PooledConnection) -> str:
            async with connection.transaction():
                if request.node and not await connection.fetchval(_TAKES_TABLES, request.node):
                    raise CroupierError("NODE_NOT_FOUND", "no such node takes tables", "node")
                if await connection.fetchval(_DOES_NOT_KNOW, request.node, request.table_id):
                    raise CroupierError(
                        "NODE_NOT_FOUND", "the node does not know the rules of the table", "node"
                    )
                moved = await connection.fetch(_WANT, request.table_id, request.node or None)
                if not moved:
                    raise CroupierError("TABLE_NOT_FOUND", "no such open table", "table_id")
                await connection.execute(_WISHED)
            return moved[0]["owner"] or ""

        now_at = await on_connection(self._pool, move)
        self._nudges.nudge("")
        return nodes_pb2.MoveTableResponse(node=now_at)


def _node(lease_left: timedelta, commands_per_s: float, busy: float, **told: Any) -> nodes_pb2.Node:
    node = nodes_pb2.Node(
        **told, commands_per_s=round(commands_per_s), busy_percent=round(100 * busy)
    )
    node.lease_left.FromTimedelta(lease_left)
    return node
