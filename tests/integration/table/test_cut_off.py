"""A node that cannot reach the log, and whose lease runs out, shows nothing as if it were now."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from services.table import metrics
from shared.errors import CroupierError
from tests.integration.table.house import House
from tests.integration.table.nodes import at, owned_by, table_of
from tests.integration.table.people import assert_seamless, bet
from tests.polling import eventually
from tests.wire import Wire, wire_to

NOWHERE = 1


@pytest.fixture
async def cut_off(empty_house: House) -> AsyncIterator[tuple[House, Wire]]:
    """A house whose first node, "node-a", has a wire to the database that can be cut."""
    house = empty_house
    await asyncio.gather(house.shuffle(), house.wallet(), house.relay())
    async with wire_to(house.database.dsn("croupier_table")) as wire:
        house.dsns["node-a"] = wire.through(house.database.dsn("croupier_table"))
        await house.node("node-a")
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
