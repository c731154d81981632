"""Casino hold'em, clause by clause (CHE), with the common clauses that it shows (TAB)."""

from typing import Any

import pytest

from shared.errors import RuleError, SettingError
from shared.games import casino_holdem
from shared.games.casino_holdem import SHOE
from shared.games.play import Box, Deal, Decision, Decisions, Done, Face, Setup, Show
from tests.spec.hands import Live, Result, back, box, play, reason, shared, stakes


def hand(
    own: str,
    dealer: str,
    board: str,
    decision: str = "bet",
    ante: int = 100,
    **rules: object,
) -> Result:
    """One box against the dealer, cards named as they end up."""
    (own1, own2), (dealer1, dealer2) = own.split(), dealer.split()
    deck = f"{own1} {dealer1} {own2} {dealer2} {board}"
    return play("casino_holdem", deck, {1: box(ante=ante)}, f"1 {decision}", rules=rules)


def setup(stacks: dict[str, int] | None = None, **boxes: tuple[str, int]) -> Setup:
    """`setup(b1=("ann", 100), b4=("bob", 50))`."""
    return Setup(
        tuple(
            Box(int(name[1:]), owner, ((owner, "ante", ante),))
            for name, (owner, ante) in boxes.items()
        ),
        stacks or {},
    )


DECK = "2c 3c 4c 5c 6c 7c 8d 9d Td Jh Qh"


def test_CHE_01_two_passes_face_down_then_three_board_cards_face_up() -> None:
    live = Live(casino_holdem, {}, setup(b2=("ann", 1), b5=("bob", 1)), DECK)
    opening, look = live.asked
    assert isinstance(opening, Deal)
    passed = ["box2", "box5", "dealer"]
    assert [slot.hand for slot in opening.slots] == [*passed, *passed, *["board"] * 3]
    assert [slot.face for slot in opening.slots] == [Face.DOWN] * 6 + [Face.UP] * 3
    # Every owner looks at his own cards; the dealer's stay down.
    assert isinstance(look, Show)
    assert [(turn.hand, turn.position, turn.face) for turn in look.turns] == [
        ("box2", 0, Face.OWNER),
        ("box2", 3, Face.OWNER),
        ("box5", 1, Face.OWNER),
        ("box5", 4, Face.OWNER),
    ]
    assert [cell.card for cell in casino_holdem.cells(live.hand)["dealer"]] == [None, None]


def test_CHE_01_one_bettor_a_box_and_any_number_of_boxes_a_player() -> None:
    two = {1: shared("ann", ann={"ante": 100}, bob={"ante": 100})}
    assert reason(play("casino_holdem", DECK, two)) == "TOO_MANY_BETTORS"
    six = {number: box(ante=1) for number in range(1, 7)}
    folds = ", ".join(f"{number} fold" for number in six)
    deck = "2c 3c 4c 5c 6c 7c 8c 2d 3d 4d 5d 6d 7d 8d 9h Th Jh"
    assert len(play("casino_holdem", deck, six, folds)["boxes"]) == 6
    seventh = play("casino_holdem", deck, {7: box(ante=1)}, "7 fold")
    assert reason(seventh) == "TOO_MANY_BOXES"


def test_CHE_02_owners_decide_under_one_clock() -> None:
    live = Live(casino_holdem, {}, setup(b2=("ann", 10), b5=("bob", 1)), DECK)
    step = live.step
    assert isinstance(step, Decisions)
    assert (step.phase, step.together) == ("bet", True)
    live.decide(5, "fold")
    assert live.options() == {2: ["bet", "fold"]}
    boxes = {2: box("ann", ante=10), 5: box("bob", ante=1)}
    assert reason(play("casino_holdem", DECK, boxes, "5 fold, 2 fold")) == "NOT_YOUR_TURN"


def test_CHE_02_a_bet_is_twice_the_ante() -> None:
    result = hand("Ac Ad", "2c 3d", "Kh Qs 7d 9c 8h", ante=35)
    assert stakes(result) == {"ante": 35, "bet": 70}


def test_CHE_02_a_fold_loses_the_ante_and_stakes_no_bet() -> None:
    result = hand("Ac Ad", "2c 3d", "Kh Qs 7d", "fold")
    assert (stakes(result), back(result)) == ({"ante": 100}, {"ante": 0})


def test_CHE_02_turn_and_river_then_the_dealers_and_the_players_cards() -> None:
    live = Live(casino_holdem, {}, setup(b2=("ann", 1), b5=("bob", 1)), DECK)
    live.decide(2, "fold")
    live.decide(5, "bet")
    board, showdown = live.asked[2:]
    assert isinstance(board, Deal)
    assert [(slot.hand, slot.face) for slot in board.slots] == [("board", Face.UP)] * 2
    # Folded cards are never shown.
    assert isinstance(showdown, Show)
    assert [(turn.hand, turn.position, turn.face) for turn in showdown.turns] == [
        ("dealer", 2, Face.UP),
        ("dealer", 5, Face.UP),
        ("box5", 1, Face.UP),
        ("box5", 4, Face.UP),
    ]


