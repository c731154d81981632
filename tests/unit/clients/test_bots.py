"""Bots at tables that play by the real rules."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from croupier.audit.v1.audit_pb2 import Finding
from croupier.table.v1 import events_pb2
from croupier.table.v1.table_pb2 import (
    AdmitBettor,
    Option,
    PlayerView,
    SeatView,
    TableSummary,
    TableView,
)
from croupier.type.v1.money_pb2 import Money

from clients.api import RefusedError, TableClient
from clients.api.seat import Seat
from clients.api.sight import Sight
from clients.bots import run as runs
from clients.bots.bot import Bot
from clients.bots.progress import Ledger, Progress, Summary, Verified
from clients.bots.quota import Quota
from clients.bots.roster import Roster, roster_of
from clients.bots.run import open_tables, play_hands
from clients.bots.strategies import STRATEGIES
from shared.table import events as e
from tests.unit.clients.fake_house import FakeHouse, FakeTable


def settled(table: FakeTable) -> list[e.HandSettled]:
    return [event for _, event in table.events if isinstance(event, e.HandSettled)]


@pytest.mark.parametrize("game", sorted(STRATEGIES))
async def test_bots_play_exactly_the_hands_asked_for_and_go_home(game: str) -> None:
    house = FakeHouse()
    async with house.serving() as found:
        tables = await open_tables(found, [game])
        seen: list[Progress] = []
        summary = await play_hands(found, tables, 10, seen.append, seats=3, seed=7)
    table = house.tables[f"{game}-1"]
    hands = settled(table)
    assert summary.hands == len(hands) == 10
    assert summary.still_seated == 0
    assert not table.state.seats
    assert seen[-1].hands == 10
    lines = [line for hand in hands for line in hand.lines]
    assert summary.staked_minor == sum(line.stake for line in lines)
    assert summary.returned_minor == sum(line.returned for line in lines)
    assert len({line.player for line in lines}) == 3
    assert not summary.refusals


async def test_several_tables_share_the_hands_asked_for() -> None:
    house = FakeHouse()
    async with house.serving() as found:
        tables = await open_tables(found, ["baccarat", "battle"])
        summary = await play_hands(found, tables, 15, lambda _: None, seats=2, seed=1)
    by_table = {name: len(settled(table)) for name, table in house.tables.items()}
    assert summary.by_table == by_table
    assert sum(by_table.values()) == 15
    assert min(by_table.values()) > 0


async def test_a_run_without_end_stops_when_told() -> None:
    house = FakeHouse()
    stop = asyncio.Event()

    def on_update(progress: Progress) -> None:
        if progress.hands >= 3:
            stop.set()

    async with house.serving() as found:
        tables = await open_tables(found, ["baccarat"])
        summary = await play_hands(found, tables, None, on_update, stop=stop, seed=1)
    assert summary.hands >= 3
    assert summary.wanted is None
    assert not house.tables["baccarat-1"].state.seats


async def test_a_bot_without_money_is_given_some_and_plays_on() -> None:
    house = FakeHouse()
    table = house.open("baccarat-1", "baccarat", '{"min": 500}')
    spent = house.accounts
    first_deposits = 0

    async with house.serving() as found:

        def on_update(progress: Progress) -> None:
            nonlocal first_deposits
            if not first_deposits and table.state.seats:
                first_deposits = len(spent)
                for player in spent:
                    spent[player] = 0

        summary = await play_hands(found, ["baccarat-1"], 5, on_update, seats=2, seed=1)
    assert summary.hands == 5


@pytest.mark.parametrize(("seats", "lets_in"), [(1, True), (2, False)])
def test_a_bot_lets_others_bet_on_its_box_where_none_is_free(seats: int, lets_in: bool) -> None:
    bet = events_pb2.BetLine(player="p_bot", wager="ante", stake=100)
    table = TableView(
        table=TableSummary(game="oasis_poker", currency="CHF", seats=seats),
        seats=[SeatView(player="p_bot"), SeatView(player="p_ann")],
        boxes=[events_pb2.BoxBets(box=1, owner="p_bot", bets=[bet])],
    )
    chips = Money(currency="CHF", minor_units=10_000)
    options = [
        Option(command="place_bet", word="ante", minimum=100, maximum=1_000),
        Option(command="admit_bettor", box=1, word="p_ann"),
        Option(command="done_betting"),
    ]
    you = PlayerView(player="p_bot", options=options, chips=chips, free_chips=chips)
    seat = cast(Seat, SimpleNamespace(seated=True, sight=lambda: Sight("p_bot", table, you)))
    dice = Random(1)
    strategy = STRATEGIES["oasis_poker"](dice)
    bot = Bot(cast(TableClient, None), strategy, dice, 10_000, lambda _: True, cast(Any, None))
    command = bot.next_command(seat, stopping=False)
    assert command is not None
    if lets_in:
        assert command.admit_bettor == AdmitBettor(box=1, bettor="p_ann")
    else:
        assert command.HasField("done_betting")


async def test_a_table_that_is_there_is_kept() -> None:
    house = FakeHouse()
    kept = house.open("baccarat-1")
    async with house.serving() as found:
        assert await open_tables(found, ["baccarat"]) == ["baccarat-1"]
    assert house.tables["baccarat-1"] is kept


async def test_a_run_that_comes_to_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "STALL_TIMEOUT_S", 0.05)
    house = FakeHouse()
    house.open("baccarat-1")
    async with house.serving() as found:
        with pytest.raises(RefusedError, match="NO_PROGRESS"):
            await play_hands(found, ["baccarat-1"], 5, lambda _: None, seats=0)


async def test_bots_that_were_killed_take_up_their_seats_again(tmp_path: Path) -> None:
    house = FakeHouse()
    table = house.open("baccarat-1", "baccarat", '{"min": 500}')
    with roster_of(tmp_path) as roster:
        left_behind = roster.players("baccarat-1", 3)
    for player in left_behind:
        house.accounts[player] = 1_000_000
        table.take(e.JoinAsked(player, table.now()))
        table.take(e.ChipsRequested(player, 200_000, table.now()))
    async with house.serving() as found:
        away = type(found)(found.addresses, found.key, folder=tmp_path)
        summary = await play_hands(away, ["baccarat-1"], 3, lambda _: None, seats=3, seed=1)
    assert summary.hands == 3
    assert {line.player for hand in settled(table) for line in hand.lines} == set(left_behind)


def test_a_roster_remembers_and_grows(tmp_path: Path) -> None:
    file = tmp_path / "bots.json"
    two = Roster(file).players("t", 2)
    three = Roster(file).players("t", 3)
    assert three[:2] == two
    assert json.loads(file.read_text()) == {"t": three}


def test_two_runs_at_once_have_bots_of_their_own(tmp_path: Path) -> None:
    with roster_of(tmp_path) as one, roster_of(tmp_path) as other:
        assert not set(one.players("t", 3)) & set(other.players("t", 3))


def view(table_id: str, played: int, hand_id: str) -> TableView:
    return TableView(table=TableSummary(table_id=table_id, hands_played=played), hand_id=hand_id)


def test_a_quota_counts_what_runs_at_other_tables() -> None:
    quota = Quota(2)
    assert quota.may_bet(view("a", 5, "a-1"))
    assert quota.may_bet(view("a", 5, "a-1"))
    assert quota.may_bet(view("b", 0, "b-1"))
    assert not quota.may_bet(view("c", 0, "c-1"))
    quota.see(view("a", 6, "a-2"))
    assert not quota.may_bet(view("a", 6, "a-2"))
    assert not quota.used_up
    quota.see(view("b", 1, "b-2"))
    assert quota.used_up
    assert quota.played == 2


def test_a_voided_hand_gives_its_place_back() -> None:
    quota = Quota(1)
    assert quota.may_bet(view("a", 0, "a-1"))
    assert quota.may_bet(view("a", 0, "a-2"))
    assert quota.played == 0


def test_a_quota_without_end_never_ends() -> None:
    quota = Quota(None)
    quota.see(view("a", 100, "a-1"))
    assert quota.may_bet(view("a", 100, "a-1"))
    assert not quota.used_up


def test_a_run_is_good_only_if_all_of_it_is() -> None:
    books = Ledger((), (Money(currency="CHF"),), caught_up=True)
    clean = Verified(2, 0, 10, (), complete=True)
    summary = Summary(2, 2, 1.0, {}, 3, 0, 0, "CHF", {}, 0, 0)
    assert summary.ok(books, clean)
    assert not Summary(1, 2, 1.0, {}, 3, 0, 0, "CHF", {}, 0, 0).ok(books, clean)
    assert not Summary(2, 2, 1.0, {}, 3, 0, 0, "CHF", {}, 0, 1).ok(books, clean)
    assert not summary.ok(Ledger((), (Money(currency="CHF", minor_units=1),), True), clean)
    assert not summary.ok(Ledger((), (Money(currency="CHF"),), False), clean)
    assert not summary.ok(books, Verified(2, 0, 10, (), complete=False))
    assert not summary.ok(books, Verified(1, 1, 10, (), complete=True))
    assert not summary.ok(books, Verified(2, 0, 10, (Finding(message="x"),), complete=True))


async def test_the_same_seed_makes_the_same_choices() -> None:
    stakes = []
    for _ in range(2):
        house = FakeHouse(seed=9)
        async with house.serving() as found:
            tables = await open_tables(found, ["baccarat"])
            await play_hands(found, tables, 4, lambda _: None, seats=1, seed=42)
        hands = settled(house.tables["baccarat-1"])
        stakes.append([(line.wager, line.stake) for hand in hands for line in hand.lines])
    assert stakes[0] == stakes[1]
