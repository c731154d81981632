"""The lobby of a node with more tables than one message holds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from croupier.table.v1 import table_pb2 as pb

from services.table.lobby import MOST_IN_ONE, Lobby
from shared.table.state import Status, TableState
from tests.unit.table.story import Story

TABLES = [f"t{number:04}" for number in range(2 * MOST_IN_ONE + 1)]


def table(table_id: str, game: str = "baccarat") -> TableState:
    state = Story(game).state
    return replace(state, config=replace(state.table, table_id=table_id))


def lobby_of(table_ids: list[str]) -> Lobby:
    lobby, one = Lobby(), table("t")
    for table_id in table_ids:
        lobby.tell(replace(one, config=replace(one.table, table_id=table_id)))
    return lobby


async def ids_of(heard: AsyncIterator[list[pb.TableSummary]]) -> list[str]:
    return [line.table_id for line in await anext(heard)]


async def test_many_tables_are_told_in_parts() -> None:
    lobby = lobby_of(TABLES)
    async with aclosing(lobby.watch(own=True)) as heard:  # type: ignore[type-var]
        parts = [await ids_of(heard) for _ in range(3)]
        assert [len(part) for part in parts] == [MOST_IN_ONE, MOST_IN_ONE, 1]
        assert [table_id for part in parts for table_id in part] == TABLES
        lobby.tell(table("t0007"))
        assert await ids_of(heard) == ["t0007"]


async def test_a_house_without_tables_says_so() -> None:
    async with aclosing(Lobby().watch(own=False)) as heard:  # type: ignore[type-var]
        assert await ids_of(heard) == []


def test_tables_are_found_by_game_wherever_they_are() -> None:
    lobby = lobby_of(["t1"])
    lobby.tell(table("t2", "battle"))
    lobby.hear("there", [pb.TableSummary(table_id="t3", game="battle")])
    assert lobby.ids() == ["t1", "t2", "t3"]
    assert lobby.ids("battle") == ["t2", "t3"]
    assert lobby.ids(own=True) == ["t1", "t2"]
    assert [line.game for line in lobby.lines(["t3", "t1", "t9"])] == ["battle", "baccarat"]


def closed(table_id: str) -> TableState:
    return replace(table(table_id), status=Status.CLOSED)


async def test_a_table_that_is_closed_is_told_though_it_is_gone_already() -> None:
    """A node lets go of it in a moment, and who watches may not be told so soon."""
    here, there = lobby_of(["t1", "t2"]), Lobby()
    watching: Any = here.watch(own=True)
    outside: Any = there.watch(own=False)
    further: Any = there.watch(own=True)
    async with aclosing(watching), aclosing(outside), aclosing(further):
        there.hear("a", await anext(watching))
        assert await ids_of(outside) == ["t1", "t2"]
        assert await ids_of(further) == []
        here.tell(closed("t1"))
        here.forget("t1")
        lines = await anext(watching)
        assert [(line.table_id, line.phase) for line in lines] == [("t1", pb.PHASE_CLOSED)]
        there.hear("a", lines)
        assert there.ids() == ["t2"]
        assert [line.phase for line in await anext(outside)] == [pb.PHASE_CLOSED]
        there.tell(table("t3"))
        assert await ids_of(further) == ["t3"]


def test_a_table_that_came_here_and_was_closed_is_nowhere() -> None:
    lobby = Lobby()
    lobby.hear("there", [pb.TableSummary(table_id="t1", game="baccarat")])
    lobby.tell(table("t1"))
    lobby.tell(closed("t1"))
    lobby.forget("t1")
    assert lobby.ids() == []


def test_a_table_that_leaves_is_where_it_was_until_it_is_somewhere_else() -> None:
    lobby = lobby_of(["t1"])
    lobby.hear("there", [pb.TableSummary(table_id="t2", game="baccarat")])
    lobby.forget("t2")
    assert lobby.ids() == ["t1", "t2"]


def line(version: int, epoch: int) -> pb.TableSummary:
    return pb.TableSummary(table_id="t1", game="baccarat", version=version, epoch=epoch)


def test_what_a_node_says_that_lost_its_table_is_not_believed() -> None:
    """One that was paused tells all that it had, before it knows."""
    lobby = Lobby()
    lobby.hear("b", [line(9, 2)])
    lobby.hear("a", [line(5, 1)])
    assert [each.version for each in lobby.lines(["t1"])] == [9]
    lobby.forget_node("a")
    assert [each.version for each in lobby.lines(["t1"])] == [9]
    lobby.hear("a", [line(10, 3)])
    assert [each.version for each in lobby.lines(["t1"])] == [10]


def test_a_table_that_is_closed_does_not_come_back() -> None:
    lobby = lobby_of(["t1"])
    last = line(9, 2)
    last.status = pb.TABLE_STATUS_CLOSED
    lobby.hear("b", [last])
    lobby.hear("a", [line(5, 1)])
    assert lobby.ids() == []


def test_a_node_that_lost_its_table_shows_what_the_new_one_says() -> None:
    lobby = lobby_of(["t1"])
    before = lobby.lines(["t1"])[0].version
    lobby.hear("b", [line(before + 3, 99)])
    assert [each.version for each in lobby.lines(["t1"])] == [before + 3]
    assert [each.version for each in lobby.lines(["t1"], own=True)] == [before]
    lobby.hear("b", [line(before - 1, 0)])
    assert [each.version for each in lobby.lines(["t1"])] == [before]
