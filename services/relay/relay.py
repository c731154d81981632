"""All partitions' relays, and what wakes them: pings, and looks at the heads."""

from __future__ import annotations

import asyncio
import contextlib

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from services.relay.partition import PartitionRelay
from shared.bus.ping import SUBJECTS, partition_of_ping
from shared.log import EventLog, LogUnavailableError
from shared.ops.tasks import end

LOOK_EVERY_S = 0.05

_log = structlog.get_logger()


class Relay:
    """Relays every partition, also those that are added while it runs, to a stream that lies on
    `replicas` servers."""

    def __init__(self, log: EventLog, dsn: str, client: Client, replicas: int = 1) -> None:
        self._eventlog = log
        self._dsn = dsn
        self._client = client
        self._replicas = replicas
        self._relays: dict[str, PartitionRelay] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Relays until it is cancelled; at whatever moment, nothing is lost."""
        pings = await self._client.subscribe(SUBJECTS, cb=self._pinged)
        try:
            while True:
                await self._look()
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            await end(self._tasks)
            with contextlib.suppress(NatsError):
                await pings.unsubscribe()

    async def _look(self) -> None:
        try:
            heads = await self._eventlog.heads()
        except LogUnavailableError as error:
            _log.warning("heads_unknown", error=str(error))
            return
        for partition, head in heads.items():
            relay = self._relays.get(partition)
            if relay is None:
                relay = PartitionRelay(partition, self._dsn, self._client, self._replicas)
                self._relays[partition] = relay
                self._tasks.append(asyncio.create_task(relay.run(), name=f"relay {partition}"))
            relay.committed(head.position)

    async def _pinged(self, message: Msg) -> None:
        relay = self._relays.get(partition_of_ping(message.subject))
        if relay is not None:
            relay.committed()
