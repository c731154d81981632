"""Draw poker, clause by clause (DRW): entries, dealing, betting, exchanging."""

from typing import Any

import pytest

from shared.errors import RuleError, SettingError
from shared.games import draw_poker
from shared.games.draw_entries import cutting_box, entries, first_dealt
from shared.games.draw_poker import SHOE
from shared.games.play import TIMEOUT, Box, Cell, Deal, Decision, Decisions, Done, Face, Setup, Show
from tests.spec.hands import Live, cards
from tests.spec.poker_hands import draw, fault, passes, put, won

ACES = "Ac Ad 7h 5c 3c"
KINGS = "Kc Kd 7d 5d 3d"
QUEENS = "Qc Qd 7s 5h 3h"
JACKS = "Jc Jd 7c 5s 3s"
NEW = "2c 2d 2h 2s 4c 4d 4h 4s 6c 6d 6h 6s"
SIDE = {"all_in": "side_pots"}
ALL_IN_RULES = ["match_or_fold", "side_pots"]
STAND = "1 exchange, 2 exchange"


def setup(*boxes: int, stack: int = 100, **others: Any) -> Setup:
    return Setup(
        tuple(Box(number, f"p{number}", ()) for number in boxes),
        {f"p{number}": stack for number in boxes},
        ante=10,
        **others,
    )


def live(*boxes: int, stack: int = 100, hands: str = "", **others: Any) -> Live:
    deck = hands or passes(ACES, KINGS, QUEENS, JACKS, then=NEW)
    return Live(draw_poker, {}, setup(*boxes, stack=stack, **others), deck)


# ---- Entering


def test_DRW_01_everyone_antes_the_same() -> None:
    result = draw({1: 100, 3: 50}, "1 bet 10, 3 fold")
    assert put(result) == {"p1": 20, "p3": 10}
    assert fault(draw({1: 100, 3: 9}, "")) == ("INSUFFICIENT_CHIPS", None)


@pytest.mark.parametrize("boxes", [[1], [1, 6], [0, 1], [1, 2, 3, 4, 5, 6]])
def test_DRW_two_to_five_players_on_boxes_one_to_five(boxes: list[int]) -> None:
    reason = "BAD_SCRIPT" if len(boxes) == 1 else "TOO_MANY_BOXES"
    assert fault(draw(dict.fromkeys(boxes, 100), "")) == (reason, None)
    with pytest.raises(RuleError) as refused:
        draw_poker.start(draw_poker.settings({}), setup(*boxes))
    assert refused.value.reason == reason


def test_DRW_one_box_a_player() -> None:
    two = Setup((Box(1, "ann", ()), Box(2, "ann", ())), {"ann": 100}, ante=10)
    with pytest.raises(RuleError) as refused:
        draw_poker.check_bets(draw_poker.settings({}), two)
    assert refused.value.reason == "TOO_MANY_BOXES"


def test_DRW_a_table_may_fill_up_one_by_one() -> None:
    draw_poker.check_bets(draw_poker.settings({}), setup(4), complete=False)


@pytest.mark.parametrize(
    "wrong", [{"ante": 0}, {"ante": -10}, {"ante": 2.5}, {"carried_pot": -1}, {"carried_pot": 0.5}]
)
def test_DRW_amounts_are_whole_and_not_negative(wrong: dict[str, Any]) -> None:
    assert fault(draw({1: 100, 2: 100}, "", **wrong)) == ("BAD_STAKE", None)
    assert fault(draw({1: -1, 2: 100}, "")) == ("BAD_STAKE", None)
    assert fault(draw({1: (100, -1), 2: 100}, "")) == ("BAD_STAKE", None)


def test_DRW_02_the_player_right_of_the_last_winner_cuts() -> None:
    assert cutting_box([1, 3, 5], winners=[3]) == 1
    assert cutting_box([1, 3, 5], winners=[1]) == 5
    assert cutting_box([3, 5], winners=[1, 5]) == 5
    assert cutting_box([1, 3, 5], winners=[]) is None
    assert SHOE.cut_range(52) == (1, 51)


