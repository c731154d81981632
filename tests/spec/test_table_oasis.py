"""Oasis poker at a live table: neighbours, looks and their order, exchanges, shares, the pit."""

from __future__ import annotations

import pytest

from shared.games.play import Face
from shared.table import events as e
from shared.table.options import options
from shared.table.state import next_clock
from tests.spec.poker_hands import passes
from tests.spec.tables import (
    DEFAULT_S,
    WARNING_S,
    check_decision_clock,
    chips,
    deal,
    decide,
    deciding,
    hand,
    outcome,
    play_on,
    refused,
    report,
    seen,
    words,
)
from tests.unit.table.story import SECOND, Story

PAIR = "2c 2d 9h Js Kc"
OTHER = "3c 3d 8h Ts Qc"
DEALER = "Ac Kd 4h 5s 7d"


def two(rules: str = "{}", blind: tuple[int, ...] = (), then: str = "") -> Story:
    """Ann on box 1 with a pair of twos, bob on box 2 with one of threes, an ace-king dealer."""
    cards = passes(PAIR, OTHER, DEALER, then=then)
    story = Story("oasis_poker", rules=rules, cards=cards, chips=("ann", "bob"))
    return deal(story, ("ann", 1, "ante", 100), ("bob", 2, "ante", 100), blind=blind)


def positions(story: Story, box: int) -> list[int]:
    """Where the cards of a box lie in the shoe."""
    cells = story.state.table.game.cells(hand(story).play)[f"box{box}"]
    return [cell.position for cell in cells]


def told(story: Story, box: int) -> list[e.DealtCard]:
    """The cards of a box whose value the table was ever told."""
    return [
        card
        for event in story.log
        if isinstance(event, e.CardsDealt)
        for card in event.cards
        if card.hand == f"box{box}" and card.card is not None
    ]


def test_OAS_01_a_bonus_needs_an_ante_on_the_box() -> None:
    story = Story("oasis_poker", rules='{"bonus_min": 20, "bonus_max": 50}', chips=("ann",))
    bonus = e.BetPlaced("ann", 1, "bonus", 30, at=story.now)
    assert refused(story, bonus) == "STAKE_BELOW_MINIMUM"
    story.bet("ann", 1, "ante", 100)
    story.do(bonus)
    for stake, reason in ((10, "STAKE_BELOW_MINIMUM"), (51, "STAKE_ABOVE_MAXIMUM")):
        assert refused(story, e.BetPlaced("ann", 1, "bonus", stake, at=story.now)) == reason


def test_OAS_02_a_cut_too_near_is_asked_again_and_a_declined_one_is_the_dealers() -> None:
    story = Story("oasis_poker", chips=("ann",))
    story.run()
    story.bet("ann", 2, "ante", 100)
    story.done("ann")
    offered = story.last(e.CutOffered)
    assert (offered.box, offered.minimum, offered.maximum) == (2, 3, 49)
    for place in (1, 2, 50, 51):
        assert refused(story, e.CutChosen("ann", place, story.later(1))) == "CUT_TOO_NEAR_EDGE"
    story.do(e.CutChosen("ann", 0, story.now))
    assert isinstance(story.log[-1], e.CutLeftToDealer)


def test_OAS_03_no_other_players_box_lies_between() -> None:
    story = Story("oasis_poker", chips=("ann", "bob"))
    story.bet("ann", 2, "ante", 100)
    story.bet("bob", 3, "ante", 100)
    beyond = e.BetPlaced("ann", 4, "ante", 100, at=story.now)
    assert refused(story, beyond) == "BOXES_NOT_ADJACENT"
    story.bet("ann", 1, "ante", 100)
    story.bet("bob", 5, "ante", 100)
    between = e.BetPlaced("ann", 4, "ante", 100, at=story.now)
    assert refused(story, between) == "BOXES_NOT_ADJACENT"


def test_OAS_04_two_of_a_players_boxes_are_open_the_others_blind() -> None:
    story = Story("oasis_poker", chips=("ann",))
    for box in (1, 2):
        story.bet("ann", box, "ante", 100)
    third = e.BetPlaced("ann", 3, "ante", 100, at=story.now)
    assert refused(story, third) == "TOO_MANY_OPEN_BOXES"
    for box in (3, 4, 5):
        story.do(e.BetPlaced("ann", box, "ante", 100, True, story.now))
    assert story.state.betting is not None
    assert story.state.betting.blind == {3, 4, 5}
    # Placed anew, a box may change from open to blind and back.
    story.do(e.BetPlaced("ann", 1, "ante", 100, True, story.now))
    story.do(e.BetPlaced("ann", 3, "ante", 100, False, story.now))
    assert story.state.betting.blind == {1, 4, 5}


