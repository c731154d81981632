"""Baccarat, clause by clause (BAC), with the common clauses that its bets show (TAB)."""

import json
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb
from pathlib import Path

import pytest

from shared.cards import Card, parse_card
from shared.errors import RuleError, SettingError
from shared.games import baccarat
from shared.games.baccarat import (
    SHOE,
    burn_by_first_card,
    free_chips,
    round_commission,
    settle_commission,
    total,
    value,
)
from shared.games.play import Box, Cell, Deal, Decision, Done, Setup
from tests.spec.hands import Live, Result, back, box, cards, play, reason, shared

FIGURES = json.loads((Path(__file__).parents[1] / "vectors" / "figures.json").read_text())
OF_VALUE = cards("Tc Ac 2c 3c 4c 5c 6c 7c 8c 9c")


def coup(deck: str, rules: dict[str, int] | None = None, /, **bets: int) -> Result:
    return play("baccarat", deck, {1: box("ann", **(bets or {"tie": 100}))}, rules=rules or {})


def drawn(player: int, banker: int, third: int) -> tuple[int, int]:
    """How many cards player and banker end with, from two-card totals and the player's third."""
    first_four = [OF_VALUE[player], OF_VALUE[banker], OF_VALUE[0], OF_VALUE[0]]
    deck = " ".join(str(card) for card in [*first_four, OF_VALUE[third], OF_VALUE[0]])
    dealt = coup(deck)["cards"]
    return len(dealt["player"]), len(dealt["banker"])


@pytest.mark.parametrize("side", ["player", "banker"])
def test_BAC_01_a_side_may_be_combined_with_tie(side: str) -> None:
    assert back(coup("9c 8c Tc Td", None, **{side: 100, "tie": 50})) == {
        side: 200 if side == "player" else 0,
        "tie": 0,
    }


def test_BAC_01_never_player_and_banker_on_any_box() -> None:
    assert reason(coup("9c 8c Tc Td", player=100, banker=100)) == "BOTH_SIDES"
    elsewhere = {
        1: shared("ann", ann={"player": 100}, bob={"tie": 100}),
        3: shared("bob", bob={"tie": 50}, ann={"banker": 100}),
    }
    assert reason(play("baccarat", "9c 8c Tc Td", elsewhere)) == "BOTH_SIDES"


def test_BAC_01_different_players_may_take_different_sides_of_a_box() -> None:
    both = {1: shared("ann", ann={"player": 100}, bob={"banker": 100})}
    result = play("baccarat", "9c 8c Tc Td", both)
    assert (back(result), back(result, player="bob")) == ({"player": 200}, {"banker": 0})


def test_BAC_01_the_minimum_holds_for_a_bettors_sum_on_a_box() -> None:
    assert back(coup("9c 8c Tc Td", {"min": 150}, player=100, tie=50))
    assert reason(coup("9c 8c Tc Td", {"min": 151}, player=100, tie=50)) == "STAKE_BELOW_MINIMUM"
    small = {1: shared("ann", ann={"player": 200}, bob={"player": 100})}
    refused = play("baccarat", "9c 8c Tc Td", small, rules={"min": 150})
    assert reason(refused) == "STAKE_BELOW_MINIMUM"


def test_BAC_01_the_maximum_holds_for_all_bets_on_a_box_together() -> None:
    full = {1: shared("ann", ann={"player": 100, "tie": 60}, bob={"banker": 100})}
    assert "boxes" in play("baccarat", "9c 8c Tc Td", full, rules={"max": 260})
    refused = play("baccarat", "9c 8c Tc Td", full, rules={"max": 259})
    assert reason(refused) == "STAKE_ABOVE_MAXIMUM"


def test_BAC_02_values_and_totals_modulo_ten() -> None:
    assert [value(card) for card in cards("Ac 2c 3d 4d 5h 6h 7s 8s 9c Tc Jd Qh Ks")] == [
        *range(1, 10),
        *[0] * 4,
    ]
    hand = tuple(Cell(at, card) for at, card in enumerate(cards("9c 7d 8h")))
    assert total(hand) == 4