def test_DRW_03_dealt_from_the_last_winner_or_the_next_player_on() -> None:
    assert first_dealt([2, 3, 5], winners=[], carried=False) == 2
    assert first_dealt([2, 3, 5], winners=[5, 3], carried=False) == 3
    assert first_dealt([2, 3, 5], winners=[4], carried=False) == 5
    assert first_dealt([2, 3], winners=[5], carried=False) == 2
    assert first_dealt([2, 3, 5], winners=[5], carried=True) == 2


@pytest.mark.parametrize(("first", "order"), [(0, [2, 3, 5]), (3, [3, 5, 2]), (4, [5, 2, 3])])
def test_DRW_03_dealing_goes_round_from_the_first(first: int, order: list[int]) -> None:
    deal = live(2, 3, 5, first=first).asked[0]
    assert isinstance(deal, Deal)
    assert [slot.hand for slot in deal.slots] == [f"box{number}" for number in order] * 5


def test_DRW_04_face_down_one_at_a_time_and_looked_at_when_all_are_dealt() -> None:
    deal, look = live(2, 5).asked
    assert isinstance(deal, Deal)
    assert isinstance(look, Show)
    assert {slot.face for slot in deal.slots} == {Face.DOWN}
    seen = [(turn.hand, turn.position) for turn in look.turns]
    assert seen == [
        *(("box2", position) for position in range(0, 10, 2)),
        *(("box5", position) for position in range(1, 10, 2)),
    ]
    assert {turn.face for turn in look.turns} == {Face.OWNER}


# ---- Betting


def test_DRW_05_the_first_dealt_acts_first() -> None:
    assert live(1, 2, 3, first=2).options() == {2: ["check", "bet"]}
    assert fault(draw({1: 100, 2: 100}, "2 check")) == ("NOT_YOUR_TURN", 0)


@pytest.mark.parametrize(
    ("decisions", "at"),
    [
        ("1 fold", 0),
        ("1 call", 0),
        ("1 raise 20", 0),
        ("1 exchange", 0),
        ("1 dance", 0),
        ("1 bet 10, 2 check", 1),
        ("1 bet 10, 2 bet 20", 1),
        ("1 bet 10, 2 call, 1 bet 20", 2),
        ("1 bet 10, 2 call, 1 fold", 2),
        ("1 bet 10, 2 call, 1 check", 2),
    ],
)
def test_DRW_05_check_or_bet_then_call_raise_or_fold(decisions: str, at: int) -> None:
    assert fault(draw({1: 100, 2: 100}, decisions)) == ("ILLEGAL_DECISION", at)


@pytest.mark.parametrize(("amount", "reason"), [(0, "BAD_STAKE"), (-5, "BAD_STAKE")])
def test_DRW_05_a_bet_is_a_positive_amount(amount: int, reason: str) -> None:
    assert fault(draw({1: 100, 2: 100}, f"1 bet {amount}")) == (reason, 0)
    assert fault(draw({1: 100, 2: 100}, f"1 bet 10, 2 raise {amount}")) == (reason, 1)


def test_DRW_05_a_bet_is_at_least_the_ante() -> None:
    assert fault(draw({1: 100, 2: 100}, "1 bet 9")) == ("BET_TOO_SMALL", 0)
    assert won(draw({1: 100, 2: 100}, "1 bet 10, 2 fold")) == {"p1": 30, "p2": 0}


def test_DRW_05_the_least_bet_is_a_setting() -> None:
    rules = {"min_bet": 25}
    assert fault(draw({1: 100, 2: 100}, "1 bet 24", rules=rules)) == ("BET_TOO_SMALL", 0)
    low = draw({1: 100, 2: 100}, "1 bet 25, 2 raise 49", rules=rules)
    assert fault(low) == ("BET_TOO_SMALL", 1)
    assert won(draw({1: 100, 2: 100}, "1 bet 25, 2 fold", rules=rules)) == {"p1": 45, "p2": 0}


