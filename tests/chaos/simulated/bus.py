"""The bus of a simulated house: hints that come late, twice, in another order, or never."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from shared.bus.batch import Batch, subject_of
from shared.log import EventLog, LogUnavailableError
from tests.chaos.simulated.database import Database, Far, FarPool
from tests.chaos.simulated.loop import Process, here, spawn
from tests.chaos.simulated.wires import Wires

LOST = 50
TWICE = 50
"""Of a thousand messages."""
PAGE_BLOCKS = 200
LOOK_EVERY_S = 0.25
SAVE_EVERY_S = 1.0

Heard = Callable[[Any], Awaitable[None]]


@dataclass(eq=False)
class _Listener:
    process: Process
    subject: str
    heard: Heard

    def wants(self, subject: str) -> bool:
        if self.subject.endswith(">"):
            return subject.startswith(self.subject[:-1])
        return subject == self.subject


@dataclass
class Bus:
    """NATS: whoever listens hears most of what is said after that. It remembers nothing at all,
    less than JetStream does. It stands in for its own client."""

    wires: Wires
    process: Process = field(default_factory=lambda: Process("nats"))
    listeners: list[_Listener] = field(default_factory=list)

    async def subscribe(self, subject: str, cb: Heard) -> None:
        """As `nats.aio.client.Client.subscribe`."""
        process = here()
        assert process is not None
        self.listeners.append(_Listener(process, subject, cb))

    @property
    def is_connected(self) -> bool:
        """As far as its client can tell."""
        return self.process.alive

    async def publish(self, subject: str) -> None:
        """As `nats.aio.client.Client.publish`, without content."""
        self.say(subject)

    def say(self, subject: str, data: object = None) -> None:
        """Says something from where the running code is; it may get lost on the way."""
        process = here()
        source = process.name if process is not None else "people"
        self.wires.send(
            source, self.process.name, lambda: self._spread(subject, data), lambda: None
        )

    def ping(self, partitions: frozenset[str]) -> None:
        """What `shared.bus.ping.Pinger` does."""
        for partition in sorted(partitions):
            self.say(f"croupier-ping.{partition}")

    def _spread(self, subject: str, data: object) -> None:
        if not self.process.alive:
            return
        self.listeners = [each for each in self.listeners if each.process.alive]
        for listener in self.listeners:
            if not listener.wants(subject):
                continue
            dice = self.wires.random.randrange(1000)
            for _ in range(0 if dice < LOST else 2 if dice < LOST + TWICE else 1):
                self._bring(listener, SimpleNamespace(subject=subject, data=data))

    def _bring(self, listener: _Listener, message: Any) -> None:
        def arrived() -> None:
            if listener.process.alive:
                spawn(listener.process, _hear(listener, message))

        self.wires.send(self.process.name, listener.process.name, arrived, lambda: None)


async def _hear(listener: _Listener, message: Any) -> None:
    await listener.heard(message)


class Relay:
    """Publishes what a partition holds, in order; begins again from where it last said it was."""

    def __init__(self, database: Database, pool: FarPool, log: EventLog, bus: Bus) -> None:
        self._database = database
        self._far = Far(pool)
        self._log = log
        self._bus = bus
        self._news = asyncio.Event()

    async def run(self, partition: str) -> None:
        """Until the process ends."""
        loop = asyncio.get_running_loop()
        await self._bus.subscribe(f"croupier-ping.{partition}", self._pinged)
        position = saved = None
        save_at = 0.0
        while True:
            with contextlib.suppress(LogUnavailableError):
                if position is None:
                    position = await self._far.ask(lambda: self._database.relayed.get(partition, 0))
                self._news.clear()
                position = await self._publish(partition, position)
                if position != saved and loop.time() >= save_at:
                    saved, save_at = position, loop.time() + SAVE_EVERY_S
                    await self._far.ask(
                        lambda at=position: self._database.relayed.update({partition: at})  # type: ignore[misc]
                    )
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._news.wait()

    async def _publish(self, partition: str, position: int) -> int:
        while blocks := await self._log.read_blocks(partition, position, PAGE_BLOCKS):
            first, last = blocks[0].first_position, blocks[-1].last_position
            events = await self._log.read_partition(partition, first - 1, last - first + 1)
            for block in blocks:
                own = events[block.first_position - first : block.last_position - first + 1]
                batch = Batch(partition, block.first_position, block.head, tuple(own))
                self._bus.say(subject_of(batch), batch)
            position = last
        return position

    async def _pinged(self, _: Any) -> None:
        self._news.set()
