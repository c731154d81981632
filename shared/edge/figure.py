"""An answer: what one wager is worth under one strategy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Report = Callable[[str, int, int], None]
"""Told how far the work is: what is worked on, how much is done, of how much."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The player's expected result per unit of the first stake: below zero the house wins.

    Later stakes that the strategy makes count in the result. `value` is a fraction where it is
    exact; a simulated one has the half width `within` of its 95 % confidence interval. `hands` are
    those that were played or, for an exact value, all there are.
    """

    game: str
    wager: str
    strategy: str | None
    value: Fraction | float
    hands: int
    within: float | None = None

    @property
    def exact(self) -> bool:
        return isinstance(self.value, Fraction)

    @property
    def ci95(self) -> tuple[float, float] | None:
        """The bounds of the 95 % confidence interval; `None` for an exact value."""
        if self.within is None:
            return None
        return float(self.value) - self.within, float(self.value) + self.within

    def as_json(self) -> dict[str, Any]:
        """For programs; `fraction` as `"-23/311"`, null where the value is simulated."""
        return {
            "game": self.game,
            "wager": self.wager,
            "strategy": self.strategy,
            "exact": self.exact,
            "value": float(self.value),
            "fraction": str(self.value) if self.exact else None,
            "ci95": None if self.ci95 is None else list(self.ci95),
            "hands": self.hands,
        }
