"""What gRPC for Python can do at most: a server that gives back what it gets, in its own process.

`python -m tests.bench.echo` is the server; it prints its port and runs until its input ends.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import uvloop

_UNARY = "/echo/Unary"
_STREAM = "/echo/Stream"
PAYLOAD = bytes(100)
"""As long as a `PlaceBet` with its ids."""


class _Echo(grpc.GenericRpcHandler):
    """Raw bytes: not even a message is parsed."""

    def service(self, handler_call_details: Any) -> Any:
        if handler_call_details.method == _UNARY:
            return grpc.unary_unary_rpc_method_handler(_unary)
        return grpc.stream_stream_rpc_method_handler(_stream)


async def _unary(request: bytes, context: Any) -> bytes:
    return request


async def _stream(requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
    async for request in requests:
        yield request


async def _serve() -> None:
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((_Echo(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(None)


@asynccontextmanager
async def echo_server() -> AsyncIterator[grpc.aio.Channel]:
    """A channel to an echo server that runs meanwhile."""
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.bench.echo"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        port = int(await server.stdout.readline())
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
    finally:
        server.stdin.close()
        await server.wait()


async def unary_rate(channel: grpc.aio.Channel, in_flight: int, seconds: float) -> float:
    """Unary calls a second with so many under way."""
    call: Any = channel.unary_unary(_UNARY)
    until = time.perf_counter() + seconds

    async def caller() -> int:
        count = 0
        while time.perf_counter() < until:
            await call(PAYLOAD)
            count += 1
        return count

    return sum(await asyncio.gather(*(caller() for _ in range(in_flight)))) / seconds


async def stream_rate(channel: grpc.aio.Channel, in_flight: int, seconds: float) -> float:
    """Messages a second there and back, on so many streams with one message under way each."""
    until = time.perf_counter() + seconds

    async def caller() -> int:
        call: Any = channel.stream_stream(_STREAM)()
        count = 0
        while time.perf_counter() < until:
            await call.write(PAYLOAD)
            await call.read()
            count += 1
        await call.done_writing()
        return count

    return sum(await asyncio.gather(*(caller() for _ in range(in_flight)))) / seconds


async def stream_waits(
    channel: grpc.aio.Channel, streams: int, rate: float, seconds: float
) -> list[float]:
    """Seconds from there to back of messages sent at `rate` a second in all, on so many streams."""
    waits: list[float] = []
    began = time.perf_counter()

    async def caller(number: int) -> None:
        call: Any = channel.stream_stream(_STREAM)()
        turn = 0
        while True:
            due = began + (number + turn * streams) / rate
            if due > began + seconds:
                break
            await asyncio.sleep(due - time.perf_counter())
            started = time.perf_counter()
            await call.write(PAYLOAD)
            await call.read()
            waits.append(time.perf_counter() - started)
            turn += 1
        await call.done_writing()

    await asyncio.gather(*(caller(number) for number in range(streams)))
    return waits


if __name__ == "__main__":
    uvloop.run(_serve())