@pytest.mark.parametrize(
    ("raises", "reason"),
    [
        ("2 raise 39", "BET_TOO_SMALL"),
        ("2 raise 20", "BET_TOO_SMALL"),
        ("2 raise 40", None),
        ("2 raise 50, 1 raise 79", "BET_TOO_SMALL"),
        ("2 raise 50, 1 raise 80", None),
    ],
)
def test_DRW_05_a_raise_is_by_at_least_the_last_bet_or_raise(
    raises: str, reason: str | None
) -> None:
    result = draw({1: 100, 2: 100}, f"1 bet 20, {raises}")
    expected = ("DECISION_MISSING", None) if reason is None else (reason, raises.count(",") + 1)
    assert fault(result) == expected


@pytest.mark.parametrize("all_in", ALL_IN_RULES)
def test_DRW_05_no_more_than_the_chips_that_are_there(all_in: str) -> None:
    rules = {"all_in": all_in}
    assert fault(draw({1: 100, 2: 100}, "1 bet 91", rules=rules)) == ("INSUFFICIENT_CHIPS", 0)
    over = draw({1: 100, 2: 100}, "1 bet 10, 2 raise 91", rules=rules)
    assert fault(over) == ("INSUFFICIENT_CHIPS", 1)


def test_DRW_05_the_round_ends_when_all_who_remain_are_level() -> None:
    decisions = "1 check, 2 bet 10, 3 raise 20, 1 call, 2 call, 1 exchange"
    # The exchange goes in dealing order, from the first dealt.
    assert fault(draw({1: 100, 2: 100, 3: 100}, decisions)) == ("DECISION_MISSING", None)
    played = live(1, 2, 3)
    for number, do, amount in ((1, "check", 0), (2, "bet", 10), (3, "call", 0), (1, "call", 0)):
        played.decide(number, do, amount=amount)
    assert isinstance(played.step, Decisions)
    assert played.step.phase == "exchange"


def test_DRW_05_an_accepted_action_is_final() -> None:
    assert fault(draw({1: 100, 2: 100}, "1 check, 1 bet 10")) == ("NOT_YOUR_TURN", 1)


def test_DRW_06_nobody_bets_before_the_exchange_the_pot_is_carried() -> None:
    result = draw({1: 100, 2: 100, 4: 100}, "1 check, 2 check, 4 check", carried_pot=35)
    assert (result["result"], result["carried_pot"], result["next_entry"]) == (
        "carried",
        65,
        "ante",
    )
    assert won(result) == {"p1": 0, "p2": 0, "p4": 0}
    assert entries(draw_poker.settings({}), 10, 65, "ante", {1: "p1", 2: "p2"}, ["p1"]) == {
        1: 10,
        2: 10,
    }


@pytest.mark.parametrize(
    "decisions",
    [
        "1 bet 10, 2 fold, 3 fold",
        "1 bet 10, 2 timeout, 3 fold",
        "1 timeout, 2 timeout",
        "1 bet 10, 2 call, 3 call, 1 timeout, 2 timeout",
        "1 bet 10, 2 call, 3 call, 1 exchange, 2 exchange, 3 exchange, 1 bet 10, 2 fold, 3 fold",
    ],
)
def test_DRW_07_the_last_one_in_takes_the_pot_and_shows_nothing(decisions: str) -> None:
    result = draw({1: 100, 2: 100, 3: 100}, decisions, carried_pot=7)
    assert result["result"] == "uncontested"
    assert result["next_entry"] is None
    assert sum(won(result).values()) == sum(put(result).values()) + 7
    assert sorted(won(result).values())[:2] == [0, 0]


def test_DRW_07_nothing_is_shown() -> None:
    played = live(1, 2)
    played.decide(1, "bet", amount=10)
    played.decide(2, "fold")
    assert len(played.asked) == 2  # the deal and the owners' look
    assert played.done.winners == (1,)
    assert played.done.clauses == ("DRW-07",)


# ---- The exchange


