"""What the relay brings to JetStream, whatever happens to it."""

from __future__ import annotations

import asyncio
import signal
import sys
from functools import partial
from uuid import uuid4

import pytest

from services.relay import partition as partition_module
from services.relay import relay as relay_module
from services.relay.partition import PartitionRelay
from shared.bus.batch import (
    FIRST_HEADER,
    LAST_HEADER,
    PARTITION_HEADER,
    STREAM,
    TYPES_HEADER,
    Batch,
    decode,
)
from shared.bus.ping import SUBJECTS, partition_of_ping
from shared.log import Append, NewEvent, turns
from tests.integration.bus.conftest import House
from tests.integration.bus.probe import Probe
from tests.logs import whole_partition
from tests.polling import eventually


async def batches(house: House) -> list[Batch]:
    """Everything that JetStream holds, in its order."""
    jetstream = house.client.jetstream()
    state = (await jetstream.stream_info(STREAM)).state
    messages = [
        await jetstream.get_msg(STREAM, number)
        for number in range(state.first_seq, state.last_seq + 1)
    ]
    return [decode(message.data or b"") for message in messages]


async def test_a_message_is_one_append_with_all_that_the_log_says_of_it(house: House) -> None:
    house.relay()
    cause = uuid4()
    events = (
        NewEvent("BetPlaced", b"\x00\xff", "player:7", 2, "h-1", cause, uuid4()),
        NewEvent("BetPlaced", b"", "table@n1"),
        NewEvent("BettingClosed", b"x", "table@n1"),
    )
    await house.write("first", 1)
    await house.log.append([Append(uuid4(), "table/a_B-1", 0, events)])
    await house.stores(2)
    message = await house.client.jetstream().get_msg(STREAM, 2)
    [_, block] = await house.log.read_blocks("table.0", 0)
    assert message.subject == "croupier.table.0.a_B-1"
    assert message.headers == {
        "Nats-Msg-Id": f"table.0:2:{block.head.hex()}",
        PARTITION_HEADER: "table.0",
        FIRST_HEADER: "2",
        LAST_HEADER: "4",
        TYPES_HEADER: "BetPlaced,BettingClosed",
    }
    batch = decode(message.data or b"")
    assert (batch.partition, batch.first_position, batch.head) == ("table.0", 2, block.head)
    assert list(batch.events) == await house.log.read_stream("table/a_B-1")


async def test_everything_comes_in_order(house: House) -> None:
    await house.write_many(300)
    house.relay()
    await house.write_many(100)
    await house.stores(400)
    published = await batches(house)
    assert [batch.first_position for batch in published] == list(range(1, 401))
    assert [event for batch in published for event in batch.events] == await whole_partition(
        house.log, "table.0"
    )


async def test_a_ping_wakes_the_relay(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks of its own are so rare here that only pings can bring a message."""
    for name in ("READ_EVERY_S", "SAVE_EVERY_S"):
        monkeypatch.setattr(partition_module, name, 3_600)
    house.relay()
    await house.write("a", 1)
    await house.stores(1)
    monkeypatch.setattr(relay_module, "LOOK_EVERY_S", 3_600)
    pings: list[str] = []

    async def pinged(message: object) -> None:
        pings.append(partition_of_ping(getattr(message, "subject", "")))

    await house.client.subscribe(SUBJECTS, cb=pinged)
    # One more look may have been on its way; none after it.
    for number in range(5):
        await house.write("a", number)
        await house.stores(number + 2)
        await eventually(partial(_comes_to, pings, number + 1))
    assert pings == ["table.0"] * 5


def _comes_to(pings: list[str], count: int) -> bool:
    return len(pings) >= count


async def test_a_look_at_the_heads_does_where_no_ping_comes(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.relay()
    monkeypatch.setattr(PartitionRelay, "committed", _only_with_a_head(PartitionRelay.committed))
    await house.write_many(20)
    await house.stores(20)


async def test_a_partition_that_is_added_is_relayed(house: House) -> None:
    house.relay()
    await house.root.execute("SELECT log.add_partition('table')")
    await house.write_many(40, streams=20)
    await house.stores(40)
    assert {batch.partition for batch in await batches(house)} == {"table.0", "table.1"}


async def test_of_two_relays_one_is_active_and_the_other_takes_over(house: House) -> None:
    first = house.relay()
    await house.write("a", 1)
    await house.stores(1)
    house.relay()
    await house.write_many(50)
    await house.stores(51)
    await house.stop(first)
    await house.write_many(50)
    await house.stores(101)
    assert [batch.first_position for batch in await batches(house)] == list(range(1, 102))


async def test_a_relay_that_is_paused_gives_way(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGSTOP: its connection stays, and with it the lock, until the server ends the session."""
    monkeypatch.setattr("shared.log.turns.HELD_UP_S", 1)
    process = await relay_process(house)
    await house.write("a", 1)
    await house.stores(1)
    process.send_signal(signal.SIGSTOP)
    house.relay()
    await house.write_many(50)
    await house.stores(51)
    process.send_signal(signal.SIGCONT)
    await house.write_many(50)
    await house.stores(101)
    process.kill()
    await process.wait()
    assert [batch.first_position for batch in await batches(house)] == list(range(1, 102))


async def relay_process(house: House, dies_after: int = 0) -> asyncio.subprocess.Process:
    """A relay in a process of its own, as patient as this process is; it dies of itself behind so
    many messages (0: never)."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.integration.bus.relay_process",
        house.database.dsn("croupier_relay"),
        house.nats_url,
        str(turns.HELD_UP_S),
        str(dies_after),
    )


async def test_the_relay_is_killed_in_the_middle(house: House, handler: Probe) -> None:
    """kill -9 of a real process while messages are on their way, some stored and some not made."""
    for number in range(30):
        streams = [f"table/k{number}-{each}" for each in range(100)]
        answers = await house.log.append(
            [Append(uuid4(), each, 0, (NewEvent("BetPlaced", b"7", ""),)) for each in streams]
        )
        assert len(answers) == 100
    house.consumer(handler)
    # The second one begins again behind what the first one has noted, if it came to that.
    for sent in (950, 1_950):
        process = await relay_process(house, dies_after=sent)
        assert await process.wait() == -signal.SIGKILL
        assert 0 < await house.stored() < 3_000
    process = await relay_process(house)
    await house.stores(3_000)
    process.kill()
    await process.wait()
    await house.becomes_equal()
    # Nothing was left out and nothing stands before its time; what stands twice is known by its id.
    first_time = list(dict.fromkeys(batch.first_position for batch in await batches(house)))
    assert first_time == list(range(1, 3_001))


async def test_the_stream_is_deleted_and_comes_again(house: House, handler: Probe) -> None:
    house.relay()
    house.consumer(handler)
    await house.write_many(30)
    await house.becomes_equal()
    for head in (60, 90, 120):
        await house.client.jetstream().delete_stream(STREAM)
        await house.write_many(30)
        await house.becomes_equal()
        # The consumer may have read from the log what the relay has still to send.
        await eventually(partial(_ends_at, house, head))


async def _ends_at(house: House, position: int) -> bool:
    """Whether the last message that JetStream holds goes up to this position."""
    if not await house.stored():
        return False
    return (await batches(house))[-1].last_position == position


def _only_with_a_head(committed: object) -> object:
    def filtered(self: PartitionRelay, head: int | None = None) -> None:
        if head is not None:
            committed(self, head)  # type: ignore[operator]

    return filtered
