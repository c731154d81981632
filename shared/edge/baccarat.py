"""Baccarat, exactly: every order of six cards, by what they are worth, through the rules (BAC)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import perm, prod

from shared.cards import DECK, Card
from shared.edge.stake import first_stake
from shared.games import baccarat
from shared.games.play import Box, Cell, Done, Setup

_CARDS = 6
_VALUES = range(10)
_OF_VALUE: dict[int, Card] = {baccarat.value(card): card for card in DECK}
_IN_A_DECK = Counter(baccarat.value(card) for card in DECK)


def values(settings: baccarat.Settings) -> dict[str, Fraction]:
    """What each wager wins on the average per unit of its stake, commission paid in full: what
    rounding it makes of it (BAC-11) is another matter."""
    percent = settings.commission_percent / 100
    stake = first_stake(settings.limits, (percent,), ())
    # One bettor a wager: nobody may have both sides (BAC-01).
    boxes = (Box(1, wager, ((wager, wager, stake),)) for wager in baccarat.WAGERS)
    setup = Setup(tuple(boxes))
    won = dict.fromkeys(baccarat.WAGERS, 0)
    for done, ways in _coups(settings, setup):
        for line in done.lines:
            won[line.bet] += ways * (line.returned - line.stake)
        for wager, owed in done.commission:
            won[wager] -= ways * owed
    return {wager: Fraction(sum_, stake * orders(settings)) for wager, sum_ in won.items()}


def orders(settings: baccarat.Settings) -> int:
    """In how many orders six cards can leave the shoe: 4,998,398,275,503,360 for eight decks."""
    return perm(len(DECK) * settings.decks, _CARDS)


def _coups(settings: baccarat.Settings, setup: Setup) -> Iterator[tuple[Done, int]]:
    """Every coup and the orders of six cards, dealt or not, that give it."""
    start = baccarat.Hand(settings, setup)
    pairs = list(combinations_with_replacement(_VALUES, 2))
    for player in pairs:
        for banker in pairs:
            four = (player[0], banker[0], player[1], banker[1])
            same = (1 + (player[0] != player[1])) * (1 + (banker[0] != banker[1]))
            dealt = baccarat.dealt(start, tuple(_cell(at, each) for at, each in enumerate(four)))
            for done, drawn in _thirds(dealt, four):
                ways = same * _ways(tuple(sorted(drawn)), settings.decks)
                # What follows in the shoe may be anything.
                left = len(DECK) * settings.decks - len(drawn)
                yield done, ways * perm(left, _CARDS - len(drawn))


def _thirds(hand: baccarat.Hand, drawn: tuple[int, ...]) -> Iterator[tuple[Done, tuple[int, ...]]]:
    step = baccarat.next_step(hand)
    if isinstance(step, Done):
        yield step, drawn
        return
    for third in _VALUES:
        after = baccarat.dealt(hand, (_cell(len(drawn), third),))
        yield from _thirds(after, (*drawn, third))


def _cell(position: int, value: int) -> Cell:
    return Cell(position, _OF_VALUE[value])


@cache
def _ways(values: tuple[int, ...], decks: int) -> int:
    """In how many ways cards of these values come in this order."""
    times = Counter(values)
    return prod(perm(_IN_A_DECK[value] * decks, count) for value, count in times.items())