def test_OAS_04_who_counts_is_fixed_when_betting_closes() -> None:
    story = Story("oasis_poker", chips=("ann", "bob"))
    for box in (1, 2, 3, 4, 5):
        story.do(e.BetPlaced("ann", box, "ante", 100, box > 2, story.now))
    story.bet("bob", 6, "ante", 100)  # ann was alone with five boxes: now three are hers at most
    story.done("ann", "bob")
    returned = [event for event in story.log if isinstance(event, e.BetsReturned)]
    assert returned == [
        e.BetsReturned("ann", 5, "TOO_MANY_BOXES"),
        e.BetsReturned("ann", 4, "TOO_MANY_BOXES"),
    ]
    play_on(story)
    opened = story.last(e.HandOpened)
    assert [(box.box, box.owner) for box in opened.boxes] == [
        (1, "ann"),
        (2, "ann"),
        (3, "ann"),
        (6, "bob"),
    ]


def test_OAS_04_alone_at_the_table_any_number_of_boxes() -> None:
    story = Story("oasis_poker", chips=("ann",))
    for box in range(1, 7):
        story.do(e.BetPlaced("ann", box, "ante", 100, box > 2, story.now))
    story.done("ann")
    play_on(story)
    assert len(story.last(e.HandOpened).boxes) == 6


def test_OAS_04_a_blind_box_is_never_looked_at_and_bets_or_folds() -> None:
    story = two(blind=(1,))
    assert words(story, "ann") == {1: ["bet", "fold"]}
    look = e.DecisionMade("ann", 1, "look", at=story.now)
    assert refused(story, look) == "ILLEGAL_DECISION"
    cards = tuple(positions(story, 1)[:1])
    exchange = e.DecisionMade("ann", 1, "exchange", 0, cards, at=story.now)
    assert refused(story, exchange) == "ILLEGAL_DECISION"
    decide(story, "ann", 1, "bet")
    assert told(story, 1) == []
    assert seen(story, "box1", "ann") == [""] * 5


def test_OAS_05_a_look_is_a_command_and_only_it_tells_the_table_the_cards() -> None:
    story = two()
    assert told(story, 1) == []
    assert words(story, "ann") == {1: ["look", "bet", "fold"]}
    decide(story, "ann", 1, "look")
    assert {(card.face, card.viewer) for card in told(story, 1)} == {(Face.OWNER, "ann")}
    assert seen(story, "box1", "ann") == PAIR.split()
    assert seen(story, "box1") == [""] * 5
    assert told(story, 2) == []
    assert words(story, "ann") == {1: ["bet", "fold", "exchange"]}


def test_OAS_05_boxes_are_looked_at_and_decided_in_dealing_order() -> None:
    story = two()
    assert words(story, "bob") == {}
    assert refused(story, e.DecisionMade("bob", 2, "look", at=story.now)) == "NOT_YOUR_TURN"
    decide(story, "ann", 1, "look")
    assert refused(story, e.DecisionMade("bob", 2, "look", at=story.now)) == "NOT_YOUR_TURN"
    decide(story, "ann", 1, "bet")
    assert words(story, "bob") == {2: ["look", "bet", "fold"]}


@pytest.mark.parametrize("table_class", ["vip", "private"])
def test_OAS_05_at_such_a_table_in_any_order_and_the_first_look_begins_the_exchange(
    table_class: str,
) -> None:
    story = two(rules=f'{{"table_class": "{table_class}"}}', then="6c 6d")
    decide(story, "bob", 2, "look")
    decide(story, "ann", 1, "look")
    decide(story, "ann", 1, "exchange", positions(story, 1)[2])
    decide(story, "bob", 2, "exchange", positions(story, 2)[2])
    dealt = [event for event in story.log if isinstance(event, e.CardsDealt)][-2].cards
    assert [card.hand for card in dealt] == ["box2", "box1"]
    assert words(story, "bob") == {2: ["bet", "fold"]}
    assert words(story, "ann") == {}


def test_OAS_08_exchanges_are_dealt_when_all_have_decided_and_seen_when_all_are_dealt() -> None:
    story = two(then="6c 6d")
    decide(story, "ann", 1, "look")
    decide(story, "ann", 1, "exchange", positions(story, 1)[2])
    assert chips(story, "ann") == 100_000  # staked, not gone
    assert len(positions(story, 1)) == 5
    decide(story, "bob", 2, "look")
    decide(story, "bob", 2, "exchange", positions(story, 2)[2])
    dealt, shown = [event for event in story.log if isinstance(event, e.CardsDealt)][-2:]
    assert [(card.hand, card.face) for card in dealt.cards] == [
        ("box1", Face.DOWN),
        ("box2", Face.DOWN),
    ]
    assert [(card.hand, card.viewer) for card in shown.cards] == [("box1", "ann"), ("box2", "bob")]
    assert seen(story, "box1", "ann")[2] == "6c"
    assert words(story, "ann") == {1: ["bet", "fold"]}


