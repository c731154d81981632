"""TableService: translate, ask the table, answer."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Any

import grpc
from croupier.table.v1 import table_pb2

from services.table.commands import bounded_note, command_uuid, proposal
from services.table.forward import Routes, is_forwarded
from services.table.hands import Hands
from services.table.lobby import Lobby
from services.table.node import Node
from services.table.opening import opening
from services.table.owner import TableOwner
from services.table.playing import Stream
from services.table.proposal import Proposal, now_us
from services.table.watching import Change, as_response, picture, viewer_name
from shared.errors import CroupierError
from shared.log import CommandKey
from shared.rpc.caller import caller, correlation_id
from shared.rpc.pages import page
from shared.table import events as e
from shared.table.codec import timestamp
from shared.table.view import summary

_Context = grpc.aio.ServicerContext[Any, Any]


class Table:
    """Answers for the tables of this node."""

    def __init__(
        self, node: Node, routes: Routes, lobby: Lobby, hands: Hands, defaults: e.Clocks
    ) -> None:
        self._node = node
        self._routes = routes
        self._lobby = lobby
        self._hands = hands
        self._defaults = defaults

    async def OpenTable(  # noqa: N802
        self, request: table_pb2.OpenTableRequest, context: _Context
    ) -> table_pb2.OpenTableResponse:
        asked = opening(request, self._defaults)
        state = await self._node.open_table(request.table_id, asked)
        return table_pb2.OpenTableResponse(table=summary(state))

    async def CloseTable(  # noqa: N802
        self, request: table_pb2.CloseTableRequest, context: _Context
    ) -> table_pb2.CloseTableResponse | bytes:
        who = caller()
        note = bounded_note(request.note)
        body = hashlib.sha256(b"close\0" + note.encode()).digest()
        key = CommandKey(who.id, command_uuid(request.command_id), body)

        async def here(owner: TableOwner) -> table_pb2.CloseTableResponse:
            closing = Proposal(
                make=lambda at: e.TableClosing(who.id, note, at),
                actor=f"{who.role}:{who.id}",
                correlation=correlation_id(),
                command=key,
            )
            answer = await owner.submit(closing)
            return table_pb2.CloseTableResponse(version=answer.version)

        return await self._routes.call("CloseTable", request, context, self._node.find, here)

    async def ListTables(  # noqa: N802
        self, request: table_pb2.ListTablesRequest, context: _Context
    ) -> table_pb2.ListTablesResponse:
        ids = self._lobby.ids(request.game)
        chosen, following = page(ids, request.page_size, request.page_token, str)
        lines = self._lobby.lines(chosen)
        return table_pb2.ListTablesResponse(tables=lines, next_page_token=following)

    async def GetTable(  # noqa: N802
        self, request: table_pb2.GetTableRequest, context: _Context
    ) -> bytes:
        async def here(owner: TableOwner) -> bytes:
            return as_response(picture([Change((), owner.state)], viewer_name(caller()), 0))

        return await self._routes.call("GetTable", request, context, self._node.find_current, here)

    async def WatchLobby(  # noqa: N802
        self, request: table_pb2.WatchLobbyRequest, context: _Context
    ) -> AsyncIterator[table_pb2.WatchLobbyResponse]:
        async for lines in self._lobby.watch(own=is_forwarded(context)):
            yield table_pb2.WatchLobbyResponse(tables=lines, server_time=timestamp(now_us()))

    async def Watch(  # noqa: N802
        self, request: table_pb2.WatchRequest, context: _Context
    ) -> AsyncIterator[bytes]:
        stream = Stream(self._routes, caller(), is_forwarded(context), plays=False)
        try:
            await stream.watch(request.table_id, request.after_version)
            async for response in stream.updates():
                if isinstance(response, bytes):
                    yield response
                else:
                    refusal = response.refusal
                    raise CroupierError(refusal.reason, refusal.message, refusal.field)
        finally:
            stream.close()

    async def Execute(  # noqa: N802
        self, request: table_pb2.ExecuteRequest, context: _Context
    ) -> table_pb2.ExecuteResponse | bytes:
        async def here(owner: TableOwner) -> table_pb2.ExecuteResponse:
            currency = owner.state.table.currency
            answer = await owner.submit(proposal(caller(), request.command, currency))
            return table_pb2.ExecuteResponse(
                first_version=answer.first_version, version=answer.version
            )

        return await self._routes.call("Execute", request, context, self._node.find, here)

    async def Play(  # noqa: N802
        self, request_iterator: AsyncIterator[table_pb2.PlayRequest], context: _Context
    ) -> AsyncIterator[table_pb2.PlayResponse | bytes]:
        stream = Stream(self._routes, caller(), is_forwarded(context), plays=True)
        try:
            stream.read(request_iterator)
            async for response in stream.updates():
                yield response
        finally:
            stream.close()

    async def ListHands(  # noqa: N802
        self, request: table_pb2.ListHandsRequest, context: _Context
    ) -> table_pb2.ListHandsResponse:
        hands, following = await self._hands.of_table(
            request.table_id, request.page_size, request.page_token
        )
        return table_pb2.ListHandsResponse(hands=hands, next_page_token=following)

    async def GetHand(  # noqa: N802
        self, request: table_pb2.GetHandRequest, context: _Context
    ) -> table_pb2.GetHandResponse:
        return await self._hands.one(request.hand_id, viewer_name(caller()))
