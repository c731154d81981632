"""Who owns a box, whom he lets in, and what becomes of it when he takes his bets back."""

from __future__ import annotations

import pytest

from shared.table import events as e
from tests.spec.tables import commands, deal, refused
from tests.unit.table.story import Story


def owners(story: Story) -> dict[int, str]:
    """Whose each box is in the open window."""
    assert story.state.betting is not None
    return dict(story.state.betting.owners)


def shared_box() -> Story:
    """Box 1 is ann's, and bob bets on it with her consent; cid and dee sit at the table."""
    story = Story("oasis_poker", chips=("ann", "bob", "cid", "dee"))
    story.bet("ann", 1, "ante", 100)
    story.do(e.BettorAdmitted("ann", 1, "bob", story.now))
    story.bet("bob", 1, "ante", 50)
    return story


def test_TAB_02_an_owner_who_changes_his_stake_is_the_owner_still() -> None:
    story = shared_box()
    story.bet("cid", 4, "ante", 100)
    story.bet("ann", 1, "ante", 150)
    story.do(e.BetsTakenBack("cid", 4, story.now))
    assert owners(story) == {1: "ann"}
    deal(story)
    (box,) = story.last(e.HandOpened).boxes
    assert (box.owner, [(bet.player, bet.stake) for bet in box.bets]) == (
        "ann",
        [("ann", 150), ("bob", 50)],
    )


def test_TAB_02_a_box_goes_to_the_next_bettor_in_the_order_of_the_first_bets() -> None:
    story = shared_box()
    story.do(e.BettorAdmitted("ann", 1, "cid", story.now))
    story.bet("cid", 1, "ante", 50)
    story.bet("bob", 1, "ante", 60)
    story.do(e.BetsTakenBack("ann", 1, story.now))
    assert owners(story) == {1: "bob"}


@pytest.mark.parametrize("passed_on", [False, True])
def test_TAB_02_consent_ends_with_the_owner_who_gave_it(passed_on: bool) -> None:
    """Neither who comes to own the box after him, nor who takes the empty box, has let them in."""
    story = shared_box()
    story.do(e.BettorAdmitted("ann", 1, "cid", story.now))
    if not passed_on:
        story.do(e.BetsTakenBack("bob", 1, story.now))
    story.do(e.BetsTakenBack("ann", 1, story.now))
    if not passed_on:
        story.bet("dee", 1, "ante", 100)
    assert owners(story) == {1: "bob" if passed_on else "dee"}
    guest = e.BetPlaced("cid", 1, "ante", 50, at=story.now)
    assert refused(story, guest) == "CONSENT_NEEDED"
    story.do(e.BettorAdmitted(owners(story)[1], 1, "cid", story.now))
    story.do(guest)


def test_TAB_02_who_bets_on_a_box_with_consent_goes_on_under_its_next_owner() -> None:
    story = shared_box()
    story.do(e.BettorAdmitted("ann", 1, "cid", story.now))
    story.bet("cid", 1, "ante", 50)
    story.do(e.BetsTakenBack("ann", 1, story.now))
    story.bet("cid", 1, "ante", 80)


def test_OAS_04_a_share_of_anothers_box_is_no_box_of_ones_own() -> None:
    """Two open boxes and a share of a third, open, box: nothing speaks against being done."""
    story = shared_box()
    story.bet("bob", 3, "ante", 100)
    story.bet("bob", 4, "ante", 100)
    assert "done_betting" in commands(story, "bob")
    story.done("bob")
    story.do(e.BetPlaced("bob", 4, "ante", 200, False, story.now, done=True))


def test_OAS_04_a_third_box_is_not_opened_by_placing_its_bet_anew() -> None:
    story = Story("oasis_poker", chips=("ann", "bob"))
    for box in (1, 2, 3):
        story.do(e.BetPlaced("ann", box, "ante", 100, box == 3, story.now))
    opened = e.BetPlaced("ann", 3, "ante", 200, False, story.now)
    assert refused(story, opened) == "TOO_MANY_OPEN_BOXES"
    story.bet("bob", 5, "ante", 100)


def test_OAS_04_a_bonus_says_nothing_of_whether_its_box_is_looked_at() -> None:
    story = Story("oasis_poker", chips=("ann",))
    story.do(e.BetPlaced("ann", 1, "ante", 100, True, story.now))
    story.bet("ann", 1, "bonus", 10)
    assert story.state.betting is not None
    assert story.state.betting.blind == {1}


def test_OAS_03_a_box_that_comes_to_lie_apart_from_its_next_owners_is_not_played() -> None:
    """Its bets go back at once: nobody else's do, and nobody else is kept from betting."""
    story = Story("oasis_poker", chips=("ann", "bob", "cid", "dee"))
    story.bet("ann", 2, "ante", 100)
    story.do(e.BettorAdmitted("ann", 2, "bob", story.now))
    story.bet("bob", 2, "ante", 100)
    for player, box in (("cid", 3), ("cid", 4), ("bob", 5)):
        story.bet(player, box, "ante", 100)
    story.do(e.BetsTakenBack("ann", 2, story.now))
    assert story.last(e.BetsReturned) == e.BetsReturned("bob", 2, "BOXES_NOT_ADJACENT")
    story.bet("dee", 1, "ante", 100)
    story.done("ann", "bob", "cid", "dee")
    assert owners(story) == {1: "dee", 3: "cid", 4: "cid", 5: "bob"}


def test_OAS_04_a_third_open_box_that_comes_to_a_player_is_not_played() -> None:
    story = shared_box()
    story.do(e.BettorAdmitted("ann", 1, "cid", story.now))
    story.bet("cid", 1, "ante", 50)
    story.bet("bob", 2, "ante", 100)
    story.bet("bob", 3, "ante", 100)
    story.do(e.BetsTakenBack("ann", 1, story.now))
    assert story.last(e.BetsReturned) == e.BetsReturned("bob", 1, "TOO_MANY_OPEN_BOXES")
    assert owners(story) == {1: "cid", 2: "bob", 3: "bob"}
