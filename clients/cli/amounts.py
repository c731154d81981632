"""Money as people write it: `1 250.50`, for currencies that have cents."""

from __future__ import annotations

import re

from croupier.type.v1.money_pb2 import Money

_WRITTEN = re.compile(r"(?P<whole>\d{1,15})(?:[.,](?P<cents>\d{1,2}))?")
_THIN_SPACE = " "


class AmountError(ValueError):
    """Not an amount of money."""


def parse_minor(written: str) -> int:
    """Minor units of an amount like `12`, `12.5` or `12.50`; `AmountError` where it is none."""
    match = _WRITTEN.fullmatch(written.replace(_THIN_SPACE, "").replace("'", ""))
    if match is None:
        raise AmountError(f"{written!r} is no amount (write 50 or 12.50)")
    return int(match["whole"]) * 100 + int((match["cents"] or "").ljust(2, "0"))


def write_minor(minor_units: int, sign: bool = False) -> str:
    """`1 250.50`; with `sign` a gain gets its plus."""
    whole, cents = divmod(abs(minor_units), 100)
    before = "-" if minor_units < 0 else "+" if sign and minor_units else ""
    return f"{before}{whole:,}".replace(",", _THIN_SPACE) + f".{cents:02d}"


def write_money(money: Money) -> str:
    """`1 250.50 CHF`."""
    return f"{write_minor(money.minor_units)} {money.currency}".rstrip()
