"""Outages and owners: nobody is folded by them. The pit: incidents and rulings."""

from __future__ import annotations

import pytest

from shared.errors import CroupierError
from shared.table import events as e
from shared.table.next_step import PutAway
from shared.table.state import free_chips, open_deadline
from tests.unit.table.coups import betting_closed_on_a_new_shoe
from tests.unit.table.story import SECOND, Story, refused


def test_TAB_06_a_new_owner_leaves_at_least_the_grace_on_a_running_clock() -> None:
    story = Story(chips=("ann", "bob"))
    story.bet("ann", 1, "player", 1_000)
    story.later(14)
    story.do(e.TableClaimed("n2", 2, story.now))
    assert story.last(e.DeadlineMoved).deadline == story.now + 10 * SECOND
    assert open_deadline(story.state) == story.now + 10 * SECOND


def test_a_clock_with_more_than_the_grace_left_is_not_moved() -> None:
    story = Story(chips=("ann", "bob"))
    story.bet("ann", 1, "player", 1_000)
    deadline = open_deadline(story.state)
    story.do(e.TableClaimed("n2", 2, story.later(4)))
    assert open_deadline(story.state) == deadline
    assert "DeadlineMoved" not in story.types()


def test_the_clock_of_a_cut_is_graced_after_an_outage() -> None:
    story = betting_closed_on_a_new_shoe()
    story.later(30)
    story.do(e.PlayResumed(story.now))
    assert open_deadline(story.state) == story.now + 10 * SECOND
    story.do(e.CutChosen("ann", 5, story.later(9)))


def test_the_clock_of_seeds_is_graced_after_an_outage() -> None:
    story = Story(chips=("ann",))
    story.run()
    story.do(story.pledge("ann"))
    story.bet("ann", 1, "player", 1_000)
    story.done("ann")
    story.do(e.CutChosen("ann", 5, story.now))
    story.run()
    story.do(e.PlayResumed(story.later(60)))
    assert open_deadline(story.state) == story.now + 10 * SECOND
    story.do(e.SeedRevealed("ann", b"s" * 16, story.later(9)))


def test_without_a_clock_an_outage_moves_nothing() -> None:
    for story in (Story(), Story(chips=("ann",))):
        before = len(story.log)
        story.do(e.PlayResumed(story.now))
        assert story.types(before) == ["PlayResumed"]
    story = betting_closed_on_a_new_shoe()
    story.do(e.CutChosen("ann", 0, story.now))
    before = len(story.log)
    story.do(e.PlayResumed(story.now))  # cards are on their way: no clock of players runs
    assert story.types(before) == ["PlayResumed"]
    story = Story(chips=("ann",))
    story.bet("ann", 1, "player", 1_000)
    story.done("ann")  # the shoe is not even offered yet
    before = len(story.log)
    story.do(e.PlayResumed(story.now))
    assert story.types(before) == ["PlayResumed"]


def dealing() -> Story:
    """A coup whose first four cards are due."""
    story = Story(chips=("ann",))
    story.run()
    story.bet("ann", 1, "player", 1_000)
    story.done("ann")
    story.do(e.CutChosen("ann", 0, story.now))
    while story.state.hand is None:
        story.do(story.answer(story.errands()[0]))
    return story


@pytest.mark.parametrize("incident", ["card_exposed", "wrong_card_count", "wrong_order"])
def test_TAB_08_an_incident_voids_a_coup_of_baccarat_and_the_shoe_is_changed(
    incident: str,
) -> None:
    story = dealing()
    shoe = story.state.shoe
    assert shoe is not None
    hand_id = story.last(e.HandOpened).hand_id
    before = len(story.log)
    story.do(e.IncidentReported("pit", incident, 5, "seen", story.now))
    assert story.types(before) == [
        "IncidentReported",
        "IncidentResolved",
        "HandVoided",
        "ShoeFinished",
        "BettingOpened",
    ]
    assert story.last(e.IncidentResolved) == e.IncidentResolved(incident, "void")
    assert story.last(e.HandVoided) == e.HandVoided(hand_id, incident)
    assert story.state.seats["ann"].chips == 100_000
    assert any(isinstance(x, PutAway) and x.shoe_id == shoe.shoe_id for x in story.errands())