def test_CHE_02_if_all_fold_nothing_more_is_shown() -> None:
    live = Live(casino_holdem, {}, setup(b2=("ann", 1), b5=("bob", 1)), DECK)
    live.decide(2, "fold")
    live.decide(5, "fold")
    assert len(live.asked) == 2
    assert live.done.clauses == ("CHE-02",)
    boxes = {2: box("ann", ante=10), 5: box("bob", ante=1)}
    result = play("casino_holdem", DECK, boxes, "2 fold, 5 timeout")
    assert (result["cards_used"], result["cards"]["dealer"]) == (9, ["4c", "7c"])


def test_CHE_03_best_five_of_seven() -> None:
    # The board's straight is on the table for both; ann's queen makes it longer at the top.
    result = hand("Qc 2d", "2c 2h", "8h 9s Td Jc 7d")
    assert back(result) == {"ante": 200, "bet": 400}


@pytest.mark.parametrize(
    ("dealer", "board", "plays"),
    [
        ("4c 4d", "2h 9s Td Jc 7d", True),
        ("3c 3d", "2h 9s Td Jc 7d", False),
        ("Ac Kd", "2h 9s Td Jc 7d", False),
        ("4c 5d", "4h 9s Td Jc 7d", True),
        ("5c 8d", "3h 3s 2d 2c 7d", True),
    ],
)
def test_CHE_03_dealer_plays_with_a_pair_of_fours_or_better(
    dealer: str, board: str, plays: bool
) -> None:
    # Ann's aces or two pair win: whether the bet pays tells whether the dealer plays.
    result = hand("As Ah", dealer, board)
    assert back(result) == {"ante": 200, "bet": 400 if plays else 200}


def test_CHE_04_dealer_does_not_play_ante_pays_by_the_table_and_bet_is_returned() -> None:
    flush = hand("As 3s", "Kd 5d", "2s 9s Ts Jc 7d")
    assert back(flush) == {"ante": 300, "bet": 200}


def test_CHE_04_whatever_the_player_holds_even_less_than_the_dealer() -> None:
    worse = hand("5s 3s", "Kd Qd", "2h 9s Ts Ac 7d")
    assert back(worse) == {"ante": 200, "bet": 200}


def test_CHE_04_below_a_pair_of_fours_the_ante_pays_even_money_whatever_the_table_says() -> None:
    table = {"high_card": 7, "pair": 5}
    board = "2h 9s Ts Jc 7d"
    assert back(hand("Ac 5s", "Kd 3d", board, ante_table=table)) == {"ante": 200, "bet": 200}
    assert back(hand("3c 3s", "Kd 5d", board, ante_table=table)) == {"ante": 200, "bet": 200}
    assert back(hand("4c 4s", "Kd 5d", board, ante_table=table)) == {"ante": 600, "bet": 200}


def test_CHE_05_dealer_plays_and_the_better_hand_wins() -> None:
    board = "4h 9s Ts Jc 2d"
    assert back(hand("Ac As", "4c Kd", board)) == {"ante": 200, "bet": 400}
    assert back(hand("2c Ks", "4c Kd", board)) == {"ante": 0, "bet": 0}


def test_CHE_05_equal_hands_stand_off() -> None:
    assert back(hand("Ac 3s", "Ad 5c", "4h 4s Ts Jc 9d")) == {"ante": 100, "bet": 200}
    assert back(hand("2c 3s", "2d 3c", "Ah Kh Qh Jh Th")) == {"ante": 100, "bet": 200}


@pytest.mark.parametrize(
    ("own", "board", "odds"),
    [
        ("Ac As", "4h 9s Td Jc 2d", 1),
        ("Ac Js", "4h 9s Ad Jc 2d", 1),
        ("Ac As", "4h Ad Td Jc 2d", 1),
        ("Ac Ks", "4h Qs Td Jc 2d", 1),
        ("Ac 3c", "4c 9c Tc Js 2d", 2),
        ("Ac As", "4h Ad Td Tc 2d", 3),
        ("Ac As", "4h Ad Ah Jc 2d", 10),
        ("8c 7c", "4h 9c Tc Jc 2d", 20),
        ("Ac Kc", "4h Qc Tc Jc 2d", 100),
    ],
)
def test_CHE_06_ante_table(own: str, board: str, odds: int) -> None:
    # The dealer's pair of fours plays and loses.
    result = hand(own, "4s 6d", board)
    assert back(result) == {"ante": 100 + 100 * odds, "bet": 400}


def test_CHE_06_the_table_is_a_setting() -> None:
    flush = "Ac 3c", "4s 6d", "4c 9c Tc Js 2d"
    assert back(hand(*flush, ante_table={"flush": "5:2"}))["ante"] == 350
    assert back(hand(*flush, ante=33, ante_table={"flush": "1.5"}))["ante"] == 33 + 49
    assert back(hand(*flush, ante_table={"straight": 9}))["ante"] == 300
    wrong: list[Any] = [{"flushes": 2}, {"flush": "two"}, {"flush": -1}, {"flush": True}, [], 3]
    for table in wrong:
        with pytest.raises(SettingError, match="ante_table"):
            casino_holdem.settings({"ante_table": table})


