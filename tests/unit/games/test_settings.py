"""Reading settings and ratios: typed, bounded, refused by name."""

from fractions import Fraction
from typing import Any

import pytest

from shared.errors import SettingError
from shared.games import settings as reading
from shared.games.payouts import parse_ratio, share_cap, win
from shared.games.play import ShoeRules
from shared.games.registry import GAMES, game


@pytest.mark.parametrize(
    ("raw", "ratio"),
    [
        (0, Fraction(0)),
        (5, Fraction(5)),
        (1.2, Fraction(6, 5)),
        ("1.2", Fraction(6, 5)),
        ("5", Fraction(5)),
        ("3:2", Fraction(3, 2)),
        ("10:4", Fraction(5, 2)),
        ("0.05", Fraction(1, 20)),
    ],
)
def test_a_ratio_is_read_exactly(raw: Any, ratio: Fraction) -> None:
    assert parse_ratio(raw) == ratio


@pytest.mark.parametrize(
    "raw",
    [
        -1,
        "-1",
        "",
        "a",
        "1:0",
        "1:2:3",
        "1.",
        ".5",
        "1e3",
        1e300,
        True,
        None,
        [1],
        "٣",
        "1 ",
        10**12,
    ],
)
def test_what_is_no_ratio_is_refused(raw: Any) -> None:
    with pytest.raises(ValueError, match="not a ratio"):
        parse_ratio(raw)


def test_a_fraction_of_a_unit_stays_with_the_house() -> None:
    assert [win(stake, Fraction(3, 2)) for stake in (2, 3, 0)] == [3, 4, 0]


@pytest.mark.parametrize(
    ("cap", "paid"),
    [(None, (100, 50)), (150, (100, 50)), (149, (100, 49)), (100, (100, 0)), (99, (99, 0))],
)
def test_the_first_win_is_paid_first_under_a_cap(cap: int | None, paid: tuple[int, int]) -> None:
    assert share_cap(cap, 100, 50) == paid


def test_numbers_are_whole_and_within_bounds() -> None:
    assert reading.whole({}, "decks", 8) == 8
    assert reading.whole({"decks": 1}, "decks", 8, high=9) == 1
    for value in (0, 10, 1.0, True, "1", None):
        with pytest.raises(SettingError) as refused:
            reading.whole({"decks": value}, "decks", 8, high=9)
        assert refused.value.field == "decks"
    assert reading.whole_or_none({}, "min") is None
    assert reading.whole_or_none({"min": 0}, "min") == 0
    with pytest.raises(SettingError):
        reading.whole_or_none({"min": None}, "min")


def test_switches_and_words() -> None:
    assert reading.switch({}, "on", True) is True
    assert reading.switch({"on": False}, "on", True) is False
    for wrong in (0, "false", None):
        with pytest.raises(SettingError):
            reading.switch({"on": wrong}, "on", True)
    assert reading.word({}, "class", "main", ("main", "vip")) == "main"
    assert reading.word({"class": "vip"}, "class", "main", ("main", "vip")) == "vip"
    for strange in ("royal", 1, ["vip"], None):
        with pytest.raises(SettingError):
            reading.word({"class": strange}, "class", "main", ("main", "vip"))


def test_ratios_and_tables_of_them() -> None:
    assert reading.ratio({}, "percent", Fraction(5), most=100) == 5
    assert reading.ratio({"percent": 2.5}, "percent", Fraction(5), most=100) == Fraction(5, 2)
    for wrong in (101, -1, "5", None):
        with pytest.raises(SettingError):
            reading.ratio({"percent": wrong}, "percent", Fraction(5), most=100)
    default = {"pair": Fraction(1), "flush": Fraction(5)}
    names = ("pair", "flush", "straight")
    assert reading.ratios({}, "table", default, names) == default
    read = reading.ratios({"table": {"flush": 6, "straight": "3:2"}}, "table", default, names)
    assert read == {"pair": 1, "flush": 6, "straight": Fraction(3, 2)}


def test_the_games_by_name() -> None:
    assert all(game(name) is rules and name == rules.NAME for name, rules in GAMES.items())
    with pytest.raises(SettingError, match="roulette"):
        game("roulette")


def test_a_cut_near_an_edge_is_not_allowed() -> None:
    rules = ShoeRules(
        cut_min_from_top=3, cut_min_from_bottom=2, every_hand=False, publish_seed=True
    )
    assert rules.cut_range(52) == (3, 50)
    assert [rules.cut_allowed(place, 52) for place in (2, 3, 50, 51)] == [False, True, True, False]
    assert rules.another_hand(0)
