"""Shoes that nothing may be dealt from any more: what was dealt of them may have been seen."""

from __future__ import annotations

import pytest

from shared.errors import RuleError
from shared.table import events as e
from shared.table.next_step import PutAway
from shared.table.state import Status
from tests.unit.table.story import Story

# Burned are four; then the player's and the banker's first two cards: nobody has a natural.
NO_NATURAL = "3c 2c 2d 2h 2s 3d 3h 4d"
BANKER_WINS = "3c 2c 2d 2h 3c 9d Kc Kd"


def begun(cards: str = "") -> Story:
    """A shoe in use, and the next one opened."""
    story = Story(cards=cards, chips=("ann",))
    story.run()
    return story


def shoes_over(story: Story, first: int) -> list[e.ShoeFinished]:
    return [event for event in story.log[first:] if isinstance(event, e.ShoeFinished)]


def test_an_open_hand_is_void_and_both_shoes_go() -> None:
    story = begun(cards=NO_NATURAL)
    story.bet("ann", 1, "player", 1_000)
    story.done("ann")
    story.do(e.CutChosen("ann", 0, story.now))
    while story.state.hand is None:
        story.do(story.answer(story.errands()[0]))
    shoe, following = story.state.shoe, story.state.next_shoe
    assert shoe is not None
    assert following is not None
    hand_id, before = story.last(e.HandOpened).hand_id, len(story.log)
    story.do(e.ShoesLost("log_recovered", story.now))
    assert story.types(before) == [
        "ShoesLost",
        "HandVoided",
        "ShoeFinished",
        "ShoeFinished",
        "ShoeRequested",
        "BettingOpened",
    ]
    assert story.last(e.HandVoided) == e.HandVoided(hand_id, "log_recovered")
    assert shoes_over(story, before) == [
        e.ShoeFinished(shoe.shoe_id, "log_recovered"),
        e.ShoeFinished(following.shoe_id, "log_recovered"),
    ]
    assert story.state.seats["ann"].chips == 100_000
    due = [x for x in story.errands() if isinstance(x, PutAway)]
    assert {(x.shoe_id, x.why) for x in due} == {
        (shoe.shoe_id, "log_recovered"),
        (following.shoe_id, "log_recovered"),
    }
    story.run()
    story.hand(("ann", 1, "player", 1_000))
    assert story.last(e.HandOpened).shoe_id not in {shoe.shoe_id, following.shoe_id}


@pytest.mark.parametrize("cut_offered", [False, True])
def test_bets_that_wait_for_cards_go_back(cut_offered: bool) -> None:
    story = begun()
    story.bet("ann", 1, "player", 1_000)
    if cut_offered:
        story.done("ann")
    hand_id = story.last(e.BettingOpened).hand_id
    story.do(e.ShoesLost("log_recovered", story.now))
    assert story.last(e.HandVoided) == e.HandVoided(hand_id, "log_recovered")
    assert story.state.betting is not None
    assert story.state.betting.bets == ()
    assert story.last(e.BettingOpened).hand_id != hand_id


def test_where_nobody_has_bet_only_the_shoe_is_changed() -> None:
    story = begun()
    before = len(story.log)
    story.do(e.ShoesLost("log_recovered", story.now))
    assert story.types(before) == ["ShoesLost", "ShoeFinished", "ShoeRequested"]


def test_commission_is_settled_with_the_shoe_that_goes() -> None:
    story = begun(cards=BANKER_WINS)
    story.hand(("ann", 1, "banker", 10_000))
    assert story.state.seats["ann"].owed == 500
    before = len(story.log)
    story.do(e.ShoesLost("log_recovered", story.now))
    assert story.types(before)[:2] == ["ShoesLost", "CommissionTaken"]
    assert story.state.seats["ann"].owed == 0


def test_a_table_that_is_closing_still_closes() -> None:
    story = begun()
    story.bet("ann", 1, "player", 1_000)
    story.do(e.TableClosing("pit", "late", story.now))
    story.do(e.ShoesLost("log_recovered", story.now))
    story.run()
    assert story.state.status is Status.CLOSED
    assert story.last(e.CashOutRequested) == e.CashOutRequested("ann", 100_000)


def test_it_may_be_said_twice() -> None:
    story = begun()
    story.do(e.ShoesLost("log_recovered", story.now), e.ShoesLost("log_recovered", story.now))
    story.run()
    story.hand(("ann", 1, "player", 1_000))
    assert "HandSettled" in story.types()


def test_a_shoe_that_the_table_has_not_any_more_is_no_loss() -> None:
    """An answer about the shoe of a void hand may come long after the next hand began."""
    story = begun()
    assert story.state.shoe is not None
    before = story.state.shoe.shoe_id
    story.do(e.ShoesLost("shoe_retired", story.now, before))
    story.run()
    story.bet("ann", 1, "player", 1_000)
    with pytest.raises(RuleError, match="no such shoe"):
        story.do(e.ShoesLost("shoe_retired", story.now, before))


def test_why_is_one_of_two() -> None:
    story = begun()
    story.do(e.ShoesLost("shoe_retired", story.now))
    assert story.last(e.ShoeFinished).why == "shoe_retired"
    with pytest.raises(RuleError, match="log_recovered"):
        story.do(e.ShoesLost("", story.now))