def test_TAB_08_a_dealer_change_between_coups_is_logged_and_play_goes_on() -> None:
    story = Story(chips=("ann",))
    story.do(e.IncidentReported("pit", "dealer_change", 0, "", story.now))
    assert story.last(e.IncidentResolved) == e.IncidentResolved("dealer_change", "go_on")
    story = dealing()
    change = e.IncidentReported("pit", "dealer_change", 0, "", story.now)
    assert refused(story, change) == "HAND_RUNNING"


def test_TAB_08_an_incident_needs_a_hand_and_a_known_name() -> None:
    story = Story(chips=("ann",))
    for incident, reason in (("card_exposed", "NO_HAND"), ("fire", "INCIDENT_NOT_ALLOWED")):
        with pytest.raises(CroupierError) as error:
            story.do(e.IncidentReported("pit", incident, 0, "", story.now))
        assert error.value.reason == reason


def test_TAB_12_management_voids_an_unsettled_hand_and_no_other() -> None:
    story = Story(chips=("ann",))
    assert refused(story, e.HandRuledVoid("pit", "", story.now)) == "NO_HAND"
    story = dealing()
    story.do(e.HandRuledVoid("pit", "why", story.now))
    assert story.last(e.HandVoided).why == "management"
    assert story.state.hand is None


def test_TAB_12_management_voids_a_hand_whose_betting_has_closed_and_no_card_is_out() -> None:
    story = betting_closed_on_a_new_shoe()
    shoe, betting = story.state.shoe, story.state.betting
    assert shoe is not None
    assert betting is not None
    assert shoe.cut_deadline
    before = len(story.log)
    story.do(e.HandRuledVoid("pit", "a quarrel", story.now))
    assert story.types(before) == [
        "HandRuledVoid",
        "HandVoided",
        "ShoeFinished",  # somebody may have been about to cut it
        "ShoeRequested",
        "BettingOpened",
    ]
    assert story.last(e.HandVoided) == e.HandVoided(betting.hand_id, "management")
    assert story.last(e.ShoeFinished) == e.ShoeFinished(shoe.shoe_id, "void")
    assert free_chips(story.state, "ann") == 100_000
    story.run()
    story.bet("ann", 1, "player", 1_000)
    story.expire_cut()
    assert story.state.hands_played == 1


def test_TAB_12_a_shoe_that_nobody_was_asked_to_cut_outlives_a_void_hand() -> None:
    story = Story(chips=("ann",))
    story.bet("ann", 1, "player", 1_000)
    story.done("ann")  # the shoe is not even offered yet
    before = len(story.log)
    story.do(e.HandRuledVoid("pit", "", story.now))
    assert story.types(before) == ["HandRuledVoid", "HandVoided", "BettingOpened"]
    story.run()
    story.hand(("ann", 1, "player", 1_000))
    assert story.state.hands_played == 1


def test_TAB_12_a_hand_that_waits_to_be_dealt_again_is_voided_with_its_antes() -> None:
    story = Story(game="casino_holdem", chips=("ann",))
    story.run()
    story.bet("ann", 1, "ante", 100)
    story.done("ann")
    story.do(e.CutChosen("ann", 0, story.now))
    story.run()
    story.do(e.IncidentReported("pit", "wrong_card_count", 0, "", story.now))
    assert story.state.hand is None
    story.do(e.HandRuledVoid("pit", "", story.now))
    assert free_chips(story.state, "ann") == story.state.seats["ann"].chips == 100_000
    story.run()
    assert story.last(e.BettingOpened).number == 1


def test_cards_that_come_after_the_hand_was_voided_are_refused() -> None:
    story = dealing()
    (cards,) = story.errands()
    fact = story.answer(cards)
    story.do(e.HandRuledVoid("pit", "why", story.now))
    assert refused(story, fact) == "BAD_POSITION"