@pytest.mark.parametrize("named", ["", "Ac", "Ad Ac", "3c Ad 7h"])
def test_DRW_08_up_to_three_cards_replaced_in_the_order_they_are_named(named: str) -> None:
    decisions = f"1 bet 10, 2 call, 1 exchange {named}, 2 exchange, 1 check, 2 check"
    result = draw({1: 100, 2: 100}, decisions, [ACES, KINGS], NEW)
    held = ACES.split()
    for old, new in zip(named.split(), NEW.split(), strict=False):
        held[held.index(old)] = new
    assert result["cards"]["box1"] == held
    assert result["cards_used"] == 10 + len(named.split())


@pytest.mark.parametrize("named", ["Ac Ad 7h 5c", "Ac Ac", "Kc", "Ac Kc", "9x"])
def test_DRW_08_not_four_cards_nor_one_twice_nor_one_not_held(named: str) -> None:
    decisions = f"1 bet 10, 2 call, 1 exchange {named}"
    assert fault(draw({1: 100, 2: 100}, decisions, [ACES, KINGS], NEW)) == ("BAD_EXCHANGE", 2)


@pytest.mark.parametrize("word", ["bet 10", "check", "fold", "call"])
def test_DRW_08_nothing_but_an_exchange_is_due(word: str) -> None:
    assert fault(draw({1: 100, 2: 100}, f"1 bet 10, 2 call, 1 {word}")) == ("ILLEGAL_DECISION", 2)


def test_DRW_08_in_dealing_order_from_the_first_dealt_still_in() -> None:
    played = live(1, 2, 3, first=2)
    for number, do, amount in (
        (2, "check", 0),
        (3, "bet", 10),
        (1, "call", 0),
        (2, "fold", 0),
    ):
        played.decide(number, do, amount=amount)
    assert played.options() == {3: ["exchange"]}
    assert played.due[0].options[0].counts == (0, 1, 2, 3)
    played.decide(3, "exchange", cards=(draw_poker.cells(played.hand)["box3"][0].card,))
    # His new card comes, to him alone, before the next player exchanges.
    dealt = played.asked[-1]
    assert isinstance(dealt, Deal)
    assert [(slot.hand, slot.face) for slot in dealt.slots] == [("box3", Face.OWNER)]
    assert played.options() == {1: ["exchange"]}


def test_TAB_06_in_draw_poker_the_clock_folds_in_any_phase() -> None:
    decisions = "1 timeout, 2 bet 10, 3 call, 4 call, 2 timeout, 3 exchange, 4 exchange, 3 timeout"
    result = draw(dict.fromkeys((1, 2, 3, 4), 100), decisions)
    assert result["result"] == "uncontested"
    assert won(result)["p4"] == 70


def test_TAB_06_the_clock_has_a_word_that_no_player_is_offered() -> None:
    played = live(1, 2)
    clock = draw_poker.default(played.hand, 1)
    assert clock == Decision(1, TIMEOUT)
    assert TIMEOUT not in played.options()[1]
    played.decide(1, clock.do)
    assert played.done.result == "uncontested"


# ---- The second round


OPENED = "1 check, 2 bet 10, 3 call, 1 call, 1 exchange, 2 exchange, 3 exchange"


def test_DRW_09_the_second_round_starts_with_the_opener() -> None:
    assert fault(draw(dict.fromkeys((1, 2, 3), 100), f"{OPENED}, 1 check")) == ("NOT_YOUR_TURN", 7)
    result = draw(dict.fromkeys((1, 2, 3), 100), f"{OPENED}, 2 check, 3 check, 1 check")
    assert result["result"] == "carried"


def test_DRW_09_or_with_the_next_one_on_if_he_folded() -> None:
    folded = "1 bet 10, 2 raise 20, 3 call, 1 fold, 2 exchange, 3 exchange, 2 check, 3 check"
    assert draw(dict.fromkeys((1, 2, 3), 100), folded)["result"] == "carried"
    out = "1 check, 2 bet 10, 3 call, 1 call, 1 exchange, 2 timeout, 3 exchange, 3 check, 1 check"
    assert draw(dict.fromkeys((1, 2, 3), 100), out)["result"] == "carried"


