"""The JetStream side: the stream all events pass through, a connection that does not give up."""

from __future__ import annotations

import asyncio
from datetime import datetime

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import NotFoundError

from shared.bus.batch import STREAM, SUBJECTS

# What is older is read from the log.
MAX_AGE_S = 24 * 3600.0
DUPLICATE_WINDOW_S = 120.0
ACK_WAIT_S = 30.0
MAX_ACK_PENDING = 1_024
CONNECT_TIMEOUT_S = 2.0
PING_EVERY_S = 1
MOST_UNANSWERED_PINGS = 2
"""A link that drops everything is given up after three seconds, not after six minutes."""
_RECONNECT_PAUSE_S = 0.2


class _Connection(Client):
    """A connection that can be closed also when it is lost just then: a service that stops cleanly
    must not fail for it."""

    async def close(self) -> None:
        try:
            await super().close()
        except OSError:
            # It stopped half way, with its subscriptions open, and thinks itself closed.
            self._status = Client.DISCONNECTED
            await super().close()


async def connect(url: str, name: str, give_up_after_s: float = 60.0) -> Client:
    """A connection that comes back by itself, for ever, once it has been there.

    Raises `OSError` or `nats.errors.Error` when it has not come up after `give_up_after_s`.
    """
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + give_up_after_s
    while True:
        try:
            client = _Connection()
            await client.connect(
                url,
                name=name,
                connect_timeout=int(CONNECT_TIMEOUT_S),
                max_reconnect_attempts=-1,
                ping_interval=PING_EVERY_S,
                max_outstanding_pings=MOST_UNANSWERED_PINGS,
                reconnect_time_wait=_RECONNECT_PAUSE_S,  # type: ignore[arg-type]
                error_cb=_expected,
            )
            return client
        except (OSError, NatsError):
            if loop.time() > give_up_at:
                raise
        await asyncio.sleep(_RECONNECT_PAUSE_S)


async def _expected(error: Exception) -> None:
    """The client tells of every lost connection and every failed attempt to get it back. Whoever
    waits for an answer meets a time-out, which is told there."""


async def ensure_stream(client: Client, duplicate_window_s: float = DUPLICATE_WINDOW_S) -> None:
    """Makes the stream if it is not there (any more). Raises `nats.errors.Error`."""
    jetstream = client.jetstream()
    try:
        await jetstream.stream_info(STREAM)
    except NotFoundError:
        await jetstream.add_stream(
            StreamConfig(
                name=STREAM,
                subjects=[SUBJECTS],
                retention=RetentionPolicy.LIMITS,
                storage=StorageType.FILE,
                max_age=MAX_AGE_S,
                duplicate_window=duplicate_window_s,
            )
        )


async def ensure_durable(
    client: Client, durable: str, subjects: str, since: datetime | None
) -> None:
    """Makes the stream and a durable pull consumer if they are not there (any more).

    A new durable starts with messages stored at `since`; None: with the first one there is.
    """
    jetstream = client.jetstream()
    try:
        await jetstream.consumer_info(STREAM, durable)
    except NotFoundError:
        await ensure_stream(client)
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
