"""Draw poker, clause by clause: playing on without the chips for it (DRW-12)."""

from typing import Any

import pytest

from shared.games import draw_poker
from shared.games.play import Box, Setup
from tests.spec.hands import Live
from tests.spec.poker_hands import draw, fault, passes, put, won

ACES = "Ac Ad 7h 5c 3c"
KINGS = "Kc Kd 7d 5d 3d"
QUEENS = "Qc Qd 7s 5h 3h"
SIDE = {"all_in": "side_pots"}
ALL_IN_RULES = ["match_or_fold", "side_pots"]
STAND = "1 exchange, 2 exchange"


def test_DRW_12_match_or_fold_who_cannot_match_must_fold() -> None:
    seats = {1: 100, 2: 50}
    assert fault(draw(seats, "1 bet 41, 2 call")) == ("INSUFFICIENT_CHIPS", 1)
    assert fault(draw(seats, "1 bet 30, 2 raise 40")) == ("BET_TOO_SMALL", 1)
    assert won(draw(seats, "1 bet 41, 2 fold")) == {"p1": 61, "p2": 0}
    assert fault(draw({1: 14, 2: 50}, "1 bet 4")) == ("BET_TOO_SMALL", 0)


def test_DRW_12_match_or_fold_a_player_without_chips_may_only_check_or_fold() -> None:
    seats = {1: 10, 2: 100, 3: 100}
    for word in ("bet 5", "fold"):
        assert fault(draw(seats, f"1 {word}")) == ("ILLEGAL_DECISION", 0)
    for word in ("call", "raise 20", "check"):
        result = draw(seats, f"1 check, 2 bet 10, 3 call, 1 {word}")
        assert fault(result) == ("ILLEGAL_DECISION", 3)
    decisions = "1 check, 2 bet 10, 3 call, 1 fold, 2 exchange, 3 exchange, 2 check, 3 check"
    assert draw(seats, decisions)["result"] == "carried"


def test_DRW_12_match_or_fold_tells_what_can_be_matched() -> None:
    both = Setup((Box(1, "ann", ()), Box(2, "bob", ())), {"ann": 14, "bob": 14}, ante=10)
    played = Live(draw_poker, {}, both, passes(ACES, KINGS))
    assert played.options() == {1: ["check"]}
    short = Live(
        draw_poker,
        {},
        Setup((Box(1, "ann", ()), Box(2, "bob", ())), {"ann": 100, "bob": 40}, ante=10, first=1),
        passes(ACES, KINGS),
    )
    short.decide(1, "bet", amount=40)
    assert short.options() == {2: ["fold"]}


def test_DRW_12_side_pots_a_call_bet_or_raise_with_the_last_chips_may_be_short() -> None:
    called = draw({1: 100, 2: 50}, f"1 bet 90, 2 call, {STAND}", [ACES, KINGS], rules=SIDE)
    assert (put(called), won(called)) == ({"p1": 100, "p2": 50}, {"p1": 150, "p2": 0})
    bet = draw({1: 14, 2: 50}, f"1 bet 4, 2 call, {STAND}", [ACES, KINGS], rules=SIDE)
    assert put(bet) == {"p1": 14, "p2": 14}
    raised = draw({1: 100, 2: 45}, f"1 bet 30, 2 raise 35, 1 call, {STAND}", rules=SIDE)
    assert put(raised) == {"p1": 45, "p2": 45}


@pytest.mark.parametrize(
    ("seats", "decisions", "at"),
    [
        ({1: 14, 2: 50}, "1 bet 3", 0),  # short, but not all
        ({1: 100, 2: 60}, "1 bet 30, 2 raise 49", 1),
        ({1: 100, 2: 40}, "1 bet 30, 2 raise 30", 1),  # all, but no raise
        ({1: 100, 2: 35}, "1 bet 30, 2 raise 25", 1),
        ({1: 14, 2: 100}, "1 bet 4, 2 raise 13", 1),  # a full bet more than the short one
    ],
)
def test_DRW_12_side_pots_only_all_of_ones_chips_may_be_short(
    seats: dict[int, Any], decisions: str, at: int
) -> None:
    assert fault(draw(seats, decisions, rules=SIDE)) == ("BET_TOO_SMALL", at)


def test_DRW_12_a_short_bet_or_raise_leaves_the_least_raise_as_it_was() -> None:
    seats = {1: 200, 2: 75, 3: 200}
    low = draw(seats, "1 bet 40, 2 raise 65, 3 raise 104", rules=SIDE)
    assert fault(low) == ("BET_TOO_SMALL", 2)
    full = draw(seats, "1 bet 40, 2 raise 65, 3 raise 105", rules=SIDE)
    assert fault(full) == ("DECISION_MISSING", None)
    after_short_bet = draw({1: 14, 2: 100, 3: 100}, "1 bet 4, 2 raise 14, 3 raise 24", rules=SIDE)
    assert fault(after_short_bet) == ("DECISION_MISSING", None)


