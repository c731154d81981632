"""A node that cannot reach the log, and whose lease runs out, shows nothing as if it were now."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest
import structlog
from croupier.table.v1 import table_pb2 as pb

from services.table import metrics
from services.table.directory import Directory
from services.table.node import Node
from services.table.owner import TableOwner
from shared.errors import CroupierError
from tests.integration.table.house import House
from tests.integration.table.nodes import at, epoch_of, owned_by, table_of
from tests.integration.table.people import Person, assert_seamless, bet
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


async def two_nodes(house: House, seated_at: str) -> tuple[str, Person]:
    """A second node, "node-b", a table of "node-a", and Ann there, who speaks to `seated_at`."""
    await house.node("node-b")
    table_id = table_of("node-a")
    await house.open(table_id, node="node-a")
    return table_id, await house.seat("ann", table_id, node=seated_at)


def cut(wire: Wire) -> int:
    """Cuts the wire; the target with which it is whole again."""
    target, wire.target = wire.target, NOWHERE
    wire.cut()
    return target


async def test_a_node_that_lost_its_lease_shows_no_table_until_it_knows(
    cut_off: tuple[House, Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.table.playing.PAUSES_S", (0.05, 0.05, 0.05, 0.05, 0.0))
    monkeypatch.setattr("services.table.directory.GIVE_UP_AFTER_S", 0.1)
    house, wire = cut_off
    table_id, ann = await two_nodes(house, "node-b")
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
        with pytest.raises(CroupierError) as refused:
            await at_a.view(table_id)
        assert refused.value.reason == "LOG_UNAVAILABLE"
        placed = await ann.execute(table_id, bet(100))
        wire.target = target
        view = await eventually(partial(shown, at_a, table_id))
    assert view is not None
    assert view.version >= placed.version
    assert view.table.table.node == "node-b"


async def test_a_node_whose_lease_is_new_shows_no_table_that_another_one_took_meanwhile(
    cut_off: tuple[House, Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.table.playing.PAUSES_S", (0.05, 0.05, 0.05, 0.05, 0.0))
    looks = HeldUp(monkeypatch, Directory, "look", lambda directory: directory._node == "node-a")
    house, wire = cut_off
    table_id, ann = await two_nodes(house, "node-b")
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


async def test_a_lease_that_ends_while_the_log_is_read_for_a_viewer(
    cut_off: tuple[House, Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.table.playing.PAUSES_S", (0.05, 0.05, 0.05, 0.05, 0.0))
    monkeypatch.setattr("services.table.directory.GIVE_UP_AFTER_S", 0.1)
    house, wire = cut_off
    table_id, ann = await two_nodes(house, "node-b")
    at_a = at(house, "node-a", "ann")
    seen = (await at_a.view(table_id)).version
    reads = HeldUp(monkeypatch, TableOwner, "_since", lambda owner, after: True)
    reads.go_on.clear()
    again = at_a.play()
    await again.watch(table_id, seen)
    await reads.waiting.wait()
    cut(wire)
    await owned_by(house, table_id, "node-b")
    await ann.execute(table_id, bet(100))
    reads.go_on.set()
    assert (await again.next()).refusal.reason == "NO_OWNER"
    again.cancel()


async def test_of_two_that_claim_a_table_the_first_in_the_log_has_it(
    cut_off: tuple[House, Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its node has its lease again while another one is about to take the table up."""
    claims = HeldUp(monkeypatch, TableOwner, "claim", lambda owner, node: node == "node-b")
    house, wire = cut_off
    table_id, ann = await two_nodes(house, "node-a")
    claims.go_on.clear()
    target = cut(wire)
    await claims.waiting.wait()
    wire.target = target
    await eventually(partial(claimed_again, house, table_id))
    await refused_claim(claims)
    await ann.execute(table_id, bet(100))
    assert (await ann.view(table_id)).table.table.node == "node-a"


async def test_a_table_is_not_taken_from_a_node_that_has_its_lease_again(
    cut_off: tuple[House, Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = HeldUp(monkeypatch, Node, "_loaded", lambda node, table_id: node.name == "node-b")
    house, wire = cut_off
    table_id, ann = await two_nodes(house, "node-a")
    loads.go_on.clear()
    target = cut(wire)
    await loads.waiting.wait()
    wire.target = target
    await eventually(partial(claimed_again, house, table_id))
    await refused_claim(loads)
    await ann.execute(table_id, bet(100))
    assert (await ann.view(table_id)).table.table.node == "node-a"


async def shown(person: Person, table_id: str) -> pb.Update | None:
    """The table, once somebody tells how it stands."""
    try:
        return await person.view(table_id)
    except CroupierError as refused:
        if refused.reason not in ("LOG_UNAVAILABLE", "NO_OWNER"):
            raise
        return None


async def claimed_again(house: House, table_id: str) -> bool:
    return await epoch_of(house, table_id) > 1


async def refused_claim(held_up: HeldUp) -> None:
    """The claim that was held up goes on, and comes to nothing."""
    with structlog.testing.capture_logs() as logged:
        held_up.go_on.set()
        await eventually(lambda: any(each["event"] == "table_not_claimed" for each in logged))


class HeldUp:
    """A method that waits, where `whose` says so of its arguments, for as long as it may not go
    on."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        kind: type[Any],
        method: str,
        whose: Callable[..., bool],
    ) -> None:
        self.waiting = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()
        original = getattr(kind, method)

        async def slowly(*arguments: Any) -> Any:
            if whose(*arguments) and not self.go_on.is_set():
                self.waiting.set()
                await self.go_on.wait()
            return await original(*arguments)

        monkeypatch.setattr(kind, method, slowly)


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
