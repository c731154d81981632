"""Battle, clause by clause (BTL), with the common clauses that it shows (TAB)."""

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from shared.errors import RuleError, SettingError
from shared.games import battle
from shared.games.battle import SHOE, beats
from shared.games.play import Box, Deal, Decision, Setup
from tests.spec.hands import Live, back, box, play, reason, shared, stakes

FIGURES = json.loads((Path(__file__).parents[1] / "vectors" / "figures.json").read_text())


def setup(stacks: dict[str, int] | None = None, **boxes: tuple[str, dict[str, int]]) -> Setup:
    """`setup(b1=("ann", {"ann": 100, "bob": 50}))`."""
    return Setup(
        tuple(
            Box(int(name[1:]), owner, tuple((who, "stake", chips) for who, chips in bets.items()))
            for name, (owner, bets) in boxes.items()
        ),
        stacks or {},
    )


def test_BTL_01_only_ranks_count() -> None:
    assert back(play("battle", "Ts 9c", {1: box(stake=100)})) == {"stake": 200}
    assert back(play("battle", "Ts Tc", {1: box(stake=100)}, "1 surrender")) == {"stake": 0}


def test_BTL_01_the_cut_is_in_the_top_half_and_two_decks_lie_behind_the_cut_card() -> None:
    assert SHOE.cut_range(312) == (1, 156)
    assert [SHOE.cut_allowed(place, 312) for place in (0, 1, 156, 157, 311)] == [
        False,
        True,
        True,
        False,
        False,
    ]
    assert (SHOE.burn, SHOE.burn_by, SHOE.cards_behind_cut_card) == (6, None, 104)


def test_BTL_02_live_boxes_in_order_then_the_dealer() -> None:
    live = Live(battle, {}, setup(b2=("ann", {"ann": 1}), b5=("bob", {"bob": 1})), "2c Kc 9c 3d 4d")
    live.decide(2, "fight")
    rounds = [[slot.hand for slot in deal.slots] for deal in live.asked if isinstance(deal, Deal)]
    assert rounds == [["box2", "box5", "dealer"], ["box2", "dealer"]]


def test_TAB_01_boxes_are_dealt_in_ascending_order_however_they_are_written() -> None:
    result = play("battle", "2c 3c 4c", {7: box(stake=1), 2: box(stake=1)}, "2 timeout, 7 timeout")
    assert result["cards"] == {"dealer": ["4c"], "box2": ["2c"], "box7": ["3c"]}


@pytest.mark.parametrize(("card", "lost"), [("8c", True), ("9d", True), ("Tc", False)])
def test_BTL_03_higher_wins_even_money_equal_or_lower_has_lost(card: str, lost: bool) -> None:
    result = play("battle", f"{card} 9c", {1: box(stake=100)}, "1 surrender" if lost else "")
    assert back(result) == {"stake": 0 if lost else 200}


def test_BTL_03_a_win_at_once_serves_the_players_other_boxes() -> None:
    boxes = {1: box(stake=100), 2: box(stake=50)}
    # Ann has 150 chips and stakes them all: the fight on 1 is paid by the win on 2.
    fought = play("battle", "4c Kc 9c Td 3d", boxes, "1 fight", stacks={"ann": 150})
    assert (back(fought), back(fought, 2)) == ({"stake": 400}, {"stake": 100})
    lost = play("battle", "4c 3c 9c Td 3d", boxes, "1 fight", stacks={"ann": 150})
    assert (lost["error"]["reason"], lost["error"]["at"]) == ("INSUFFICIENT_CHIPS", 0)


def test_BTL_03_a_win_in_a_later_round_is_paid_at_once_too() -> None:
    boxes = {1: box(stake=100), 2: box(stake=100)}
    # 400 chips: two first stakes, two fights; box 2 wins on two cards and pays box 1's next.
    deck = "2c 3c 9c 2d Tc 3d Td 4c"
    fights = "1 fight, 2 fight, 1 fight, 1 surrender"
    result = play("battle", deck, boxes, fights, stacks={"ann": 400})
    assert back(result, 2) == {"stake": 400}
    assert stakes(result) == {"stake": 300}


def test_BTL_03_a_box_that_has_won_is_out_of_the_coup() -> None:
    result = play("battle", "Kc 2c 9c", {1: box(stake=1), 2: box(stake=1)}, "1 surrender")
    assert reason(result) == "NOT_YOUR_TURN"


