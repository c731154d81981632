"""Oasis poker, clause by clause (OAS): what pays, what is insured, what is capped."""

import json
from pathlib import Path
from typing import Any

import pytest

from shared.errors import SettingError
from shared.games import oasis_poker
from shared.games.play import Box, Setup, Show
from shared.games.poker import ACE_KING as ACE_KING_STRENGTH
from shared.games.poker import hand_name, strength
from tests.spec.hands import Live, Result, back, box, shared, stakes
from tests.spec.poker_hands import all_hands, fault, oasis, passes

FIGURES = Path(__file__).parents[1] / "vectors" / "figures.json"

QUEEN_HIGH = "Qc Jd 8h 5s 2c"  # no game
ACE_KING = "Ac Kd 4h 3s 2d"  # plays
ACE_QUEEN = "Ac Qd 4h 3s 2d"  # does not

# One hand of each kind, against an ace-king of other cards.
KINDS = {
    "pair": "9c 9d 7h 5c 3c",
    "two_pair": "9c 9d 7h 7c 3c",
    "three_of_a_kind": "9c 9d 9h 7c 3c",
    "straight": "9c 8d 7h 6c 5c",
    "flush": "Qc 9c 7c 5c 3c",
    "full_house": "9c 9d 9h 7c 7d",
    "four_of_a_kind": "9c 9d 9h 9s 7c",
    "straight_flush": "9c 8c 7c 6c 5c",
    "royal_flush": "Ac Kc Qc Jc Tc",
}
DEALER = "Ad Kh 8s 6s 2h"


def one(own: str, dealer: str, decisions: str = "1 bet", bonus: int = 0, **rules: Any) -> Result:
    """Box 1, ann with an ante of 100 and a bonus; the rules by name."""
    bets = {"ante": 100, "bonus": bonus} if bonus else {"ante": 100}
    then = "Th Ts" if "exchange" in decisions else ""
    return oasis([own], dealer, {1: box(**bets)}, decisions, then, rules=rules)


@pytest.mark.parametrize(
    ("dealer", "plays"), [(ACE_KING, True), ("2d 2h 3s 4h 5s", True), (ACE_QUEEN, False)]
)
def test_OAS_09_the_dealer_plays_with_ace_king_or_better(dealer: str, plays: bool) -> None:
    lost = back(one("Kc Qs 9h 7s 3d", dealer))
    assert lost == ({"ante": 0, "bet": 0} if plays else {"ante": 200, "bet": 200})


def test_OAS_10_dealer_does_not_play_ante_even_money_and_the_bet_returned() -> None:
    assert back(one(KINDS["royal_flush"], "Qh Jd 8h 5h 2c")) == {"ante": 200, "bet": 200}
    assert back(one("Kc 8s 9h 7s 3d", "Qc Jd 8h 5s 2c")) == {"ante": 200, "bet": 200}


def test_OAS_10_a_better_hand_wins_a_worse_loses_an_equal_gets_both_back() -> None:
    assert back(one("As Ks 4c 3d 2s", ACE_KING)) == {"ante": 100, "bet": 200}
    assert back(one("As Ks 5c 3d 2s", ACE_KING)) == {"ante": 200, "bet": 400}
    assert back(one("As Ks 5c 3d 2s", "Ac Kd 6h 3s 2d")) == {"ante": 0, "bet": 0}


@pytest.mark.parametrize(
    ("kind", "odds"),
    [
        ("pair", 1),
        ("two_pair", 2),
        ("three_of_a_kind", 3),
        ("straight", 4),
        ("flush", 5),
        ("full_house", 7),
        ("four_of_a_kind", 20),
        ("straight_flush", 50),
        ("royal_flush", 100),
    ],
)
def test_OAS_11_the_bet_pays_by_the_table(kind: str, odds: int) -> None:
    assert back(one(KINDS[kind], DEALER)) == {"ante": 200, "bet": 200 + 200 * odds}


