"""What a player looks at before doing something."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from croupier.table.v1.table_pb2 import Command, Option, PlayerView, SeatView, TableView
from croupier.type.v1.money_pb2 import Money

from clients.api import commands
from shared.cards import Card, parse_card


@dataclass(frozen=True, slots=True)
class Sight:
    """A table as one of its players sees it."""

    player: str
    table: TableView
    you: PlayerView

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

    @property
    def seat(self) -> SeatView | None:
        """This player's seat, `None` where he has none."""
        return next((seat for seat in self.table.seats if seat.player == self.player), None)

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

    def free_box(self) -> int:
        """The box that goes with one's place in the row, else the lowest that nobody else owns."""
        taken = {box.box for box in self.table.boxes if box.owner != self.player}
        boxes = range(1, max(self.table.table.seats, 1) + 1)
        own = self.place_in_row() + 1
        free = [box for box in boxes if box not in taken]
        return own if own in free or not free else free[0]

    def bet(self, option: Option, stake: int, blind: bool = False) -> Command:
        """The bet that a `place_bet` option offers; one of any box takes `free_box`."""
        box = option.box or self.free_box()
        return commands.place_bet(box, option.word, self.money(stake), blind)