def test_BTL_04_a_dealers_ace_ends_the_coup_in_the_first_round() -> None:
    boxes = {1: box(stake=100), 2: box(stake=100)}
    result = play("battle", "Ac Kc Ad", boxes)
    assert (back(result), back(result, 2), result["cards_used"]) == ({"stake": 0}, {"stake": 0}, 3)


def test_BTL_04_a_dealers_ace_ends_the_coup_in_a_later_round() -> None:
    # Without the ace the box's ace and nine would have beaten eight and two.
    result = play("battle", "9c 9d Ac Ad", {1: box(stake=100)}, "1 fight")
    assert (stakes(result), back(result)) == ({"stake": 200}, {"stake": 0})
    extra = play("battle", "9c 9d Ac Ad", {1: box(stake=100)}, "1 fight, 1 fight")
    assert (reason(extra), extra["error"]["at"]) == ("DECISION_NOT_DUE", 1)


def test_BTL_04_an_ace_does_not_take_back_a_box_that_has_won() -> None:
    result = play("battle", "Kc 2c 9c 3c Ad", {1: box(stake=5), 2: box(stake=5)}, "2 fight")
    assert (back(result), back(result, 2)) == ({"stake": 10}, {"stake": 0})


def test_BTL_05_owners_decide_under_one_clock_and_a_script_in_ascending_order() -> None:
    live = Live(battle, {}, setup(b2=("ann", {"ann": 1}), b5=("bob", {"bob": 1})), "2c 3c 9c")
    assert live.options() == {2: ["fight", "surrender"], 5: ["fight", "surrender"]}
    assert live.step.together  # type: ignore[union-attr]
    boxes = {2: box("ann", stake=1), 5: box("bob", stake=1)}
    assert reason(play("battle", "2c 3c 9c", boxes, "5 fight, 2 fight")) == "NOT_YOUR_TURN"


def test_BTL_05_a_fight_adds_a_stake_equal_to_the_first() -> None:
    deck = "2c 9c 3c 9d 4c 9h 5c 9s 6c Tc"
    result = play("battle", deck, {1: box(stake=30)}, "1 fight, 1 fight, 1 fight, 1 fight")
    assert stakes(result) == {"stake": 150}
    short = play("battle", deck, {1: box(stake=30)}, "1 fight, 1 fight, 1 fight, 1 fight, 1 fight")
    assert (reason(short), short["error"]["at"]) == ("DECISION_NOT_DUE", 4)


def test_BTL_05_each_further_bettor_adds_his_own_first_stake() -> None:
    boxes = {1: shared("ann", ann={"stake": 100}, bob={"stake": 70}, cid={"stake": 1})}
    result = play("battle", "4c 9c Tc 3c", boxes, "1 fight")
    assert [stakes(result, 1, name) for name in ("ann", "bob", "cid")] == [
        {"stake": 200},
        {"stake": 140},
        {"stake": 2},
    ]
    assert back(result, 1, "bob") == {"stake": 280}


def test_BTL_05_a_further_bettor_without_chips_surrenders_his_share_for_good() -> None:
    boxes = {1: shared("ann", ann={"stake": 100}, bob={"stake": 70}), 2: box("bob", stake=10)}
    # Bob's last chips go on box 2; its win comes too late for his share of box 1.
    result = play("battle", "4c 4d 9c Tc 3c", boxes, "1 fight, 2 surrender", stacks={"bob": 149})
    assert (stakes(result, 1, "bob"), back(result, 1, "bob")) == ({"stake": 70}, {"stake": 0})
    assert back(result) == {"stake": 400}
    again = play(
        "battle",
        "3c 3d 9c 3c Td 3d Tc 3h",
        boxes,
        "1 fight, 2 fight, 1 fight",
        stacks={"bob": 149},
    )
    assert back(again, 2, "bob") == {"stake": 40}
    assert (stakes(again, 1, "bob"), back(again, 1, "bob")) == ({"stake": 70}, {"stake": 0})


def test_BTL_05_an_owner_without_chips_cannot_fight() -> None:
    boxes = {1: shared("ann", ann={"stake": 100}, bob={"stake": 1})}
    enough = play("battle", "4c 9c Tc 3c", boxes, "1 fight", stacks={"ann": 200})
    assert back(enough) == {"stake": 400}
    refused = play("battle", "4c 9c Tc 3c", boxes, "1 fight", stacks={"ann": 199})
    assert reason(refused) == "INSUFFICIENT_CHIPS"
    poor = Live(battle, {}, setup({"ann": 199}, b1=("ann", {"ann": 100})), "4c 9c Tc 3c")
    assert poor.options() == {1: ["surrender"]}


