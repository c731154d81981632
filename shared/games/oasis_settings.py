"""The settings of an oasis poker table: its prices and pay tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from shared.errors import SettingError
from shared.games import settings as reading
from shared.games.payouts import Odds
from shared.games.poker import ACE_KING, HAND_NAMES, LEAST, Strength

BET_TABLE: Odds = {
    **dict.fromkeys(HAND_NAMES, Fraction(1)),
    "two_pair": Fraction(2),
    "three_of_a_kind": Fraction(3),
    "straight": Fraction(4),
    "flush": Fraction(5),
    "full_house": Fraction(7),
    "four_of_a_kind": Fraction(20),
    "straight_flush": Fraction(50),
    "royal_flush": Fraction(100),
}
"""OAS-11. A `high_card` hand that wins is ace-king: the dealer's is at least that."""

BONUS_TABLE: Odds = {
    **dict.fromkeys(HAND_NAMES, Fraction(0)),
    "straight": Fraction(40),
    "flush": Fraction(50),
    "full_house": Fraction(70),
    "four_of_a_kind": Fraction(200),
    "straight_flush": Fraction(500),
    "royal_flush": Fraction(1000),
}
"""OAS-13."""

_PRICES: Mapping[str, tuple[str, str, str]] = {
    "sheet": ("1", "1.2", "1.5"),
    "steep": ("1", "1.5", "1.5"),
    "classic": ("1", "2", "1"),
}
EXCHANGES = (1, 2, 5)
"""OAS-07: how many cards may be exchanged."""

_INSURANCE_FROM: Mapping[str, Strength] = {
    "ace_king": ACE_KING,
    **{name: LEAST[name] for name in ("pair", "two_pair", "three_of_a_kind")},
}

_ACE_KING = "ace_king"
_MOST_BOXES = 9  # 5 cards a box and to the dealer, of 52


@dataclass(frozen=True, slots=True)
class Settings:
    """Amounts in minor units. `any_order`: table class `vip` or `private` (OAS-05); `prices` in
    antes, as fractions in step with `EXCHANGES`, and whole minor units of an ante that is a
    multiple of `ante_unit` (OAS-07); `insurance_from`: the least hand that is insured."""

    limits: reading.Limits
    boxes: int
    bettors_per_box: int
    any_order: bool
    prices: tuple[tuple[int, int], ...]
    ante_unit: int
    bet_table: Odds
    bonus_table: Odds
    bonus_min: int | None
    bonus_max: int | None
    insurance_from: Strength
    insurance_back_when_beaten: bool

    def prices_of(self, ante: int) -> tuple[int, ...]:
        """What the exchanges cost a bettor with this ante, in step with `EXCHANGES` (OAS-07)."""
        return whole_prices(self.prices, ante)


def whole_prices(prices: tuple[tuple[int, int], ...], ante: int) -> tuple[int, ...]:
    """These prices, fractions of antes, in minor units."""
    return tuple([ante * over // under for over, under in prices])


def settings(raw: reading.Raw) -> Settings:
    """The settings of an oasis table; `SettingError` names the one at fault."""
    reading.only(
        raw,
        (
            *reading.LIMITS,
            "boxes",
            "bettors_per_box",
            "table_class",
            "exchange_price",
            "bet_table",
            "bonus_table",
            "bonus_min",
            "bonus_max",
            "insurance_from",
            "insurance_back_when_beaten",
        ),
    )
    table_class = reading.word(raw, "table_class", "main", ("main", "vip", "private"))
    insured = reading.word(raw, "insurance_from", _ACE_KING, tuple(_INSURANCE_FROM))
    bonus_min = reading.whole_or_none(raw, "bonus_min")
    bonus_max = reading.whole_or_none(raw, "bonus_max", low=bonus_min or 0)
    prices = _exchange_price(raw)
    return Settings(
        limits=reading.limits(raw),
        boxes=reading.whole(raw, "boxes", 6, high=_MOST_BOXES),
        bettors_per_box=reading.whole(raw, "bettors_per_box", 3, high=reading.MOST_BETTORS),
        any_order=table_class != "main",
        prices=prices,
        ante_unit=lcm(*[under for _, under in prices]),
        bet_table=_bet_table(raw),
        bonus_table=reading.ratios(raw, "bonus_table", BONUS_TABLE, HAND_NAMES),
        bonus_min=bonus_min,
        bonus_max=bonus_max,
        insurance_from=_INSURANCE_FROM[insured],
        insurance_back_when_beaten=reading.switch(raw, "insurance_back_when_beaten", False),
    )


def _exchange_price(raw: reading.Raw) -> tuple[tuple[int, int], ...]:
    """A preset by its name, or a table of prices by the number of cards."""
    given = raw.get("exchange_price", "sheet")
    preset = "sheet"
    if isinstance(given, str):
        preset = reading.word(raw, "exchange_price", preset, tuple(_PRICES))
        raw = {}
    prices = dict(zip(map(str, EXCHANGES), map(Fraction, _PRICES[preset]), strict=True))
    read = reading.ratios(raw, "exchange_price", prices, tuple(prices))
    return tuple(read[cards].as_integer_ratio() for cards in prices)


def _bet_table(raw: reading.Raw) -> Odds:
    """The sheet's name for the least hand that can win, ace-king, serves as well as HND-02's."""
    table = raw.get("bet_table")
    if isinstance(table, Mapping) and _ACE_KING in table:
        if "high_card" in table:
            raise SettingError("bet_table", "ace_king and high_card are the same line")
        named = {"high_card" if name == _ACE_KING else name: odds for name, odds in table.items()}
        raw = {"bet_table": named}
    return reading.ratios(raw, "bet_table", BET_TABLE, HAND_NAMES)
