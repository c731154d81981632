"""A node that cannot reach the log, and whose lease runs out, shows nothing as if it were now."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from services.table import metrics
from services.table.directory import Directory, Look
from shared.errors import CroupierError
from tests.integration.table.house import House
from tests.integration.table.nodes import at, owned_by, table_of
from tests.integration.table.people import assert_seamless, bet
from tests.polling import eventually
from tests.wire import Wire, wire_to

NOWHERE = 1
LEASE_S = 3.0
"""Somebody waits for its end; what is looked at while it runs must not take as long."""


@pytest.fixture
async def cut_off(empty_house: House) -> AsyncIterator[tuple[House, Wire]]:
    """A house whose first node, "node-a", has a wire to the database that can be cut."""
    house = empty_house
    await asyncio.gather(house.shuffle(), house.wallet(), house.relay())
    async with wire_to(house.database.dsn("croupier_table")) as wire:
        house.dsns["node-a"] = wire.through(house.database.dsn("croupier_table"))
        await house.node("node-a", lease_ttl_s=LEASE_S)
        yield house, wire
        await house.stop()


def cut(wire: Wire) -> int:
    """Cuts the wire; the target with which it is whole again."""
    target, wire.target = wire.target, NOWHERE
    wire.cut()
    return target


async def test_a_node_that_lost_its_lease_shows_no_table_until_it_knows(
    cut_off: tuple[House, Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.table.playing.PAUSES_S", (0.05, 0.05, 0.05, 0.05, 0.0))
    house, wire = cut_off
    await house.node("node-b")
    table_id = table_of("node-a")
    await house.open(table_id, node="node-a")
    ann = await house.seat("ann", table_id, node="node-b")
    at_a = at(house, "node-a", "ann")
    async with at_a.playing(table_id) as stream:
        target = cut(wire)
        await owned_by(house, table_id, "node-b")
        # Who watches is told to look again, and so is who asks now.
        with pytest.raises(CroupierError) as ended:
            await stream.event("BetPlaced")
        assert ended.value.reason == "NO_OWNER"
        again = at_a.play()
        await again.watch(table_id)
        assert (await again.next()).refusal.reason == "NO_OWNER"
        again.cancel()
        asked = asyncio.create_task(at_a.view(table_id))
        placed = await ann.execute(table_id, bet(100))
        wire.target = target
        view = await asked
    assert view.version >= placed.version
    assert view.table.table.node == "node-b"


async def test_a_node_whose_lease_is_new_shows_no_table_that_another_one_took_meanwhile(
    cut_off: tuple[House, Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.table.playing.PAUSES_S", (0.05, 0.05, 0.05, 0.05, 0.0))
    looks = Looks(monkeypatch, "node-a")
    house, wire = cut_off
    await house.node("node-b")
    table_id = table_of("node-a")
    await house.open(table_id, node="node-a")
    ann = await house.seat("ann", table_id, node="node-b")
    target = cut(wire)
    await owned_by(house, table_id, "node-b")
    placed = await ann.execute(table_id, bet(100))
    looks.go_on.clear()
    wire.target = target
    # Its lease is renewed, and the directory not looked at yet.
    await looks.waiting.wait()
    try:
        view = await at(house, "node-a", "ann").view(table_id)
    finally:
        looks.go_on.set()
    assert view.version >= placed.version
    assert view.table.table.node == "node-b"


class Looks:
    """Holds up the looks of one node into the directory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, node: str) -> None:
        self.waiting = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()
        look = Directory.look

        async def slowly(directory: Directory) -> Look:
            if directory._node == node and not self.go_on.is_set():
                self.waiting.set()
                await self.go_on.wait()
            return await look(directory)

        monkeypatch.setattr(Directory, "look", slowly)


async def test_viewers_go_on_by_themselves_after_an_outage_of_the_log(
    cut_off: tuple[House, Wire],
) -> None:
    house, wire = cut_off
    table_id = await house.open(node="node-a")
    ann = await house.seat("ann", node="node-a")
    async with ann.playing(table_id) as stream:
        target = cut(wire)
        await eventually(lambda: metrics.watching() == 0)
        wire.target = target
        await eventually(lambda: metrics.watching() == 1)
        placed = await stream.command(table_id, bet(100))
        assert (await stream.answered(placed)).acknowledgement.version
        assert_seamless(stream.updates)
