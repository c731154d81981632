"""The word that a partition has moved: an empty core NATS message, sent after the commit.

It may get lost. Whoever listens also looks at the heads from time to time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable

from nats.aio.client import Client
from nats.errors import Error as NatsError

_SUBJECT = "croupier-ping"
SUBJECTS = f"{_SUBJECT}.>"
EVERY_S = 0.01


class Pinger:
    """Says that partitions moved, without making the caller wait: an `OnCommitted` of the log.

    At once, then again after `EVERY_S` at the earliest, for all that moved meanwhile: a message
    wakes two processes, which costs this one as much as the commit itself.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._moved: set[str] = set()
        self._running: asyncio.Task[None] | None = None

    def __call__(self, partitions: Iterable[str]) -> None:
        """To be called after the commit, inside the event loop."""
        self._moved.update(partitions)
        if self._running is None:
            self._running = asyncio.create_task(self._run(), name="pings")

    async def _run(self) -> None:
        try:
            while self._moved:
                moved, self._moved = self._moved, set()
                # While the client is away it would keep them for later, when they say nothing new.
                if self._client.is_connected:
                    with contextlib.suppress(NatsError, OSError):
                        for partition in moved:
                            await self._client.publish(f"{_SUBJECT}.{partition}")
                await asyncio.sleep(EVERY_S)
        finally:
            self._running = None


def partition_of_ping(subject: str) -> str:
    """The partition that a ping's subject names."""
    return subject.removeprefix(f"{_SUBJECT}.")
