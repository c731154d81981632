"""gRPC without a network: the services' own handlers behind their own guard, over `Wires`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc

from shared.rpc.guard import Guard
from shared.rpc.tokens import TokenCheck
from tests.chaos.simulated.loop import Process, here, spawn
from tests.chaos.simulated.wires import Wires, host
from tests.services import PUBLIC_KEY

Metadata = tuple[tuple[str, Any], ...]


def _error(code: grpc.StatusCode, details: str, trailing: Metadata = ()) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(
        code, grpc.aio.Metadata(), grpc.aio.Metadata(*trailing), details, None
    )


def _gone() -> grpc.aio.AioRpcError:
    return _error(grpc.StatusCode.UNAVAILABLE, "the connection broke")


class _AbortedError(Exception):
    """A handler ended its call with a status."""

    def __init__(self, code: grpc.StatusCode, details: str, trailing: Metadata) -> None:
        super().__init__(details)
        self.code = code
        self.trailing = trailing

    def told(self) -> grpc.aio.AioRpcError:
        """The same as the caller hears it."""
        return _error(self.code, str(self), self.trailing)


@dataclass
class _Context:
    """What a handler sees of its call."""

    metadata: Metadata
    send: Callable[[bytes], None]
    serialize: Callable[[Any], bytes]
    aborted: _AbortedError | None = None

    def invocation_metadata(self) -> Metadata:
        return self.metadata

    async def write(self, answer: Any) -> None:
        self.send(self.serialize(answer))

    async def abort(
        self, code: grpc.StatusCode, details: str = "", trailing_metadata: Metadata = ()
    ) -> None:
        self.aborted = _AbortedError(code, details, trailing_metadata)
        raise grpc.aio.AbortError


@dataclass(frozen=True)
class _Details:
    method: str
    invocation_metadata: Metadata


@dataclass(eq=False)
class RpcServer:
    """The handlers of one process. It stands in for `grpc.aio.Server` where they are added."""

    process: Process
    guard: Guard = field(default_factory=lambda: Guard(TokenCheck(PUBLIC_KEY)))
    handlers: list[Any] = field(default_factory=list)
    open: bool = True

    def add_generic_rpc_handlers(self, handlers: tuple[Any, ...]) -> None:
        self.handlers += handlers

    def add_registered_method_handlers(self, service: str, handlers: Any) -> None:
        """The same again, for servers that know about it."""

    async def handler(self, method: str, metadata: Metadata) -> Any:
        """The method's handler, behind the guard."""
        details = _Details(method, metadata)

        async def found(_: Any) -> Any:
            for each in self.handlers:
                if (handler := each.service(details)) is not None:
                    return handler
            raise LookupError(method)

        return await self.guard.intercept_service(found, details)

    async def unary(self, method: str, request: bytes, metadata: Metadata) -> bytes:
        """The answer to a call."""
        if not self.open:
            raise ConnectionResetError("nobody listens")
        handler = await self.handler(method, metadata)
        context = _Context(metadata, lambda _: None, handler.response_serializer)
        try:
            answer = await handler.unary_unary(handler.request_deserializer(request), context)
        except grpc.aio.AbortError:
            assert context.aborted is not None
            raise context.aborted from None
        serialized: bytes = handler.response_serializer(answer)
        return serialized

    async def stream(self, call: StreamCall, first: bytes | None) -> None:
        """Serves a stream to its end."""
        handler = await self.handler(call.method, call.metadata)
        context = _Context(call.metadata, call.tell, handler.response_serializer)
        try:
            if first is not None:
                await handler.unary_stream(handler.request_deserializer(first), context)
            else:
                await handler.stream_stream(call.requests(handler.request_deserializer), context)
        except grpc.aio.AbortError:
            assert context.aborted is not None
            call.tell_end(context.aborted.told())
        else:
            call.tell_end(None)


_END = object()


