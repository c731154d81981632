"""The relay, from the log to JetStream, beside nats-py that publishes the same messages."""

from __future__ import annotations

import asyncio
import statistics
import time
from uuid import uuid4

from nats.aio.client import Client
from nats.aio.msg import Msg

from deploy.embedded_nats import EmbeddedNats
from services.relay.relay import Relay
from shared.bus.batch import FIRST_HEADER, STREAM, Batch, encode, headers_of, subject_of
from shared.bus.ping import Pinger
from shared.bus.stream import connect, ensure_stream
from shared.log import Append, NewEvent, PostgresLog, open_pool
from tests.bench.figures import Effort, Figure
from tests.bench.places import durable_postgres, nats
from tests.polling import eventually
from tests.servers import Database

STREAMS = 100
MESSAGES_A_STREAM = 100
EVENTS_A_MESSAGE = 3
GIVE_UP_AFTER_S = 300.0
MOST_PENDING = 4_000
_LOAD = 0.5
_SLOTS_S = 0.02


async def relaying(effort: Effort) -> list[Figure]:
    """Messages a second, and how long one takes from its commit to a subscriber at half of that."""
    figure = Figure(
        "relay",
        "messages a second from the log to JetStream",
        "1/s",
        "nats-py publish_async of the same messages",
        0.7,
    )
    figure.notes["delay_ms"] = []
    async with durable_postgres() as postgres, nats() as bus:
        assert isinstance(bus.server, EmbeddedNats)
        client = await connect(bus.server.url, "bench")
        for _ in range(effort.turns):
            database = await postgres.database()
            pool = await open_pool(database.dsn("croupier_table"))
            async with PostgresLog(pool, Pinger(client)) as log:
                batches = await _fill(log)
                plain = await _publish(client, batches)
                rate, delays = await _relay(client, database, log, effort.seconds)
            await pool.close()
            figure.add(rate, plain)
            cuts = statistics.quantiles(delays, n=100)
            figure.notes["delay_ms"].append(
                {"rate": rate * _LOAD, "p50": 1e3 * cuts[49], "p99": 1e3 * cuts[98]}
            )
            await postgres.drop(database)
        await client.close()
    return [figure]


async def _fill(log: PostgresLog) -> list[Batch]:
    """Writes what is to be relayed, and gives it as the messages that will come of it."""
    for turn in range(MESSAGES_A_STREAM):
        await log.append([_append(f"table/{number}", turn) for number in range(STREAMS)])
    batches = []
    position = 0
    while blocks := await log.read_blocks("table.0", position):
        events = await log.read_partition("table.0", position, EVENTS_A_MESSAGE * len(blocks))
        batches += [
            Batch(
                "table.0",
                block.first_position,
                block.head,
                tuple(events[at : at + EVENTS_A_MESSAGE]),
            )
            for at, block in zip(range(0, len(events), EVENTS_A_MESSAGE), blocks, strict=True)
        ]
        position = events[-1].position
    return batches


def _append(stream: str, turn: int) -> Append:
    """As a step of a table is: a few events of a hundred bytes."""
    cause = uuid4()
    events = (
        NewEvent("BetPlaced", bytes(120), "player:7f3a", 1, f"{stream}-{turn}", cause, cause),
    )
    return Append(uuid4(), stream, turn * EVENTS_A_MESSAGE, events * EVENTS_A_MESSAGE)


async def _publish(client: Client, batches: list[Batch]) -> float:
    """The library's own way, messages encoded beforehand."""
    messages = [(subject_of(batch), encode(batch), headers_of(batch)) for batch in batches]
    await _fresh_stream(client)
    jetstream = client.jetstream(publish_async_max_pending=MOST_PENDING)
    started = time.perf_counter()
    for subject, payload, headers in messages:
        await jetstream.publish_async(subject, payload, headers=headers, wait_stall=30)
    await jetstream.publish_async_completed()
    passed = time.perf_counter() - started
    assert (await jetstream.stream_info(STREAM)).state.messages == len(batches)
    return len(batches) / passed


async def _relay(
    client: Client, database: Database, log: PostgresLog, seconds: float
) -> tuple[float, list[float]]:
    """Messages a second until all of the log is in the stream, then seconds from commits to a
    subscriber."""
    await _fresh_stream(client)
    jetstream = client.jetstream()
    wanted = STREAMS * MESSAGES_A_STREAM
    started = time.perf_counter()
    relaying = asyncio.create_task(Relay(log, database.dsn("croupier_relay"), client).run())

    async def stored() -> bool:
        return (await jetstream.stream_info(STREAM)).state.messages >= wanted

    await eventually(stored, within_s=GIVE_UP_AFTER_S, every_s=0.01)
    rate = wanted / (time.perf_counter() - started)
    try:
        delays = await _delays(client, log, rate * _LOAD, seconds)
    finally:
        relaying.cancel()
        await asyncio.wait([relaying])
    return rate, delays


async def _delays(client: Client, log: PostgresLog, rate: float, seconds: float) -> list[float]:
    """Appends at a steady rate; how long each message takes from its commit to here."""
    committed: dict[int, float] = {}
    arrived: dict[int, float] = {}

    async def hear(message: Msg) -> None:
        assert message.headers is not None
        arrived[int(message.headers[FIRST_HEADER])] = time.perf_counter()

    subscription = await client.subscribe("croupier.table.>", cb=hear)
    started = time.perf_counter()
    turn = 0
    while (due := started + turn * _SLOTS_S) < started + seconds:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        many = round(rate * _SLOTS_S)
        names = [f"table/{uuid4().hex}" for _ in range(many)]
        for first in range(0, many, STREAMS):
            group = names[first : first + STREAMS]
            answers = await log.append([_append(name, 0) for name in group])
            now = time.perf_counter()
            committed.update({answer.first_position: now for answer in answers})
        turn += 1
    await eventually(lambda: len(arrived) >= len(committed), within_s=GIVE_UP_AFTER_S, every_s=0.01)
    await subscription.unsubscribe()
    return [arrived[position] - then for position, then in committed.items()]


async def _fresh_stream(client: Client) -> None:
    jetstream = client.jetstream()
    await ensure_stream(client)
    await jetstream.delete_stream(STREAM)
    await ensure_stream(client)
