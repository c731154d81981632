"""Casino Hold'em at a live table: looks, the common clock, the pit, one shoe a hand."""

from __future__ import annotations

from shared.games.play import Face
from shared.table import events as e
from tests.spec.tables import (
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
from tests.unit.table.story import Story

# Box 1 As Ks, box 2 7c 2d, the dealer Qh Jd; the board 5h 9c Td 3s 4c.
CARDS = "As 7c Qh Ks 2d Jd 5h 9c Td 3s 4c"


def looking() -> Story:
    """Ann on box 1 and bob on box 2 are to decide."""
    story = Story("casino_holdem", cards=CARDS, chips=("ann", "bob"))
    return deal(story, ("ann", 1, "ante", 100), ("bob", 2, "ante", 100))


def test_CHE_08_the_cut_is_at_least_three_cards_from_either_edge() -> None:
    story = Story("casino_holdem", chips=("ann",))
    story.run()
    story.bet("ann", 3, "ante", 100)
    story.done("ann")
    offered = story.last(e.CutOffered)
    assert (offered.player, offered.box) == ("ann", 3)
    assert (offered.minimum, offered.maximum) == (3, 49)
    for place in (2, 50):
        assert refused(story, e.CutChosen("ann", place, story.now)) == "CUT_TOO_NEAR_EDGE"
    story.do(e.CutChosen("ann", 3, story.now))


def test_CHE_08_every_hand_is_dealt_from_a_new_shoe_cut_by_the_next_box() -> None:
    story = looking()
    cutters = [story.last(e.CutOffered).box]
    shoes = [story.last(e.HandOpened).shoe_id]
    for _ in range(2):
        story.expire()
        play_on(story)
        deal(story, ("ann", 1, "ante", 100), ("bob", 2, "ante", 100))
        cutters.append(story.last(e.CutOffered).box)
        shoes.append(story.last(e.HandOpened).shoe_id)
    assert cutters == [1, 2, 1]
    assert len(set(shoes)) == 3


def test_CHE_01_a_player_sees_his_own_cards_and_everybody_the_board() -> None:
    story = looking()
    assert seen(story, "box1", "ann") == ["As", "Ks"]
    assert seen(story, "box1", "bob") == []
    assert seen(story, "box1") == seen(story, "dealer") == ["", ""]
    assert seen(story, "board") == ["5h", "9c", "Td"]
    looks = [event for event in story.log if isinstance(event, e.CardsDealt)][-1].cards
    assert {(card.hand, card.face, card.viewer) for card in looks} == {
        ("box1", Face.OWNER, "ann"),
        ("box2", Face.OWNER, "bob"),
    }


def test_CHE_02_boxes_decide_under_one_clock_in_any_order() -> None:
    story = looking()
    deadline = deciding(story).deadline
    story.later(60)
    decide(story, "bob", 2, "fold")
    assert deciding(story).deadline == deadline
    assert words(story, "ann") == {1: ["bet", "fold"]}
    assert refused(story, e.DecisionMade("bob", 2, "bet", at=story.now)) == "NOT_YOUR_TURN"
    decide(story, "ann", 1, "bet")
    assert story.last(e.HandSettled).result == "settled"


def test_CHE_02_if_all_fold_the_dealers_cards_stay_down() -> None:
    story = looking()
    decide(story, "ann", 1, "fold")
    decide(story, "bob", 2, "fold")
    shown = [
        card
        for event in story.log
        if isinstance(event, e.CardsDealt)
        for card in event.cards
        if card.hand == "dealer" and card.card is not None
    ]
    assert shown == []
    assert (chips(story, "ann"), chips(story, "bob")) == (99_900, 99_900)


def test_TAB_06_a_holdem_box_whose_clock_runs_out_folds() -> None:
    story = looking()
    check_decision_clock(story, story.now, e.DecisionMade("bob", 1, "bet", at=story.now))
    story.expire()
    assert [
        (event.box, event.action) for event in story.log if isinstance(event, e.DecisionDefaulted)
    ] == [(1, "fold"), (2, "fold")]
    assert story.state.hand is None


def test_TAB_02_a_holdem_box_has_one_bettor() -> None:
    story = Story("casino_holdem", chips=("ann", "bob"))
    story.bet("ann", 1, "ante", 100)
    assert refused(story, e.BettorAdmitted("ann", 1, "bob", story.now)) == "TOO_MANY_BETTORS"
    assert refused(story, e.BetPlaced("bob", 1, "ante", 100, at=story.now)) == "CONSENT_NEEDED"


# ---- TAB-08, hold'em's column


def test_TAB_08_an_exposed_card_in_holdem_is_put_on_record_and_play_goes_on() -> None:
    story = looking()
    before = deciding(story)
    assert report(story, "card_exposed", 3) == ["IncidentReported", "IncidentResolved"]
    assert outcome(story) == ("card_exposed", "go_on")
    assert deciding(story) == before


def test_TAB_08_a_wrong_number_of_cards_in_holdem_is_dealt_again() -> None:
    story = looking()
    first, opened = story.last(e.HandOpened), story.last(e.BettingOpened)
    decide(story, "ann", 1, "bet")
    assert report(story, "wrong_card_count")[:4] == [
        "IncidentReported",
        "IncidentResolved",
        "HandRedealt",
        "ShoeFinished",
    ]
    assert outcome(story) == ("wrong_card_count", "redeal")
    assert story.state.betting is not None
    assert story.state.betting.closed
    assert refused(story, e.BetPlaced("bob", 3, "ante", 100, at=story.now)) == "BETTING_CLOSED"
    play_on(story)
    again = story.last(e.HandOpened)
    # The same players and antes, no bet yet, another shoe; and it is the same hand.
    assert (again.boxes, again.stacks) == (first.boxes, first.stacks)
    assert again.hand_id == first.hand_id
    assert again.shoe_id != first.shoe_id
    assert story.last(e.BettingOpened) == opened
    assert hand(story).play.words == ("", "")
    decide(story, "ann", 1, "fold")
    decide(story, "bob", 2, "fold")
    assert (chips(story, "ann"), chips(story, "bob")) == (99_900, 99_900)


def test_TAB_08_a_wrong_order_in_holdem_voids_the_hand() -> None:
    story = looking()
    decide(story, "ann", 1, "bet")
    report(story, "wrong_order")
    assert outcome(story) == ("wrong_order", "void")
    assert (chips(story, "ann"), chips(story, "bob")) == (100_000, 100_000)


def test_TAB_08_holdems_dealer_changes_between_hands() -> None:
    story = looking()
    change = e.IncidentReported("dealer", "dealer_change", 0, "", story.now)
    assert refused(story, change) == "HAND_RUNNING"
    story.expire()
    play_on(story)
    report(story, "dealer_change")
    assert outcome(story) == ("dealer_change", "go_on")