def test_BTL_05_a_surrender_loses_all_staked_on_the_box() -> None:
    boxes = {1: shared("ann", ann={"stake": 100}, bob={"stake": 70})}
    result = play("battle", "2c 9c 3c Tc", boxes, "1 fight, 1 surrender")
    assert (stakes(result), back(result)) == ({"stake": 200}, {"stake": 0})
    assert (stakes(result, 1, "bob"), back(result, 1, "bob")) == ({"stake": 140}, {"stake": 0})


def test_BTL_05_whatever_the_order_of_arrival_the_lower_box_is_served_first() -> None:
    both = {"b1": ("ann", {"ann": 10, "bob": 50}), "b2": ("cid", {"cid": 10, "bob": 50})}
    # Bob has chips for one of his two shares.
    for order in ((1, 2), (2, 1)):
        live = Live(battle, {}, setup({"bob": 150}, **both), "4c 4d 9c Tc Td 3c")
        for number in order:
            live.decide(number, "fight")
        returned = {(line.box, line.player): line.returned for line in live.done.lines}
        assert returned == {(1, "ann"): 40, (1, "bob"): 200, (2, "cid"): 40, (2, "bob"): 0}


def test_BTL_05_chips_of_an_accepted_fight_are_spent_at_once() -> None:
    boxes = {"b1": ("bob", {"bob": 10, "ann": 50}), "b2": ("ann", {"ann": 50})}
    live = Live(battle, {}, setup({"ann": 150}, **boxes), "4c 4d 9c Tc Td 3c")
    live.decide(2, "fight")
    assert battle.staked(live.hand) == {"ann": 150, "bob": 10}
    live.decide(1, "fight")
    returned = {(line.box, line.player): line.returned for line in live.done.lines}
    assert returned == {(1, "bob"): 40, (1, "ann"): 0, (2, "ann"): 200}


@pytest.mark.parametrize(
    ("own", "dealer", "wins"),
    [
        ("K2", "Q2", True),
        ("KQ", "Q2", True),
        ("K2", "Q3", False),
        ("K9", "K2", False),
        ("KQJ", "QQJ", True),
        ("KQT", "QQJ", False),
        ("A2222", "K2222", True),
    ],
)
def test_BTL_06_the_highest_beats_and_no_other_is_lower(own: str, dealer: str, wins: bool) -> None:
    ranks = "23456789TJQKA"
    assert (
        beats([ranks.index(each) for each in own], [ranks.index(each) for each in dealer]) is wins
    )


def test_BTL_06_the_cards_are_sorted_not_paired_as_they_came() -> None:
    # 3, Q against Q, 2 is Q 3 against Q 2: not higher. Then K on top wins.
    result = play("battle", "3c Qc Qd 2d Kc 2h", {1: box(stake=100)}, "1 fight, 1 fight")
    assert back(result) == {"stake": 600}


def test_BTL_07_not_won_on_five_cards_all_stakes_lose() -> None:
    deck = "2c 9c 3c 9d 4c 9h 5c 9s 6c 8c"
    result = play("battle", deck, {1: box(stake=30)}, "1 fight, 1 fight, 1 fight, 1 fight")
    assert (stakes(result), back(result)) == ({"stake": 150}, {"stake": 0})
    assert result["cards_used"] == 10


@pytest.mark.parametrize(("cards", "odds"), [(1, 1), (2, 1), (3, 1), (4, 2), (5, 3)])
def test_BTL_08_odds_by_the_number_of_cards_on_everything_staked(cards: int, odds: int) -> None:
    deck = "2c 2d " * (cards - 1) + "3c 2h"
    fights = ", ".join(["1 fight"] * (cards - 1))
    result = play("battle", deck, {1: box(stake=100)}, fights, rules={"decks": 8})
    assert stakes(result) == {"stake": 100 * cards}
    assert back(result) == {"stake": 100 * cards * (1 + odds)}


def test_BTL_09_a_coup_never_needs_more_cards_than_there_are() -> None:
    assert SHOE.cards_behind_cut_card >= 5 * (19 + 1)
    assert battle.settings({"boxes": 19}).boxes == 19
    assert battle.settings({"boxes": 8, "decks": 1}).boxes == 8
    for raw in ({"boxes": 20}, {"boxes": 9, "decks": 1}):
        with pytest.raises(SettingError) as refused:
            battle.settings(raw)
        assert refused.value.field == "boxes"


