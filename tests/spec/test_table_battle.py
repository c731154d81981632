"""Battle at a live table: the cut, the common clock, the pit, the end of a shoe."""

from __future__ import annotations

import pytest

from shared.games.play import Face
from shared.table import events as e
from shared.table.next_step import PutAway
from shared.table.state import free_chips
from tests.spec.tables import (
    check_decision_clock,
    chips,
    commands,
    deal,
    decide,
    deciding,
    hand,
    outcome,
    play_on,
    refused,
    report,
    words,
)
from tests.unit.table.story import Story

BURN = "2c 2c 2c 2c 2c 2c "
LOST = BURN + "5c 5d Ts"
"""Boxes 1 and 2 lose the comparison with the dealer's ten."""


def lost(players: tuple[str, ...] = ("ann", "bob"), cards: str = LOST) -> Story:
    """Ann on box 1, bob on box 2; both have lost the first comparison."""
    story = Story("battle", cards=cards, chips=players)
    return deal(story, ("ann", 1, "stake", 100), ("bob", 2, "stake", 200))


def test_BTL_01_the_cut_is_from_the_top_and_not_in_the_bottom_half() -> None:
    story = Story("battle", chips=("ann",))
    story.run()
    story.bet("ann", 1, "stake", 100)
    story.done("ann")
    offered = story.last(e.CutOffered)
    assert (offered.player, offered.minimum, offered.maximum) == ("ann", 1, 156)
    assert refused(story, e.CutChosen("ann", 157, story.later(3))) == "CUT_TOO_NEAR_EDGE"
    assert story.state.shoe is not None
    assert story.state.shoe.cut_deadline == offered.deadline
    story.do(e.CutChosen("ann", 156, story.now))


def test_BTL_01_six_cards_are_burned_face_down_before_the_first_coup_only() -> None:
    story = lost()
    story.expire()
    play_on(story)
    deal(story, ("ann", 1, "stake", 100))
    burns = [
        event.cards
        for event in story.log
        if isinstance(event, e.CardsDealt) and event.cards[0].hand == "burn"
    ]
    assert [len(cards) for cards in burns] == [6]
    assert all(card.face is Face.DOWN and card.card is None for card in burns[0])


def test_BTL_05_the_losers_decide_under_one_clock_in_any_order() -> None:
    story = lost()
    clock = deciding(story)
    assert clock.players == {1: "ann", 2: "bob"}
    story.later(100)
    decide(story, "bob", 2, "fight")
    assert deciding(story).deadline == clock.deadline
    assert words(story, "bob") == {}
    assert words(story, "ann") == {1: ["fight", "surrender"]}
    decide(story, "ann", 1, "surrender")
    # All have decided: only now the next cards come, and only to who fights on.
    assert [card.hand for card in story.last(e.CardsDealt).cards] == ["box2", "dealer"]


def test_TAB_06_a_battle_box_whose_clock_runs_out_surrenders() -> None:
    story = lost()
    check_decision_clock(story, story.now, e.DecisionMade("ann", 1, "bet", at=story.now))
    decide(story, "bob", 2, "surrender")
    story.expire()
    assert story.last(e.DecisionDefaulted) == e.DecisionDefaulted(1, "surrender")
    assert (chips(story, "ann"), chips(story, "bob")) == (99_900, 99_800)


def test_TAB_06_the_next_bettor_decides_while_the_owner_is_away() -> None:
    story = Story("battle", cards=LOST, chips=("ann", "bob", "cid"))
    story.bet("ann", 1, "stake", 100)
    for bettor in ("bob", "cid"):
        story.do(e.BettorAdmitted("ann", 1, bettor, story.now))
    deal(story, ("bob", 1, "stake", 50), ("cid", 1, "stake", 50))
    late = story.now
    assert refused(story, e.DecisionMade("bob", 1, "fight", at=late)) == "NOT_BOX_OWNER"
    away = e.DecisionMade("cid", 1, "fight", at=late, owner_away=True)
    assert refused(story, away) == "NOT_BOX_OWNER"  # bob comes before him
    story.do(e.DecisionMade("bob", 1, "surrender", at=late, owner_away=True))
    assert [chips(story, player) for player in ("ann", "bob", "cid")] == [99_900, 99_950, 99_950]


