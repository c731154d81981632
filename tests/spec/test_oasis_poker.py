"""Oasis poker, clause by clause (OAS): dealing, looking, exchanging, deciding."""

import pytest

from shared.errors import RuleError
from shared.games import oasis_poker
from shared.games.oasis_poker import SHOE
from shared.games.play import Box, Deal, Decision, Face, Setup, Show
from tests.spec.hands import Live, back, box, shared, stakes
from tests.spec.poker_hands import fault, oasis, passes

# Hands that no two of share a card.
PAIR = "9c 9d 7h 5c 3c"  # a game
QUEEN_HIGH = "Qc Jd 8h 5s 2c"  # no game
ACE_KING = "Ac Kd 4h 3s 2d"
TENS = "Tc Td 6h 4c 2h"
NEW = "As Ks Qs Js Ts"


def open_and_blind(*boxes: tuple[int, str, bool], ante: int = 100) -> Setup:
    """Boxes as (number, owner, blind)."""
    return Setup(
        tuple(Box(number, owner, ((owner, "ante", ante),), blind) for number, owner, blind in boxes)
    )


def table(*owners: str, blind: bool = False) -> dict[int, dict[str, object]]:
    """Boxes 1, 2, … of these owners with an ante of 100 each."""
    boxes = {number: box(owner, ante=100) for number, owner in enumerate(owners, 1)}
    return {number: {**at_box, "blind": blind} for number, at_box in boxes.items()}


def live(
    *boxes: tuple[int, str, bool], hands: tuple[str, ...] = (PAIR, TENS), **rules: str
) -> Live:
    return Live(oasis_poker, dict(rules), open_and_blind(*boxes), passes(*hands, then=NEW))


def test_OAS_01_a_bonus_stands_beside_an_ante_and_has_its_own_limits() -> None:
    rules = {"bonus_min": 10, "bonus_max": 50, "min": 100, "max": 300}

    def bonus(stake: int) -> dict[int, dict[str, object]]:
        return {1: box(ante=100, bonus=stake)}

    for stake in (10, 50):
        result = oasis([PAIR], QUEEN_HIGH, bonus(stake), "1 fold", rules=rules)
        assert stakes(result) == {"ante": 100, "bonus": stake}
    below = oasis([PAIR], QUEEN_HIGH, bonus(9), "1 fold", rules=rules)
    assert fault(below) == ("STAKE_BELOW_MINIMUM", None)
    above = oasis([PAIR], QUEEN_HIGH, bonus(51), "1 fold", rules=rules)
    assert fault(above) == ("STAKE_ABOVE_MAXIMUM", None)
    alone = oasis([PAIR], QUEEN_HIGH, {1: box(bonus=10)}, "1 fold", rules=rules)
    assert fault(alone) == ("BAD_SCRIPT", None)


def test_OAS_01_at_a_live_table_a_bonus_without_an_ante_is_refused() -> None:
    alone = Setup((Box(1, "ann", (("ann", "bonus", 10),)),))
    with pytest.raises(RuleError) as refused:
        oasis_poker.check_bets(oasis_poker.settings({}), alone, complete=False)
    assert refused.value.reason == "STAKE_BELOW_MINIMUM"


def test_OAS_02_the_cut_is_three_cards_from_either_edge_of_a_new_shoe_every_hand() -> None:
    assert SHOE.cut_range(52) == (3, 49)
    assert [SHOE.cut_allowed(place, 52) for place in (2, 3, 49, 50)] == [False, True, True, False]
    assert not SHOE.another_hand(remaining=40)
    assert not SHOE.publish_seed  # folded cards stay secret
    assert oasis_poker.decks(oasis_poker.settings({})) == 1


def test_OAS_03_no_other_players_box_between_a_players_boxes() -> None:
    between = oasis([PAIR, TENS, ACE_KING], QUEEN_HIGH, table("ann", "bob", "ann"), "")
    assert fault(between) == ("BOXES_NOT_ADJACENT", None)
    apart = {1: box("ann", ante=100), 6: box("ann", ante=100)}
    result = oasis([PAIR, TENS], QUEEN_HIGH, apart, "1 fold, 6 fold")
    assert back(result, 6) == {"ante": 0}


