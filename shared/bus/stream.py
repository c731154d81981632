"""The JetStream side: the stream all events pass through, a connection that does not give up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import unquote, urlsplit

import structlog
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    DiscardPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import APIError, NotFoundError

from shared.bus.batch import STREAM, SUBJECTS
from shared.ops.tasks import end

# What is older, or more, is read from the log.
MAX_AGE_S = 24 * 3600.0
MAX_BYTES = 4 * 1024**3
"""A server whose storage is full takes nothing more, until what it has is old enough."""
_LEAST_BYTES = 1024**2
_NO_ROOM = 10_047
"""What a server says that has less storage left than a stream is to have."""
DUPLICATE_WINDOW_S = 120.0
ACK_WAIT_S = 30.0
MAX_ACK_PENDING = 1_024
CONNECT_TIMEOUT_S = 2.0
FIRST_WAIT_S = 5.0
PING_EVERY_S = 1
MOST_UNANSWERED_PINGS = 2
"""A link that drops everything is given up after three seconds, not after six minutes."""
_RECONNECT_PAUSE_S = 0.2

_log = structlog.get_logger()


class _Connection(Client):
    """A connection that may still be coming up: who wants to hear something waits for it. It can be
    closed also when it is lost just then: a service that stops cleanly must not fail for it."""

    def __init__(self) -> None:
        super().__init__()
        self._up = asyncio.Event()
        self._coming: asyncio.Task[None] | None = None

    async def come(self, within_s: float, **options: Any) -> None:
        """Connects, and goes on trying where it is not up in time."""
        self._coming = asyncio.create_task(self._connect(options), name="bus")
        done, _ = await asyncio.wait({self._coming}, timeout=within_s)
        if done:
            self._coming.result()
        else:
            _log.warning("bus_away")

    async def _connect(self, options: Mapping[str, Any]) -> None:
        await self.connect(**options)
        self._up.set()

    async def subscribe(self, *arguments: Any, **options: Any) -> Subscription:
        await self._up.wait()
        return await super().subscribe(*arguments, **options)

    async def close(self) -> None:
        if self._coming is not None and not self._up.is_set():
            await end([self._coming])
            return
        try:
            await super().close()
        except OSError:
            # It stopped half way, with its subscriptions open, and thinks itself closed.
            self._status = Client.DISCONNECTED
            await super().close()


async def connect(urls: str, name: str) -> Client:
    """A connection that comes back by itself, for ever. Where it is not up in a moment it comes
    later: a service does without the bus, which only makes things quicker. `urls` are those of one
    server, or of several of a cluster with commas between them, all with one user and password."""
    client = _Connection()
    servers = [each.strip() for each in urls.split(",")]
    first = urlsplit(servers[0])
    await client.come(
        FIRST_WAIT_S,
        servers=servers,
        # Servers tell of each other without the password that their addresses here have.
        user=first.username and unquote(first.username),
        password=first.password and unquote(first.password),
        name=name,
        connect_timeout=int(CONNECT_TIMEOUT_S),
        max_reconnect_attempts=-1,
        ping_interval=PING_EVERY_S,
        max_outstanding_pings=MOST_UNANSWERED_PINGS,
        reconnect_time_wait=_RECONNECT_PAUSE_S,
        error_cb=_expected,
    )
    return client


async def _expected(error: Exception) -> None:
    """The client tells of every lost connection and every failed attempt to get it back. Whoever
    waits for an answer meets a time-out, which is told there."""


async def ensure_stream(
    client: Client, replicas: int = 1, duplicate_window_s: float = DUPLICATE_WINDOW_S
) -> None:
    """Makes the stream if it is not there (any more), on so many servers, and spreads one that is
    on fewer. It has `MAX_BYTES`, or what there is room for. Raises `nats.errors.Error`."""
    jetstream = client.jetstream()
    try:
        found = (await jetstream.stream_info(STREAM)).config
    except NotFoundError:
        fresh = StreamConfig(
            name=STREAM,
            subjects=[SUBJECTS],
            retention=RetentionPolicy.LIMITS,
            discard=DiscardPolicy.OLD,
            storage=StorageType.FILE,
            num_replicas=replicas,
            max_age=MAX_AGE_S,
            duplicate_window=duplicate_window_s,
        )
        await _with_room(lambda room: jetstream.add_stream(fresh, max_bytes=room))
        return
    if (found.num_replicas or 1) < replicas:
        await jetstream.update_stream(found, num_replicas=replicas)
        found.num_replicas = replicas
    if (found.max_bytes or -1) < 0:
        await _with_room(lambda room: jetstream.update_stream(found, max_bytes=room))


async def _with_room(make: Callable[[int], Awaitable[object]]) -> None:
    """Half as much, and half of that, until the server has room for it."""
    room = MAX_BYTES
    while True:
        try:
            await make(room)
        except APIError as error:
            if error.err_code != _NO_ROOM or room // 2 < _LEAST_BYTES:
                raise
            room //= 2
        else:
            return


async def ensure_durable(
    client: Client, durable: str, subjects: str, since: datetime | None
) -> None:
    """Makes a durable pull consumer if it is not there (any more). It is where its stream is.

    A new durable starts with messages stored at `since`; None: with the first one there is. Raises
    `nats.errors.Error`, also where there is no stream: the relay makes it, which alone knows on how
    many servers.
    """
    jetstream = client.jetstream()
    try:
        await jetstream.consumer_info(STREAM, durable)
    except NotFoundError:
        await jetstream.add_consumer(
            STREAM,
            ConsumerConfig(
                durable_name=durable,
                deliver_policy=DeliverPolicy.ALL if since is None else DeliverPolicy.BY_START_TIME,
                opt_start_time=since,
                # One acknowledgement says that all messages before are done with as well.
                ack_policy=AckPolicy.ALL,
                ack_wait=ACK_WAIT_S,
                max_ack_pending=MAX_ACK_PENDING,
                filter_subject=subjects,
            ),
        )
