"""Bots at a table that plays by the real rules."""

from __future__ import annotations

from clients.bots.progress import Progress
from clients.bots.run import open_tables, play_hands
from shared.table import events as e
from tests.unit.clients.fake_house import FakeHouse


def collect(into: list[Progress]) -> object:
    return into.append


async def test_a_run_plays_exactly_the_hands_asked_for_and_everybody_goes_home() -> None:
    house = FakeHouse()
    async with house.serving() as found:
        tables = await open_tables(found, ["baccarat"])
        seen: list[Progress] = []
        summary = await play_hands(found, tables, 12, seen.append, seats=3, seed=7)
    table = house.tables["baccarat-1"]
    settled = [event for _, event in table.events if isinstance(event, e.HandSettled)]
    assert summary.hands == len(settled) == 12
    assert summary.by_table == {"baccarat-1": 12}
    assert summary.still_seated == 0
    assert not table.state.seats
    assert seen[-1].hands == 12
    lines = [line for event in settled for line in event.lines]
    assert summary.staked_minor == sum(line.stake for line in lines)
    assert summary.returned_minor == sum(line.returned for line in lines)
    assert len({line.player for line in lines}) == 3
