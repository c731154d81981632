"""One partition's relay: whoever holds its lock publishes what was committed, in order."""

from __future__ import annotations

import asyncio
import contextlib

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError

from services.relay.reading import batches_after, read_position, save_position
from shared.bus import metrics
from shared.bus.publisher import NotStoredError, Publisher
from shared.bus.stream import ensure_stream
from shared.log import (
    Connection,
    Pauses,
    connect,
    is_infrastructure,
    take_turn,
    turn_settings,
)

SAVE_EVERY_S = 1.0
READ_EVERY_S = 0.5
GATHER_S = 0.003
CALL_TIMEOUT_S = 10.0

_log = structlog.get_logger()


class PartitionRelay:
    """Publishes one partition. Several processes may run one each: one at a time is active.

    Where two were (a lost connection frees the lock before its holder knows), or where one begins
    again from an old position, messages come twice: JetStream drops them by their id while it
    remembers it, consumers skip them by their position for ever.
    """

    def __init__(self, partition: str, dsn: str, client: Client, replicas: int) -> None:
        self._partition = partition
        self._dsn = dsn
        self._client = client
        self._replicas = replicas
        self._log = _log.bind(partition=partition)
        self._committed = asyncio.Event()
        self._head = 0
        self._position = 0

    def committed(self, head: int | None = None) -> None:
        """Says that there is more in the log: up to `head`, if that is known."""
        if head is not None:
            self._head = head
            metrics.LOG_HEAD.labels(self._partition).set(head)
            metrics.RELAY_LAG.labels(self._partition).set(max(0, head - self._position))
            if head <= self._position:
                return
        self._committed.set()

    async def run(self) -> None:
        """Publishes until it is cancelled."""
        pauses = Pauses()
        while True:
            started = asyncio.get_running_loop().time()
            try:
                await self._with_connection()
            except Exception as error:
                metrics.RELAY_FAILURES.labels(self._partition).inc()
                if is_infrastructure(error) or isinstance(error, (NatsError, NotStoredError)):
                    self._log.warning("relay_interrupted", error=repr(error))
                else:
                    self._log.error("relay_failed", exc_info=error)
            await pauses.after(started)

    async def _with_connection(self) -> None:
        connection = await connect(
            self._dsn,
            command_timeout=CALL_TIMEOUT_S,
            server_settings=turn_settings(f"relay {self._partition}"),
        )
        publisher = Publisher(self._client)
        try:
            await take_turn(connection, f"relay {self._partition}")
            self._position = await read_position(connection, self._partition)
            self._log.info("relay_active", position=self._position)
            await ensure_stream(self._client, self._replicas)
            await self._publish(connection, publisher)
        finally:
            connection.terminate()
            await publisher.close()

    async def _publish(self, connection: Connection, publisher: Publisher) -> None:
        loop = asyncio.get_running_loop()
        saved = self._position
        save_at = loop.time() + SAVE_EVERY_S
        while True:
            # Cleared before the log is read: what is committed after that sets it again.
            self._committed.clear()
            batches, more = await batches_after(connection, self._partition, self._position)
            if batches:
                await publisher.publish(batches)
                self._position = batches[-1].last_position
                metrics.RELAY_BATCH.labels(self._partition).observe(len(batches))
                metrics.RELAY_POSITION.labels(self._partition).set(self._position)
                metrics.RELAY_LAG.labels(self._partition).set(max(0, self._head - self._position))
            if self._position != saved and loop.time() >= save_at:
                await save_position(connection, self._partition, self._position)
                saved = self._position
                save_at = loop.time() + SAVE_EVERY_S
            if not more:
                due_s = save_at - loop.time()
                await self._more(READ_EVERY_S if saved == self._position else due_s)

    async def _more(self, timeout_s: float) -> None:
        """Waits until there is more in the log, or for `timeout_s`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._committed.wait()
            # The next commits are close behind, and a read costs more than what it brings.
            await asyncio.sleep(GATHER_S)
