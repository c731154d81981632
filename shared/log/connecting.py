"""Connections to the database that notice when the other end is gone without a word.

A host that loses its power, or a link that drops everything, sends no farewell. Left to itself TCP
finds out after a quarter of an hour where something is on its way, and after two hours where not;
meanwhile a statement waits, and the server keeps the locks of one that is gone.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import asyncpg
from asyncpg.transaction import Transaction

# In quotes: the class takes parameters in its stubs only.
RawConnection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

SILENCE_S = 3
"""After so many seconds in which a probe, or anything else, is not answered, a connection is dead:
as long as a table node's lease."""
IDLE_IN_TRANSACTION_S = 10
"""The server ends a transaction that its client, held up, leaves open for longer: it may hold heads
that others wait for."""
LOCK_TIMEOUT_S = 5
"""Nobody waits longer for a head that another one holds. Those who hang up meanwhile would each
leave a session behind, until there are no more."""
CONNECT_TIMEOUT_S = 3.0
"""How long one server is tried before the next."""
_PROBE_EVERY_S = 1
_PROBES = 3
_STEPS = 3
"""Of the loop, after which the pool has the connection back and waits for what becomes of it."""
# By DSN, the place of the server after the one that was tried last: a call has less time than
# several silent ones take, and must not begin with the same ones for ever.
_go_on_with: dict[str, int] = {}
_AS_USUAL: Mapping[str, Any] = {"isolation": None, "readonly": False, "deferrable": False}


class _Connection(asyncpg.Connection):
    """A connection that hangs up instead of having the server cancel what takes too long.

    A COMMIT that waits for a synchronous standby is, when cancelled, made known without it: whoever
    repeats the append is told that it is in, and a failover loses what was acknowledged. While it
    waits the server takes no notice of a client that hangs up.
    """

    given_up = False

    def _cancel_current_command(self, waiter: Any, cancel_waiter: Any = None) -> None:
        self.given_up = True
        super()._cancel_current_command(waiter, cancel_waiter)  # type: ignore[misc]

    async def _cancel(self, waiter: Any, cancel_waiter: Any = None) -> None:
        for _ in range(_STEPS):
            await asyncio.sleep(0)
        self._cancellations.discard(asyncio.current_task())  # type: ignore[attr-defined]
        self.terminate()

    def transaction(self, **options: Any) -> Transaction:
        return _Transaction(self, **{**_AS_USUAL, **options})


class _Transaction(Transaction):
    """One that is not rolled back where its connection is given up: that would fail, and what it
    was given up for, a cancellation or a time-out, would not be heard."""

    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> None:
        connection: Any = self._connection  # type: ignore[attr-defined]
        if kind is None or not connection.given_up:
            await super().__aexit__(kind, error, traceback)


def session_settings(application: str) -> dict[str, str]:
    """What the server is told for a session. Its own end of the connection watches as well: the
    advisory lock of a consumer whose host is gone would keep all others from its partition."""
    return {
        "application_name": application,
        "tcp_keepalives_idle": str(_PROBE_EVERY_S),
        "tcp_keepalives_interval": str(_PROBE_EVERY_S),
        "tcp_keepalives_count": str(_PROBES),
        "tcp_user_timeout": f"{SILENCE_S}s",
        "lock_timeout": f"{LOCK_TIMEOUT_S}s",
        "idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION_S}s",
    }


async def connect(dsn: str, **options: Any) -> RawConnection:
    """`asyncpg.connect` to the first server of `dsn` that takes us.

    Each that is named gets a time of its own: asyncpg would give all of it to one that is silent.
    Whoever gives up before that goes on with the next server when he comes again.
    """
    last: Exception | None = None
    servers = list(_each_server(dsn))
    first = _go_on_with.pop(dsn, 0)
    for at in range(len(servers)):
        place = (first + at) % len(servers)
        _go_on_with[dsn] = place + 1
        try:
            connection: RawConnection = await asyncpg.connect(
                servers[place],
                **{**options, "timeout": CONNECT_TIMEOUT_S, "connection_class": _Connection},
            )
        except (OSError, asyncpg.PostgresError, asyncpg.TargetServerAttributeNotMatched) as error:
            last = error
        else:
            _go_on_with.pop(dsn, None)
            _notice_silence(connection)
            return connection
    _go_on_with.pop(dsn, None)
    assert last is not None
    raise last


def _each_server(dsn: str) -> Iterator[str]:
    parts = urlsplit(dsn)
    credentials, at, hosts = parts.netloc.rpartition("@")
    for host in hosts.split(","):
        yield urlunsplit(parts._replace(netloc=f"{credentials}{at}{host}"))


def _notice_silence(connection: RawConnection) -> None:
    wire = connection._transport.get_extra_info("socket")  # type: ignore[attr-defined]
    if wire is None or wire.family == socket.AF_UNIX:
        return
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _OPTIONS.items():
        if hasattr(socket, name):  # not every system has all of them
            wire.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


_OPTIONS: Mapping[str, int] = {
    "TCP_KEEPIDLE": _PROBE_EVERY_S,
    "TCP_KEEPINTVL": _PROBE_EVERY_S,
    "TCP_KEEPCNT": _PROBES,
    "TCP_USER_TIMEOUT": SILENCE_S * 1000,
}