class StreamCall:
    """A stream from one process to another; in each direction messages keep their order."""

    def __init__(
        self, network: Network, server: RpcServer | None, method: str, metadata: Metadata
    ) -> None:
        self.method = method
        self.metadata = metadata
        self.caller = here()
        self.server = server
        self._network = network
        self._host = host()
        self._task: asyncio.Task[None] | None = None
        self._to_server: asyncio.Queue[Any] = asyncio.Queue()
        self._to_client: asyncio.Queue[Any] = asyncio.Queue()
        self._waiting: dict[bool, list[Callable[[], None]]] = {True: [], False: []}
        self._ended = False
        self._over: list[Callable[[StreamCall], None]] = []
        self._writing = False
        self._deserialize: Callable[[bytes], Any] = bytes
        self._serialize: Callable[[Any], bytes] = bytes
        self._broken = False

    def begin(
        self,
        serialize: Callable[[Any], bytes] | None,
        deserialize: Callable[[bytes], Any] | None,
        first: Any = None,
    ) -> StreamCall:
        """Sets out; `first` is the one request of a call that has one only."""
        self._serialize, self._deserialize = serialize or bytes, deserialize or bytes
        request = None if first is None else self._serialize(first)
        self._network.calls.append(self)
        server = self.server
        if server is None or not server.open:
            self._send(False, self._break_client)
        else:
            self._send(True, lambda: self._arrive(server, request))
        return self

    def _arrive(self, server: RpcServer, request: bytes | None) -> None:
        if not server.process.alive or not server.open:
            self._send(False, self._break_client)
            return
        self._task = spawn(server.process, self._serve(server, request))

    async def _serve(self, server: RpcServer, request: bytes | None) -> None:
        await server.stream(self, request)

    # ---- The client's end

    async def write(self, message: Any) -> None:
        """Says something; what is said after the end raises, as it does in gRPC. Two at once break
        a call there for good: here that is a finding of the night."""
        if self._ended:
            raise asyncio.InvalidStateError("RPC already finished.")
        if self._writing:
            told = {"message": f"two write to one call of {self.method} at once"}
            asyncio.get_running_loop().call_exception_handler(told)
        data = self._serialize(message)
        self._send(True, lambda: self._to_server.put_nowait(data))
        self._writing = True
        try:
            # Until it is on its way others have their turn.
            await asyncio.sleep(self._network.wires.latency_s())
        finally:
            self._writing = False

    async def done_writing(self) -> None:
        """Has nothing more to say."""
        self._send(True, lambda: self._to_server.put_nowait(_END))

    def __aiter__(self) -> StreamCall:
        return self

    async def __anext__(self) -> Any:
        if self._ended:
            raise StopAsyncIteration
        got = await self._to_client.get()
        if isinstance(got, bytes):
            return self._deserialize(got)
        self._finish()
        if isinstance(got, grpc.aio.AioRpcError):
            raise got
        raise StopAsyncIteration

    def cancel(self) -> bool:
        """Hangs up."""
        if self._ended:
            return False
        self._finish()
        self._to_client.put_nowait(_error(grpc.StatusCode.CANCELLED, "cancelled"))
        self._send(True, self._hang_up)
        return True

    def add_done_callback(self, callback: Callable[[StreamCall], None]) -> None:
        """Is called once, when the call is over at this end."""
        self._over.append(callback)

    def _finish(self) -> None:
        self._ended = True
        for callback in self._over:
            callback(self)
        if self in self._network.calls:
            self._network.calls.remove(self)

    # ---- The server's end

    async def requests(self, deserialize: Callable[[bytes], Any]) -> AsyncIterator[Any]:
        """What the client says."""
        while (data := await self._to_server.get()) is not _END:
            yield deserialize(data)

    def tell(self, answer: bytes) -> None:
        """Sends an answer."""
        self._send(False, lambda: self._to_client.put_nowait(answer))

    def tell_end(self, error: grpc.aio.AioRpcError | None) -> None:
        """Ends the call."""
        self._send(False, lambda: self._to_client.put_nowait(_END if error is None else error))

    def _hang_up(self) -> None:
        if self._task is not None:
            self._task.cancel()

    # ---- The wire

    def _send(self, to_server: bool, deliver: Callable[[], None]) -> None:
        """One message at a time in each direction."""
        waiting = self._waiting[to_server]
        waiting.append(deliver)
        if len(waiting) == 1:
            self._send_next(to_server)

    def _send_next(self, to_server: bool) -> None:
        there = self.server.process.name if self.server is not None else self._host
        way = (self._host, there) if to_server else (there, self._host)

        def through() -> None:
            waiting = self._waiting[to_server]
            if not self._broken:
                waiting[0]()
            waiting.pop(0)
            if waiting:
                self._send_next(to_server)

        self._network.wires.send(*way, through, self.break_)

    def _break_client(self) -> None:
        self._to_client.put_nowait(_gone())

    def break_(self) -> None:
        """The connection is gone, and both ends notice."""
        if not self._broken:
            self._broken = True
            later = self._network.wires.later
            later(self._network.wires.latency_s(), self._break_client)
            later(self._network.wires.latency_s(), self._hang_up)


