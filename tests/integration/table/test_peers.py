"""Many streams from one node to another, which allows only so many on one connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from croupier.table.v1 import table_pb2 as pb

from services.table import forward
from services.table.forward import Peers, path

ALLOWED = 8
MOST = 4
"""Half of that, as it is: those that are hung up still count there for a moment."""


class There:
    """The other node: every stream of it says one thing and stays open."""

    def __init__(self) -> None:
        self.callers: set[str] = set()

    async def stream(self, _: Any, context: Any) -> AsyncIterator[bytes]:
        self.callers.add(context.peer())
        yield b"here"
        await asyncio.Event().wait()

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        if details.method == path("Play"):
            return grpc.stream_stream_rpc_method_handler(self.stream)
        return grpc.unary_stream_rpc_method_handler(self.stream)


class _Handlers(grpc.GenericRpcHandler):
    def __init__(self, there: There) -> None:
        self._there = there

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        return self._there.service(handler_call_details)


@pytest.fixture
async def there() -> AsyncIterator[tuple[There, str]]:
    node = There()
    server = grpc.aio.server(options=(("grpc.max_concurrent_streams", ALLOWED),))
    server.add_generic_rpc_handlers((_Handlers(node),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield node, f"127.0.0.1:{port}"
    await server.stop(None)


async def test_there_is_always_room_for_one_more(
    there: tuple[There, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forward, "MOST_STREAMS", MOST)
    node, address = there
    peers = Peers()

    def opened() -> list[Any]:
        request = pb.WatchRequest(table_id="t1")
        watching = [peers.watch(address, request, "token") for _ in range(2 * MOST)]
        playing = [peers.play(address, "token") for _ in range(MOST)]
        return [*watching, *playing, peers.lobby(address, "token")]

    for _ in range(2):  # those that are over make room
        calls = opened()
        async with asyncio.timeout(20):
            assert [await call.read() for call in calls] == [b"here"] * len(calls)
        for call in calls:
            call.cancel()
        for call in calls:
            with pytest.raises(asyncio.CancelledError):
                await call.read()
    assert len(node.callers) == len(calls) // MOST + 1
    await peers.close()
