"""Every event is applied once and in order, whatever the bus, the replicas and the servers do."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig
from nats.js.errors import NotFoundError

from services.relay.reading import batches_after
from shared.bus import consumer as consumer_module
from shared.bus import consumers as consumers_module
from shared.bus.batch import STREAM, Batch, encode
from shared.bus.consumers import Consumers
from shared.bus.publisher import Publisher
from shared.bus.pull import Pull
from shared.bus.stream import connect, ensure_stream
from tests.integration.bus import probe
from tests.integration.bus.conftest import House
from tests.integration.bus.probe import Probe
from tests.logs import whole_partition
from tests.polling import eventually

DURABLE = "probe-table-0"


@pytest.fixture
def only_the_bus(monkeypatch: pytest.MonkeyPatch) -> None:
    """The consumer looks at the head once, when it begins, and never again."""
    monkeypatch.setattr(consumer_module, "LOOK_EVERY_S", 3_600)


async def publish(house: House, batches: Sequence[Batch]) -> None:
    """What a relay would do, but with the batches that the test likes."""
    publisher = Publisher(house.client)
    await publisher.publish(batches)
    await publisher.close()


async def all_batches(house: House) -> list[Batch]:
    found: list[Batch] = []
    while True:
        position = found[-1].last_position if found else 0
        batches, _ = await batches_after(house.root, "table.0", position)
        if not batches:
            return found
        found += batches


async def active(house: House) -> None:
    """Waits until the consumer has seen that there is nothing yet, and gets what the bus brings."""
    await eventually(house.has_looked)
    await eventually(lambda: _has_durable(house))


async def _somebody_has_the_turn(house: House) -> bool:
    return bool(
        await house.root.fetchval(
            "SELECT count(*) FROM pg_locks JOIN pg_database AS d ON d.oid = database "
            "WHERE locktype = 'advisory' AND d.datname = current_database()"
        )
    )


async def _has_durable(house: House) -> bool:
    try:
        await house.client.jetstream().consumer_info(STREAM, DURABLE)
    except NotFoundError:
        return False
    return True


@pytest.mark.usefixtures("only_the_bus")
async def test_the_bus_alone_brings_everything(house: House, handler: Probe) -> None:
    house.relay()
    house.consumer(handler)
    await active(house)
    await house.write_many(200)
    await house.becomes_equal()


async def test_the_log_alone_brings_everything(house: House, handler: Probe) -> None:
    """No relay at all: the last messages, and all others, are lost."""
    house.consumer(handler)
    await house.write_many(20)
    await house.becomes_equal()
    await house.write_many(20)
    await house.becomes_equal()


@pytest.mark.usefixtures("only_the_bus")
async def test_what_waits_is_applied_together(house: House, handler: Probe) -> None:
    """All that came while one transaction ran goes into the next."""
    await ensure_stream(house.client)
    handler.gate = asyncio.Event()
    house.consumer(handler)
    await active(house)
    await house.write_many(30)
    batches = await all_batches(house)
    await publish(house, batches[:1])
    await eventually(lambda: handler.calls)
    await publish(house, batches[1:])

    async def all_delivered() -> bool:
        info = await house.client.jetstream().consumer_info(STREAM, DURABLE)
        return info.delivered is not None and info.delivered.consumer_seq == 30

    await eventually(all_delivered)
    # What was sent before this answer has arrived before it.
    await house.client.flush()
    handler.gate.set()
    await house.becomes_equal()
    assert handler.calls == [1, 29]


@pytest.mark.usefixtures("only_the_bus")
async def test_a_message_dropped_on_the_way_is_read_from_the_log(
    house: House, handler: Probe
) -> None:
    await ensure_stream(house.client)
    house.consumer(handler)
    await active(house)
    await house.write_many(30)
    batches = await all_batches(house)
    await publish(house, [*batches[:10], *batches[11:20], *batches[25:]])
    await house.becomes_equal()


async def test_the_last_messages_are_lost(house: House, handler: Probe) -> None:
    await ensure_stream(house.client)
    house.consumer(handler)
    await active(house)
    await house.write_many(30)
    await publish(house, (await all_batches(house))[:20])
    await house.becomes_equal()


@pytest.mark.usefixtures("only_the_bus")
async def test_messages_in_the_wrong_order_and_twice(house: House, handler: Probe) -> None:
    await ensure_stream(house.client)
    house.consumer(handler)
    await active(house)
    await house.write_many(30)
    batches = await all_batches(house)
    await publish(house, [*batches[5:9], *batches[0:3], *reversed(batches[10:]), *batches[:12]])
    await house.becomes_equal()


@pytest.mark.usefixtures("only_the_bus")
async def test_redelivery_after_the_dedupe_window(house: House, handler: Probe) -> None:
    """The same messages again, when JetStream has forgotten that it has them."""
    await ensure_stream(house.client, duplicate_window_s=0.1)
    house.consumer(handler)
    await active(house)
    await house.write_many(20)
    batches = await all_batches(house)
    await publish(house, batches)
    await house.becomes_equal()

    async def stored_again() -> bool:
        await publish(house, batches)
        return await house.stored() >= 2 * len(batches)

    await eventually(stored_again)
    await house.write("last", 1)
    await publish(house, (await all_batches(house))[-1:])
    await house.becomes_equal()


async def test_an_unacknowledged_message_comes_again_and_is_skipped(
    house: House, handler: Probe
) -> None:
    """A consumer is killed (kill -9) between the effect and the acknowledgement."""
    await ensure_stream(house.client)
    await house.client.jetstream().add_consumer(
        STREAM,
        ConsumerConfig(
            durable_name=DURABLE,
            ack_policy=AckPolicy.ALL,
            ack_wait=0.3,
            filter_subject="croupier.table.0.*",
        ),
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.integration.bus.consumer_process",
        house.database.dsn(probe.ROLE),
        house.nats_url,
    )
    await eventually(lambda: _somebody_has_the_turn(house))
    await house.write("a", 1)
    await house.write("a", 2)
    await publish(house, await all_batches(house))
    assert await process.wait() == -9
    effect = await probe.applied(house.root)
    assert effect, "the effect is there"
    info = await house.client.jetstream().consumer_info(STREAM, DURABLE)
    assert info.num_ack_pending or info.num_pending, "the acknowledgement is not"
    house.consumer(handler)
    await house.write("a", 3)
    await publish(house, (await all_batches(house))[-1:])
    await house.becomes_equal()

    async def all_acknowledged() -> bool:
        info = await house.client.jetstream().consumer_info(STREAM, DURABLE)
        return not info.num_ack_pending and not info.num_pending

    await eventually(all_acknowledged)
    assert await house.is_equal()


async def test_of_two_replicas_one_applies_and_the_other_takes_over(house: House) -> None:
    house.relay()
    handlers = [Probe(), Probe()]
    tasks = [house.consumer(each) for each in handlers]
    await house.write_many(40)
    await house.becomes_equal()
    assert [bool(each.calls) for each in handlers].count(True) == 1
    busy = 0 if handlers[0].calls else 1
    await house.stop(tasks[busy])
    await house.write_many(40)
    await house.becomes_equal()
    assert handlers[1 - busy].calls


async def test_a_replica_that_is_held_up_gives_way(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a paused process would be: its connection stays, and it says nothing on it."""
    monkeypatch.setattr("shared.log.turns.HELD_UP_S", 1)
    house.relay()
    first, other = Probe(), Probe()
    bus = await connect(house.nats_url, "held up")
    held_up = asyncio.Event()
    take = Pull.take

    async def take_or_stand_still(pull: Pull, *arguments: Any) -> list[Msg]:
        if pull._client is bus and held_up.is_set():
            await asyncio.Event().wait()
        return await take(pull, *arguments)

    monkeypatch.setattr(Pull, "take", take_or_stand_still)
    house.consumer(first, bus)
    await house.write_many(5)
    await house.becomes_equal()
    house.consumer(other)
    held_up.set()
    await house.write_many(20)
    await house.becomes_equal()
    assert first.calls
    assert other.calls
    await bus.close()


