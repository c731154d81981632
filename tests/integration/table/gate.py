"""A gate before shuffle, through which the table's calls pass: it knows when which call is made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import grpc

from shared.errors import CroupierError
from shared.rpc.errors import to_status

Passing = Callable[[str, Callable[[], Awaitable[bytes]]], Awaitable[bytes]]
"""Gets the name of the method and a way to pass the call on; raises `LostError` to lose it,
`CroupierError` to refuse it."""


PassingRequest = Callable[[str, bytes, Callable[[], Awaitable[bytes]]], Awaitable[bytes]]
"""The same for a test that has to know what is asked."""


# As the real ones: a node pings each second, also while what it asked is held back here.
_OPTIONS = (("grpc.http2.min_ping_interval_without_data_ms", 500),)


class LostError(Exception):
    """The other side is gone, as far as the caller can tell."""


class Gate(grpc.GenericRpcHandler):
    """Serves all methods of `target`, unparsed."""

    def __init__(self, target: str) -> None:
        self.passing: Passing = _pass
        self.passing_request: PassingRequest = self._pass_unseen
        self._channel = grpc.aio.insecure_channel(target)
        self._server = grpc.aio.server(handlers=(self,), options=_OPTIONS)
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    async def __aenter__(self) -> Gate:
        await self._server.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._server.stop(None)
        await self._channel.close()

    def service(self, details: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(partial(self._call, details.method))

    async def _pass_unseen(
        self, method: str, request: bytes, pass_on: Callable[[], Awaitable[bytes]]
    ) -> bytes:
        return await self.passing(method, pass_on)

    async def _call(self, method: str, request: bytes, context: Any) -> bytes:
        call: Any = self._channel.unary_unary(method)
        metadata = tuple(
            (key, value)
            for key, value in context.invocation_metadata()
            if key.startswith(("authorization", "croupier-"))
        )

        async def pass_on() -> bytes:
            answer: bytes = await call(request, metadata=metadata)
            return answer

        try:
            return await self.passing_request(method.rpartition("/")[2], request, pass_on)
        except LostError:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "gone")
        except CroupierError as refusal:
            status = to_status(refusal, "")
            metadata = tuple(status.trailing_metadata or ())
            await context.abort(status.code, status.details, metadata)
        except grpc.aio.AioRpcError as error:
            await context.abort(error.code(), error.details(), tuple(error.trailing_metadata()))
        raise AssertionError


async def _pass(method: str, pass_on: Callable[[], Awaitable[bytes]]) -> bytes:
    return await pass_on()