def test_OAS_04_a_lone_player_has_any_number_of_boxes_two_of_them_open() -> None:
    six = [(number, "ann", number > 2) for number in range(1, 7)]
    oasis_poker.start(oasis_poker.settings({}), open_and_blind(*six))
    six[2] = (3, "ann", False)
    with pytest.raises(RuleError) as refused:
        oasis_poker.start(oasis_poker.settings({}), open_and_blind(*six))
    assert refused.value.reason == "TOO_MANY_OPEN_BOXES"


def test_OAS_04_with_others_at_the_table_three_boxes_two_of_them_open() -> None:
    settings = oasis_poker.settings({})
    anns = [(1, "ann", False), (2, "ann", False), (3, "ann", True)]
    oasis_poker.start(settings, open_and_blind(*anns, (4, "bob", False)))
    with pytest.raises(RuleError) as refused:
        oasis_poker.start(settings, open_and_blind(*anns, (4, "ann", True), (5, "bob", False)))
    assert refused.value.reason == "TOO_MANY_BOXES"


def test_OAS_04_a_bettor_on_anothers_box_counts_as_a_player() -> None:
    boxes = open_and_blind(*((number, "ann", number > 2) for number in range(1, 5))).boxes
    second = Box(1, "ann", (*boxes[0].bets, ("bob", "ante", 100)))
    with pytest.raises(RuleError) as refused:
        oasis_poker.start(oasis_poker.settings({}), Setup((second, *boxes[1:])))
    assert refused.value.reason == "TOO_MANY_BOXES"


def test_OAS_04_a_blind_box_bets_or_folds_unseen() -> None:
    blind = live((1, "ann", True))
    assert blind.options() == {1: ["bet", "fold"]}
    assert [cell.card for cell in oasis_poker.cells(blind.hand)["box1"]] == [None] * 5
    exchange = oasis([PAIR], QUEEN_HIGH, table("ann", blind=True), "1 exchange 9c")
    assert fault(exchange) == ("ILLEGAL_DECISION", 0)
    insured = oasis([PAIR], QUEEN_HIGH, table("ann", blind=True), "1 bet ann=10")
    assert fault(insured) == ("INSURANCE_NOT_ALLOWED", 0)
    assert back(oasis([PAIR], QUEEN_HIGH, table("ann", blind=True), "1 bet")) == {
        "ante": 200,
        "bet": 200,
    }


def test_OAS_05_boxes_are_looked_at_and_decided_in_dealing_order() -> None:
    two = live((2, "ann", False), (5, "bob", False), hands=(PAIR, TENS, ACE_KING))
    assert two.options() == {2: ["look", "bet", "fold"]}
    two.decide(2, "look")
    assert [turn.hand for turn in _last_show(two).turns] == ["box2"] * 5
    assert {turn.face for turn in _last_show(two).turns} == {Face.OWNER}
    assert two.options() == {2: ["bet", "fold", "exchange"]}
    with pytest.raises(RuleError) as refused:
        two.decide(5, "look")
    assert refused.value.reason == "NOT_YOUR_TURN"
    two.decide(2, "bet")
    assert two.options() == {5: ["look", "bet", "fold"]}
    assert [cell.card for cell in oasis_poker.cells(two.hand)["box5"]] == [None] * 5


def _last_show(played: Live) -> Show:
    show = played.asked[-1]
    assert isinstance(show, Show)
    return show


def test_OAS_05_in_a_script_the_next_box_may_not_come_first() -> None:
    result = oasis([PAIR, TENS], QUEEN_HIGH, table("ann", "bob"), "2 bet, 1 bet")
    assert fault(result) == ("NOT_YOUR_TURN", 0)


@pytest.mark.parametrize("table_class", ["vip", "private"])
def test_OAS_05_any_order_at_a_table_of_class_vip_or_private(table_class: str) -> None:
    rules = {"table_class": table_class}
    result = oasis([PAIR, TENS], QUEEN_HIGH, table("ann", "bob"), "2 bet, 1 fold", rules=rules)
    assert back(result, 2, "bob") == {"ante": 200, "bet": 200}
    again = oasis([PAIR, TENS], QUEEN_HIGH, table("ann", "bob"), "2 bet, 2 fold", rules=rules)
    assert fault(again) == ("NOT_YOUR_TURN", 1)


def test_OAS_05_the_exchange_begins_with_the_open_box_looked_at_first_and_wraps_round() -> None:
    boxes = table("ann", "bob", "cid")
    decisions = "3 exchange Qc, 1 exchange 9c, 2 exchange Tc, 3 fold, 1 fold, 2 fold"
    result = oasis(
        [PAIR, TENS, QUEEN_HIGH], ACE_KING, boxes, decisions, NEW, rules={"table_class": "vip"}
    )
    assert [result["cards"][f"box{number}"][0] for number in (3, 1, 2)] == ["As", "Ks", "Qs"]


