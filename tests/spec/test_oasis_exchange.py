"""Oasis poker, clause by clause (OAS): the exchange."""

import pytest

from shared.games import oasis_poker
from shared.games.play import Box, Deal, Face, Setup, Show
from tests.spec.hands import Live, back, box, reason, stakes
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


PRICES = [
    ({}, (100, 120, 150)),
    ({"exchange_price": "steep"}, (100, 150, 150)),
    ({"exchange_price": "classic"}, (100, 200, 100)),
    ({"exchange_price": {"1": "0.5", "2": 1, "5": "7:4"}}, (50, 100, 175)),
]


@pytest.mark.parametrize(("rules", "prices"), PRICES)
def test_OAS_07_an_exchange_of_one_two_or_five_cards_has_its_price(
    rules: dict[str, object], prices: tuple[int, ...]
) -> None:
    for named, price in zip(("9c", "7h 9c", "3c 5c 7h 9d 9c"), prices, strict=True):
        decisions = f"1 exchange {named}, 1 fold"
        result = oasis([PAIR], QUEEN_HIGH, table("ann"), decisions, NEW, rules=rules)
        assert stakes(result) == {"ante": 100, "exchange": price}
        assert back(result) == {"ante": 0, "exchange": 0}


def test_OAS_07_new_cards_take_the_places_of_the_old_in_the_order_they_were_named() -> None:
    result = oasis([PAIR], QUEEN_HIGH, table("ann"), "1 exchange 5c 9c, 1 fold", NEW)
    assert result["cards"]["box1"] == ["Ks", "9d", "7h", "As", "3c"]
    assert result["cards_used"] == 12


@pytest.mark.parametrize(
    "named", ["", "9c 9d 7h", "9c 9d 7h 5c", "9c 9c", "Qc", "9c Qc", "9c 9d 7h 5c 3c 2s", "1x"]
)
def test_OAS_07_exactly_one_two_or_five_cards_that_are_held(named: str) -> None:
    result = oasis([PAIR], QUEEN_HIGH, table("ann"), f"1 exchange {named}, 1 fold", NEW)
    assert fault(result) == ("BAD_EXCHANGE", 0)


def test_OAS_07_one_exchange_a_hand() -> None:
    twice = oasis([PAIR], QUEEN_HIGH, table("ann"), "1 exchange 9c, 1 exchange 9d", NEW)
    assert fault(twice) == ("ILLEGAL_DECISION", 1)


@pytest.mark.parametrize(("ante", "refused"), [(100, False), (10, False), (105, True), (5, True)])
def test_OAS_07_a_stake_that_makes_any_price_a_fraction_is_refused(
    ante: int, refused: bool
) -> None:
    result = oasis([PAIR], QUEEN_HIGH, {1: box(ante=ante)}, "1 fold")
    assert ("error" in result) == refused
    if refused:
        assert fault(result) == ("STAKE_NOT_DIVISIBLE", None)
    whole = oasis(
        [PAIR], QUEEN_HIGH, {1: box(ante=105)}, "1 fold", rules={"exchange_price": "classic"}
    )
    assert back(whole) == {"ante": 0}


def test_OAS_08_the_exchange_is_dealt_box_by_box_when_all_have_decided() -> None:
    three = live(
        (1, "ann", False),
        (2, "bob", False),
        (3, "cid", True),
        hands=(PAIR, TENS, QUEEN_HIGH, ACE_KING),
    )
    three.decide(1, "look")
    held = oasis_poker.cells(three.hand)["box1"]
    three.decide(1, "exchange", cards=(held[4].card, held[0].card))
    three.decide(2, "look")
    held = oasis_poker.cells(three.hand)["box2"]
    three.decide(2, "exchange", cards=(held[1].card,))
    assert len([step for step in three.asked if isinstance(step, Deal)]) == 1
    three.decide(3, "bet")
    deal, seen = three.asked[-2:]
    assert isinstance(deal, Deal)
    assert isinstance(seen, Show)
    assert [slot.hand for slot in deal.slots] == ["box1", "box1", "box2"]
    # Nobody may look at new cards until the exchange is over.
    assert {slot.face for slot in deal.slots} == {Face.DOWN}
    assert [(turn.hand, turn.position, turn.face) for turn in seen.turns] == [
        ("box1", 20, Face.OWNER),
        ("box1", 21, Face.OWNER),
        ("box2", 22, Face.OWNER),
    ]
    assert [str(cell.card) for cell in oasis_poker.cells(three.hand)["box1"]] == [
        "Ks",
        "9d",
        "7h",
        "5c",
        "As",
    ]
    assert three.options() == {1: ["bet", "fold"]}


