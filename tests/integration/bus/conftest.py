"""A house in small: log, relay, bus and one consuming service, each to be broken by itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import asyncpg
import pytest
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError
from prometheus_client import REGISTRY

from services.relay.relay import Relay
from shared.bus import consumer as consumer_module
from shared.bus import metrics
from shared.bus.batch import STREAM
from shared.bus.consumer import Consumer
from shared.bus.ping import Pinger
from shared.bus.stream import connect
from shared.log import EventLog, Outcome, PostgresLog, open_pool, turns
from shared.ops.tasks import end
from tests.integration.bus import probe
from tests.integration.bus.probe import Probe
from tests.logs import append
from tests.polling import eventually
from tests.servers import Database, Running

Root: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@dataclass
class House:
    """What a test breaks and looks at. Tasks it starts end with it."""

    database: Database
    nats_url: str
    log: EventLog
    client: Client
    root: Root
    versions: dict[str, int] = field(default_factory=dict)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self, running: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Starts something that ends with the test, if not before."""
        task = asyncio.create_task(running)
        self.tasks.append(task)
        return task

    async def stop(self, task: asyncio.Task[None]) -> None:
        """Cancels one of them and waits for its end."""
        await end([task])

    def relay(self) -> asyncio.Task[None]:
        """A relay in this process."""
        relay = Relay(self.log, self.database.dsn("croupier_relay"), self.client)
        return self.start(relay.run())

    def consumer(self, handler: Probe, client: Client | None = None) -> asyncio.Task[None]:
        """A consumer replica in this process."""
        metrics.CONSUMER_LAG.remove(probe.NAME, "table.0")
        return self.start(self.new_consumer(handler, client).run())

    def new_consumer(self, handler: Probe, client: Client | None = None) -> Consumer:
        return Consumer(
            handler.consuming(), "table.0", self.database.dsn(probe.ROLE), client or self.client
        )

    def has_looked(self) -> bool:
        """Whether the consumer that was started last has seen how far the log goes."""
        labels = {"consumer": probe.NAME, "partition": "table.0"}
        return REGISTRY.get_sample_value("croupier_consumer_lag_events", labels) is not None

    async def write(self, stream: str, *values: int | bytes) -> None:
        """Appends one event for each value, in one append."""
        name = f"table/{stream}"
        payloads = [value if isinstance(value, bytes) else str(value).encode() for value in values]
        [answer] = await self.log.append([append(name, self.versions.get(name, 0), *payloads)])
        assert answer.outcome is Outcome.OK
        self.versions[name] = answer.last_version

    async def write_many(self, count: int, streams: int = 5) -> None:
        """Appends `count` events, one an append, over some streams."""
        for number in range(count):
            await self.write(f"s{number % streams}", number)

    async def is_equal(self) -> bool:
        """Whether the service's view is what the log says."""
        return await probe.equal_to_the_log(self.root, self.log)

    async def becomes_equal(self) -> None:
        """Waits until the view is what the log says."""
        await eventually(self.is_equal, within_s=30)

    async def reconnect(self) -> None:
        """Gives the test's own eyes back to it after Postgres was killed."""
        self.root.terminate()
        self.root = await asyncpg.connect(self.database.dsn())

    async def stored(self) -> int:
        """How many messages JetStream holds."""
        try:
            return (await self.client.jetstream().stream_info(STREAM)).state.messages
        except NotFoundError:
            return 0

    async def stores(self, count: int) -> None:
        """Waits until JetStream holds so many messages."""

        async def enough() -> bool:
            try:
                return await self.stored() >= count
            except (NatsError, TimeoutError):
                return False  # the bus is just coming back

        await eventually(enough, within_s=30)


async def forget_stream(client: Client) -> None:
    """JetStream as it is on the first day."""
    with contextlib.suppress(NotFoundError):
        await client.jetstream().delete_stream(STREAM)


@contextlib.asynccontextmanager
async def house_in(database: Database, nats_url: str) -> AsyncIterator[House]:
    """A house over these servers."""
    await probe.make_tables(database.dsn())
    client = await connect(nats_url, "test")
    await forget_stream(client)
    root = await asyncpg.connect(database.dsn())
    pool = await open_pool(database.dsn("croupier_table"))
    log = PostgresLog(pool, Pinger(client))
    house = House(database, nats_url, log, client, root)
    try:
        yield house
    finally:
        await end(house.tasks)
        await log.close()
        pool.terminate()
        house.root.terminate()
        if client.is_connected:
            await forget_stream(client)
        await client.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks that come once a second come ten times as often: tests wait for many."""
    monkeypatch.setattr(consumer_module, "LOOK_EVERY_S", 0.1)
    monkeypatch.setattr(turns, "STANDBY_LOOK_S", 0.05)


@pytest.fixture
async def house(database: Database, nats_server: Running) -> AsyncIterator[House]:
    """A house over the session's servers: relay and consumers are the test's to start."""
    async with house_in(database, nats_server.server.url) as house:  # type: ignore[union-attr]
        yield house


@pytest.fixture
def handler() -> Probe:
    """The consuming service."""
    return Probe()
