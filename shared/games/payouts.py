"""Odds, prices and caps in whole minor units; ratios are fractions, never floats."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

Odds = Mapping[str, Fraction]
"""What each hand pays, by its name in HND-02."""

_RATIO = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9})|:([1-9][0-9]{0,8}))?", re.ASCII)


def parse_ratio(raw: object) -> Fraction:
    """The ratio written as a JSON number, `"1.2"` or `"3:2"`; `ValueError` for anything else."""
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        raise ValueError(f"not a ratio: {raw!r}")
    written = _RATIO.fullmatch(str(raw))
    if written is None:
        raise ValueError(f"not a ratio: {raw!r}")
    whole, decimals, below = written.groups()
    if below is not None:
        return Fraction(int(whole), int(below))
    return Fraction(f"{whole}.{decimals or 0}")


def win(stake: int, odds: Fraction) -> int:
    """What `stake` wins on top of itself; a fraction of a minor unit stays with the house."""
    over, under = odds.as_integer_ratio()
    return stake * over // under


def share_cap(cap: int | None, first: int, second: int) -> tuple[int, int]:
    """Two wins of a box under its max payout: the first is paid first, the second gets what is left
    of the cap (CHE-07, OAS-12)."""
    if cap is None or first + second <= cap:
        return first, second
    first = min(first, cap)
    return first, min(second, cap - first)
