"""A channel to one service, and calls over it with the caller's token."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from types import TracebackType
from typing import Any, TypeVar

import grpc

from clients.api.back_off import BackOff
from clients.api.errors import UNREACHABLE, RefusedError, refused

CALL_TIMEOUT_S = 10.0
PATIENCE_S = 20.0

_OPTIONS = (
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    # Else it would send two pings on a quiet stream, and then no more.
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.max_receive_message_length", 8 * 1024 * 1024),
    # A house that restarts should be found again within a second or two, not after minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)

Answer = TypeVar("Answer")
Metadata = tuple[tuple[str, str], ...]


class Connection:
    """One gRPC channel. `addresses` are nodes of the same service (`host:port`, several only as
    numbers): the channel uses any of them and goes on to the next when one is lost.

    `token` is asked before each call and stream, so it may be renewed. `patience_s` is how long a
    call that is refused for a passing reason is tried again.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        token: Callable[[], str],
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.addresses = tuple(addresses)
        self._patience_s = patience_s
        self._token = token
        self.channel = grpc.aio.insecure_channel(_target(addresses), options=_OPTIONS)

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the channel and whatever runs on it."""
        await self.channel.close()

    def metadata(self) -> Metadata:
        """What says who is calling."""
        return (("authorization", f"Bearer {self._token()}"),)

    async def call(
        self,
        method: Callable[..., Awaitable[Answer]],
        request: Any,
        timeout_s: float = CALL_TIMEOUT_S,
    ) -> Answer:
        """Calls a unary `method`; raises `RefusedError`.

        Tried again, with back-off and as long as there is patience, where the refusal is a passing
        one: every command carries an id, and every question may be asked twice.
        """
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + self._patience_s
        back_off = BackOff()
        while True:
            try:
                return await method(request, metadata=self.metadata(), timeout=timeout_s)
            except grpc.aio.AioRpcError as error:
                refusal = refused(error)
            wait_s = back_off.next_s(refusal.retry_after_s)
            if not refusal.passing or loop.time() + wait_s > give_up_at:
                raise self._plain(refusal)
            await asyncio.sleep(wait_s)

    def _plain(self, refusal: RefusedError) -> RefusedError:
        if refusal.reason != UNREACHABLE:
            return refusal
        where = " or ".join(self.addresses)
        return RefusedError(UNREACHABLE, f"nobody answers at {where}", passing=True)


def _target(addresses: Sequence[str]) -> str:
    if not addresses:
        raise RefusedError(UNREACHABLE, "no address is known for this service")
    if len(addresses) == 1:
        return addresses[0]
    hosts = [address.rpartition(":")[0].strip("[]") for address in addresses]
    try:
        families = {ipaddress.ip_address(host).version for host in hosts}
    except ValueError:
        families = set()
    if len(families) != 1:
        raise RefusedError(
            "BAD_REQUEST", "several addresses must all be IPv4 or all be IPv6 numbers"
        )
    # Each client prefers another node, so that they spread.
    shuffled = Random().sample(list(addresses), len(addresses))
    return f"ipv{families.pop()}:{','.join(shuffled)}"