@pytest.mark.parametrize("name", ["ace_king", "high_card"])
def test_OAS_11_every_line_of_the_bet_table_can_be_set(name: str) -> None:
    table = {name: "3:2", "pair": 2, "flush": "2.5"}
    assert back(one("As Ks 5c 3d 2s", ACE_KING, bet_table=table)) == {"ante": 200, "bet": 500}
    assert back(one(KINDS["pair"], DEALER, bet_table=table)) == {"ante": 200, "bet": 600}
    assert back(one(KINDS["flush"], DEALER, bet_table=table)) == {"ante": 200, "bet": 700}
    assert back(one(KINDS["straight"], DEALER, bet_table=table)) == {"ante": 200, "bet": 1000}


def test_OAS_12_ante_win_and_bet_win_are_capped_the_ante_first() -> None:
    own = KINDS["straight"]
    assert back(one(own, DEALER, max_payout=900)) == {"ante": 200, "bet": 1000}
    assert back(one(own, DEALER, max_payout=899)) == {"ante": 200, "bet": 999}
    assert back(one(own, DEALER, max_payout=100)) == {"ante": 200, "bet": 200}
    assert back(one(own, DEALER, max_payout=30)) == {"ante": 130, "bet": 200}
    assert back(one(own, QUEEN_HIGH, max_payout=30)) == {"ante": 130, "bet": 200}


def test_OAS_12_several_bettors_share_the_cap_by_their_antes_the_odd_units_to_the_owner() -> None:
    three = shared("bob", ann={"ante": 100}, bob={"ante": 100}, cid={"ante": 50})
    result = oasis([KINDS["straight"]], DEALER, {1: three}, "1 bet", rules={"max_payout": 1001})
    # 1001 · 100 / 250 = 400.4 to ann, 1001 · 50 / 250 = 200.2 to cid, the rest, 401, to bob.
    assert back(result, 1, "ann") == {"ante": 200, "bet": 500}
    assert back(result, 1, "bob") == {"ante": 200, "bet": 501}
    assert back(result, 1, "cid") == {"ante": 100, "bet": 250}


def test_OAS_12_the_whole_cap_is_shared_by_those_still_in_play() -> None:
    two = shared("ann", ann={"ante": 100}, bob={"ante": 100})
    result = oasis(
        [KINDS["straight"]],
        DEALER,
        {1: two},
        "1 bet",
        rules={"max_payout": 800},
        stacks={"bob": 100},
    )
    assert back(result, 1, "ann") == {"ante": 200, "bet": 900}
    assert back(result, 1, "bob") == {"ante": 0}


def test_TAB_07_bonus_and_insurance_do_not_count_towards_the_cap() -> None:
    result = one(KINDS["straight"], QUEEN_HIGH, "1 bet ann=200", bonus=10, max_payout=300)
    assert back(result) == {"ante": 200, "bet": 200, "bonus": 410, "insurance": 400}


def test_TAB_07_a_max_payout_below_three_times_the_maximum_is_refused() -> None:
    oasis_poker.settings({"max": 100, "max_payout": 300})
    with pytest.raises(SettingError) as refused:
        oasis_poker.settings({"max": 100, "max_payout": 299})
    assert refused.value.field == "max_payout"


@pytest.mark.parametrize(
    ("kind", "odds"),
    [
        ("three_of_a_kind", None),
        ("straight", 40),
        ("flush", 50),
        ("full_house", 70),
        ("four_of_a_kind", 200),
        ("straight_flush", 500),
        ("royal_flush", 1000),
    ],
)
def test_OAS_13_the_bonus_pays_by_its_table_whatever_the_dealer_has(
    kind: str, odds: int | None
) -> None:
    paid = 0 if odds is None else 10 + 10 * odds
    assert back(one(KINDS[kind], DEALER, bonus=10))["bonus"] == paid
    assert back(one(KINDS[kind], QUEEN_HIGH.replace("Qc", "Qh"), bonus=10))["bonus"] == paid


def test_OAS_13_an_exchange_loses_the_bonus_at_once_a_fold_does_not() -> None:
    own = KINDS["straight"]
    decisions = "1 exchange 5c, 1 fold"
    assert back(one(own, DEALER, decisions, bonus=10)) == {"ante": 0, "bonus": 0, "exchange": 0}
    assert back(one(own, DEALER, "1 fold", bonus=10)) == {"ante": 0, "bonus": 410}


