"""The consumers of a service: one a partition of the categories it follows, new ones included."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import structlog
from nats.aio.client import Client

from shared.bus.consumer import Consumer, Consuming
from shared.log import EventLog, LogDivergedError, LogUnavailableError, category_of
from shared.ops.tasks import end

NEW_PARTITIONS_EVERY_S = 5.0

_log = structlog.get_logger()


class Consumers:
    """Runs a consumer for every partition of `categories`."""

    def __init__(
        self,
        consuming: Consuming,
        categories: Collection[str],
        log: EventLog,
        dsn: str,
        client: Client,
    ) -> None:
        self._consuming = consuming
        self._categories = frozenset(categories)
        self._eventlog = log
        self._dsn = dsn
        self._client = client
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def diverged(self) -> frozenset[str]:
        """The partitions that were given up because the log contradicts what was applied."""
        return frozenset(name for name, task in self._tasks.items() if task.done())

    async def run(self) -> None:
        """Consumes until it is cancelled. Where the log diverged it stops; the others go on."""
        try:
            while True:
                try:
                    heads = await self._eventlog.heads()
                except LogUnavailableError as error:
                    _log.warning("partitions_unknown", error=str(error))
                    heads = {}
                for partition in heads:
                    if category_of(partition) in self._categories:
                        self._start(partition)
                await asyncio.sleep(NEW_PARTITIONS_EVERY_S)
        finally:
            await end(self._tasks.values())

    def _start(self, partition: str) -> None:
        if partition in self._tasks:
            return
        consumer = Consumer(self._consuming, partition, self._dsn, self._client)
        self._tasks[partition] = asyncio.create_task(
            _until_diverged(consumer), name=f"consumer {self._consuming.name} {partition}"
        )


async def _until_diverged(consumer: Consumer) -> None:
    try:
        await consumer.run()
    except LogDivergedError:
        # Told already; whoever asks for `diverged` learns it.
        return
