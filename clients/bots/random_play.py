"""Commands at random, for tests: any that the view offers, and some that no table may accept."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from croupier.table.v1.table_pb2 import Command, DoneBetting, Option

from clients.api import commands
from clients.api.sight import Sight

MOST_CHIPS_MINOR = 100_000
"""Chips are bought without a bound by the table; what an account can pay is not in the view."""

_UNKNOWN_BOX = 999
_CHORES = frozenset({"pledge_seed", "reveal_seed"})


class RandomLegal:
    """A strategy for every game that takes any bet and any decision it is offered."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def bet(self, sight: Sight) -> Command | None:
        offered = sight.options("place_bet")
        if not offered or (sight.staked() and self._random.random() < 0.5):
            return None
        return legal(sight, self._random.choice(offered), self._random)

    def decide(self, sight: Sight, due: Sequence[Option]) -> Command | None:
        return legal(sight, self._random.choice(due), self._random)


def any_legal(sight: Sight, random: Random) -> Command | None:
    """One of the things the view offers, whichever; `None` where it offers nothing."""
    offered = [option for option in sight.you.options if option.command not in _CHORES]
    return legal(sight, random.choice(offered), random) if offered else None


def legal(sight: Sight, option: Option, random: Random) -> Command:
    """A command within an option's bounds."""
    most = option.maximum
    if option.command == "buy_chips":
        most = min(most, MOST_CHIPS_MINOR)
    amount = sight.money(random.randint(option.minimum, max(option.minimum, most)))
    match option.command:
        case "join":
            return commands.join()
        case "leave":
            return commands.leave()
        case "sit_out":
            return commands.sit_out(not (sight.seat and sight.seat.sitting_out))
        case "buy_chips":
            return commands.buy_chips(amount)
        case "cash_out":
            return commands.cash_out(amount if amount.minor_units else None)
        case "place_bet":
            return sight.bet(option, amount.minor_units)
        case "take_back_bets":
            return commands.take_back_bets(option.box)
        case "admit_bettor":
            return commands.admit_bettor(option.box, option.word)
        case "done_betting":
            return commands.done_betting()
        case "cut_shoe":
            return commands.cut_shoe(random.choice((0, amount.minor_units)))
        case "object_to_join":
            return commands.object_to_join(option.word)
        case "decide":
            return _decision(sight, option, random)
    raise ValueError(f"no such command: {option.command!r}")


def _decision(sight: Sight, option: Option, random: Random) -> Command:
    positions: list[int] = []
    if option.counts:
        held = [position for position, _ in sight.placed_cards(f"box{option.box}")]
        positions = random.sample(held, min(random.choice(option.counts), len(held)))
    amount = 0
    if option.maximum:
        amount = random.randint(option.minimum, max(option.minimum, option.maximum))
    insurance = {
        most.player: random.randint(1, most.stake)
        for most in option.insurance_max
        if most.stake and random.random() < 0.5
    }
    return commands.decide(
        option.box,
        option.word,
        amount=sight.money(amount) if amount else None,
        positions=positions,
        insurance=insurance,
    )


def any_illegal(sight: Sight, random: Random) -> Command:
    """A command that must be refused in the state that `sight` shows."""
    wrong: list[Command] = [
        commands.place_bet(_UNKNOWN_BOX, _wager(sight, random), sight.money(100)),
        commands.place_bet(1, "no_such_wager", sight.money(100)),
        commands.place_bet(1, _wager(sight, random), sight.money(-100)),
        commands.buy_chips(sight.money(0)),
        commands.decide(_UNKNOWN_BOX, "fold"),
        commands.decide(1, "no_such_word"),
        Command(command_id="not-a-uuid", done_betting=DoneBetting()),
        Command(command_id=commands.done_betting().command_id),
    ]
    wrong += [
        commands.place_bet(option.box, option.word, sight.money(option.maximum + 1))
        for option in sight.options("place_bet")
    ]
    if not sight.options("cut_shoe"):
        wrong.append(commands.cut_shoe(26))
    wrong.append(commands.join() if sight.seat else commands.leave())
    return random.choice(wrong)


def _wager(sight: Sight, random: Random) -> str:
    words = [option.word for option in sight.options("place_bet")]
    return random.choice(words) if words else "ante"
