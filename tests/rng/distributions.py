"""Distributions that the statistics are compared with, and what lies in their tails.

Those of permutations are counted in integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

_TINY = 1e-300
_EPSILON = 1e-15
_MOST_TERMS = 100_000


def chi_square_tail(statistic: float, freedom: int) -> float:
    """The probability that chi-square with so many degrees of freedom is at least `statistic`."""
    if statistic <= 0:
        return 1.0
    return _upper_gamma(freedom / 2, statistic / 2)


def normal_tail(z: float) -> float:
    """The probability that a standard normal is at least as far from 0, on either side."""
    return math.erfc(abs(z) / math.sqrt(2))


def _upper_gamma(shape: float, x: float) -> float:
    """Q(shape, x), the regularised upper incomplete gamma function: by its series below the mean,
    by Lentz's continued fraction above (Abramowitz and Stegun, 6.5.29 and 6.5.31)."""
    scale = math.exp(-x + shape * math.log(x) - math.lgamma(shape))
    if x < shape + 1:
        term = total = 1 / shape
        for number in range(1, _MOST_TERMS):
            term *= x / (shape + number)
            total += term
            if term < total * _EPSILON:
                break
        return max(0.0, 1 - total * scale)
    b = x + 1 - shape
    c, d = 1 / _TINY, 1 / b
    fraction = d
    for number in range(1, _MOST_TERMS):
        a = -number * (number - shape)
        b += 2
        d = 1 / _away_from_0(a * d + b)
        c = _away_from_0(b + a / c)
        fraction *= d * c
        if abs(d * c - 1) < _EPSILON:
            break
    return scale * fraction


def _away_from_0(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


@cache
def eulerian(cards: int) -> Sequence[float]:
    """The probability of 1, 2, … `cards` ascending runs in a permutation."""
    counts = [1]
    for n in range(2, cards + 1):
        counts = [
            (k + 1) * (counts[k] if k < len(counts) else 0) + (n - k) * (counts[k - 1] if k else 0)
            for k in range(n)
        ]
    return _shares(counts)


@cache
def stirling(cards: int) -> Sequence[float]:
    """The probability of 1, 2, … `cards` cycles in a permutation."""
    counts = [1]
    for n in range(2, cards + 1):
        counts = [
            (n - 1) * (counts[k] if k < len(counts) else 0) + (counts[k - 1] if k else 0)
            for k in range(n)
        ]
    return _shares(counts)


@cache
def matches(cards: int) -> Sequence[float]:
    """The probability of 0, 1, … `cards` cards that lie where they began."""
    derangements = [1, 0]
    for n in range(2, cards + 1):
        derangements.append((n - 1) * (derangements[-1] + derangements[-2]))
    return _shares([math.comb(cards, k) * derangements[cards - k] for k in range(cards + 1)])


@cache
def gaps(cards: int) -> Sequence[float]:
    """The probability of 1, 2, … `cards` − 1 places between two given cards."""
    return _shares([cards - distance for distance in range(1, cards)])


def _shares(counts: Sequence[int]) -> Sequence[float]:
    total = sum(counts)
    return tuple(count / total for count in counts)
