"""The lobby of a node with more tables than one message holds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

from croupier.table.v1 import table_pb2 as pb

from services.table.lobby import MOST_IN_ONE, Lobby
from shared.table.state import TableState
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
