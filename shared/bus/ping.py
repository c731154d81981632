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
_MAX_TASKS = 1_000


class Pinger:
    """Says that partitions moved, without making the caller wait: an `OnCommitted` of the log."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self, partitions: Iterable[str]) -> None:
        """To be called after the commit, inside the event loop."""
        if not self._client.is_connected or len(self._tasks) >= _MAX_TASKS:
            return
        task = asyncio.create_task(self._send(frozenset(partitions)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, partitions: frozenset[str]) -> None:
        with contextlib.suppress(NatsError, OSError):
            for partition in partitions:
                await self._client.publish(f"{_SUBJECT}.{partition}")


def partition_of_ping(subject: str) -> str:
    """The partition that a ping's subject names."""
    return subject.removeprefix(f"{_SUBJECT}.")