def test_OAS_15_an_exchange_beyond_the_deck_is_refused_and_the_owner_chooses_again() -> None:
    story = Story("oasis_poker", rules='{"boxes": 8}', chips=("ann", "bob", "cid"))
    bets = [("ann", 1), ("ann", 2), ("bob", 3), ("bob", 4), ("cid", 5), ("cid", 6), ("cid", 7)]
    deal(story, *((player, box, "ante", 100) for player, box in bets), blind=(7,))
    asked = 0
    for player, box in bets[:3]:
        decide(story, player, box, "look")
        if 5 * (len(bets) + 1) + asked + 5 > 52:
            too_many = e.DecisionMade(
                player, box, "exchange", 0, tuple(positions(story, box)), at=story.now
            )
            clock = deciding(story)
            assert refused(story, too_many) == "NOT_ENOUGH_CARDS"
            assert deciding(story) == clock
            counts = [list(o.counts) for o in options(story.state, player) if o.word == "exchange"]
            assert counts == [[1, 2]]
            return
        decide(story, player, box, "exchange", *positions(story, box))
        asked += 5
    raise AssertionError("the deck was never short")


def test_OAS_14_a_bettor_of_an_open_box_insures_with_the_owners_bet() -> None:
    story = two()
    decide(story, "ann", 1, "look")
    (bet,) = (option for option in options(story.state, "ann") if option.word == "bet")
    assert [(limit.player, limit.stake) for limit in bet.insurance_max] == [("ann", 200)]
    above = e.DecisionMade("ann", 1, "bet", insurance=(e.InsuranceStake("ann", 201),), at=story.now)
    assert refused(story, above) == "INSURANCE_ABOVE_LIMIT"
    story.do(
        e.DecisionMade("ann", 1, "bet", insurance=(e.InsuranceStake("ann", 200),), at=story.now)
    )
    story.run()
    decide(story, "bob", 2, "fold")
    lines = {line.wager: line.returned for line in story.last(e.HandSettled).lines if line.box == 1}
    assert lines == {"ante": 200, "bet": 400, "insurance": 0}  # the dealer plays


def test_TAB_02_the_owner_decides_and_sees_for_all_bettors_of_his_box() -> None:
    cards = passes(PAIR, DEALER)
    story = Story("oasis_poker", cards=cards, chips=("ann", "bob"))
    story.bet("ann", 1, "ante", 100)
    assert refused(story, e.BetPlaced("bob", 1, "ante", 50, at=story.now)) == "CONSENT_NEEDED"
    story.do(e.BettorAdmitted("ann", 1, "bob", story.now))
    deal(story, ("bob", 1, "ante", 50))
    assert refused(story, e.DecisionMade("bob", 1, "look", at=story.now)) == "NOT_BOX_OWNER"
    decide(story, "ann", 1, "look")
    assert seen(story, "box1", "ann") == PAIR.split()
    assert seen(story, "box1", "bob") == []  # TAB-05
    decide(story, "ann", 1, "bet")
    assert (chips(story, "ann"), chips(story, "bob")) == (100_300, 100_150)


def test_TAB_06_while_the_owner_is_away_the_next_bettor_decides_but_sees_nothing() -> None:
    story = Story("oasis_poker", cards=passes(PAIR, DEALER), chips=("ann", "bob"))
    story.bet("ann", 1, "ante", 100)
    story.do(e.BettorAdmitted("ann", 1, "bob", story.now))
    deal(story, ("bob", 1, "ante", 50))
    story.do(e.DecisionMade("bob", 1, "look", at=story.now, owner_away=True))
    story.run()
    assert {card.viewer for card in told(story, 1)} == {"ann"}
    assert seen(story, "box1", "bob") == []
    story.do(e.DecisionMade("bob", 1, "bet", at=story.now, owner_away=True))


