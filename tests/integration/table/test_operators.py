"""What operators do with nodes and tables, while people play on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from croupier.table.v1 import nodes_pb2, nodes_pb2_grpc

from shared.errors import CroupierError
from shared.rpc.access import Role
from tests.integration.table.gate import Gate
from tests.integration.table.house import LEASE_S, House
from tests.integration.table.nodes import NODES, at, epoch_of, owned_by, table_of
from tests.integration.table.people import (
    Person,
    PlayCall,
    assert_seamless,
    bet,
    cut,
    done,
    play_hand,
    told,
)
from tests.polling import eventually


def nodes_at(house: House, node: str) -> Any:
    return nodes_pb2_grpc.NodeServiceStub(house.channel(node))


def olga(house: House, node: str = "node-a") -> Person:
    return at(house, node, "olga", Role.OPERATOR)


async def drain(house: House, node: str, undo: bool = False) -> int:
    """By way of node b."""
    request = nodes_pb2.DrainNodeRequest(node=node, undo=undo)
    answer = await nodes_at(house, "node-b").DrainNode(request, metadata=olga(house).metadata)
    return int(answer.tables)


async def move(house: House, table_id: str, node: str) -> None:
    request = nodes_pb2.MoveTableRequest(table_id=table_id, node=node)
    await nodes_at(house, "node-b").MoveTable(request, metadata=olga(house).metadata)


async def listed(house: House) -> dict[str, nodes_pb2.Node]:
    answer = await nodes_at(house, "node-a").ListNodes(
        nodes_pb2.ListNodesRequest(), metadata=olga(house).metadata
    )
    return {node.node: node for node in answer.nodes}


async def test_nodes_say_what_they_have_to_do(pair: House) -> None:
    table_id = table_of("node-b")
    await pair.open(table_id, node="node-a")
    ann = await pair.seat("ann", table_id, node="node-b")
    async with ann.playing(table_id) as stream:
        await stream.command(table_id, bet(100))
        await stream.command(table_id, done())
        await stream.event("CutOffered")
        await stream.command(table_id, cut())
        await stream.event("HandSettled")
        await stream.command(table_id, bet(100))
        await stream.command(table_id, done())

        async def told_of() -> bool:
            nodes = await listed(pair)
            return (nodes["node-a"].tables, nodes["node-b"].tables) == (0, 1)

        await eventually(told_of)
        nodes = await listed(pair)
    assert set(nodes) == {"node-a", "node-b"}
    for name, node in nodes.items():
        assert node.address == pair.address(name)
        assert 0 < node.lease_left.ToMilliseconds() <= LEASE_S * 1_000
        assert not node.drained
        assert not node.stopping


async def test_a_drained_node_hands_its_tables_over_and_players_play_on(pair: House) -> None:
    idle, busy = table_of("node-a"), table_of("node-a", number=2)
    for table_id in (idle, busy):
        await pair.open(table_id, node="node-a")
        await owned_by(pair, table_id, "node-a")
    ann = await pair.seat("ann", busy, node="node-a")
    async with ann.playing(idle, busy) as stream:
        await stream.command(busy, bet(100))
        await stream.command(busy, done())
        await stream.event("CutOffered")
        epoch = await epoch_of(pair, busy)
        assert await drain(pair, "node-a") == 2
        await owned_by(pair, idle, "node-b")
        assert await epoch_of(pair, busy) == epoch
        assert (await listed(pair))["node-a"].drained
        await stream.command(busy, cut())
        await stream.event("HandSettled")
        await owned_by(pair, busy, "node-b")
        await play_hand(stream, busy)
        # What is opened now goes to the other one; nothing moves twice.
        later = await pair.open(table_of("node-a", number=3), node="node-a")
        await owned_by(pair, later, "node-b")
        # Back again, between hands.
        await drain(pair, "node-a", undo=True)
        for table_id in (idle, busy, later):
            await owned_by(pair, table_id, "node-a")
        await play_hand(stream, busy)
        for table_id in (idle, busy):
            assert_seamless([each for each in stream.updates if each.table_id == table_id])
    assert await epoch_of(pair, busy) >= epoch + 2


async def test_a_drained_node_stays_empty_when_it_starts_again(pair: House) -> None:
    await drain(pair, "node-a")
    table_id = await pair.open(table_of("node-a"), node="node-a")
    await owned_by(pair, table_id, "node-b")
    epoch = await epoch_of(pair, table_id)
    node = pair.services["node-a"]
    await node.stop()
    await node.start()

    async def lives_drained() -> bool:
        nodes = await listed(pair)
        return "node-a" in nodes and nodes["node-a"].drained

    await eventually(lives_drained)
    assert await epoch_of(pair, table_id) == epoch


async def test_the_last_node_keeps_its_tables_when_it_is_drained(house: House) -> None:
    await house.open()
    request = nodes_pb2.DrainNodeRequest(node="table-1")
    answer = await nodes_at(house, "table-1").DrainNode(request, metadata=house.operator.metadata)
    assert answer.tables == 1
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        await play_hand(stream)
    assert await epoch_of(house, "t1") == 1


async def test_a_moved_table_stays_where_it_was_put(pair: House) -> None:
    table_id = await pair.open(table_of("node-a"), node="node-a")
    await owned_by(pair, table_id, "node-a")
    ann = await pair.seat("ann", table_id, node="node-a")
    async with ann.playing(table_id) as stream:
        # A busy table: one bet comes right behind the end of the last hand.
        await move(pair, table_id, "node-b")
        await owned_by(pair, table_id, "node-b")
        await play_hand(stream, table_id)
        # While its node is away it is elsewhere.
        node = pair.services["node-b"]
        await node.stop()
        await owned_by(pair, table_id, "node-a")
        await play_hand(stream, table_id)
        await node.start()
        await owned_by(pair, table_id, "node-b")
        await move(pair, table_id, "")
        await owned_by(pair, table_id, "node-a")
        await play_hand(stream, table_id)
        assert_seamless(stream.updates)


async def bet_as_soon_as_possible(stream: PlayCall, table_id: str) -> None:
    """Bets, and again for as long as the hand before is not over."""
    async with asyncio.timeout(30):
        while True:
            what = await stream.command(table_id, bet(100))
            if (await stream.answered(what)).HasField("acknowledgement"):
                return


async def test_a_table_where_bets_never_cease_moves_all_the_same(pair: House) -> None:
    table_id = await pair.open(table_of("node-a"), node="node-a")
    await owned_by(pair, table_id, "node-a")
    ann = await pair.seat("ann", table_id, node="node-b")
    async with ann.playing(table_id) as stream:
        await play_hand(stream, table_id)
        await bet_as_soon_as_possible(stream, table_id)
        epoch = await epoch_of(pair, table_id)
        await move(pair, table_id, "node-b")
        # The next bet is on its way before the hand is over.
        await stream.command(table_id, done())
        while await epoch_of(pair, table_id) == epoch:
            await bet_as_soon_as_possible(stream, table_id)
            await stream.command(table_id, done())
        await play_hand(stream, table_id)
        assert_seamless(stream.updates)
        claimed = [event for event in stream.events if event.type == "TableClaimed"]
        assert [event.hand_id for event in claimed] == [""]


async def test_what_operators_cannot_wish(pair: House) -> None:
    table_id = await pair.open(table_of("node-a"), node="node-a")

    async def refused(method: str, request: Any, role: Role = Role.OPERATOR) -> tuple[str, str]:
        who = at(pair, "node-a", "olga", role)
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await getattr(nodes_at(pair, "node-a"), method)(request, metadata=who.metadata)
        return told(error.value)

    nowhere = nodes_pb2.MoveTableRequest(table_id=table_id, node="node-x")
    assert await refused("MoveTable", nowhere) == ("NODE_NOT_FOUND", "node")
    nothing = nodes_pb2.MoveTableRequest(table_id="t-none", node="node-b")
    assert await refused("MoveTable", nothing) == ("TABLE_NOT_FOUND", "table_id")
    nobody = nodes_pb2.DrainNodeRequest(node="node-x")
    assert await refused("DrainNode", nobody) == ("NODE_NOT_FOUND", "node")
    await drain(pair, "node-b")
    drained = nodes_pb2.MoveTableRequest(table_id=table_id, node="node-b")
    assert await refused("MoveTable", drained) == ("NODE_NOT_FOUND", "node")
    for method, request in (
        ("ListNodes", nodes_pb2.ListNodesRequest()),
        ("DrainNode", nobody),
        ("MoveTable", nowhere),
    ):
        assert await refused(method, request, Role.PIT) == ("ROLE_NOT_ALLOWED", "")


async def test_what_failed_is_tried_again_by_a_table_that_has_been_elsewhere(
    empty_house: House,
) -> None:
    house = empty_house
    shuffle = await house.shuffle()
    await house.wallet()
    await house.relay()
    refused: list[str] = []
    shut = True

    async def passing(method: str, pass_on: Callable[[], Awaitable[bytes]]) -> bytes:
        if method == "OpenShoe" and shut:
            refused.append(method)
            raise CroupierError("SHUFFLE_UNAVAILABLE", "not now")
        return await pass_on()

    async with Gate(shuffle.address) as gate:
        gate.passing = passing
        for name in NODES:
            await house.node(name, shuffle_address=gate.address)
        table_id = table_of("node-a")
        del house.services["shuffle-1"]  # no waiting for a shoe that cannot come
        await house.open(table_id, node="node-a")
        house.services["shuffle-1"] = shuffle
        await owned_by(house, table_id, "node-a")
        # By now it waits some time before it asks again.
        await eventually(lambda: len(refused) >= 7)
        await move(house, table_id, "node-b")
        await owned_by(house, table_id, "node-b")
        await move(house, table_id, "node-a")
        await owned_by(house, table_id, "node-a")
        shut = False
        ann = await house.seat("ann", table_id, node="node-a")
        async with ann.playing(table_id) as stream:
            await play_hand(stream, table_id)
        await asyncio.gather(*(house.services[name].stop() for name in NODES))