def test_TAB_06_who_has_lost_his_share_decides_for_nobody() -> None:
    """Bob had no chips for the first fight: the next who still has a stake on the box is cid."""
    story = Story("battle", cards=BURN + "5c Ts 3h 9c", chips=("ann", "bob", "cid"))
    story.do(e.CashOutAsked("bob", 100_000 - 50, story.now))
    story.bet("ann", 1, "stake", 100)
    for bettor in ("bob", "cid"):
        story.do(e.BettorAdmitted("ann", 1, bettor, story.now))
    deal(story, ("bob", 1, "stake", 50), ("cid", 1, "stake", 50))
    decide(story, "ann", 1, "fight")
    lost_his = e.DecisionMade("bob", 1, "surrender", at=story.now, owner_away=True)
    assert refused(story, lost_his) == "NOT_BOX_OWNER"
    story.do(e.DecisionMade("cid", 1, "fight", at=story.now, owner_away=True))


def test_TAB_02_a_battle_box_takes_three_bettors() -> None:
    story = Story("battle", chips=("ann", "bob", "cid", "dee"))
    story.bet("ann", 1, "stake", 100)
    for bettor in ("bob", "cid", "dee"):
        story.do(e.BettorAdmitted("ann", 1, bettor, story.now))
    story.bet("bob", 1, "stake", 100)
    story.bet("cid", 1, "stake", 100)
    fourth = e.BetPlaced("dee", 1, "stake", 100, at=story.now)
    assert refused(story, fourth) == "TOO_MANY_BETTORS"


def test_BTL_03_chips_won_in_a_coup_serve_the_players_other_box() -> None:
    cards = BURN + "5c Kd Ts 9c Kh"
    story = Story("battle", cards=cards, chips=("ann",), amount=200)
    deal(story, ("ann", 1, "stake", 100), ("ann", 2, "stake", 100))
    assert words(story, "ann") == {1: ["fight", "surrender"]}  # paid by box 2
    assert free_chips(story.state, "ann") == 200
    decide(story, "ann", 1, "fight")
    assert hand(story).play.fighters[0].shares[0].staked == 200
    assert free_chips(story.state, "ann") == 100


def test_BTL_09_a_coup_that_meets_the_cut_card_is_played_out_then_the_shoe_is_changed() -> None:
    story = Story("battle", rules='{"decks": 3}', chips=("ann",))
    first = story.state.shoe
    assert first is not None
    for _ in range(60):
        deal(story, ("ann", 1, "stake", 100))
        while story.state.hand is not None:
            decide(story, "ann", 1, "surrender")
        if "ShoeFinished" in story.types():
            break
    opened = story.last(e.HandOpened)
    last = [event for event in story.log if isinstance(event, e.CardsDealt)][-1].cards[-1]
    assert 156 - opened.next_position >= 104
    assert 156 - (last.position + 1) < 104
    assert story.last(e.ShoeFinished) == e.ShoeFinished(first.shoe_id, "played")


# ---- TAB-08, battle's column


def test_TAB_08_a_card_exposed_in_battle_is_burned_once_the_pit_confirms() -> None:
    story = lost(cards=LOST + " 3h 9c 9d Kh")
    dealt = hand(story).play.dealer[-1].position
    assert report(story, "card_exposed", dealt + 1) == ["IncidentReported"]
    again = e.IncidentReported("dealer", "wrong_order", 0, "", story.now)
    assert refused(story, again) == "INCIDENT_NOT_ALLOWED"
    before = len(story.log)
    story.do(e.IncidentConfirmed("pit", story.now))
    assert story.types(before) == ["IncidentConfirmed", "IncidentResolved", "CardsDue"]
    assert outcome(story) == ("card_exposed", "burn")
    (slot,) = story.last(e.CardsDue).slots
    assert (slot.position, slot.hand, slot.face) == (dealt + 1, "burn", Face.DOWN)
    assert refused(story, e.IncidentConfirmed("pit", story.now)) == "INCIDENT_NOT_ALLOWED"
    story.run()
    for player, box in (("ann", 1), ("bob", 2)):
        decide(story, player, box, "fight")
    assert hand(story).play.fighters[0].cards[-1].position == dealt + 2


def test_TAB_08_a_pit_that_reports_an_exposed_card_itself_needs_not_confirm_it() -> None:
    story = lost()
    report(story, "card_exposed", 9, by_pit=True)
    assert outcome(story) == ("card_exposed", "burn")