def test_BAC_03_cut_at_least_one_card_from_either_edge_and_seven_behind_the_cut_card() -> None:
    assert [place for place in range(417) if not SHOE.cut_allowed(place, 416)] == [0, 416]
    assert SHOE.cards_behind_cut_card == 7


@pytest.mark.parametrize(
    ("first", "burned"),
    [("Ac", 1), ("2c", 2), ("9h", 9), ("Td", 10), ("Jd", 10), ("Qs", 10), ("Kc", 10)],
)
def test_BAC_03_the_first_card_says_how_many_are_burned(first: str, burned: int) -> None:
    assert burn_by_first_card(parse_card(first)) == burned
    assert SHOE.burn_by is burn_by_first_card


def test_BAC_04_player_banker_player_banker_then_the_thirds_player_first() -> None:
    result = coup("2c 3d Th Ts 4c 5d")
    assert result["cards"] == {"player": ["2c", "Th", "4c"], "banker": ["3d", "Ts", "5d"]}
    assert result["cards_used"] == 6


@pytest.mark.parametrize("deck", ["8c 3d Th Ts", "9c 3d Th Ts", "3d 8c Th Ts", "3d 9c Th Ts"])
def test_BAC_05_a_natural_ends_the_cards(deck: str) -> None:
    assert coup(deck + " 2c 2d")["cards_used"] == 4


def test_BAC_06_player_draws_on_0_to_5_and_stands_on_6_and_7() -> None:
    # The banker's 7 never draws.
    assert [drawn(player, 7, 0)[0] for player in range(8)] == [3] * 6 + [2] * 2


def test_BAC_07_banker_draws_by_the_players_third_card() -> None:
    draws = {
        0: range(10),
        1: range(10),
        2: range(10),
        3: (0, 1, 2, 3, 4, 5, 6, 7, 9),
        4: range(2, 8),
        5: range(4, 8),
        6: (6, 7),
        7: (),
    }
    for banker, thirds in draws.items():
        drew = [third for third in range(10) if drawn(0, banker, third)[1] == 3]
        assert drew == list(thirds), banker


def test_BAC_07_banker_on_3_stands_against_8() -> None:
    assert coup("2c 3d Th Ts 8c 5d")["cards"]["banker"] == ["3d", "Ts"]


@pytest.mark.parametrize("player", [6, 7])
def test_BAC_08_player_stood_and_banker_draws_on_0_to_5(player: int) -> None:
    assert [drawn(player, banker, 1)[1] for banker in range(8)] == [3] * 6 + [2] * 2


def test_BAC_09_player_pays_even_money() -> None:
    result = coup("9c 8c Tc Td", player=130, tie=20)
    assert result["result"] == "player"
    assert back(result) == {"player": 260, "tie": 0}
    assert result["commission"] == {}


def test_BAC_09_tie_pays_eight_to_one_and_leaves_the_other_stakes() -> None:
    tied = {1: shared("ann", ann={"player": 70, "tie": 30}, bob={"banker": 100})}
    result = play("baccarat", "8c 8d Tc Td", tied)
    assert result["result"] == "tie"
    assert back(result) == {"player": 70, "tie": 270}
    assert back(result, player="bob") == {"banker": 100}
    assert result["commission"] == {}


def test_BAC_09b_a_banker_stake_with_a_fraction_of_commission_is_refused() -> None:
    assert reason(coup("9c 8c Tc Td", banker=110)) == "STAKE_NOT_DIVISIBLE"
    assert back(coup("9c 8c Tc Td", banker=120)) == {"banker": 0}
    assert back(coup("9c 8c Tc Td", {"commission_percent": 10}, banker=110)) == {"banker": 0}


def test_BAC_10_commission_is_booked_and_not_taken_from_the_win() -> None:
    won = {
        2: shared("ann", ann={"banker": 1000}, bob={"banker": 500, "tie": 10}),
        5: box("ann", banker=40),
    }
    result = play("baccarat", "8c 9c Tc Td", won)
    assert back(result, 2) == {"banker": 2000}
    assert result["commission"] == {"ann": 52, "bob": 25}


