"""Tests of whole shoes of one deck, as they are dealt.

A test that could see one shoe several times takes one thing of each shoe, in turn, so that what it
counts is independent; only the positions of all cards are counted together, and their dependence is
in the formula.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from shared.proofs.shoe_order import DECK_CARDS
from tests.rng.distributions import (
    chi_square_tail,
    eulerian,
    gaps,
    matches,
    normal_tail,
    stirling,
)
from tests.rng.results import Result, chi_square

LAGS = 10
PATTERN_CARDS = 5
_PATTERNS = DECK_CARDS // PATTERN_CARDS
_MEAN = (DECK_CARDS - 1) / 2
_VARIANCE = (DECK_CARDS**2 - 1) / 12


class FinalCards:
    """Counts shoe after shoe; `results` when there are enough (a few thousand)."""

    def __init__(self) -> None:
        self.shoes = 0
        self.positions = [[0] * DECK_CARDS for _ in range(DECK_CARDS)]
        self.pairs = [0] * (DECK_CARDS * DECK_CARDS)
        self.gaps = [0] * (DECK_CARDS - 1)
        self.runs = [0] * DECK_CARDS
        self.cycles = [0] * DECK_CARDS
        self.fixed = [0] * (DECK_CARDS + 1)
        self.patterns: dict[tuple[int, ...], int] = {}
        self.lag_sums = [0.0] * LAGS
        self.lag_squares = [0.0] * LAGS

    def take(self, shoes: Iterable[bytes]) -> None:
        """Counts these shoes too."""
        for shoe in shoes:
            self._count(shoe)
            self.shoes += 1

    def _count(self, shoe: bytes) -> None:
        for position, card in enumerate(shoe):
            self.positions[position][card] += 1
        first = self.shoes % (DECK_CARDS - 1)
        self.pairs[shoe[first] * DECK_CARDS + shoe[first + 1]] += 1
        self.gaps[abs(shoe.index(first) - shoe.index(first + 1)) - 1] += 1
        self.runs[sum(a > b for a, b in pairwise(shoe))] += 1
        self.fixed[sum(card == position for position, card in enumerate(shoe))] += 1
        self.cycles[_cycles(shoe) - 1] += 1
        start = PATTERN_CARDS * (self.shoes % _PATTERNS)
        cards = shoe[start : start + PATTERN_CARDS]
        pattern = tuple(sorted(range(PATTERN_CARDS), key=cards.__getitem__))
        self.patterns[pattern] = self.patterns.get(pattern, 0) + 1
        lag = self.shoes % LAGS
        product = _lagged(shoe, lag + 1)
        self.lag_sums[lag] += product
        self.lag_squares[lag] += product * product

    def results(self) -> list[Result]:
        """All tests of what was counted."""
        return [
            self._positions(),
            chi_square(
                "pairs",
                "two cards that lie side by side, in order; a place a shoe in turn",
                [
                    count
                    for cell, count in enumerate(self.pairs)
                    if cell // DECK_CARDS != cell % DECK_CARDS
                ],
            ),
            chi_square(
                "gaps",
                "places between two cards that lay side by side before, in turn",
                self.gaps,
                gaps(DECK_CARDS),
            ),
            chi_square("runs", "ascending runs in a shoe", self.runs, eulerian(DECK_CARDS)),
            chi_square("cycles", "cycles of the permutation", self.cycles, stirling(DECK_CARDS)),
            chi_square(
                "matches", "cards that lie where they began", self.fixed, matches(DECK_CARDS)
            ),
            chi_square(
                "order of five",
                "the 120 orders of five neighbouring cards, ten places in turn",
                self._pattern_counts(),
            ),
            *(self._serial(lag) for lag in range(LAGS)),
        ]

    def position_results(self) -> list[float]:
        """A p for the cards at each position, and for the positions of each card."""
        columns = list(map(list, zip(*self.positions, strict=True)))
        return [chi_square("", "", counts).p for counts in (*self.positions, *columns)]

    def correlations(self) -> list[tuple[float, float]]:
        """At each lag from 1 on, by how much the serial correlation is above that of a random
        permutation, and the standard error of that."""
        return [self._correlation(lag) for lag in range(LAGS)]

    def _positions(self) -> Result:
        """Counts of (position, card) have covariance N/(n − 1) · (I − J/n) ⊗ (I − J/n)."""
        expected = self.shoes / DECK_CARDS
        pearson = sum((seen - expected) ** 2 / expected for row in self.positions for seen in row)
        statistic = pearson * (DECK_CARDS - 1) / DECK_CARDS
        freedom = (DECK_CARDS - 1) ** 2
        return Result(
            "positions",
            self.shoes * DECK_CARDS,
            statistic,
            freedom,
            chi_square_tail(statistic, freedom),
            "every card at every position",
        )

    def _pattern_counts(self) -> Sequence[int]:
        counts = list(self.patterns.values())
        return counts + [0] * (math.factorial(PATTERN_CARDS) - len(counts))

    def _correlation(self, lag: int) -> tuple[float, float]:
        """By how much it is above that of a random permutation (Wald and Wolfowitz, 1943), and the
        standard error."""
        shoes = self._shoes_of(lag)
        mean = self.lag_sums[lag] / shoes
        variance = self.lag_squares[lag] / shoes - mean * mean
        pairs = DECK_CARDS - lag - 1
        due = -pairs * _VARIANCE / (DECK_CARDS - 1)
        scale = pairs * _VARIANCE
        return (mean - due) / scale, math.sqrt(variance / shoes) / scale

    def _shoes_of(self, lag: int) -> int:
        return (self.shoes + LAGS - 1 - lag) // LAGS

    def _serial(self, lag: int) -> Result:
        above, error = self._correlation(lag)
        z = above / error if error else math.copysign(math.inf, above)
        return Result(
            f"serial correlation, lag {lag + 1}",
            self._shoes_of(lag) * (DECK_CARDS - lag - 1),
            z,
            0,
            normal_tail(z),
            "of the cards' numbers along the shoe; a lag a shoe in turn",
        )


def _lagged(shoe: bytes, lag: int) -> float:
    return sum(
        (one - _MEAN) * (other - _MEAN) for one, other in zip(shoe, shoe[lag:], strict=False)
    )


def _cycles(shoe: bytes) -> int:
    seen = bytearray(len(shoe))
    cycles = 0
    for start in range(len(shoe)):
        if not seen[start]:
            cycles += 1
            at = start
            while not seen[at]:
                seen[at] = 1
                at = shoe[at]
    return cycles


def rank_positions(shoes: Iterable[bytes], decks: int) -> Result:
    """Shoes of several decks: every card at every position, cards of a kind taken together."""
    cards = decks * DECK_CARDS
    counts = [[0] * DECK_CARDS for _ in range(cards)]
    total = 0
    for shoe in shoes:
        for position, card in enumerate(shoe):
            counts[position][card] += 1
        total += 1
    expected = total / DECK_CARDS
    pearson = sum((seen - expected) ** 2 / expected for row in counts for seen in row)
    statistic = pearson * (cards - 1) / cards
    freedom = (cards - 1) * (DECK_CARDS - 1)
    return Result(
        f"positions, {decks} decks",
        total * cards,
        statistic,
        freedom,
        chi_square_tail(statistic, freedom),
        f"every card at every position of {total:,} shoes of {cards} cards",
    )
