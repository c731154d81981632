"""Draw poker at a live table: clocks, the pit, penalties, leaving."""

from __future__ import annotations

import pytest

from shared.games.play import Face
from shared.table import events as e
from shared.table.next_step import OpenShoe
from shared.table.view import public_view
from tests.spec.draw_tables import (
    ACES,
    KINGS,
    QUEENS,
    check_around,
    dealt_in,
    table,
    to_second_round,
)
from tests.spec.tables import (
    DEFAULT_S,
    check_decision_clock,
    chips,
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

# ---- TAB-06


def test_TAB_06_a_draw_poker_hand_whose_clock_runs_out_is_folded_in_any_phase() -> None:
    story = dealt_in(table("ann", "bob"), ann=1, bob=2)
    check_decision_clock(story, story.now, e.DecisionMade("ann", 1, "timeout", at=story.now))
    story.expire()  # though nobody has bet: a player could not fold here
    assert story.last(e.DecisionDefaulted) == e.DecisionDefaulted(1, "timeout")
    assert story.last(e.HandSettled).result == "uncontested"
    dealt_in(story, ann=1, bob=2)
    decide(story, "bob", 2, "bet", amount=10)
    decide(story, "ann", 1, "call")
    assert deciding(story).phase == "exchange"
    story.expire()
    assert story.last(e.HandSettled).winners == (1,)


# ---- DRW-13 and TAB-08, draw poker's column


def exposed(story: Story, box: int, place: int = 0) -> list[str]:
    """A card of a box is exposed."""
    cells = story.state.table.game.cells(hand(story).play)[f"box{box}"]
    return report(story, "card_exposed", cells[place].position)


def test_DRW_13_and_TAB_08_an_exposed_card_is_its_players_choice_to_keep() -> None:
    story = dealt_in(table("ann", "bob"), ann=1, bob=2)
    assert exposed(story, 2) == ["IncidentReported", "IncidentResolved", "DecisionsDue"]
    assert outcome(story) == ("card_exposed", "choice")
    assert deciding(story).players == {2: "bob"}
    assert words(story, "bob") == {2: ["keep", "redeal"]}
    assert words(story, "ann") == {}
    check_decision_clock(story, story.now, e.DecisionMade("bob", 2, "bet", at=story.now))
    held = seen(story, "box2", "bob")
    decide(story, "bob", 2, "keep")
    # Play goes on where it was.
    assert seen(story, "box2", "bob") == held
    assert words(story, "ann") == {1: ["check", "bet"]}


def test_DRW_13_and_TAB_08_or_to_have_the_hand_dealt_again() -> None:
    story = dealt_in(table("ann", "bob"), ann=1, bob=2)
    decide(story, "ann", 1, "bet", amount=50)
    first = story.last(e.HandOpened)
    exposed(story, 1, place=3)
    story.do(e.DecisionMade("ann", 1, "redeal", at=story.now))
    assert story.last(e.HandRedealt) == e.HandRedealt(first.hand_id, "exposed_card")
    play_on(story)
    again = story.last(e.HandOpened)
    assert (again.boxes, again.entries, again.first) == (first.boxes, first.entries, first.first)
    assert again.shoe_id != first.shoe_id
    assert words(story, "ann") == {1: ["check", "bet"]}  # the bet of 50 went back
    assert public_view(story.state).pot.minor_units == 20


def test_DRW_13_a_player_who_does_not_choose_keeps_the_card() -> None:
    story = dealt_in(table("ann", "bob"), ann=1, bob=2)
    exposed(story, 1)
    story.expire()
    assert story.last(e.DecisionDefaulted) == e.DecisionDefaulted(1, "keep")
    assert deciding(story).phase == "betting1"


def test_TAB_06_a_choice_starts_the_clock_of_the_decision_it_interrupts_not_again() -> None:
    story = dealt_in(table("ann", "bob"), ann=1, bob=2)
    clock = deciding(story)
    left = clock.deadline - story.later(200)
    exposed(story, 2)
    assert deciding(story).deadline == story.now + DEFAULT_S * SECOND  # bob has his own
    story.later(60)
    decide(story, "bob", 2, "keep")
    assert deciding(story).players == clock.players
    assert deciding(story).deadline == story.now + left


def test_DRW_13_a_card_of_a_hand_that_was_folded_is_nobodys_choice() -> None:
    story = dealt_in(table("ann", "bob", "cid", hands=(ACES, KINGS, QUEENS)), ann=1, bob=2, cid=3)
    decide(story, "ann", 1, "bet", amount=10)
    decide(story, "bob", 2, "fold")
    assert exposed(story, 2) == ["IncidentReported", "IncidentResolved"]
    assert outcome(story) == ("card_exposed", "go_on")
    assert deciding(story).players == {3: "cid"}


def test_DRW_13_a_card_exposed_while_others_come_is_asked_about_when_they_are_there() -> None:
    story = dealt_in(table("ann", "bob"), ann=1, bob=2)
    decide(story, "ann", 1, "bet", amount=10)
    decide(story, "bob", 2, "call")
    cells = story.state.table.game.cells(hand(story).play)["box1"]
    discarded = cells[2].position
    story.do(e.DecisionMade("ann", 1, "exchange", 0, (discarded,), at=story.now))
    (slot,) = story.last(e.CardsDue).slots
    assert report(story, "card_exposed", slot.position) == ["IncidentReported"]
    story.run()
    assert (deciding(story).phase, deciding(story).players) == ("exposed_card", {1: "ann"})
    decide(story, "ann", 1, "keep")
    # The card that she gave away is no one's any more.
    assert report(story, "card_exposed", discarded) == ["IncidentReported", "IncidentResolved"]
    assert outcome(story) == ("card_exposed", "go_on")


def test_DRW_13_at_the_showdown_nobody_may_ask_for_a_redeal() -> None:
    story = dealt_in(table("ann", "bob"), ann=1, bob=2)
    to_second_round(story, "ann", "bob")
    decide(story, "ann", 1, "bet", amount=10)
    story.do(e.DecisionMade("bob", 2, "call", at=story.now))
    position = story.state.table.game.cells(hand(story).play)["box2"][0].position
    report(story, "card_exposed", position)
    story.run()
    assert outcome(story) == ("card_exposed", "go_on")
    assert story.last(e.HandSettled).result == "showdown"


@pytest.mark.parametrize("incident", ["wrong_card_count", "wrong_order"])
def test_DRW_13_and_TAB_08_cards_in_a_wrong_order_or_number_are_dealt_again(incident: str) -> None:
    story = dealt_in(table("ann", "bob"), ann=1, bob=2)
    check_around(story)  # a pot of 20 is carried
    dealt_in(story, ann=1, bob=2)
    decide(story, "ann", 1, "bet", amount=30)
    hand_id = hand(story).hand_id
    report(story, incident)
    assert outcome(story) == (incident, "redeal")
    play_on(story)
    again = story.last(e.HandOpened)
    assert (again.hand_id, again.carried_pot) == (hand_id, 20)
    assert [entry.amount for entry in again.entries] == [10, 10]
    decide(story, "ann", 1, "bet", amount=10)
    decide(story, "bob", 2, "fold")
    assert (chips(story, "ann"), chips(story, "bob")) == (1_020, 980)


def test_TAB_08_draw_pokers_dealer_changes_between_hands() -> None:
    story = table("ann", "bob")
    report(story, "dealer_change")
    assert outcome(story) == ("dealer_change", "go_on")
    dealt_in(story, ann=1, bob=2)
    change = e.IncidentReported("dealer", "dealer_change", 0, "", story.now)
    assert refused(story, change) == "HAND_RUNNING"


def test_TAB_12_a_hand_that_management_voids_leaves_the_carried_pot_as_it_was() -> None:
    story = dealt_in(table("ann", "bob"), ann=1, bob=2)
    check_around(story)
    dealt_in(story, ann=1, bob=2)
    decide(story, "ann", 1, "bet", amount=30)
    story.do(e.HandRuledVoid("boss", "a quarrel", story.now))
    assert story.last(e.HandVoided).why == "management"
    assert (chips(story, "ann"), chips(story, "bob")) == (990, 990)
    assert story.state.pot.carried == 20


# ---- DRW-14, DRW-15, leaving


def test_DRW_14_folded_cards_and_the_seed_stay_secret() -> None:
    story = table("ann", "bob")
    (opening,) = (errand for errand in story.errands() if isinstance(errand, OpenShoe))
    assert not opening.publish
    dealt_in(story, ann=1, bob=2)
    decide(story, "ann", 1, "bet", amount=10)
    decide(story, "bob", 2, "fold")
    faces = {
        (card.hand, card.face, card.viewer)
        for event in story.log
        if isinstance(event, e.CardsDealt)
        for card in event.cards
        if card.card is not None
    }
    assert faces == {("box1", Face.OWNER, "ann"), ("box2", Face.OWNER, "bob")}
    last = {
        cards.name: [card.card for card in cards.cards]
        for cards in public_view(story.state).last_hands
    }
    assert last == {"box1": [""] * 5, "box2": [""] * 5}


def test_DRW_15_a_warning_is_put_on_record() -> None:
    story = table("ann", "bob")
    before = len(story.log)
    story.do(e.PenaltyGiven("pit", "ann", "warning", 0, "talks", story.now))
    assert story.types(before) == ["PenaltyGiven"]
    for penalty, player, amount, reason in (
        ("slap", "ann", 0, "BAD_REQUEST"),
        ("warning", "cid", 0, "NOT_SEATED"),
        ("warning", "ann", 5, "BAD_AMOUNT"),
        ("fine", "ann", 0, "BAD_AMOUNT"),
    ):
        given = e.PenaltyGiven("pit", player, penalty, amount, "", story.now)
        assert refused(story, given) == reason


def test_DRW_15_a_fine_goes_to_the_house_but_never_more_than_the_chips() -> None:
    story = table("ann", "bob")
    story.do(e.PenaltyGiven("pit", "ann", "fine", 300, "", story.now))
    assert story.last(e.FineTaken) == e.FineTaken("ann", 300)
    assert chips(story, "ann") == 700
    story.do(e.PenaltyGiven("pit", "ann", "fine", 900, "", story.now))
    assert story.last(e.FineTaken) == e.FineTaken("ann", 700)
    assert chips(story, "ann") == 0


def test_DRW_15_a_fine_in_a_hand_is_taken_when_the_hand_is_over() -> None:
    story = dealt_in(table("ann", "bob"), ann=1, bob=2)
    story.do(e.PenaltyGiven("pit", "ann", "fine", 900, "", story.now))
    assert "FineTaken" not in story.types()
    decide(story, "ann", 1, "bet", amount=990)  # her chips are still hers to play with
    before = len(story.log)
    decide(story, "bob", 2, "call")
    for _ in range(2):
        ((box, player),) = deciding(story).players.items()
        decide(story, player, box, "exchange")
    assert story.types(before).index("HandSettled") < story.types(before).index("FineTaken")
    assert (chips(story, "ann"), chips(story, "bob")) == (1_100, 0)


def test_DRW_15_a_player_is_removed_between_hands_and_does_not_come_back() -> None:
    story = dealt_in(table("ann", "bob", "cid"), ann=1, bob=2)
    story.do(e.PenaltyGiven("pit", "ann", "removal", 0, "", story.now))
    assert "ann" in story.state.seats
    decide(story, "ann", 1, "bet", amount=10)
    decide(story, "bob", 2, "fold")
    assert "ann" not in story.state.seats
    assert story.last(e.CashOutRequested) == e.CashOutRequested("ann", 1_010)
    assert refused(story, e.JoinAsked("ann", story.now)) == "PLAYER_REMOVED"
    story.do(e.PenaltyGiven("pit", "cid", "removal", 0, "", story.now))  # no hand: at once
    assert "cid" not in story.state.seats


def test_TAB_05_who_alone_has_anted_may_leave_at_once_with_his_ante() -> None:
    story = table("ann", "bob")
    story.bet("ann", 1, "entry", 10)
    story.do(e.LeaveRequested("ann", story.now))
    assert story.last(e.BetsReturned) == e.BetsReturned("ann", 1, "NOT_SEATED")
    assert story.last(e.CashOutRequested) == e.CashOutRequested("ann", 1_000)
    assert "ann" not in story.state.seats
    story.bet("bob", 2, "entry", 10)
    story.do(e.PenaltyGiven("pit", "bob", "removal", 0, "", story.now))
    assert "bob" not in story.state.seats


def test_TAB_05_a_draw_poker_player_leaves_after_the_hand_and_sits_out_the_next() -> None:
    story = dealt_in(table("ann", "bob", "cid"), ann=1, bob=2)
    story.do(e.LeaveRequested("ann", story.now), e.SitOutChanged("bob", True, story.now))
    assert {"ann", "bob"} <= story.state.seats.keys()
    decide(story, "ann", 1, "bet", amount=10)
    decide(story, "bob", 2, "fold")
    assert "ann" not in story.state.seats
    assert refused(story, e.BetPlaced("bob", 2, "entry", 10, at=story.now)) == "NOT_SEATED"
    story.do(e.SitOutChanged("bob", False, story.now))
    story.bet("bob", 2, "entry", 10)