def test_BAC_10_without_a_percentage_nothing_is_owed() -> None:
    result = coup("8c 9c Tc Td", {"commission_percent": 0}, banker=1001)
    assert (back(result), result["commission"]) == ({"banker": 2002}, {})


def test_BAC_10_owed_chips_are_not_free() -> None:
    assert [free_chips(chips, 300) for chips in (1000, 300, 200)] == [700, 0, 0]


@pytest.mark.parametrize(
    ("owed", "settled"),
    [(0, 0), (25, 0), (50, 0), (51, 100), (75, 100), (100, 100), (125, 100), (175, 200)],
)
def test_BAC_11_at_the_shoes_end_half_a_unit_is_dropped(owed: int, settled: int) -> None:
    assert round_commission(owed, 100, leaving=False) == settled


@pytest.mark.parametrize(("owed", "settled"), [(0, 0), (1, 100), (50, 100), (100, 100), (101, 200)])
def test_BAC_11_who_leaves_pays_every_remainder_as_a_unit(owed: int, settled: int) -> None:
    assert round_commission(owed, 100, leaving=True) == settled


def test_BAC_11_an_odd_unit_has_no_exact_half() -> None:
    assert [round_commission(owed, 25, leaving=False) for owed in (12, 13)] == [0, 25]


def test_BAC_11_never_more_than_the_chips_that_are_there() -> None:
    assert settle_commission(175, 100, leaving=False, chips_minor=500) == 200
    assert settle_commission(175, 100, leaving=False, chips_minor=190) == 190
    assert settle_commission(175, 100, leaving=True, chips_minor=0) == 0


def test_BAC_12_another_coup_starts_while_seven_cards_remain() -> None:
    assert [SHOE.another_hand(remaining) for remaining in (0, 6, 7, 8)] == [
        False,
        False,
        True,
        True,
    ]


def test_TAB_02_three_bettors_a_box_and_the_owner_among_them() -> None:
    bettors = {name: {"tie": 10} for name in ("ann", "bob", "cid", "dee")}
    four = {1: {"owner": "ann", "bets": bettors}}
    assert reason(play("baccarat", "9c 8c Tc Td", four)) == "TOO_MANY_BETTORS"
    assert "boxes" in play("baccarat", "9c 8c Tc Td", four, rules={"bettors_per_box": 4})
    strangers = {1: {"owner": "eve", "bets": {"ann": {"tie": 10}}}}
    assert reason(play("baccarat", "9c 8c Tc Td", strangers)) == "BAD_SCRIPT"


def test_TAB_02_bets_are_checked_as_they_are_placed_but_for_the_minimum() -> None:
    settings = baccarat.settings({"min": 100, "max": 200})
    growing = Setup((Box(1, "ann", (("ann", "tie", 60),)),))
    baccarat.check_bets(settings, growing, complete=False)
    with pytest.raises(RuleError, match="less than 100"):
        baccarat.check_bets(settings, growing)
    grown = Setup((Box(1, "ann", (("ann", "tie", 60), ("ann", "tie", 60), ("ann", "player", 81))),))
    with pytest.raises(RuleError, match="more than 200"):
        baccarat.check_bets(settings, grown, complete=False)


def test_TAB_03_a_wager_placed_in_two_parts_is_settled_as_one() -> None:
    parts = (("ann", "tie", 60), ("bob", "player", 5), ("ann", "banker", 20), ("ann", "tie", 40))
    live = Live(baccarat, {}, Setup((Box(4, "ann", parts),)), "8c 8d Tc Td")
    assert [(line.player, line.bet, line.stake, line.returned) for line in live.done.lines] == [
        ("ann", "banker", 20, 20),
        ("ann", "tie", 100, 900),
        ("bob", "player", 5, 5),
    ]
    assert baccarat.staked(live.hand) == {"ann": 120, "bob": 5}


def test_TAB_03_no_credit() -> None:
    boxes = {1: box("ann", player=100), 2: shared("bob", bob={"tie": 10}, ann={"player": 50})}
    enough = play("baccarat", "9c 8c Tc Td", boxes, stacks={"ann": 150})
    assert back(enough, 2) == {"player": 100}
    refused = play("baccarat", "9c 8c Tc Td", boxes, stacks={"ann": 149})
    assert reason(refused) == "INSUFFICIENT_CHIPS"