def test_OAS_08_the_exchangers_decide_in_the_order_of_the_exchange() -> None:
    boxes = table("ann", "bob", "cid")
    decisions = "1 exchange 9c, 2 bet, 3 exchange Qc, {}"
    hands = [PAIR, TENS, QUEEN_HIGH]
    result = oasis(hands, ACE_KING, boxes, decisions.format("3 bet, 1 bet"), NEW)
    assert fault(result) == ("NOT_YOUR_TURN", 3)
    # A box that did not exchange has decided for good.
    result = oasis(hands, ACE_KING, boxes, decisions.format("2 fold"), NEW)
    assert fault(result) == ("NOT_YOUR_TURN", 3)
    result = oasis(hands, ACE_KING, boxes, decisions.format("1 bet, 3 fold, 2 fold"), NEW)
    assert fault(result) == ("DECISION_NOT_DUE", 5)


def test_OAS_08_an_exchanger_who_does_not_answer_folds() -> None:
    result = oasis([PAIR], QUEEN_HIGH, table("ann"), "1 exchange 9c, 1 timeout", NEW)
    assert back(result) == {"ante": 0, "exchange": 0}


SIX_HANDS = (
    "2c 3c 4c 5c 6c",
    "2d 3d 4d 5d 6d",
    "2h 3h 4h 5h 6h",
    "2s 3s 4s 5s 6s",
    "7c 8c 9c Tc Jc",
    "7d 8d 9d Td Jd",
    "Ac Kd 7h 8s 9h",
)


def test_OAS_15_exchanges_may_not_need_more_cards_than_are_left() -> None:
    *hands, dealer = SIX_HANDS
    boxes = table("ann", "bob", "cid", "dee", "eve", "fay")
    three = ", ".join(f"{at} exchange {hand}" for at, hand in enumerate(hands[:3], 1))
    # 35 of the 52 are dealt, 15 asked for: two are left.
    result = oasis(hands, dealer, boxes, f"{three}, 4 exchange {hands[3]}")
    assert fault(result) == ("NOT_ENOUGH_CARDS", 3)
    two = f"{three}, 4 exchange 2s 3s, 5 exchange 7c"
    assert fault(oasis(hands, dealer, boxes, two)) == ("NOT_ENOUGH_CARDS", 4)
    # Whatever the deck of the script holds, only the 52 count.
    enough = f"{three}, 4 exchange 2s 3s, 5 fold, 6 fold"
    assert reason(oasis(hands, dealer, boxes, enough)) == "DECK_TOO_SHORT"


def test_OAS_15_the_options_offer_no_more_than_is_left() -> None:
    owners = enumerate(("ann", "bob", "cid", "dee", "eve", "fay"), 1)
    six = live(*((number, owner, False) for number, owner in owners), hands=SIX_HANDS)
    for number in (1, 2, 3):
        six.decide(number, "look")
        held = oasis_poker.cells(six.hand)[f"box{number}"]
        six.decide(number, "exchange", cards=tuple(cell.card for cell in held))
    six.decide(4, "look")
    assert six.due[0].options[-1].counts == (1, 2)
    held = oasis_poker.cells(six.hand)["box4"]
    six.decide(4, "exchange", cards=tuple(cell.card for cell in held[:2]))
    six.decide(5, "look")
    assert six.options() == {5: ["bet", "fold"]}