def test_OAS_13_every_line_of_the_bonus_table_can_be_set() -> None:
    table = {"pair": "1:2", "straight": 0}
    assert back(one(KINDS["pair"], DEALER, bonus=11, bonus_table=table))["bonus"] == 16
    assert back(one(KINDS["straight"], DEALER, bonus=11, bonus_table=table))["bonus"] == 0
    assert back(one(KINDS["flush"], DEALER, bonus=11, bonus_table=table))["bonus"] == 11 + 550


@pytest.mark.parametrize(
    ("own", "blind", "looks", "turned"),
    [
        (KINDS["straight"], True, False, True),  # nobody has seen it yet
        (KINDS["pair"], True, False, True),
        (KINDS["straight"], False, True, True),  # it wins: it is shown
        (KINDS["pair"], False, True, False),  # it loses: it stays secret
        (KINDS["pair"], False, False, True),
    ],
)
def test_OAS_13_of_a_folded_hand_only_what_its_bonus_needs_is_turned_up(
    own: str, blind: bool, looks: bool, turned: bool
) -> None:
    setup = Setup((Box(1, "ann", (("ann", "ante", 100), ("ann", "bonus", 10)), blind),))
    live = Live(oasis_poker, {}, setup, passes(own, DEALER))
    if looks:
        live.decide(1, "look")
    live.decide(1, "fold")
    shows = [step for step in live.asked if isinstance(step, Show)][looks:]
    assert [turn.hand for show in shows for turn in show.turns] == ["box1"] * 5 * turned
    assert live.done.lines[1].returned == (410 if own == KINDS["straight"] else 0)


INSURED = KINDS["two_pair"]


@pytest.mark.parametrize("stake", [1, 400])
def test_OAS_14_insurance_pays_even_money_when_the_dealer_does_not_play(stake: int) -> None:
    result = one(INSURED, QUEEN_HIGH.replace("Qc", "Qh"), f"1 bet ann={stake}")
    assert back(result)["insurance"] == 2 * stake
    result = one(INSURED, DEALER, f"1 bet ann={stake}")
    assert back(result)["insurance"] == 0


def test_OAS_14_at_most_what_the_bet_would_win() -> None:
    assert fault(one(INSURED, DEALER, "1 bet ann=401")) == ("INSURANCE_ABOVE_LIMIT", 0)


def test_OAS_14_at_most_the_share_of_the_max_payout_less_the_ante() -> None:
    assert stakes(one(INSURED, DEALER, "1 bet ann=399", max_payout=499))["insurance"] == 399
    above = one(INSURED, DEALER, "1 bet ann=400", max_payout=499)
    assert fault(above) == ("INSURANCE_ABOVE_LIMIT", 0)
    # No limit above zero: no insurance.
    none = one(INSURED, DEALER, "1 bet ann=1", max_payout=100)
    assert fault(none) == ("INSURANCE_NOT_ALLOWED", 0)
    assert stakes(one(INSURED, DEALER, "1 bet ann=1", max_payout=101))["insurance"] == 1


def test_OAS_14_each_bettor_insures_his_own_bet() -> None:
    three = {1: shared("ann", ann={"ante": 100}, bob={"ante": 50}, cid={"ante": 50})}
    result = oasis([INSURED], DEALER, three, "1 bet bob=200 cid=1", rules={"max_payout": 1200})
    assert stakes(result, 1, "bob")["insurance"] == 200
    assert "insurance" not in stakes(result, 1, "ann")
    above = oasis([INSURED], DEALER, three, "1 bet ann=400 bob=201")
    assert fault(above) == ("INSURANCE_ABOVE_LIMIT", 0)
    capped = oasis([INSURED], DEALER, three, "1 bet bob=151", rules={"max_payout": 800})
    assert fault(capped) == ("INSURANCE_ABOVE_LIMIT", 0)


