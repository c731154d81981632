"""How fast committed events reach a consumer that does nothing with them:
`python -m tests.bench.bus`. Relay and consumer share this one process and its core."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence

from services.relay.relay import Relay
from shared.bus.consumer import Consumer, Consuming
from shared.bus.ping import Pinger
from shared.bus.stream import connect
from shared.log import Connection, PostgresLog, RecordedEvent, open_pool
from shared.ops.tasks import end
from tests.integration.bus import probe
from tests.logs import append
from tests.servers import (
    Database,
    PostgresForTests,
    Running,
    nats_for_tests,
    postgres_for_tests,
    remove,
    temporary_folder,
)

EVENTS = 20_000
STREAMS = 100
SINGLE = 200


class Sink:
    """Counts what arrives."""

    def __init__(self) -> None:
        self.position = 0
        self.arrived = asyncio.Event()

    async def apply(
        self, connection: Connection, events: Sequence[RecordedEvent]
    ) -> frozenset[str]:
        self.position = events[-1].position
        self.arrived.set()
        return frozenset()

    async def reaches(self, position: int) -> None:
        while self.position < position:
            self.arrived.clear()
            await self.arrived.wait()


async def measure(database: Database, nats_url: str) -> None:
    await probe.make_tables(database.dsn())
    client = await connect(nats_url, "bench")
    pool = await open_pool(database.dsn("croupier_table"))
    log = PostgresLog(pool, Pinger(client))
    for turn in range(EVENTS // STREAMS):
        await log.append([append(f"table/{number}", turn, bytes(120)) for number in range(STREAMS)])
    sink = Sink()
    consuming = Consuming(probe.NAME, probe.SCHEMA, sink.apply, lambda _: None)
    consumer = Consumer(consuming, "table.0", database.dsn(probe.ROLE), client)
    tasks = [asyncio.create_task(Relay(log, database.dsn("croupier_relay"), client).run())]
    started = time.perf_counter()
    jetstream = client.jetstream()
    while True:
        await asyncio.sleep(0.05)
        streams = [info for info in await jetstream.streams_info() if info.state.messages]
        if streams and streams[0].state.messages >= EVENTS:
            break
    print(f"relay             {EVENTS / (time.perf_counter() - started):8.0f} appends/s")
    started = time.perf_counter()
    tasks.append(asyncio.create_task(consumer.run()))
    await sink.reaches(EVENTS)
    print(f"consumer, log     {EVENTS / (time.perf_counter() - started):8.0f} events/s")
    started = time.perf_counter()
    for turn in range(50):
        await log.append([append(f"table/more-{n}", turn, bytes(120)) for n in range(STREAMS)])
    more = 50 * STREAMS
    await sink.reaches(EVENTS + more)
    rate = more / (time.perf_counter() - started)
    print(f"append to applied {rate:8.0f} events/s, {STREAMS} appends a call")
    waits = []
    for turn in range(SINGLE):
        [answer] = await log.append([append("table/one", turn)])
        committed = time.perf_counter()
        await sink.reaches(answer.first_position)
        waits.append(time.perf_counter() - committed)
    print(f"one event, from its commit to applied: median {statistics.median(waits) * 1e3:.2f} ms")
    await end(tasks)
    await log.close()
    await pool.close()
    await client.close()


async def _with_database(postgres: PostgresForTests, nats: Running) -> None:
    await measure(await postgres.database(), nats.server.url)  # type: ignore[union-attr]


def main() -> None:
    folder = temporary_folder()
    postgres, nats = postgres_for_tests(folder), nats_for_tests(folder)
    postgres.start()
    nats.start()
    try:
        asyncio.run(_with_database(postgres, nats))
    finally:
        nats.stop()
        postgres.stop()
        remove(folder)


if __name__ == "__main__":
    main()
