"""Random play: what the options offer is accepted, what is illegal changes nothing."""

from __future__ import annotations

import contextlib
from random import Random

import pytest
from croupier.table.v1.table_pb2 import Command

from clients.api import commands
from clients.api.sight import Sight
from clients.bots.random_play import any_illegal, any_legal, legal
from clients.bots.strategies import STRATEGIES
from shared.errors import CroupierError
from tests.unit.clients.fake_house import FakeHouse, FakeTable, execute, sight_of

PLAYERS = ("p_ann", "p_bob", "p_cid")

# An option's bounds are of one stake alone; these look at all of them together.
OF_ALL_STAKES = {
    "BOTH_SIDES",
    "STAKE_NOT_DIVISIBLE",
    "STAKE_ABOVE_MAXIMUM",
    "STAKE_BELOW_MINIMUM",
    "BOXES_NOT_ADJACENT",
    "BAD_EXCHANGE",
    "NOT_ENOUGH_CARDS",
    "INSURANCE_NOT_ALLOWED",
    "INSURANCE_ABOVE_LIMIT",
    "INSUFFICIENT_CHIPS",
}

# So that hands are played: all else is as likely as one in a hundred of these.
USUAL = {"place_bet", "done_betting", "decide", "cut_shoe", "join", "buy_chips"}


def mostly_usual(sight: Sight, random: Random) -> Command | None:
    """One of the things the view offers, most often what moves the table on."""
    offered = [one for one in sight.you.options if not one.command.endswith("_seed")]
    usual = any(one.command in USUAL for one in offered)
    if not offered or (not usual and random.random() < 0.99):
        return None
    weights = [1.0 if one.command in USUAL else 0.01 for one in offered]
    if sight.you.chips.minor_units:
        weights = [
            0.01 if one.command == "buy_chips" else weight
            for one, weight in zip(offered, weights, strict=True)
        ]
    return legal(sight, random.choices(offered, weights)[0], random)


def table_of(game: str, house: FakeHouse) -> FakeTable:
    table = house.open(f"{game}-1", game)
    for player in PLAYERS:
        house.accounts[player] = 1_000_000_000
        execute(table, player, commands.join())
        sight = sight_of(table, player)
        execute(table, player, commands.buy_chips(sight.money(1_000_000)))
    return table


def move_on(table: FakeTable) -> None:
    """Nobody did anything: the clock runs out, where one runs."""
    try:
        table.expire()
    except CroupierError:
        return


@pytest.mark.parametrize("game", sorted(STRATEGIES))
async def test_what_the_view_offers_is_accepted(game: str) -> None:
    house, random = FakeHouse(seed=3), Random(3)
    table = table_of(game, house)
    refused: dict[str, int] = {}
    accepted = 0
    for _ in range(800):
        player = random.choice(PLAYERS)
        if random.random() < 0.02:
            move_on(table)
        command = mostly_usual(sight_of(table, player), random)
        if command is None:
            continue
        try:
            execute(table, player, command)
            accepted += 1
        except CroupierError as refusal:
            refused[refusal.reason] = refused.get(refusal.reason, 0) + 1
    assert accepted > 200
    assert set(refused) <= OF_ALL_STAKES, refused
    assert table.state.hands_played > 5


@pytest.mark.parametrize("game", sorted(STRATEGIES))
async def test_what_is_illegal_changes_nothing(game: str) -> None:
    house, random = FakeHouse(seed=4), Random(4)
    table = table_of(game, house)
    for _ in range(200):
        player = random.choice(PLAYERS)
        sight = sight_of(table, player)
        before = table.state
        with pytest.raises(CroupierError):
            execute(table, player, any_illegal(sight, random))
        assert table.state is before
        command = any_legal(sight, random)
        if command is not None:
            with contextlib.suppress(CroupierError):
                execute(table, player, command)
