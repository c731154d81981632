"""Messages of one partition out of JetStream, at the consumer's own pace."""

from __future__ import annotations

import asyncio
import contextlib
import json
from datetime import datetime

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from shared.bus.batch import STREAM, subjects_of
from shared.bus.stream import ensure_durable

# One request is for so many; the next goes out when half of them are taken.
REQUEST_MESSAGES = 256
REQUEST_EXPIRES_S = 2.0
_ANSWER_SLACK_S = 1.0
_PAUSE_S = 0.2
# "No messages", "request timeout": the request is over, nothing is wrong.
_OVER = frozenset({"404", "408"})


class _RefusedError(Exception):
    """The server ended a request: the consumer or its stream is gone, most likely."""


class Pull:
    """The messages of `partition` for the durable consumer `name`, which is made as needed.

    It never fails: while the bus is away there are no messages. The client's own `fetch` is not
    used: it waits for its whole batch or its time-out, whichever is first.
    """

    def __init__(self, client: Client, name: str, partition: str, since: datetime | None) -> None:
        self._client = client
        self._durable = f"{name}-{partition.replace('.', '-')}"
        self._partition = partition
        self._since = since
        self._messages: asyncio.Queue[Msg] = asyncio.Queue()
        self._inbox = client.new_inbox()
        self._request = 0
        self._expected = 0
        self._status = ""
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Keeps a request open, until it is cancelled."""
        subscription = None
        try:
            while True:
                with contextlib.suppress(NatsError, OSError, _RefusedError):
                    if subscription is None:
                        subscription = await self._client.subscribe(
                            f"{self._inbox}.*", cb=self._arrived
                        )
                    await ensure_durable(
                        self._client, self._durable, subjects_of(self._partition), self._since
                    )
                    await self._keep_asking()
                await asyncio.sleep(_PAUSE_S)
        finally:
            if subscription is not None:
                with contextlib.suppress(NatsError):
                    await subscription.unsubscribe()

    async def take(self, limit: int, timeout_s: float, gather_s: float = 0.0) -> list[Msg]:
        """Up to `limit` messages, `gather_s` after there is one; none when `timeout_s` is over."""
        taken: list[Msg] = []
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                taken.append(await self._messages.get())
        if taken and gather_s and self._messages.qsize() < limit - 1:
            await asyncio.sleep(gather_s)
        while taken and len(taken) < limit and not self._messages.empty():
            taken.append(self._messages.get_nowait())
        self._changed.set()
        return taken

    async def _keep_asking(self) -> None:
        request = {"batch": REQUEST_MESSAGES, "expires": int(REQUEST_EXPIRES_S * 1e9)}
        while True:
            self._request += 1
            self._expected = REQUEST_MESSAGES
            self._status = ""
            await self._client.publish(
                f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{self._durable}",
                json.dumps(request).encode(),
                reply=f"{self._inbox}.{self._request}",
            )
            # The server tells when a request is over; silence means that it never got it.
            async with asyncio.timeout(REQUEST_EXPIRES_S + _ANSWER_SLACK_S):
                while self._expected > 0:
                    await self._change()
            if self._status and self._status not in _OVER:
                raise _RefusedError(self._status)
            while self._messages.qsize() > REQUEST_MESSAGES // 2:
                await self._change()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def _arrived(self, message: Msg) -> None:
        status = (message.headers or {}).get("Status")
        if status is None:
            self._expected -= 1
            self._messages.put_nowait(message)
        elif message.subject == f"{self._inbox}.{self._request}":
            self._expected = 0
            self._status = status
        self._changed.set()
