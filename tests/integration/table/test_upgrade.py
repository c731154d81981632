"""A node of today beside one of a version to come (fixture: newer_node.py)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from croupier.table.v1 import events_pb2, nodes_pb2, nodes_pb2_grpc

from tests.integration.table.house import House
from tests.integration.table.newer_node import NEW_FIELD, NEW_VERSION
from tests.integration.table.nodes import table_of
from tests.integration.table.people import play_hand, told
from tests.integration.table.serving import Process
from tests.polling import eventually


async def newer_node(house: House, name: str, folder: Path, *knows: str) -> Process:
    """Such a node in the house, up."""
    module = ("tests.integration.table.newer_node", *knows)
    log = folder / f"{name}.log"
    node = Process("table", house.node_settings(name), log, module=module)
    house.services[name] = node
    await node.start()
    return node


async def services_of(house: House) -> None:
    await house.shuffle()
    await house.wallet()
    await house.relay()


async def owners(house: House, table_id: str) -> list[str]:
    """Who claimed the table, in order."""
    rows = await house.sql(
        "SELECT actor FROM log.events WHERE stream = $1 AND type = 'TableClaimed' ORDER BY version",
        f"table/{table_id}",
    )
    return [row["actor"] for row in rows]


async def test_a_table_moves_between_versions_and_what_is_not_known_stays_in_the_log(
    empty_house: House, tmp_path: Path
) -> None:
    house = empty_house
    await services_of(house)
    newer = await newer_node(house, "table-2", tmp_path)
    await house.open("t1", node="table-2")
    ann = await house.seat("ann", node="table-2", chips=10_000)
    async with ann.playing("t1") as stream:
        await play_hand(stream)
    written = await house.sql("SELECT version, payload FROM log.events WHERE stream = 'table/t1'")
    assert all(row["payload"].endswith(NEW_FIELD) for row in written)
    await house.node("table-1")
    await newer.stop()

    async def with_table_1() -> bool:
        return (await owners(house, "t1"))[-1] == "table-1"

    await eventually(with_table_1, within_s=30)
    ann = house.person("ann", node="table-1")
    async with ann.playing("t1") as stream:
        await play_hand(stream)
    still = await house.sql("SELECT version, payload FROM log.events WHERE stream = 'table/t1'")
    assert {tuple(row) for row in written} <= {tuple(row) for row in still}
    await newer.start()
    await house.services["table-1"].stop()

    async def with_table_2() -> bool:
        return (await owners(house, "t1"))[-1] == "table-2"

    await eventually(with_table_2, within_s=30)
    ann = house.person("ann", node="table-2")
    async with ann.playing("t1") as stream:
        await play_hand(stream)


async def test_a_node_leaves_a_table_alone_whose_rules_it_does_not_know(
    empty_house: House, tmp_path: Path
) -> None:
    house = empty_house
    await services_of(house)
    await house.node("table-1")
    newer = await newer_node(house, "table-2", tmp_path, "newer-rules")
    # By its hash it would be the older node's.
    table_id = table_of("table-1", ("table-1", "table-2"))
    await house.open(table_id, node="table-2")
    [opened] = await house.sql(
        "SELECT payload FROM log.events WHERE stream = $1 AND version = 1", f"table/{table_id}"
    )
    assert events_pb2.TableOpened.FromString(opened["payload"]).rules_version == NEW_VERSION
    # Any node serves any client, whatever it knows itself.
    ann = await house.seat("ann", table_id, node="table-1")
    async with ann.playing(table_id) as stream:
        await play_hand(stream, table_id)
    request = nodes_pb2.MoveTableRequest(table_id=table_id, node="table-1")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await nodes_of(house).MoveTable(request, metadata=house.operator.metadata)
    assert told(refused.value) == ("NODE_NOT_FOUND", "node")
    await house.kill_node("table-2")
    await eventually(partial(gone, house, "table-2"))
    before, tried = await house.types(table_id), await tries(house)
    # It takes up and plays what it knows, all the while, and does not try the other one again.
    await house.open("older")
    async with (await house.seat("bob", "older")).playing("older") as stream:
        for _ in range(5):
            await play_hand(stream, "older")
    assert await house.types(table_id) == before
    assert await tries(house) == tried
    await newer.start()

    async def taken_up() -> bool:
        return len(await owners(house, table_id)) == 2

    await eventually(taken_up, within_s=30)
    assert set(await owners(house, table_id)) == {"table-2"}
    # Nobody could take its table, so it does not wait for anybody.
    await newer.stop()
    assert set(await owners(house, table_id)) == {"table-2"}


def nodes_of(house: House) -> Any:
    return nodes_pb2_grpc.NodeServiceStub(house.channel("table-1"))


async def gone(house: House, node: str) -> bool:
    """Whether the other one is alone, and has said what it does not know."""
    answer = await nodes_of(house).ListNodes(
        nodes_pb2.ListNodesRequest(), metadata=house.operator.metadata
    )
    unknown = {each.node: each.unknown_tables for each in answer.nodes}
    return node not in unknown and set(unknown.values()) == {1}


async def tries(house: House) -> int:
    """How often a node said that it does not know a table: each time all of them look again."""
    [wishes] = await house.sql("SELECT revision FROM tables.wishes")
    return int(wishes["revision"])
