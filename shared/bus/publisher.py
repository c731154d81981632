"""Publishing in order, many messages on the way at a time."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from shared.bus.batch import Batch, encode, headers_of, subject_of

ACK_TIMEOUT_S = 5.0
_HEADERS_BYTES = 1_024
"""More than the headers of a message have, which count as well."""

_log = structlog.get_logger()


class NotStoredError(Exception):
    """JetStream did not confirm a message: the stream is gone, full, or nobody answered in time."""


class Publisher:
    """Sends batches to JetStream and waits for its word that it has them."""

    def __init__(self, client: Client, ack_timeout_s: float = ACK_TIMEOUT_S) -> None:
        self._client = client
        self._ack_timeout_s = ack_timeout_s
        self._inbox = client.new_inbox()
        self._subscription: Subscription | None = None
        self._sent = 0
        self._open: dict[str, asyncio.Future[None]] = {}

    async def publish(self, batches: Sequence[Batch]) -> None:
        """Sends `batches` in order and returns when the last one is stored.

        JetStream stores what comes over one connection in its order, so those before it are stored
        too; it is asked about the last one alone, which halves what a message costs both sides.
        One that it refused nevertheless, or that is larger than the server takes, would be missed
        by the consumers, who would read it from the log. Raises `NotStoredError`,
        `nats.errors.Error` or `OSError` when the last one is not certain; to send them all again is
        right then, and harmless.
        """
        messages = [
            (batch, payload)
            for batch, payload in ((batch, encode(batch)) for batch in batches)
            if self._fits(batch, payload)
        ]
        if not messages:
            return
        if self._subscription is None:
            self._subscription = await self._client.subscribe(f"{self._inbox}.*", cb=self._answered)
        self._sent += 1
        token = f"{self._inbox}.{self._sent}"
        stored = self._open[token] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(self._ack_timeout_s):
                for batch, payload in messages:
                    await self._client.publish(
                        subject_of(batch),
                        payload,
                        reply=token if batch is messages[-1][0] else "",
                        headers=headers_of(batch),
                    )
                await stored
        except TimeoutError as error:
            raise NotStoredError("JetStream does not answer") from error
        finally:
            # Cancelled, one that failed as well does not complain that nobody looked.
            self._open.pop(token).cancel()

    def _fits(self, batch: Batch, payload: bytes) -> bool:
        """Whether the server takes it: one that it does not would hold up all behind it."""
        if len(payload) + _HEADERS_BYTES <= self._client.max_payload:
            return True
        _log.error(
            "message_too_large",
            partition=batch.partition,
            position=batch.first_position,
            size_bytes=len(payload),
        )
        return False

    async def close(self) -> None:
        """Stops listening for answers."""
        if self._subscription is not None:
            with contextlib.suppress(NatsError):
                await self._subscription.unsubscribe()
            self._subscription = None

    async def _answered(self, message: Msg) -> None:
        waiting = self._open.get(message.subject)
        if waiting is None or waiting.done():
            return
        status = (message.headers or {}).get("Status")
        error = status or json.loads(message.data).get("error")
        if error:
            waiting.set_exception(NotStoredError(f"JetStream refused a message: {error}"))
        else:
            waiting.set_result(None)