def test_TAB_06_who_has_folded_his_share_decides_for_nobody() -> None:
    """Bob could not pay for the exchange: what becomes of the box is nothing to him."""
    cards = passes(PAIR, DEALER, then="6c")
    story = Story("oasis_poker", cards=cards, chips=("ann", "bob", "cid"))
    story.do(e.CashOutAsked("bob", 100_000 - 50, story.now))
    story.bet("ann", 1, "ante", 100)
    for bettor in ("bob", "cid"):
        story.do(e.BettorAdmitted("ann", 1, bettor, story.now))
    deal(story, ("bob", 1, "ante", 50), ("cid", 1, "ante", 50))
    decide(story, "ann", 1, "look")
    decide(story, "ann", 1, "exchange", positions(story, 1)[2])
    folded = e.DecisionMade("bob", 1, "fold", at=story.now, owner_away=True)
    assert refused(story, folded) == "NOT_BOX_OWNER"
    story.do(e.DecisionMade("cid", 1, "bet", at=story.now, owner_away=True))


def test_TAB_06_a_box_whose_clock_runs_out_folds_an_exchanger_too() -> None:
    story = two(then="6c")
    decide(story, "ann", 1, "look")
    check_decision_clock(story, story.now, e.DecisionMade("ann", 1, "raise", at=story.now))
    decide(story, "ann", 1, "exchange", positions(story, 1)[2])
    story.expire()
    assert story.last(e.DecisionDefaulted) == e.DecisionDefaulted(2, "fold")
    story.run()
    assert deciding(story).phase == "final"
    story.expire()
    assert story.last(e.DecisionDefaulted) == e.DecisionDefaulted(1, "fold")
    # The ante and the price of the exchange.
    assert (chips(story, "ann"), chips(story, "bob")) == (99_800, 99_900)


@pytest.mark.parametrize("table_class", ["main", "vip"])
def test_TAB_06_a_look_starts_no_clock_again(table_class: str) -> None:
    """It is no decision: what was left of the clock is left when the cards lie there."""
    story = two(rules=f'{{"table_class": "{table_class}"}}')
    asked_at = story.now
    for box, player in ((1, "ann"), (2, "bob")) if table_class == "vip" else ((1, "ann"),):
        story.later(100)
        decide(story, player, box, "look")
        clock = deciding(story)
        assert (clock.warn_at, clock.deadline) == (
            asked_at + WARNING_S * SECOND,
            asked_at + DEFAULT_S * SECOND,
        )
    story.later(99)
    decide(story, "ann", 1, "bet")
    if table_class == "vip":  # one common clock
        assert deciding(story).deadline == asked_at + DEFAULT_S * SECOND
    else:  # box 2 is asked only now
        assert deciding(story).deadline == story.now + DEFAULT_S * SECOND


def test_TAB_06_the_clock_stands_still_while_the_cards_looked_at_are_on_their_way() -> None:
    story = two()
    story.later(290)
    story.do(e.DecisionMade("ann", 1, "look", at=story.now))
    assert next_clock(story.state) == ("", 0)
    story.later(60)
    story.run()
    clock = deciding(story)
    assert (clock.warn_at, clock.deadline) == (
        story.now - 110 * SECOND,
        story.now + 10 * SECOND,
    )


def test_TAB_06_an_outage_during_a_look_leaves_at_least_the_grace() -> None:
    story = two()
    story.later(299)
    story.do(e.DecisionMade("ann", 1, "look", at=story.now))
    story.later(60)
    story.do(e.TableClaimed("n2", 2, story.now))
    story.run()
    assert deciding(story).deadline == story.now + 10 * SECOND
    assert "DeadlineMoved" not in story.types()


# ---- TAB-08, oasis poker's column


@pytest.mark.parametrize("incident", ["card_exposed", "wrong_card_count", "wrong_order"])
def test_OAS_16_and_TAB_08_any_misdeal_voids_the_hand_and_the_shoe_is_changed(
    incident: str,
) -> None:
    story = two()
    decide(story, "ann", 1, "look")
    decide(story, "ann", 1, "exchange", positions(story, 1)[2])
    shoe = story.last(e.HandOpened).shoe_id
    report(story, incident, positions(story, 1)[0])
    assert outcome(story) == (incident, "void")
    assert (chips(story, "ann"), chips(story, "bob")) == (100_000, 100_000)
    assert story.last(e.ShoeFinished) == e.ShoeFinished(shoe, "void")


def test_TAB_08_oasis_pokers_dealer_changes_between_hands_or_before_the_cut() -> None:
    story = Story("oasis_poker", chips=("ann",))
    report(story, "dealer_change")
    story.run()
    story.bet("ann", 1, "ante", 100)
    story.done("ann")
    assert story.state.shoe is not None
    assert story.state.shoe.cut_deadline
    report(story, "dealer_change")
    assert outcome(story) == ("dealer_change", "go_on")
    story.do(e.CutChosen("ann", 5, story.now))
    change = e.IncidentReported("dealer", "dealer_change", 0, "", story.now)
    assert refused(story, change) == "HAND_RUNNING"
    story.run()
    assert refused(story, change) == "HAND_RUNNING"