def test_OAS_05_a_blind_box_decided_first_was_not_looked_at() -> None:
    boxes = table("ann", "bob", "cid")
    boxes[3]["blind"] = True
    decisions = "3 fold, 2 exchange Tc, 1 exchange 9c, 2 fold, 1 fold"
    result = oasis(
        [PAIR, TENS, QUEEN_HIGH], ACE_KING, boxes, decisions, NEW, rules={"table_class": "vip"}
    )
    assert [result["cards"][f"box{number}"][0] for number in (2, 1)] == ["As", "Ks"]


def test_OAS_05_live_the_look_and_not_the_decision_begins_the_exchange() -> None:
    two = live(
        (1, "ann", False),
        (2, "bob", False),
        hands=(PAIR, TENS, QUEEN_HIGH),
        table_class="private",
    )
    two.decide(2, "look")
    two.decide(1, "look")
    assert two.options() == {1: ["bet", "fold", "exchange"], 2: ["bet", "fold", "exchange"]}
    held = oasis_poker.cells(two.hand)
    two.decide(1, "exchange", cards=(held["box1"][0].card,))
    two.decide(2, "exchange", cards=(held["box2"][0].card,))
    assert list(two.options()) == [2]


def test_OAS_06_five_passes_the_dealers_fifth_card_face_up() -> None:
    two = live((2, "ann", False), (5, "bob", True), hands=(PAIR, TENS, ACE_KING))
    opening = two.asked[0]
    assert isinstance(opening, Deal)
    assert [slot.hand for slot in opening.slots] == ["box2", "box5", "dealer"] * 5
    faces = [slot.face for slot in opening.slots]
    assert faces == [Face.DOWN] * 14 + [Face.UP]
    assert [str(cell.card) for cell in oasis_poker.cells(two.hand)["dealer"]] == ["None"] * 4 + [
        "2d"
    ]


def test_OAS_07_a_fold_loses_the_ante() -> None:
    assert back(oasis([PAIR], QUEEN_HIGH, table("ann"), "1 fold")) == {"ante": 0}


def test_OAS_07_a_bet_is_twice_the_ante() -> None:
    assert stakes(oasis([PAIR], QUEEN_HIGH, table("ann"), "1 bet")) == {"ante": 100, "bet": 200}


TWO = {1: shared("ann", ann={"ante": 100}, bob={"ante": 50, "bonus": 5})}


def test_OAS_07_a_further_bettor_who_cannot_pay_the_price_folds_his_share() -> None:
    decisions = "1 exchange 9c, 1 bet"
    result = oasis([PAIR], QUEEN_HIGH, TWO, decisions, NEW, stacks={"bob": 104, "ann": 400})
    assert stakes(result, 1, "bob") == {"ante": 50, "bonus": 5}
    assert back(result, 1, "bob") == {"ante": 0, "bonus": 0}
    assert back(result, 1, "ann") == {"ante": 200, "bet": 200, "exchange": 0}
    able = oasis([PAIR], QUEEN_HIGH, TWO, decisions, NEW, stacks={"bob": 205})
    assert back(able, 1, "bob") == {"ante": 100, "bet": 100, "bonus": 0, "exchange": 0}


def test_OAS_07_a_further_bettor_who_cannot_pay_the_bet_folds_his_share() -> None:
    result = oasis([PAIR], QUEEN_HIGH, TWO, "1 bet", stacks={"bob": 154})
    assert back(result, 1, "bob") == {"ante": 0, "bonus": 0}
    result = oasis([PAIR], QUEEN_HIGH, TWO, "1 bet", stacks={"bob": 155})
    assert back(result, 1, "bob") == {"ante": 100, "bet": 100, "bonus": 0}
    # After the exchange it is the same: what he paid for it is gone.
    decisions = "1 exchange 9c, 1 bet"
    result = oasis([PAIR], QUEEN_HIGH, TWO, decisions, NEW, stacks={"bob": 204})
    assert back(result, 1, "bob") == {"ante": 0, "bonus": 0, "exchange": 0}