@pytest.mark.parametrize("incident", ["wrong_card_count", "wrong_order"])
def test_TAB_08_other_incidents_void_a_coup_of_battle_fights_and_all(incident: str) -> None:
    story = lost()
    decide(story, "ann", 1, "fight")
    shoe = story.state.shoe
    assert shoe is not None
    report(story, incident)
    assert outcome(story) == (incident, "void")
    assert story.last(e.HandVoided).why == incident
    assert (chips(story, "ann"), chips(story, "bob")) == (100_000, 100_000)
    assert any(isinstance(x, PutAway) and x.shoe_id == shoe.shoe_id for x in story.errands())


def test_TAB_08_a_dealer_change_in_battle_burns_one_card_between_coups() -> None:
    story = lost()
    change = e.IncidentReported("dealer", "dealer_change", 0, "", story.now)
    assert refused(story, change) == "HAND_RUNNING"
    story.expire()
    assert "CardsDue" in report(story, "dealer_change")
    assert outcome(story) == ("dealer_change", "burn")
    story.run()
    burned = story.last(e.CardsDealt).cards
    assert [(card.hand, card.face) for card in burned] == [("burn", Face.DOWN)]
    assert commands(story, "ann") >= {"place_bet", "leave", "buy_chips"}
    deal(story, ("ann", 1, "stake", 100))
    assert story.last(e.HandOpened).next_position == burned[0].position + 1


def test_TAB_08_each_dealer_change_burns_a_card_also_while_bets_are_there() -> None:
    story = lost()
    story.expire()
    before = story.state.shoe.next_position if story.state.shoe else 0
    story.bet("ann", 1, "stake", 100)
    for _ in range(3):
        report(story, "dealer_change")
    story.done("ann", "bob")
    play_on(story)
    cells = hand(story).play.fighters[0].cards
    assert [cell.position for cell in cells] == [before + 3]


def test_TAB_08_before_a_shoe_is_dealt_from_a_dealer_change_burns_nothing() -> None:
    story = Story("battle", chips=("ann",))
    assert report(story, "dealer_change") == ["IncidentReported", "IncidentResolved"]
    assert outcome(story) == ("dealer_change", "go_on")


def test_BTL_05_a_decision_after_the_clock_is_too_late() -> None:
    story = lost()
    story.later(300)
    late = e.DecisionMade("ann", 1, "fight", at=story.now)
    assert refused(story, late) == "DECISION_NOT_DUE"


def test_TAB_08_a_burn_that_was_asked_of_a_shoe_is_not_asked_of_the_next() -> None:
    """Two changes of the dealer, and the shoe is gone before its second card is burned."""
    story = lost()
    story.expire()
    report(story, "dealer_change")
    report(story, "dealer_change")
    story.do(e.ShoesLost("shoe_retired", story.now))
    play_on(story)
    deal(story, ("ann", 1, "stake", 100))
    assert story.last(e.HandOpened).next_position == 6


def test_TAB_06_a_burn_starts_the_clock_of_the_decisions_not_again() -> None:
    story = lost(cards=LOST + " 3h 9c 9d Kh")
    clock = deciding(story)
    story.later(100)
    report(story, "card_exposed", 9, by_pit=True)
    story.run()
    assert deciding(story) == clock


def test_BTL_09_a_coup_for_which_burns_have_left_too_few_cards_is_void() -> None:
    """A shoe of one deck: six burned, seven boxes that may need forty, and more that are burned."""
    story = Story("battle", rules='{"decks": 1}', cards=BURN + "5c 5d Ts", chips=("ann",))
    deal(story, *[("ann", box, "stake", 100) for box in (1, 2)])
    for _ in range(43):
        report(story, "card_exposed", by_pit=True)
        story.run()
    assert hand(story)
    decide(story, "ann", 1, "fight")
    decide(story, "ann", 2, "surrender")
    assert story.last(e.HandVoided).why == "deck_too_short"
    assert chips(story, "ann") == 100_000
    deal(story, ("ann", 1, "stake", 100))
    assert story.last(e.HandOpened).next_position == 6
    for _ in range(52):
        if story.state.hand is not None:
            report(story, "card_exposed", by_pit=True)
            story.run()
    assert story.types().count("HandVoided") == 2