@pytest.mark.parametrize(
    ("own", "decisions"),
    [
        ("Ac Qd 9h 7s 3d", "1 bet ann=1"),  # no game
        (INSURED, "1 bet bob=1"),  # no share
        (INSURED, "1 fold ann=1"),
        (INSURED, "1 timeout ann=1"),
        (INSURED, "1 exchange 3c ann=1"),
        (INSURED, "1 bet ann=1 bob=1"),
        (INSURED, "1 fold ann=0"),
    ],
)
def test_OAS_14_insurance_is_not_allowed(own: str, decisions: str) -> None:
    assert fault(one(own, DEALER, decisions)) == ("INSURANCE_NOT_ALLOWED", 0)


@pytest.mark.parametrize("stake", [0, -5])
def test_OAS_14_a_stake_that_is_none_is_refused(stake: int) -> None:
    assert fault(one(INSURED, DEALER, f"1 bet ann={stake}")) == ("BAD_STAKE", 0)


def test_OAS_14_a_bettor_who_cannot_pay_his_bet_has_no_share_to_insure() -> None:
    two = {1: shared("ann", ann={"ante": 100}, bob={"ante": 50})}
    result = oasis([INSURED], DEALER, two, "1 bet bob=1", stacks={"bob": 149})
    assert fault(result) == ("INSURANCE_NOT_ALLOWED", 0)
    result = oasis([INSURED], DEALER, two, "1 bet bob=1", stacks={"bob": 150})
    assert fault(result) == ("INSUFFICIENT_CHIPS", 0)
    result = oasis([INSURED], DEALER, two, "1 bet bob=1", stacks={"bob": 151})
    assert stakes(result, 1, "bob") == {"ante": 50, "bet": 100, "insurance": 1}


def test_OAS_14_an_owner_without_chips_for_bet_and_insurance_is_refused() -> None:
    ann = {1: box(ante=100)}
    result = oasis([INSURED], DEALER, ann, "1 bet ann=100", stacks={"ann": 399})
    assert fault(result) == ("INSUFFICIENT_CHIPS", 0)
    result = oasis([INSURED], DEALER, ann, "1 bet ann=100", stacks={"ann": 400})
    assert stakes(result) == {"ante": 100, "bet": 200, "insurance": 100}
    # What is wrong with the insurance comes before what is wrong with the chips.
    result = oasis([INSURED], DEALER, ann, "1 bet ann=401", stacks={"ann": 100})
    assert fault(result) == ("INSURANCE_ABOVE_LIMIT", 0)


def test_OAS_14_after_an_exchange_the_new_hand_counts() -> None:
    result = one("9c 9d 7h 5c 3c", DEALER, "1 exchange 7h 5c, 1 bet ann=401")
    assert fault(result) == ("INSURANCE_ABOVE_LIMIT", 1)
    result = one("9c 9d 7h 5c 3c", DEALER, "1 exchange 7h 5c, 1 bet ann=400")
    assert result["cards"]["box1"] == ["9c", "9d", "Th", "Ts", "3c"]
    assert back(result) == {"ante": 200, "bet": 600, "exchange": 0, "insurance": 0}


@pytest.mark.parametrize(
    ("least", "enough", "short"),
    [
        ("ace_king", "Ah Kc 5h 4s 3h", "Ah Qh Jh Th 9c"),
        ("pair", "2c 2s 5h 4s 3h", "Ah Kc Qh Jh 9c"),
        ("two_pair", "3c 3d 2c 2s 4s", "Ah As Kc Qh Jh"),
        ("three_of_a_kind", "2c 2d 2s 4s 3h", "Ah As Kc Ks Qh"),
    ],
)
def test_OAS_14_insurance_from_is_a_setting(least: str, enough: str, short: str) -> None:
    dealer = "Js Td 8h 7s 6c"
    assert back(one(enough, dealer, "1 bet ann=10", insurance_from=least))["insurance"] == 20
    refused = one(short, dealer, "1 bet ann=10", insurance_from=least)
    assert fault(refused) == ("INSURANCE_NOT_ALLOWED", 0)