def test_OAS_07_an_owner_who_cannot_pay_may_not_choose_it() -> None:
    poor = oasis([PAIR], QUEEN_HIGH, table("ann"), "1 bet", stacks={"ann": 299})
    assert fault(poor) == ("INSUFFICIENT_CHIPS", 0)
    poor = oasis([PAIR], QUEEN_HIGH, table("ann"), "1 exchange 9c 9d", NEW, stacks={"ann": 219})
    assert fault(poor) == ("INSUFFICIENT_CHIPS", 0)
    # He may exchange what he can pay and then only fold.
    left = oasis([PAIR], QUEEN_HIGH, table("ann"), "1 exchange 9c, 1 bet", NEW, stacks={"ann": 399})
    assert fault(left) == ("INSUFFICIENT_CHIPS", 1)


def test_OAS_07_chips_serve_a_players_boxes_one_after_the_other() -> None:
    boxes = table("ann", "ann")
    result = oasis([PAIR, TENS], QUEEN_HIGH, boxes, "1 bet, 2 bet", stacks={"ann": 599})
    assert fault(result) == ("INSUFFICIENT_CHIPS", 1)
    result = oasis([PAIR, TENS], QUEEN_HIGH, boxes, "1 bet, 2 bet", stacks={"ann": 600})
    assert back(result, 2) == {"ante": 200, "bet": 200}


def test_OAS_07_first_stakes_need_chips() -> None:
    result = oasis([PAIR, TENS], QUEEN_HIGH, table("ann", "ann"), "", stacks={"ann": 199})
    assert fault(result) == ("INSUFFICIENT_CHIPS", None)


def test_OAS_07_the_options_offer_what_can_be_paid() -> None:
    poor = Live(
        oasis_poker,
        {},
        Setup((Box(1, "ann", (("ann", "ante", 100),)),), {"ann": 240}),
        passes(PAIR, TENS, then=NEW),
    )
    poor.decide(1, "look")
    assert poor.options() == {1: ["fold", "exchange"]}
    exchange = poor.due[0].options[1]
    assert (exchange.counts, exchange.prices) == ((1, 2), (100, 120))
    poor.decide(1, "exchange", cards=(oasis_poker.cells(poor.hand)["box1"][0].card,))
    assert poor.options() == {1: ["fold"]}
    assert oasis_poker.staked(poor.hand) == {"ann": 200}


def test_OAS_07_without_chips_for_it_no_exchange_is_offered() -> None:
    poorest = Live(
        oasis_poker,
        {},
        Setup((Box(1, "ann", (("ann", "ante", 100),)),), {"ann": 199}),
        passes(PAIR, TENS),
    )
    poorest.decide(1, "look")
    assert poorest.options() == {1: ["fold"]}


def test_TAB_06_the_clock_folds_a_box_that_does_not_decide() -> None:
    assert back(oasis([PAIR], QUEEN_HIGH, table("ann"), "1 timeout")) == {"ante": 0}
    unseen = live((1, "ann", False))
    unseen.hand = oasis_poker.decide(unseen.hand, oasis_poker.default(unseen.hand, 1))
    assert unseen.done.lines[0].returned == 0
    assert [type(step) for step in unseen.asked] == [Deal]


def test_no_decision_is_due_while_cards_are() -> None:
    hand = oasis_poker.start(oasis_poker.settings({}), open_and_blind((1, "ann", False)))
    with pytest.raises(RuleError) as refused:
        oasis_poker.decide(hand, Decision(1, "bet"))
    assert refused.value.reason == "DECISION_NOT_DUE"


def test_a_word_the_game_does_not_know_is_refused() -> None:
    for word in ("raise", "look", "check", ""):
        result = oasis([PAIR], QUEEN_HIGH, table("ann"), f"1 {word or '-'}")
        assert fault(result) == ("ILLEGAL_DECISION", 0)


def test_TAB_05_a_folded_hand_is_shown_to_nobody() -> None:
    two = live((1, "ann", False), (2, "bob", True), hands=(PAIR, TENS, ACE_KING))
    two.decide(1, "look")
    two.decide(1, "fold")
    two.decide(2, "bet")
    turned = {turn.hand for turn in _last_show(two).turns}
    assert turned == {"dealer", "box2"}


def test_when_all_fold_the_dealers_cards_stay_down() -> None:
    one = live((1, "ann", False))
    one.decide(1, "look")
    one.decide(1, "fold")
    assert [cell.card is None for cell in oasis_poker.cells(one.hand)["dealer"]] == [True] * 4 + [
        False
    ]
    assert one.done.clauses == ("OAS-07",)
