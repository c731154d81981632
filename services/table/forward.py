"""Calls for tables that another node has: passed on to it, once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import grpc
from croupier.table.v1 import table_pb2
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_status import rpc_status

from services.table.node import Node
from services.table.owner import TableOwner
from services.table.whereabouts import There
from shared.errors import CroupierError
from shared.rpc.caller import caller
from shared.rpc.channel import call_metadata, connect
from shared.rpc.errors import from_rpc_error
from shared.rpc.server import MAX_STREAMS_PER_CONNECTION

SERVICE = table_pb2.DESCRIPTOR.services_by_name["TableService"]
FORWARDED_KEY = "croupier-forwarded"
PAUSES_S = (0.2, 0.8, 1.6, 2.6, 0.0)
"""After each of five tries to find a table's owner: how long to wait at most for the table to be
somewhere else. In all that is longer than a lease and a claim take."""
ELSEWHERE = ("NOT_OWNER", "NO_OWNER", "DRAINING")
"""Refusals that say nothing about the call, only that another node is to be asked."""
CALL_TIMEOUT_S = 30.0
MOST_STREAMS = MAX_STREAMS_PER_CONNECTION // 2
"""On one connection to another node: beyond what that allows, calls would wait for ever and say
nothing. The rest is for calls that are over with their answer."""

T = TypeVar("T")


def path(method: str) -> str:
    """`/package.Service/Method`, as it stands on the wire."""
    return f"/{SERVICE.full_name}/{method}"


def handlers(servicer: Any) -> grpc.GenericRpcHandler:
    """The handlers of the table service, whose answers may be messages or, where another node
    gave them, bytes."""
    kinds = {
        (False, False): grpc.unary_unary_rpc_method_handler,
        (False, True): grpc.unary_stream_rpc_method_handler,
        (True, True): grpc.stream_stream_rpc_method_handler,
    }
    made = {
        method.name: kinds[method.client_streaming, method.server_streaming](
            getattr(servicer, method.name),
            request_deserializer=GetMessageClass(method.input_type).FromString,
            response_serializer=_as_bytes,
        )
        for method in SERVICE.methods
    }
    return grpc.method_handlers_generic_handler(SERVICE.full_name, made)


def _as_bytes(answer: Message | bytes) -> bytes:
    return answer if isinstance(answer, bytes) else answer.SerializeToString()


def is_forwarded(context: grpc.aio.ServicerContext[Any, Any]) -> bool:
    """Whether another node passed the call on: then it goes no further."""
    return any(key == FORWARDED_KEY for key, _ in context.invocation_metadata() or ())


def is_lost(error: grpc.aio.AioRpcError) -> bool:
    """Whether the other node is gone: it did not say why the call ended."""
    try:
        silent = rpc_status.from_call(error) is None  # type: ignore[arg-type]
    except ValueError:
        silent = True  # details of another status: gRPC itself has failed the call after that
    return silent and error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED


def tried_at(refused: CroupierError) -> There | None:
    """Where a table is that is not here, as `Node.find` says it."""
    facts = refused.facts
    return There(facts["address"], int(facts["epoch"])) if "address" in facts else None


@dataclass(slots=True)
class _Connection:
    channel: grpc.aio.Channel
    streams: int = 0

    def over(self, _: object) -> None:
        self.streams -= 1


class Peers:
    """Connections to the other nodes, made when they are needed: one each, and another one for
    every `MOST_STREAMS` streams that are open at once."""

    def __init__(self) -> None:
        self._connections: dict[str, list[_Connection]] = {}

    def connect(self, address: str) -> grpc.aio.Channel:
        """A new connection to a node."""
        return connect(address, retries=False)

    def _connection(self, address: str) -> _Connection:
        known = self._connections.setdefault(address, [])
        for connection in known:
            if connection.streams < MOST_STREAMS:
                return connection
        known.append(_Connection(self.connect(address)))
        return known[-1]

    async def close(self) -> None:
        """Ends all of them."""
        every = chain.from_iterable(self._connections.values())
        await asyncio.gather(*(connection.channel.close() for connection in every))

    def play(self, address: str, token: str) -> Any:
        """An open `Play` call at another node; it takes and gives bytes."""
        return self._stream(address, "Play", token)

    def watch(self, address: str, request: Message, token: str) -> Any:
        """An open `Watch` call at another node; it gives bytes."""
        return self._stream(address, "Watch", token, request.SerializeToString())

    def lobby(self, address: str, token: str) -> Any:
        """An open `WatchLobby` call at another node, for its own tables; it gives bytes."""
        return self._stream(address, "WatchLobby", token, b"")

    def _stream(self, address: str, method: str, token: str, *request: bytes) -> Any:
        connection = self._connection(address)
        channel: Any = connection.channel
        open_ = (channel.unary_stream if request else channel.stream_stream)(path(method))
        call = open_(*request, metadata=forwarded_metadata(token))
        connection.streams += 1
        call.add_done_callback(connection.over)
        return call

    async def ask(self, address: str, method: str, request: Message) -> bytes:
        """The answer of another node as it came, to a call with the running call's token.

        Raises the other node's refusal, or `NO_OWNER` where it is gone.
        """
        channel: Any = self._connection(address).channel
        call = channel.unary_unary(path(method))
        try:
            answer: bytes = await call(
                request.SerializeToString(),
                metadata=forwarded_metadata(caller().token),
                timeout=CALL_TIMEOUT_S,
            )
        except grpc.aio.AioRpcError as error:
            if is_lost(error):
                raise CroupierError("NO_OWNER", "the table's node is gone", "table_id") from error
            raise from_rpc_error(error) from error
        return answer


def forwarded_metadata(token: str) -> tuple[tuple[str, str], ...]:
    """What goes with a call that is passed on: the caller's token, and that it is passed on."""
    return (*call_metadata(token), (FORWARDED_KEY, "1"))


class Routes:
    """Brings calls about a table to the node that has it."""

    def __init__(self, node: Node, peers: Peers) -> None:
        self.node = node
        self.peers = peers
        self.whereabouts = node.whereabouts

    async def call(
        self,
        method: str,
        request: Any,
        context: grpc.aio.ServicerContext[Any, Any],
        find: Callable[[str], Awaitable[TableOwner]],
        here: Callable[[TableOwner], Awaitable[T]],
    ) -> T | bytes:
        """What `here` makes of the call if this node has the table, as `find` tells, else what the
        other node answered, unparsed. A table that is on its way from node to node is looked for
        five times.
        """
        for pause in PAUSES_S:
            try:
                return await here(await find(request.table_id))
            except CroupierError as refused:
                if refused.reason not in ELSEWHERE or is_forwarded(context):
                    raise
                there = tried_at(refused)
            if there is not None:
                try:
                    return await self._ask(there.address, method, request)
                except CroupierError as refused:
                    if refused.reason not in ELSEWHERE:
                        raise
            await self.whereabouts.moved(request.table_id, there, pause)
        raise CroupierError("NO_OWNER", "nobody takes the table up", "table_id")

    async def _ask(self, address: str, method: str, request: Any) -> bytes:
        asking = asyncio.ensure_future(self.peers.ask(address, method, request))
        over = self.whereabouts.rely(request.table_id, address, asking.cancel)
        try:
            await asyncio.wait({asking})
        finally:
            over()
            asking.cancel()
        if asking.cancelled():
            raise CroupierError("NO_OWNER", "the table has left that node", "table_id")
        return asking.result()
