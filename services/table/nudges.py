"""Words between nodes that there is something new in the directory: core NATS messages, which may
get lost. Whoever listens also looks by himself at every heartbeat."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

_EACH = "croupier-look"
_ALL = "croupier-look-all"
_MOST_TASKS = 1_000


class Nudges:
    """What one node says to the others and hears from them."""

    def __init__(self, client: Client, node: str) -> None:
        self._client = client
        self._node = node
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self, look: Callable[[], None]) -> None:
        """From now on `look` is called when somebody has news for this node."""

        async def heard(message: Msg) -> None:
            look()

        for subject in (f"{_EACH}.{self._node}", _ALL):
            await self._client.subscribe(subject, cb=heard)

    def nudge(self, node: str) -> None:
        """Has `node` look; "" is every node. Does not make the caller wait."""
        if not self._client.is_connected or len(self._tasks) >= _MOST_TASKS:
            return
        task = asyncio.create_task(self._send(f"{_EACH}.{node}" if node else _ALL))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, subject: str) -> None:
        with contextlib.suppress(NatsError, OSError):
            await self._client.publish(subject)
