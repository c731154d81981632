"""Table nodes, for operators: what they do, emptying one, moving a table."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from croupier.table.v1 import nodes_pb2 as pb
from croupier.table.v1 import nodes_pb2_grpc, table_pb2, table_pb2_grpc

from clients.api.connection import Connection
from clients.api.errors import RefusedError

LOOK_EVERY_S = 0.5


class NodeClient:
    """The node service, as the operator whose token the connection has. Raises `RefusedError`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._nodes = nodes_pb2_grpc.NodeServiceStub(connection.channel)
        self._tables = table_pb2_grpc.TableServiceStub(connection.channel)

    async def nodes(self) -> list[pb.Node]:
        """The nodes that live, by name."""
        answer = await self._connection.call(self._nodes.ListNodes, pb.ListNodesRequest())
        return list(answer.nodes)

    async def drain(self, node: str, undo: bool = False) -> int:
        """Wants the node empty, or (`undo`) has it take tables again; how many it has now."""
        request = pb.DrainNodeRequest(node=node, undo=undo)
        answer = await self._connection.call(self._nodes.DrainNode, request)
        return int(answer.tables)

    async def emptied(self, node: str, tell: Callable[[int], None], within_s: float) -> None:
        """Waits until a drained node has no tables; `tell` hears how many are left as it changes.

        Raises `UNANSWERED` when it takes longer, and at once `NODE_NOT_FOUND` if no other node
        takes tables.
        """
        last = -1

        async def look() -> bool:
            nonlocal last
            nodes = await self.nodes()
            left = sum(each.tables for each in nodes if each.node == node)
            if left != last:
                last = left
                tell(left)
            takers = [each for each in nodes if not each.drained and not each.stopping]
            if left and not takers:
                raise RefusedError(
                    "NODE_NOT_FOUND", f"no other node takes the tables of {node}: it keeps them"
                )
            return not left

        await _until(look, f"{node} still has tables", within_s)

    async def move(self, table_id: str, node: str) -> str:
        """Wants the table at `node` ("": wherever the tables spread to); where it is now."""
        request = pb.MoveTableRequest(table_id=table_id, node=node)
        return str((await self._connection.call(self._nodes.MoveTable, request)).node)

    async def moved(self, table_id: str, node: str, within_s: float) -> None:
        """Waits until the table is at `node`; raises `UNANSWERED` when it takes longer."""

        async def look() -> bool:
            request = table_pb2.GetTableRequest(table_id=table_id)
            answer = await self._connection.call(self._tables.GetTable, request)
            return bool(answer.table.table.table.node == node)

        await _until(look, f"{table_id} is still elsewhere", within_s)


async def _until(look: Callable[[], Awaitable[bool]], late: str, within_s: float) -> None:
    try:
        async with asyncio.timeout(within_s):
            while not await look():
                await asyncio.sleep(LOOK_EVERY_S)
    except TimeoutError:
        raise RefusedError("UNANSWERED", f"{late} after {within_s:g} s") from None
