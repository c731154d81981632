"""Whoever can write on the bus can lose and delay, not say what is not in the log: services settle
money by what it brings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.bus import consumer as consumer_module
from shared.bus import metrics
from shared.bus.batch import LAST_HEADER, Batch, encode
from shared.bus.stream import ensure_stream
from shared.log import block_head, event_hash, genesis
from tests.integration.bus.conftest import House
from tests.integration.bus.probe import Probe
from tests.integration.bus.test_consumer import active, all_batches, publish

_Forge = Callable[[Batch, bytes], Batch]
"""Makes a false message of a true one; it knows the chain's head before it."""

HERE = frozenset({"BetPlaced"})


def first_changed(**changes: Any) -> _Forge:
    """The first event of the message is another one; all else is left as it was."""

    def forge(batch: Batch, _: bytes) -> Batch:
        first = batch.events[0]._replace(**changes)
        return replace(batch, events=(first, *batch.events[1:]))

    return forge


def rehashed(batch: Batch, _: bytes) -> Batch:
    """The first event's own hash is right, and the last one's that of the log."""
    first = batch.events[0]._replace(payload=b"1000000")
    first = first._replace(hash=event_hash(first.stream, first.version, first))
    return replace(batch, events=(first, *batch.events[1:]))


def with_its_own_head(batch: Batch, before: bytes) -> Batch:
    """The head follows from the forged events, and the last one's hash is that of the log."""
    forged = rehashed(batch, before)
    hashes = b"".join(event.hash for event in forged.events)
    at = forged.events[0].recorded_at
    return replace(forged, head=block_head(before, "table.0", forged.first_position, at, hashes))


def without_the_first(batch: Batch, _: bytes) -> Batch:
    """The first event is left out: the message begins with the second."""
    return replace(batch, first_position=batch.first_position + 1, events=batch.events[1:])


def only_the_second(batch: Batch, before: bytes) -> Batch:
    """The reader who believes it stops inside of an append, where no message begins."""
    second = without_the_first(batch, before)
    return replace(second, events=second.events[:1])


def in_another_order(batch: Batch, _: bytes) -> Batch:
    """Two events have changed places."""
    one, two, *rest = batch.events
    swapped = two._replace(position=one.position), one._replace(position=two.position)
    return replace(batch, events=(*swapped, *rest))


def a_day_earlier(batch: Batch, _: bytes) -> Batch:
    earlier = [
        each._replace(recorded_at=each.recorded_at - timedelta(days=1)) for each in batch.events
    ]
    return replace(batch, events=tuple(earlier))


FORGERIES: Sequence[_Forge] = (
    first_changed(payload=b"1000000"),
    first_changed(stream="table/thief"),
    # Nobody wants events of this type: the one that moves the money would be passed over.
    first_changed(type="SeatTaken"),
    first_changed(hand_id="h9"),
    first_changed(version=7),
    rehashed,
    with_its_own_head,
    without_the_first,
    only_the_second,
    in_another_order,
    a_day_earlier,
)


@pytest.fixture
def only_the_bus(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody reads because of a message is never read."""
    monkeypatch.setattr(consumer_module, "LOOK_EVERY_S", 3_600)


@pytest.mark.usefixtures("only_the_bus")
async def test_what_is_forged_is_read_from_the_log(house: House) -> None:
    """Of each message the last event is the log's; true ones come between."""
    handler = Probe(types=HERE)
    await ensure_stream(house.client)
    house.consumer(handler)
    await active(house)
    before = genesis("table.0")
    for number, forge in enumerate(FORGERIES):
        await house.write("a", 1, 2, 3)
        await house.write("b", number)
        true, following = (await all_batches(house))[-2:]
        await publish(house, [forge(true, before), true, following])
        await house.becomes_equal()
        before = following.head


@pytest.mark.usefixtures("only_the_bus")
async def test_a_header_that_is_no_number_is_not_believed(house: House, handler: Probe) -> None:
    await ensure_stream(house.client)
    house.consumer(handler)
    await active(house)
    await house.write("a", 1)
    [true] = await all_batches(house)
    failures = metrics.CONSUMER_FAILURES.labels("probe", "table.0")
    before = failures._value.get()
    for stated in ("9" * 5_000, "-1", "", "nine"):
        headers = {LAST_HEADER: stated}
        await house.client.jetstream().publish("croupier.table.0.a", encode(true), headers=headers)
    await house.becomes_equal()
    assert handler.calls == [1]
    assert failures._value.get() == before


@pytest.mark.usefixtures("only_the_bus")
async def test_a_forged_message_among_good_ones(house: House, handler: Probe) -> None:
    """The chain goes on from message to message."""
    await ensure_stream(house.client)
    house.consumer(handler)
    await active(house)
    for number in range(6):
        await house.write(f"s{number % 2}", number, 10 * number)
    batches = await all_batches(house)
    batches[3] = rehashed(batches[3], bytes(32))
    await publish(house, batches)
    await house.becomes_equal()
