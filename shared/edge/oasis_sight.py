"""Oasis poker without exchanges, played as well as it can be by who sees his hand and the dealer's
open card: bets where that is worth more than the ante (OAS-06, OAS-07).

What a sight is worth depends on the ranks of the hand, on the open card's rank, and on which ranks
the hand has in that card's suit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial
from itertools import combinations
from math import comb, prod

from shared.cards import DECK, RANKS, SUITS
from shared.edge.oasis import HANDS, Dealers, Kind, Ranks, Wins, kinds, parts, sign
from shared.games.oasis_poker import CARDS
from shared.games.oasis_settings import Settings
from shared.games.poker import Strength

Below = Callable[[Strength], int]
"""How many hands are weaker than a strength."""

SIGHTS = HANDS * (len(DECK) - CARDS)
DEALERS = comb(len(DECK) - CARDS - 1, CARDS - 1)


def best_play(settings: Settings, ante: int) -> Fraction:
    """What a box wins on the average per unit of its ante."""
    dealers = Dealers()
    changes = cache(partial(_flush_changes, dealers))
    total = 0
    for kind in kinds():
        wins = Wins(settings, ante, kind)
        for open_rank in range(len(RANKS)):
            plain = cache(partial(_plain, dealers, kind, open_rank))
            for suited, count in suits_of(kind, open_rank):
                change = partial(changes, open_rank, suited)
                bet = wins.over(DEALERS, partial(_weaker, dealers, plain, change))
                total += count * max(bet, -ante * DEALERS)
    return Fraction(total, SIGHTS * DEALERS * ante)


def weaker(dealers: Dealers, kind: Kind, open_rank: int, suited: Ranks) -> Below:
    """How many of the dealer's hands are weaker than a strength, on one sight: an open card of this
    rank, in whose suit the player has these ranks."""
    plain = partial(_plain, dealers, kind, open_rank)
    return partial(_weaker, dealers, plain, partial(_flush_changes, dealers, open_rank, suited))


def _weaker(dealers: Dealers, plain: Below, change: Below, value: Strength) -> int:
    return plain(value) + change(dealers.flush_step(value))


def _plain(dealers: Dealers, kind: Kind, open_rank: int, value: Strength) -> int:
    """By ranks alone, flushes left aside."""
    return sum(
        sign(size) * dealers.holding(tuple(sorted((*part, open_rank))), value)
        for size in range(CARDS)
        for part in combinations(kind.ranks, size)
    )


def _flush_changes(dealers: Dealers, open_rank: int, suited: Ranks, value: Strength) -> int:
    """What flushes change: in the open card's suit, of which the player has these ranks."""
    return sum(
        sign(len(part)) * dealers.flush_change(tuple(sorted((*part, open_rank))), value)
        for part in parts(suited)
    )


def suits_of(kind: Kind, open_rank: int) -> Iterator[tuple[Ranks, int]]:
    """The ranks that hands of the kind may have in the suit of an open card of this rank, which is
    not theirs; and how many pairs there are of such a hand and card."""
    times = Counter(kind.ranks)
    every = tuple(times)
    if kind.flush:
        yield (), len(SUITS) * (len(SUITS) - 1)
        if open_rank not in times:
            yield every, len(SUITS)
        return
    for suited in parts(tuple(rank for rank in every if rank != open_rank)):
        ways = prod(comb(len(SUITS) - 1, count - (rank in suited)) for rank, count in times.items())
        if len(times) == CARDS:  # those that are flushes are another kind
            ways -= {0: len(SUITS) - 1, CARDS: 1}.get(len(suited), 0)
        if ways:
            yield suited, len(SUITS) * ways
