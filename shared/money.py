"""Amounts of money: a currency and whole minor units, never a float."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared.errors import CroupierError

LEAST_MINOR = -(2**63)
MOST_MINOR = 2**63 - 1

_CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)


class MoneyError(CroupierError):
    """`BAD_AMOUNT`: no amount of money; `CURRENCY_MISMATCH`: two that do not go together."""


@dataclass(frozen=True, slots=True)
class Money:
    """`minor_units` (cents; a signed 64-bit integer) of `currency`, three capital letters as in
    ISO 4217 or the house's own for play chips. Anything else is a `MoneyError`, also as the result
    of a sum."""

    currency: str
    minor_units: int

    def __post_init__(self) -> None:
        if not isinstance(self.currency, str) or _CURRENCY.fullmatch(self.currency) is None:
            raise MoneyError("BAD_AMOUNT", f"no currency: {self.currency!r}", "currency")
        if type(self.minor_units) is not int:
            raise MoneyError("BAD_AMOUNT", "minor units must be a whole number", "minor_units")
        if not LEAST_MINOR <= self.minor_units <= MOST_MINOR:
            raise MoneyError("BAD_AMOUNT", "more than 64 bits of minor units", "minor_units")

    def __add__(self, other: Money) -> Money:
        return Money(self.currency, self.minor_units + self._same(other))

    def __sub__(self, other: Money) -> Money:
        return Money(self.currency, self.minor_units - self._same(other))

    def __neg__(self) -> Money:
        return Money(self.currency, -self.minor_units)

    def __str__(self) -> str:
        return f"{self.minor_units} {self.currency}"

    def _same(self, other: Money) -> int:
        if other.currency != self.currency:
            raise MoneyError(
                "CURRENCY_MISMATCH", f"{self.currency} and {other.currency}", "currency"
            )
        return other.minor_units
