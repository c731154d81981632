"""Reading a game's settings: every value typed, bounded, and refused by name (TAB-11)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shared.errors import SettingError
from shared.games.payouts import Odds, parse_ratio

Raw = Mapping[str, Any]
"""Settings as they are written: JSON values by name."""

MOST_MINOR = 2**63 - 1
MOST_DECKS = 100
MOST_BOXES = 100
MOST_BETTORS = 100


@dataclass(frozen=True, slots=True)
class Limits:
    """A house game's limits in minor units; `None` where the table has none (TAB-02, TAB-07)."""

    min: int | None = None
    max: int | None = None
    max_payout: int | None = None


LIMITS = ("min", "max", "max_payout")


def only(raw: Raw, names: Collection[str]) -> None:
    """Refuse a setting that the game does not have."""
    for name in raw:
        if name not in names:
            raise SettingError(name, f"no such setting: {name!r}")


def limits(raw: Raw) -> Limits:
    """The limits; a maximum below the minimum is refused, and a max payout below 3 × the maximum
    (TAB-07)."""
    read = Limits(*(whole_or_none(raw, name) for name in LIMITS))
    if read.min is not None and read.max is not None and read.max < read.min:
        raise SettingError("max", "the maximum is below the minimum")
    if read.max is not None and read.max_payout is not None and read.max_payout < 3 * read.max:
        raise SettingError("max_payout", "the max payout is below three times the maximum")
    return read


def whole(raw: Raw, name: str, default: int, low: int = 1, high: int = MOST_MINOR) -> int:
    """A whole number between `low` and `high`."""
    value = raw.get(name, default)
    if type(value) is not int or not low <= value <= high:
        raise SettingError(name, f"{name} must be a whole number from {low} to {high}")
    return value


def whole_or_none(raw: Raw, name: str, low: int = 0) -> int | None:
    """A whole number of at least `low`, or `None` where the setting is left out."""
    return whole(raw, name, low, low) if name in raw else None


def switch(raw: Raw, name: str, default: bool) -> bool:
    """`true` or `false`."""
    value = raw.get(name, default)
    if type(value) is not bool:
        raise SettingError(name, f"{name} must be true or false")
    return value


def word(raw: Raw, name: str, default: str, words: Collection[str]) -> str:
    """One of `words`."""
    value = raw.get(name, default)
    if type(value) is not str or value not in words:
        raise SettingError(name, f"{name} must be one of {', '.join(words)}")
    return value


def ratio(raw: Raw, name: str, default: Fraction, most: int) -> Fraction:
    """A number from 0 to `most`, not always whole."""
    if name not in raw:
        return default
    if isinstance(raw[name], str) or (value := _ratio(name, raw[name])) > most:
        raise SettingError(name, f"{name} must be a number up to {most}")
    return value


def ratios(raw: Raw, name: str, default: Odds, names: Collection[str]) -> Odds:
    """A table of odds or prices with keys out of `names`; what it leaves out is as in `default`."""
    table = raw.get(name, {})
    if not isinstance(table, Mapping):
        raise SettingError(name, f"{name} must be a table")
    for key in table:
        if key not in names:
            raise SettingError(name, f"{name} has no place for {key!r}")
    return {**default, **{key: _ratio(name, value) for key, value in table.items()}}


def _ratio(name: str, value: object) -> Fraction:
    try:
        return parse_ratio(value)
    except ValueError as fault:
        raise SettingError(name, f"{name}: {fault}") from None