@pytest.mark.parametrize(
    ("own", "dealer", "returned"),
    [
        ("9c 9d 7h 5c 3c", "Tc Td 2h 3s 4c", 10),  # beaten
        ("9c 9d 7h 5c 3c", "9h 9s 7c 5d 3s", 10),  # tied
        ("9c 9d 7h 5c 3c", ACE_KING, 0),  # not beaten
        ("9c 9d 7h 5c 3c", ACE_QUEEN, 20),
    ],
)
def test_OAS_14_it_can_be_set_that_insurance_returns_when_beaten(
    own: str, dealer: str, returned: int
) -> None:
    result = one(own, dealer, "1 bet ann=10", insurance_back_when_beaten=True)
    assert back(result)["insurance"] == returned


def test_OAS_14_the_options_tell_each_bettors_limit_as_far_as_his_chips_go() -> None:
    bets = (("ann", "ante", 100), ("bob", "ante", 50), ("cid", "ante", 50), ("dee", "ante", 50))
    chips = {"ann": 1000, "bob": 160, "cid": 150, "dee": 149}
    setup = Setup((Box(1, "ann", bets),), chips)
    live = Live(oasis_poker, {"bettors_per_box": 4}, setup, passes(INSURED, DEALER))
    assert live.due[0].options[1].insurance_max == ()  # nothing is insured unseen
    live.decide(1, "look")
    bet = live.due[0].options[0]
    assert bet.price == 200
    assert bet.insurance_max == (("ann", 400), ("bob", 10))
    live.decide(1, "bet", insurance=(("ann", 400), ("bob", 10)))
    assert oasis_poker.staked(live.hand) == {"ann": 700, "bob": 160, "cid": 150, "dee": 50}


def test_OAS_figures_of_the_dealers_game_and_of_the_bonus() -> None:
    figures = json.loads(FIGURES.read_text())["oasis_poker"]
    hands = [(strength(hand), ways) for hand, ways in all_hands()]
    plays = sum(ways for value, ways in hands if value >= ACE_KING_STRENGTH)
    assert f"{plays}/{sum(ways for _, ways in hands)}" == figures["dealer_plays"]
    bonus = oasis_poker.settings({}).bonus_table
    paid = sum(
        ways * (bonus[hand_name(value)] + 1) for value, ways in hands if bonus[hand_name(value)]
    )
    assert round(float(paid / 2598960 - 1), 5) == figures["bonus_default_table"]


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"table_class": "royal"}, "table_class"),
        ({"boxes": 10}, "boxes"),
        ({"boxes": 0}, "boxes"),
        ({"bettors_per_box": 0}, "bettors_per_box"),
        ({"exchange_price": "cheap"}, "exchange_price"),
        ({"exchange_price": {"3": "1"}}, "exchange_price"),
        ({"exchange_price": {"1": "much"}}, "exchange_price"),
        ({"exchange_price": 1}, "exchange_price"),
        ({"bet_table": {"full": 1}}, "bet_table"),
        ({"bet_table": {"ace_king": 1, "high_card": 1}}, "bet_table"),
        ({"bonus_table": {"pair": -1}}, "bonus_table"),
        ({"bonus_min": -1}, "bonus_min"),
        ({"bonus_max": "5"}, "bonus_max"),
        ({"insurance_from": "flush"}, "insurance_from"),
        ({"insurance_back_when_beaten": 1}, "insurance_back_when_beaten"),
        ({"min_ante": 5}, "min_ante"),
        ({"bonus_min": 20, "bonus_max": 10}, "bonus_max"),
        ({"min": 20, "max": 10}, "max"),
    ],
)
def test_TAB_11_an_impossible_setting_is_refused_by_name(raw: dict[str, Any], field: str) -> None:
    with pytest.raises(SettingError) as refused:
        oasis_poker.settings(raw)
    assert refused.value.field == field


def test_OAS_09_the_result_names_the_clauses_that_decided_it() -> None:
    def clauses(dealer: str) -> tuple[str, ...]:
        setup = Setup((Box(1, "ann", (("ann", "ante", 100),)),))
        live = Live(oasis_poker, {}, setup, passes(INSURED, dealer))
        live.decide(1, "look")
        live.decide(1, "bet")
        return live.done.clauses

    assert clauses(DEALER) == ("OAS-09", "OAS-10", "OAS-11")
    assert clauses(ACE_QUEEN) == ("OAS-09", "OAS-10")