def test_DRW_09_or_with_the_first_dealt_where_nobody_could_bet() -> None:
    checked = "1 check, 3 check, 1 exchange, 2 exchange, 3 exchange, 1 check, 3 check"
    result = draw({1: 100, 2: 10, 3: 100}, checked, rules=SIDE)
    assert result["result"] == "showdown"


def test_DRW_09_the_same_rules_hold() -> None:
    small = f"{OPENED}, 2 bet 9"
    assert fault(draw(dict.fromkeys((1, 2, 3), 100), small)) == ("BET_TOO_SMALL", 7)
    # The first round's bets set no measure for the second's.
    first = "1 bet 50, 2 call, 1 exchange, 2 exchange, 1 bet 10, 2 raise 20, 1 fold"
    assert draw({1: 100, 2: 100}, first)["result"] == "uncontested"


def test_DRW_14_folded_cards_are_shown_to_nobody_and_the_seed_stays_unpublished() -> None:
    assert not SHOE.publish_seed
    assert not SHOE.another_hand(remaining=42)
    played = live(1, 2, 3)
    for number, do, amount in ((1, "bet", 10), (2, "call", 0), (3, "fold", 0)):
        played.decide(number, do, amount=amount)
    for number, do, amount in (
        (1, "exchange", 0),
        (2, "exchange", 0),
        (1, "bet", 10),
        (2, "call", 0),
    ):
        played.decide(number, do, amount=amount)
    shown = played.asked[-1]
    assert isinstance(shown, Show)
    assert {turn.hand for turn in shown.turns} == {"box1", "box2"}
    assert {turn.face for turn in shown.turns} == {Face.UP}


def test_the_cards_of_a_show_may_come_in_any_order() -> None:
    hand = draw_poker.start(draw_poker.settings({}), setup(1, 2, first=2))
    deck = cards(passes(ACES, KINGS))
    dealt = draw_poker.dealt(hand, tuple(Cell(position) for position in range(10)))
    seen = draw_poker.shown(dealt, tuple(Cell(at, card) for at, card in enumerate(deck)))
    assert [str(cell.card) for cell in draw_poker.cells(seen)["box2"]] == ACES.split()


def test_no_decision_is_due_before_the_deal_and_after_the_end() -> None:
    hand = draw_poker.start(draw_poker.settings({}), setup(1, 2))
    played = live(1, 2)
    played.decide(1, "check")
    played.decide(2, "check")
    assert isinstance(draw_poker.next_step(played.hand), Done)
    for over in (hand, played.hand):
        with pytest.raises(RuleError) as refused:
            draw_poker.decide(over, Decision(1, "check"))
        assert refused.value.reason == "DECISION_NOT_DUE"
    assert fault(draw({1: 100, 2: 100}, "1 check, 2 check, 1 check")) == ("DECISION_NOT_DUE", 2)
    with pytest.raises(RuleError) as refused:
        draw_poker.decide(live(1, 2).hand, Decision(2, "check"))
    assert refused.value.reason == "NOT_YOUR_TURN"


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"all_in": "sometimes"}, "all_in"),
        ({"unplayed_after_exchange": "never"}, "unplayed_after_exchange"),
        ({"half_pot_paid_by": "nobody"}, "half_pot_paid_by"),
        ({"min_bet": 0}, "min_bet"),
        ({"rake_percent": 101}, "rake_percent"),
        ({"rake_percent": -1}, "rake_percent"),
        ({"rake_cap": -1}, "rake_cap"),
        ({"min": 10}, "min"),
    ],
)
def test_TAB_11_an_impossible_setting_is_refused_by_name(raw: dict[str, Any], field: str) -> None:
    with pytest.raises(SettingError) as refused:
        draw_poker.settings(raw)
    assert refused.value.field == field
    assert draw_poker.decks(draw_poker.settings({})) == 1