def test_TAB_07_a_max_payout_below_three_times_the_maximum_is_refused() -> None:
    assert baccarat.settings({"max": 100, "max_payout": 300}).limits.max_payout == 300
    with pytest.raises(SettingError, match="three times"):
        baccarat.settings({"max": 100, "max_payout": 299})


def test_a_coup_waits_for_nobody() -> None:
    result = play("baccarat", "9c 8c Tc Td", {1: box("ann", tie=10)}, "1 timeout")
    assert result["error"]["reason"] == "DECISION_NOT_DUE"
    assert result["error"]["at"] == 0
    hand = Live(baccarat, {}, Setup((Box(1, "ann", (("ann", "tie", 1),)),)), "9c 8c Tc Td").hand
    with pytest.raises(RuleError, match="nothing to decide"):
        baccarat.decide(hand, Decision(1, "bet"))
    with pytest.raises(RuleError, match="nothing to decide"):
        baccarat.default(hand, 1)
    with pytest.raises(AssertionError):
        baccarat.shown(hand, ())


@pytest.mark.parametrize(
    ("deck", "clauses"),
    [
        ("9c 8c Tc Td", ("BAC-05", "BAC-09")),
        ("6c 7c Tc Td", ("BAC-08", "BAC-09", "BAC-10")),
        ("6c 2c Tc Td 5h", ("BAC-08", "BAC-09", "BAC-10")),
        ("2c 7c Tc Td 3h", ("BAC-07", "BAC-09", "BAC-10")),
    ],
)
def test_the_result_names_the_clauses_that_decided_it(deck: str, clauses: tuple[str, ...]) -> None:
    live = Live(baccarat, {}, Setup((Box(1, "ann", (("ann", "tie", 1),)),)), deck)
    assert live.done.clauses == clauses


def test_BAC_figures_every_combination_of_an_eight_deck_shoe() -> None:
    """All orders of six cards of 416, by the value of each, through the rules."""
    settings = baccarat.settings({})
    setup = Setup((Box(1, "ann", (("ann", "tie", 1),)),))
    counts = {"player": 0, "banker": 0, "tie": 0}

    def ways(values: list[int]) -> int:
        left = [128, *[32] * 9]
        orders = 1
        for each in values:
            orders *= left[each]
            left[each] -= 1
        return orders

    def play_on(hand: baccarat.Hand, values: list[int], weight: int) -> None:
        step = baccarat.next_step(hand)
        if isinstance(step, Done):
            rest = comb(416 - len(values), 6 - len(values)) * (2 if len(values) == 4 else 1)
            counts[step.result] += weight * ways(values) * rest
            return
        assert isinstance(step, Deal)
        for third in range(10):
            cell = Cell(len(values), OF_VALUE[third])
            play_on(baccarat.dealt(hand, (cell,)), [*values, third], weight)

    pairs = list(combinations_with_replacement(range(10), 2))
    for first, second in pairs:
        for third, fourth in pairs:
            four = [first, third, second, fourth]
            weight = (1 + (first != second)) * (1 + (third != fourth))
            dealt: list[Card] = [OF_VALUE[each] for each in four]
            hand = baccarat.dealt(
                baccarat.start(settings, setup),
                tuple(Cell(at, card) for at, card in enumerate(dealt)),
            )
            play_on(hand, four, weight)

    expected = FIGURES["baccarat"]["combinations"]
    assert counts == {side: expected[side] for side in counts}
    assert sum(counts.values()) == expected["total"]
    edges = {
        side: Fraction(expected[side], expected["total"]) for side in ("player", "banker", "tie")
    }
    house = FIGURES["baccarat"]["house_edge_before_rounding"]
    banker = edges["player"] - edges["banker"] * Fraction(95, 100)
    assert float(banker) == pytest.approx(house["banker"], abs=5e-10)
    assert float(edges["banker"] - edges["player"]) == pytest.approx(house["player"], abs=5e-10)
    assert float(1 - 9 * edges["tie"]) == pytest.approx(house["tie"], abs=5e-10)
