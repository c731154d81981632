"""What a bot looks at before it does something."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from croupier.table.v1.table_pb2 import Command, Option, PlayerView, TableView
from croupier.type.v1.money_pb2 import Money

from clients.api import commands
from shared.cards import Card, parse_card


@dataclass(frozen=True, slots=True)
class Sight:
    """A table as one of its players sees it, and the dice he throws."""

    player: str
    table: TableView
    you: PlayerView
    random: Random

    @property
    def game(self) -> str:
        return self.table.table.game

    @property
    def rules(self) -> dict[str, Any]:
        """The table's settings."""
        found: dict[str, Any] = json.loads(self.table.table.rules_json or "{}")
        return found

    def options(self, command: str, word: str = "") -> Sequence[Option]:
        """What may be done now."""
        return [
            option
            for option in self.you.options
            if option.command == command and word in ("", option.word)
        ]

    def place_in_row(self) -> int:
        """This player's place among those seated, from 0."""
        players = [seat.player for seat in self.table.seats]
        return players.index(self.player) if self.player in players else 0

    def staked(self, wager: str = "") -> int:
        """What this player has on the table in this hand (in one wager), in minor units."""
        return sum(
            bet.stake
            for box in self.table.boxes
            for bet in box.bets
            if bet.player == self.player and wager in ("", bet.wager)
        )

    def cards(self, name: str) -> list[Card]:
        """The cards of a hand (`box1`, `dealer`, `board`) that this player can see."""
        return [card for _, card in self.placed_cards(name)]

    def placed_cards(self, name: str) -> list[tuple[int, Card]]:
        """The same with each card's position in the shoe."""
        seen: dict[int, Card] = {}
        for hand in (*self.table.hands, *self.you.hands):
            if hand.name == name:
                for card in hand.cards:
                    if card.card:
                        seen[card.position] = parse_card(card.card)
        return list(seen.items())

    def money(self, minor_units: int) -> Money:
        """An amount in the table's currency."""
        return Money(currency=self.table.table.currency, minor_units=minor_units)

    def bet(self, option: Option, stake: int, blind: bool = False) -> Command:
        """The bet that a `place_bet` option offers."""
        return commands.place_bet(option.box, option.word, self.money(stake), blind)


def round_stake(wanted: int, minimum: int, maximum: int) -> int:
    """A stake near `wanted` within the bounds, in whole units where there is room for one.

    Tables refuse stakes of which a commission or price is no whole minor unit; multiples of 100,
    else of 20 or 5, suit the usual percentages and prices.
    """
    for step in (100, 20, 5, 1):
        lowest = -(-minimum // step) * step
        highest = maximum // step * step
        if 0 < lowest <= highest:
            return max(lowest, min(highest, wanted // step * step))
    return minimum