def test_BTL_09_the_coup_that_meets_the_cut_card_is_the_last() -> None:
    assert [SHOE.another_hand(remaining) for remaining in (103, 104)] == [False, True]


def test_TAB_02_a_box_has_three_bettors_and_first_stakes_within_the_limits() -> None:
    boxes = {1: shared("ann", ann={"stake": 100}, bob={"stake": 70})}
    deck = "2c 9c 3c Tc"
    assert reason(play("battle", deck, boxes, rules={"min": 71})) == "STAKE_BELOW_MINIMUM"
    assert reason(play("battle", deck, boxes, rules={"max": 169})) == "STAKE_ABOVE_MAXIMUM"
    # A fight does not count towards the maximum.
    fought = play("battle", deck, boxes, "1 fight, 1 surrender", rules={"min": 70, "max": 170})
    assert stakes(fought) == {"stake": 200}


def test_TAB_06_the_clock_surrenders() -> None:
    assert back(play("battle", "2c 9c", {1: box(stake=100)}, "1 timeout")) == {"stake": 0}


def test_TAB_07_battle_is_not_capped_by_a_max_payout() -> None:
    result = play("battle", "Tc 9c", {1: box(stake=100)}, rules={"max_payout": 10})
    assert back(result) == {"stake": 200}


def test_TAB_08_a_change_of_dealer_burns_one_card() -> None:
    assert SHOE.burn_on_dealer_change == 1


def test_TAB_11_settings_are_typed_and_named() -> None:
    for raw, field in (
        ({"commission_percent": 5}, "commission_percent"),
        ({"decks": 0}, "decks"),
        ({"boxes": "7"}, "boxes"),
        ({"bettors_per_box": 1.0}, "bettors_per_box"),
        ({"min": True}, "min"),
    ):
        with pytest.raises(SettingError) as refused:
            battle.settings(raw)
        assert refused.value.field == field


def test_a_decision_nobody_waits_for_is_refused_and_changes_nothing() -> None:
    live = Live(battle, {}, setup(b1=("ann", {"ann": 1}), b2=("bob", {"bob": 1})), "2c 3c 9c")
    before = live.hand
    for number, do, why in (
        (3, "fight", "NOT_YOUR_TURN"),
        (1, "hit", "ILLEGAL_DECISION"),
        (1, "look", "ILLEGAL_DECISION"),
    ):
        with pytest.raises(RuleError) as refused:
            battle.decide(before, Decision(number, do))
        assert refused.value.reason == why
    live.decide(1, "surrender")
    with pytest.raises(RuleError, match="nothing to decide"):
        battle.decide(live.hand, Decision(1, "fight"))
    live.decide(2, "surrender")
    with pytest.raises(RuleError) as refused:
        battle.decide(live.hand, Decision(1, "fight"))
    assert refused.value.reason == "DECISION_NOT_DUE"
    with pytest.raises(AssertionError):
        battle.shown(live.hand, ())


@pytest.mark.parametrize(
    ("deck", "decisions", "clauses"),
    [
        ("Tc 9c", [], ("BTL-03", "BTL-08")),
        ("Tc Ac", [], ("BTL-04",)),
        ("2c 9c", ["surrender"], ("BTL-05",)),
        ("2c 9c Tc 2d", ["fight"], ("BTL-06", "BTL-08")),
        ("2c 9c 2d 3c 2c 3c 2c 3c 2c 3c", ["fight"] * 4, ("BTL-07",)),
    ],
)
def test_the_result_names_the_clauses_that_decided_it(
    deck: str, decisions: list[str], clauses: tuple[str, ...]
) -> None:
    live = Live(battle, {}, setup(b1=("ann", {"ann": 1})), deck)
    for do in decisions:
        live.decide(1, do)
    assert live.done.clauses == clauses


def test_BTL_figures_never_fighting_loses_what_the_house_says() -> None:
    """One box, one card each of six decks: every pair of ranks through the rules."""
    ranks = "23456789TJQKA"
    outcome = Fraction(0)
    for own, dealer in product(ranks, ranks):
        weight = Fraction(24 * (24 - (own == dealer)), 312 * 311)
        live = Live(battle, {}, setup(b1=("ann", {"ann": 1})), f"{own}c {dealer}d")
        while not hasattr(live.step, "lines"):
            live.decide(1, "surrender")
        outcome += weight * (live.done.lines[0].returned - 1)
    assert outcome == Fraction(FIGURES["battle"]["never_fight"])