def test_DRW_12_a_short_raise_does_not_reopen_the_betting_to_who_has_acted() -> None:
    seats = {1: 500, 2: 75, 3: 500}
    decisions = "1 bet 40, 2 raise 65, 3 call, 1 raise 150"
    assert fault(draw(seats, decisions, rules=SIDE)) == ("NOT_REOPENED", 3)
    # He may call; and the reason is told before that the amount is wrong.
    assert fault(draw(seats, decisions.replace("150", "66"), rules=SIDE)) == ("NOT_REOPENED", 3)
    assert fault(draw(seats, decisions.replace("150", "0"), rules=SIDE)) == ("BAD_STAKE", 3)
    called = draw(seats, decisions.replace("raise 150", "call"), rules=SIDE)
    assert fault(called) == ("DECISION_MISSING", None)


def test_DRW_12_a_full_raise_after_a_short_one_reopens_it() -> None:
    seats = {1: 500, 2: 75, 3: 500}
    decisions = "1 bet 40, 2 raise 65, 3 raise 105, 1 raise 145"
    assert fault(draw(seats, decisions, rules=SIDE)) == ("DECISION_MISSING", None)


def test_DRW_12_short_raises_that_add_up_to_a_full_one_reopen_it() -> None:
    seats = {1: 500, 2: 75, 3: 500, 4: 90}
    # 40, then 25 and 15 more: 40 for box 1, 15 for box 3, which called the 65.
    decisions = "1 bet 40, 2 raise 65, 3 call, 4 raise 80, {}"
    reopened = draw(seats, decisions.format("1 raise 120"), rules=SIDE)
    assert fault(reopened) == ("DECISION_MISSING", None)
    closed = draw(seats, decisions.format("1 call, 3 raise 120"), rules=SIDE)
    assert fault(closed) == ("NOT_REOPENED", 5)
    again = draw(seats, decisions.format("1 raise 120, 3 raise 160"), rules=SIDE)
    assert fault(again) == ("DECISION_MISSING", None)


def test_DRW_12_a_short_bet_does_not_reopen_the_betting_to_who_has_checked() -> None:
    seats = {1: 500, 2: 14, 3: 22}
    assert fault(draw(seats, "1 check, 2 bet 4, 3 call, 1 raise 20", rules=SIDE)) == (
        "NOT_REOPENED",
        3,
    )
    # 4 and 8 more are a full bet.
    added = draw(seats, "1 check, 2 bet 4, 3 raise 12, 1 raise 22", rules=SIDE)
    assert fault(added) == ("DECISION_MISSING", None)


def test_DRW_12_the_options_are_what_is_accepted() -> None:
    played = Live(
        draw_poker,
        SIDE,
        Setup(
            tuple(Box(number, f"p{number}", ()) for number in (1, 2, 3)),
            {"p1": 500, "p2": 75, "p3": 60},
            ante=10,
        ),
        passes(ACES, KINGS, QUEENS),
    )
    check, bet = played.due[0].options
    assert (check.do, bet.do, bet.minimum, bet.maximum) == ("check", "bet", 10, 490)
    played.decide(1, "bet", amount=40)
    fold, call, raising = played.due[0].options
    assert (fold.do, call.price) == ("fold", 40)
    assert (raising.minimum, raising.maximum) == (65, 65)
    played.decide(2, "raise", amount=65)
    fold, call = played.due[0].options
    assert (call.do, call.price) == ("call", 50)
    played.decide(3, "call")
    assert played.options() == {1: ["fold", "call"]}
    assert draw_poker.staked(played.hand) == {"p1": 50, "p2": 75, "p3": 60}


@pytest.mark.parametrize("all_in", ALL_IN_RULES)
def test_DRW_12_a_round_with_fewer_than_two_who_have_chips_is_skipped(all_in: str) -> None:
    result = draw({1: 10, 2: 100}, STAND, [ACES, KINGS], rules={"all_in": all_in})
    assert result["result"] == "showdown"
    assert won(result) == {"p1": 20, "p2": 0}


def test_DRW_12_side_pots_a_player_without_chips_is_passed_over() -> None:
    seats = {1: 10, 2: 100, 3: 100}
    assert fault(draw(seats, "1 check", rules=SIDE)) == ("NOT_YOUR_TURN", 0)
    decisions = "2 bet 10, 3 call, 1 exchange, 2 exchange, 3 exchange, 2 check, 3 check"
    assert draw(seats, decisions, rules=SIDE)["result"] == "showdown"


def test_DRW_12_with_a_player_without_chips_a_checked_round_goes_on() -> None:
    seats = {1: 10, 2: 100, 3: 100}
    checked = "1 check, 2 check, 3 check"
    decisions = f"{checked}, 1 exchange, 2 exchange, 3 exchange, {checked}"
    result = draw(seats, decisions, [ACES, KINGS, QUEENS])
    assert (result["result"], won(result)["p1"]) == ("showdown", 30)
    # Once he is out, the round is carried as ever.
    out = draw(seats, "1 timeout, 2 check, 3 check")
    assert (out["result"], out["next_entry"]) == ("carried", "ante")
