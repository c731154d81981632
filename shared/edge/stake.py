"""The stake that a wager is measured with."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import lcm

from shared.errors import SettingError
from shared.games.settings import Limits

USUAL = 100
"""Minor units, where the table's limits say nothing else."""


def first_stake(limits: Limits, needed: Iterable[Fraction], paid: Iterable[Fraction]) -> int:
    """A first stake within the table's limits, the lowest from the minimum up (`USUAL` without
    one): it matters where a max payout cuts wins.

    Times each ratio of `needed` it is whole minor units, as the rules demand (BAC-09b, OAS-07), and
    times those of `paid` too, so that nothing is rounded, where the limits allow it.
    `SettingError` where no stake is allowed at all.
    """
    least = limits.min or min(USUAL, limits.max or USUAL)
    demanded = lcm(*(ratio.denominator for ratio in needed))
    for unit in (lcm(demanded, *(ratio.denominator for ratio in paid)), demanded):
        stake = -(-least // unit) * unit
        if limits.max is None or stake <= limits.max:
            return stake
        if limits.min is None and limits.max >= unit:
            return limits.max // unit * unit
    raise SettingError("max", f"no stake from {least} to {limits.max} divides into whole prices")
