"""Wagers measured by playing: hands through the rules, as a live table plays them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from random import Random
from typing import Any

from shared.cards import DECK, Card
from shared.edge.choices import Choose, exchange_one_of_a_draw, jacks_or_better
from shared.edge.cores import spread
from shared.edge.figure import Report
from shared.games import draw_entries, draw_poker, oasis_poker
from shared.games.play import Box, Cell, Deal, Decisions, Done, Face, Game, Setup, Show
from shared.games.registry import game

HANDS_A_PART = 5_000
WITHIN_95 = 1.959963985
"""Standard deviations on either side of the mean that hold 95 % of a normal distribution."""

CHOICES: Mapping[str, Mapping[str, Choose]] = {
    oasis_poker.NAME: {"exchange_one_of_a_draw": exchange_one_of_a_draw},
    draw_poker.NAME: {"jacks_or_better": jacks_or_better},
}

PLAYERS = 4
_STACK_ANTES = 1_000


@dataclass(frozen=True, slots=True)
class Part:
    """Hands to be played by one process; everything in it can be sent there. `number` makes the
    cards: the same part gives the same result anywhere."""

    game: str
    rules: dict[str, Any]
    strategy: str
    stake: int
    hands: int
    number: int


@dataclass(frozen=True, slots=True)
class Sum:
    """Results summed up: of how many hands, in minor units, and their squares."""

    count: int = 0
    total: int = 0
    squares: int = 0

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.count + other.count, self.total + other.total, self.squares + other.squares)

    def mean(self) -> float:
        return self.total / self.count

    def within(self) -> float:
        """The half width of the mean's 95 % confidence interval."""
        spread_ = self.squares - self.total * self.total / self.count
        return WITHIN_95 * sqrt(spread_ / max(1, self.count - 1) / self.count)


def play(rules: Game, settings: Any, setup: Setup, deck: list[Card], choose: Choose) -> Done:
    """One hand to its end. The rules see a card only when they turn it or show it."""
    hand = rules.start(settings, setup)
    used = 0
    while True:
        match rules.next_step(hand):
            case Decisions(due=(due, *_)):
                hand = rules.decide(hand, choose(hand, due))
            case Deal(slots):
                cells = [
                    Cell(at, None if slot.face is Face.DOWN else deck[at])
                    for at, slot in enumerate(slots, used)
                ]
                used += len(cells)
                hand = rules.dealt(hand, tuple(cells))
            case Show(turns):
                seen = sorted(turn.position for turn in turns)
                hand = rules.shown(hand, tuple(Cell(at, deck[at]) for at in seen))
            case Done() as done:
                return done


def play_box(part: Part) -> Sum:
    """Hands of a house game with one box: what it wins in all, later stakes included."""
    rules = game(part.game)
    settings = rules.settings(part.rules)
    setup = Setup((Box(1, "player", (("player", rules.WAGERS[0], part.stake),)),))
    choose = CHOICES[part.game][part.strategy]
    random = Random(f"{part.game} {part.strategy} {part.number}")
    deck = list(DECK) * rules.decks(settings)
    total = squares = 0
    for _ in range(part.hands):
        random.shuffle(deck)
        done = play(rules, settings, setup, deck, choose)
        won = sum(line.returned - line.stake for line in done.lines)
        total += won
        squares += won * won
    return Sum(part.hands, total, squares)


def play_pots(part: Part) -> Sum:
    """Hands of draw poker among `PLAYERS` who all play alike: what they win together. Each goes on
    until its pot is won, through all hands that carry it (DRW-06, DRW-10); so what is missing is
    the rake."""
    settings = draw_poker.settings(part.rules)
    choose = CHOICES[part.game][part.strategy]
    random = Random(f"{part.game} {part.strategy} {part.number}")
    seats = {box: f"player {box}" for box in range(1, PLAYERS + 1)}
    deck = list(DECK)
    total = squares = count = 0
    winners: tuple[int, ...] = ()
    while count < part.hands:
        carried, entry, together = 0, "ante", 0
        while True:
            paid = frozenset(seats.values()) if carried else frozenset()
            entries = draw_entries.entries(settings, part.stake, carried, entry, seats, paid)
            most = max(entries.values())
            setup = Setup(
                tuple(Box(box, player, ()) for box, player in seats.items()),
                dict.fromkeys(seats.values(), _STACK_ANTES * part.stake + most),
                ante=part.stake,
                first=draw_entries.first_dealt(list(seats), winners, carried > 0),
                carried_pot=carried,
                entries=tuple(entries.items()),
                entry=entry,
            )
            random.shuffle(deck)
            done = play(draw_poker, settings, setup, deck, choose)
            together += sum(line.returned - line.stake for line in done.lines)
            if done.next_entry is None:
                break
            carried, entry = done.carried_pot, done.next_entry
        winners = done.winners
        count += 1
        total += together
        squares += together * together
    return Sum(count, total, squares)


def simulate(
    name: str, raw: dict[str, Any], strategy: str, stake: int, hands: int, report: Report
) -> Sum:
    """So many hands on all cores."""
    sizes = [min(HANDS_A_PART, hands - begun) for begun in range(0, hands, HANDS_A_PART)]
    parts = [Part(name, raw, strategy, stake, size, at) for at, size in enumerate(sizes)]
    work = play_pots if name == draw_poker.NAME else play_box
    result = Sum()
    report(strategy, 0, hands)
    for of_part in spread(work, parts):
        result += of_part
        report(strategy, result.count, hands)
    return result