@pytest.mark.parametrize(
    ("cap", "ante", "bet"),
    [
        (None, 300, 400),
        (400, 300, 400),
        (399, 300, 399),
        (200, 300, 200),
        (150, 250, 200),
        (0, 100, 200),
    ],
)
def test_CHE_07_the_ante_is_paid_first_and_the_bet_gets_what_is_left_of_the_cap(
    cap: int | None, ante: int, bet: int
) -> None:
    rules = {} if cap is None else {"max_payout": cap}
    result = hand("Ac 3c", "4s 6d", "4c 9c Tc Js 2d", "bet", 100, **rules)
    assert back(result) == {"ante": ante, "bet": bet}


def test_CHE_07_each_box_has_its_own_cap() -> None:
    deck = "Ac Ad Kd 3s 3h 5h 4c 4h 8s 9d Ts"
    boxes = {1: box(ante=100), 2: box(ante=100)}
    result = play("casino_holdem", deck, boxes, "1 bet, 2 bet", rules={"max_payout": 90})
    assert back(result, 1) == back(result, 2) == {"ante": 190, "bet": 200}


def test_CHE_08_the_cut_leaves_three_cards_on_either_side_and_each_hand_has_its_shoe() -> None:
    assert SHOE.cut_range(52) == (3, 49)
    assert [SHOE.cut_allowed(place, 52) for place in (2, 3, 49, 50)] == [False, True, True, False]
    assert not SHOE.another_hand(52)
    assert not SHOE.publish_seed


def test_TAB_02_antes_within_the_limits_and_the_bet_beyond_them() -> None:
    board = "Kh Qs 7d 9c 8h"
    assert stakes(hand("Ac Ad", "2c 3d", board, min=100, max=100)) == {"ante": 100, "bet": 200}
    assert reason(hand("Ac Ad", "2c 3d", board, min=101)) == "STAKE_BELOW_MINIMUM"
    assert reason(hand("Ac Ad", "2c 3d", board, max=99)) == "STAKE_ABOVE_MAXIMUM"


def test_TAB_03_who_has_not_the_chips_may_not_bet() -> None:
    boxes = {1: box(ante=100), 2: box(ante=100)}
    deck = "Ac Ad Kd 3s 3h 5h 4c 4h 8s 9d Ts"
    enough = play("casino_holdem", deck, boxes, "1 bet, 2 fold", stacks={"ann": 400})
    assert stakes(enough) == {"ante": 100, "bet": 200}
    second = play("casino_holdem", deck, boxes, "1 bet, 2 bet", stacks={"ann": 599})
    assert (reason(second), second["error"]["at"]) == ("INSUFFICIENT_CHIPS", 1)
    antes = play("casino_holdem", deck, boxes, stacks={"ann": 199})
    assert (reason(antes), antes["error"]["at"]) == ("INSUFFICIENT_CHIPS", None)
    live = Live(casino_holdem, {}, setup({"ann": 400}, b1=("ann", 100), b2=("ann", 100)), deck)
    live.decide(2, "bet")
    assert live.options() == {1: ["fold"]}
    assert casino_holdem.staked(live.hand) == {"ann": 400}


def test_TAB_06_the_clock_folds() -> None:
    assert back(hand("Ac Ad", "2c 3d", "Kh Qs 7d", "timeout")) == {"ante": 0}


def test_a_decision_nobody_waits_for_is_refused() -> None:
    before = casino_holdem.start(casino_holdem.settings({}), setup(b1=("ann", 1)))
    with pytest.raises(RuleError) as refused:
        casino_holdem.decide(before, Decision(1, "bet"))
    assert refused.value.reason == "DECISION_NOT_DUE"
    live = Live(casino_holdem, {}, setup(b1=("ann", 1), b2=("bob", 1)), DECK)
    live.decide(1, "fold")
    for number, do, why in (
        (1, "bet", "NOT_YOUR_TURN"),
        (3, "bet", "NOT_YOUR_TURN"),
        (2, "check", "ILLEGAL_DECISION"),
    ):
        with pytest.raises(RuleError) as refused:
            casino_holdem.decide(live.hand, Decision(number, do))
        assert refused.value.reason == why
    live.decide(2, "fold")
    with pytest.raises(RuleError) as refused:
        casino_holdem.decide(live.hand, Decision(2, "fold"))
    assert refused.value.reason == "DECISION_NOT_DUE"


@pytest.mark.parametrize(("dealer", "clause"), [("4s 6d", "CHE-05"), ("5s 6d", "CHE-04")])
def test_the_result_names_the_clauses_that_decided_it(dealer: str, clause: str) -> None:
    dealer1, dealer2 = dealer.split()
    deck = f"Ac {dealer1} 3c {dealer2} 4c 9c Tc Js 2d"
    live = Live(casino_holdem, {}, setup(b1=("ann", 1)), deck)
    live.decide(1, "bet")
    assert isinstance(live.step, Done)
    assert live.done.clauses == (clause, "CHE-06")
