"""Tails against tables and identities; permutations against counting them all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise, permutations
from random import Random

import pytest

from tests.rng.distributions import (
    chi_square_tail,
    eulerian,
    gaps,
    matches,
    normal_tail,
    stirling,
)
from tests.rng.final_cards import _cycles
from tests.rng.raw_bits import _monobit, block_shares, spread
from tests.rng.results import chi_square


@pytest.mark.parametrize(
    ("freedom", "statistic", "tail"),
    [
        # Abramowitz and Stegun, table 26.8.
        (1, 3.84146, 0.05),
        (2, 9.21034, 0.01),
        (10, 18.3070, 0.05),
        (30, 59.7031, 0.001),
        (100, 135.807, 0.01),
        (100, 77.9295, 0.95),
    ],
)
def test_the_tail_of_chi_square_is_that_of_the_tables(
    freedom: int, statistic: float, tail: float
) -> None:
    assert chi_square_tail(statistic, freedom) == pytest.approx(tail, rel=2e-4)


def test_chi_square_with_two_degrees_is_exponential_and_large_ones_are_normal() -> None:
    for statistic in (0.1, 1.0, 5.0, 40.0):
        assert chi_square_tail(statistic, 2) == pytest.approx(math.exp(-statistic / 2), rel=1e-12)
    assert chi_square_tail(0, 7) == 1
    freedom = 65_535
    for z in (-3, 0, 3):
        # Wilson and Hilferty, 1931.
        root = (1 - 2 / (9 * freedom)) + z * math.sqrt(2 / (9 * freedom))
        above = 0.5 * math.erfc(z / math.sqrt(2))
        assert chi_square_tail(freedom * root**3, freedom) == pytest.approx(above, rel=1e-3)


def test_the_tails_of_a_normal() -> None:
    assert normal_tail(1.959964) == pytest.approx(0.05, rel=1e-5)
    assert normal_tail(-3.290527) == pytest.approx(0.001, rel=1e-5)


@pytest.mark.parametrize(
    ("shares", "least", "statistic"),
    [
        (eulerian, 1, lambda order: 1 + sum(a > b for a, b in pairwise(order))),
        (stirling, 1, lambda order: _cycles(bytes(order))),
        (matches, 0, lambda order: sum(at == card for at, card in enumerate(order))),
        (gaps, 1, lambda order: abs(order.index(1) - order.index(3))),
    ],
)
def test_the_shares_of_permutations_are_those_counted(
    shares: Callable[[int], Sequence[float]],
    least: int,
    statistic: Callable[[tuple[int, ...]], int],
) -> None:
    """All 5,040 orders of seven cards."""
    counted = Counter(map(statistic, permutations(range(7))))
    due = {least + n: round(share * 5040) for n, share in enumerate(shares(7)) if share}
    assert counted == due
    assert sum(shares(52)) == pytest.approx(1)


def test_cells_of_which_few_are_expected_are_taken_together() -> None:
    result = chi_square("", "", [50, 48, 1, 1, 0, 0], [0.5, 0.47, 0.02, 0.005, 0.004, 0.001])
    assert result.freedom == 1
    assert chi_square("", "", [5, 5, 5]).p == 1


def test_the_spread_of_p_over_blocks_is_that_of_a_binomial() -> None:
    """Twentieths of p are not quite equally likely where ones come in whole numbers; over many
    blocks of an ideal source nothing is wrong with them."""
    shares = block_shares()
    assert sum(shares) == pytest.approx(1)
    assert max(abs(share - 0.05) for share in shares) > 0.0005
    random = Random(1)
    blocks = (random.randbytes(4096) for _ in range(6_000))
    counts = spread(_monobit(block)[1] for block in blocks)
    assert chi_square("", "", counts, shares).p > 0.001