@dataclass
class Network:
    """Who listens where."""

    wires: Wires
    servers: dict[str, RpcServer] = field(default_factory=dict)
    calls: list[StreamCall] = field(default_factory=list)

    def listen(self, address: str, server: RpcServer) -> None:
        """A process serves at an address from now on."""
        self.servers[address] = server

    def died(self, process: Process) -> None:
        """A process was killed: the other ends of its connections notice."""
        for call in list(self.calls):
            if call.caller is process or (
                call.server is not None and call.server.process is process
            ):
                call.break_()

    def close(self, server: RpcServer) -> None:
        """A server stops listening and ends what is still open."""
        server.open = False
        for call in list(self.calls):
            if call.server is server:
                call.break_()


@dataclass
class Channel:
    """As much of `grpc.aio.Channel` as stubs need; each call goes to one of `addresses`."""

    network: Network
    addresses: tuple[str, ...]

    def _server(self) -> RpcServer | None:
        known = [self.network.servers.get(address) for address in self.addresses]
        serving = [each for each in known if each is not None and each.open and each.process.alive]
        return self.network.wires.random.choice(serving) if serving else None

    def unary_unary(
        self,
        method: str,
        request_serializer: Any = None,
        response_deserializer: Any = None,
        **_: Any,
    ) -> Any:
        async def call(
            request: Any, timeout: float | None = None, metadata: Metadata = (), **_: Any
        ) -> Any:
            server = self._server()
            data = (request_serializer or bytes)(request)
            if server is None:
                raise _gone()
            try:
                async with asyncio.timeout(timeout):
                    answer = await self.network.wires.ask(
                        server.process,
                        lambda: server.unary(method, data, tuple(metadata)),
                        cancels=True,
                    )
            except _AbortedError as aborted:
                raise aborted.told() from None
            except ConnectionError:
                raise _gone() from None
            except TimeoutError:
                raise _error(grpc.StatusCode.DEADLINE_EXCEEDED, "no answer") from None
            return (response_deserializer or bytes)(answer)

        return call

    def unary_stream(
        self,
        method: str,
        request_serializer: Any = None,
        response_deserializer: Any = None,
        **_: Any,
    ) -> Any:
        def call(request: Any, metadata: Metadata = (), **_: Any) -> StreamCall:
            made = StreamCall(self.network, self._server(), method, tuple(metadata))
            return made.begin(request_serializer, response_deserializer, request)

        return call

    def stream_stream(
        self,
        method: str,
        request_serializer: Any = None,
        response_deserializer: Any = None,
        **_: Any,
    ) -> Any:
        def call(metadata: Metadata = (), **_: Any) -> StreamCall:
            made = StreamCall(self.network, self._server(), method, tuple(metadata))
            return made.begin(request_serializer, response_deserializer)

        return call

    async def close(self, grace: float | None = None) -> None:
        """Connections are made for each call."""