async def test_a_replica_that_lost_its_lock_unknowingly_is_fenced_off(house: House) -> None:
    """Its connection dies while it applies; the other replica does the work meanwhile; when it goes
    on, its transaction is void and it stands by."""
    house.relay()
    slow = Probe(gate=asyncio.Event())
    house.consumer(slow)
    await house.write_many(5)
    await eventually(lambda: slow.at_gate)
    other = Probe()
    house.consumer(other)

    async def killed() -> bool:
        return bool(
            await house.root.fetchval(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE application_name = 'consumer probe' AND state = 'idle in transaction'"
            )
        )

    await eventually(killed)
    await house.becomes_equal()
    assert other.calls
    assert slow.gate is not None
    slow.gate.set()
    await house.write_many(20)
    await house.becomes_equal()


@pytest.mark.usefixtures("only_the_bus")
async def test_a_position_that_another_replica_moved_is_taken_over(
    house: House, handler: Probe
) -> None:
    """Two believe to be active. The other one has applied and moved; this one's own, older idea of
    the position lets it apply nothing."""
    await ensure_stream(house.client)
    house.consumer(handler)
    await active(house)
    await house.write_many(10)
    async with house.root.transaction():
        for event in await whole_partition(house.log, "table.0"):
            await Probe().apply(house.root, [event])
        await house.root.execute(
            "UPDATE probe.consumer_positions SET position = 10, "
            "hash = (SELECT hash FROM log.events WHERE partition = 'table.0' AND position = 10)"
        )
    await publish(house, await all_batches(house))
    await house.write_many(10)
    await publish(house, (await all_batches(house))[10:])
    await house.becomes_equal()
    assert sum(handler.calls) == 10


