"""One table's part of a client's stream, at the node that has the table."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc
from croupier.table.v1 import table_pb2

from services.table.whereabouts import There, Whereabouts
from shared.errors import CroupierError
from shared.rpc.errors import retry_after


@dataclass(slots=True)
class Sent:
    """A command of a client that is not answered yet; the stream's commands are numbered."""

    table_id: str
    command: table_pb2.Command
    number: int
    tries: int = 0
    tried: There | None = None


class Link:
    """A call to another node: what it answers is heard here and told to the client as it came.

    `call` is an open `Play` or `Watch` call whose answers are bytes (on the wire, an update is the
    same in both). `heard` is told of each answer, `ended` of the call's end.
    """

    def __init__(
        self,
        call: Any,
        there: There,
        table_id: str,
        heard: Callable[[Link, bytes, table_pb2.PlayResponse], None],
        ended: Callable[[Link, grpc.aio.AioRpcError | None], None],
        whereabouts: Whereabouts,
    ) -> None:
        self.there = there
        self.table_id = table_id
        self.watching = False
        self.seen = 0
        self.unanswered: deque[Sent] = deque()
        self._call = call
        self._outgoing: deque[table_pb2.PlayRequest] = deque()
        self._writing: asyncio.Task[None] | None = None
        self._heard = heard
        self._ended = ended
        self._over = whereabouts.rely(table_id, there.address, self._lose)
        self._listener = asyncio.create_task(self._listen())

    def watch(self, after: int) -> None:
        """Begins to watch, on a `Play` call."""
        self.watching, self.seen = True, after
        request = table_pb2.WatchRequest(after_version=after)
        self._say(table_pb2.PlayRequest(table_id=self.table_id, watch=request))

    def stop_watching(self) -> None:
        """Ends the updates, not the commands."""
        self.watching = False
        stop = table_pb2.StopWatching()
        self._say(table_pb2.PlayRequest(table_id=self.table_id, stop=stop))

    def send(self, sent: Sent) -> None:
        """Passes a command on; `heard` gets its answer, or it stays in `unanswered`."""
        self.unanswered.append(sent)
        self._say(table_pb2.PlayRequest(table_id=self.table_id, command=sent.command))

    def answered(self, command_id: str) -> Sent | None:
        """The command that an answer is for, which is under way no longer."""
        for sent in self.unanswered:
            if sent.command.command_id == command_id:
                self.unanswered.remove(sent)
                return sent
        return None

    def close(self) -> None:
        """Hangs up; commands that are under way go on."""
        self._over()
        self._listener.cancel()
        if self._writing is not None:
            self._writing.cancel()
        self._call.cancel()

    def _lose(self) -> None:
        # The other node has the table no longer, though it does not say so.
        self.close()
        self._ended(self, None)

    def _say(self, request: table_pb2.PlayRequest) -> None:
        self._outgoing.append(request)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        # One after the other: gRPC breaks off a call that two write to at once, and one whose
        # writer is cancelled, and its reader does not hear of it.
        try:
            while self._outgoing:
                await self._call.write(self._outgoing.popleft().SerializeToString())
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            return  # the call is over: the listener says so

    async def _listen(self) -> None:
        error: grpc.aio.AioRpcError | None = None
        try:
            async for answer in self._call:
                self._heard(self, answer, table_pb2.PlayResponse.FromString(answer))
        except grpc.aio.AioRpcError as broken:
            error = broken
        self._over()
        self._ended(self, error)


def why(error: CroupierError, table_id: str, command_id: str) -> table_pb2.PlayResponse:
    """A refusal as a stream tells it."""
    return table_pb2.PlayResponse(
        refusal=table_pb2.Refusal(
            table_id=table_id,
            command_id=command_id,
            reason=error.reason,
            message=error.message,
            field=error.field,
            retry_after=retry_after(error.reason),
        )
    )