@pytest.mark.usefixtures("only_the_bus")
async def test_messages_that_are_none_are_left_alone(house: House, handler: Probe) -> None:
    """Rubbish, and a message that says it is of another partition, between good ones."""
    await ensure_stream(house.client)
    house.consumer(handler)
    await active(house)
    await house.write_many(4)
    batches = await all_batches(house)
    jetstream = house.client.jetstream()
    await publish(house, batches[:1])
    await jetstream.publish("croupier.table.0.x", b"\xff\xff")
    await jetstream.publish("croupier.table.0.x", encode(replace(batches[1], partition="wallet.0")))
    await publish(house, batches[1:])
    await house.becomes_equal()


async def test_more_than_one_transaction_holds(
    house: House, handler: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits is cut into transactions of bounded size, from the bus and from the log."""
    monkeypatch.setattr(consumer_module, "MAX_BATCH_EVENTS", 7)
    house.relay()
    for number in range(10):
        await house.write(f"s{number}", *range(5))
    await house.stores(10)
    first = house.consumer(handler)
    await house.becomes_equal()
    await house.stop(first)
    assert max(handler.calls) <= 7
    from_the_bus = Probe()
    house.consumer(from_the_bus)
    for number in range(10):
        await house.write(f"s{number}", *range(5))
    await house.becomes_equal()
    # A message is never cut: one append more than the bound, at most.
    assert max(from_the_bus.calls) < 7 + 5


async def test_infrastructure_is_never_poison(house: House, handler: Probe) -> None:
    handler.errors = [OSError("no route"), TimeoutError("too slow"), ConnectionResetError()]
    house.consumer(handler)
    await house.write_many(5)
    await house.becomes_equal()
    assert handler.errors == []
    assert await house.root.fetchval("SELECT count(*) FROM probe.parked_events") == 0


async def test_what_a_handler_appended_is_pinged_after_the_commit(house: House) -> None:
    handler = Probe(moved=frozenset({"wallet.0"}))
    house.consumer(handler)
    await house.write_many(3)
    await house.becomes_equal()
    await eventually(lambda: handler.pings)
    assert set(handler.pings) == {frozenset({"wallet.0"})}


async def test_a_service_follows_all_partitions_of_its_categories(
    house: House, handler: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers_module, "NEW_PARTITIONS_EVERY_S", 0.05)
    house.relay()
    consumers = Consumers(
        handler.consuming(), {"table"}, house.log, house.database.dsn(probe.ROLE), house.client
    )
    house.start(consumers.run())
    await house.write_many(10)
    await house.becomes_equal()
    await house.root.execute("SELECT log.add_partition('table')")
    await house.write_many(40, streams=20)
    await house.becomes_equal()
    await eventually(lambda: probe.equal_to_the_log(house.root, house.log, "table.1"))
    assert await probe.applied(house.root, "table.1")
    assert consumers.diverged == frozenset()
