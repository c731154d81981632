"""Two shoes alternate: the next one is opened and pledged for while the present one is played."""

from __future__ import annotations

import pytest

from shared.errors import RuleError
from shared.table import events as e
from shared.table.envelope import hand_ids
from shared.table.next_step import Cards, OpenShoe, PutAway, SealShoe
from shared.table.state import Shoe
from shared.table.view import player_view, public_view
from tests.unit.table.coups import NATURAL
from tests.unit.table.story import Story


def shoes(story: Story) -> tuple[str, str]:
    """The shoe in use and the next one ("": none)."""
    both = (story.state.shoe, story.state.next_shoe)
    in_use, following = (shoe.shoe_id if shoe is not None else "" for shoe in both)
    return in_use, following


def following(story: Story) -> Shoe:
    assert story.state.next_shoe is not None
    return story.state.next_shoe


def in_first_hand(game: str = "baccarat") -> Story:
    """A hand for which the first shoe has just been sealed; its cards are due."""
    story = Story(game, cards=NATURAL, chips=("ann", "bob"))
    story.run(OpenShoe)
    bet(story)
    story.run(SealShoe)
    return story


def bet(story: Story) -> None:
    """Ann bets, and leaves the cut to the dealer."""
    wagers = story.state.table.game.WAGERS
    story.bet("ann", 1, wagers[0], 1_000)
    story.done("ann", *(player for player in story.state.seats if player != "ann"))
    story.do(e.CutChosen("ann", 0, story.now))


def play_on(story: Story) -> None:
    """The hand to its end; whoever is to decide lets the clock do it."""
    story.run()
    while story.state.hand is not None:
        story.expire()
        story.run()


def test_the_next_shoe_is_asked_for_as_soon_as_the_first_is_sealed() -> None:
    story = Story(chips=("ann",))
    story.run()
    assert shoes(story) == ("t1-s2", "")
    story = in_first_hand()
    assert story.last(e.ShoeRequested).shoe_id == shoes(story)[1]
    errand = next(x for x in story.errands() if isinstance(x, OpenShoe))
    assert errand.shoe_id == shoes(story)[1]
    # The hand does not wait for it.
    assert any(isinstance(x, Cards) for x in story.errands())
    story.run(Cards)
    assert story.last(e.HandSettled).result == "player"
    assert not following(story).offered


def test_at_the_end_of_a_shoe_the_next_one_is_already_there() -> None:
    """One deck a hand: no second hand asks for a shoe to be opened before its cards."""
    story = in_first_hand("casino_holdem")
    story.run(OpenShoe)
    first, second = shoes(story)
    while story.state.hand is not None:
        story.run(Cards)
        if story.state.deciding is not None:
            story.expire()
    assert story.last(e.ShoeFinished) == e.ShoeFinished(first, "played")
    assert shoes(story) == (second, "")
    assert story.state.shoe is not None
    assert story.state.shoe.offered
    assert not any(isinstance(x, OpenShoe) for x in story.errands())
    assert [x.shoe_id for x in story.errands() if isinstance(x, PutAway)] == [first]
    opened = story.last(e.BettingOpened)
    assert (opened.shoe_id, opened.next_position) == (second, 0)


def test_seeds_for_the_next_shoe_are_pledged_while_the_present_one_is_played() -> None:
    story = in_first_hand()
    words = {o.word for o in player_view(story.state, "ann").options if o.command == "pledge_seed"}
    assert words == set()  # not offered yet
    story.run(OpenShoe)
    words = {o.word for o in player_view(story.state, "ann").options if o.command == "pledge_seed"}
    assert words == {following(story).shoe_id}
    story.do(story.pledge("ann"))
    assert following(story).pledges == (("ann", b"p" * 32),)
    assert story.state.shoe is not None
    assert story.state.shoe.pledges == ()
    with pytest.raises(RuleError, match="one seed a player"):
        story.do(story.pledge("ann"))
    view = public_view(story.state)
    assert (view.next_shoe.shoe_id, view.next_shoe.commitment) == (
        following(story).shoe_id,
        b"c" * 32,
    )


def test_what_concerns_the_next_shoe_belongs_to_no_hand() -> None:
    story = in_first_hand()
    before = story.state
    asked = next(x for x in story.errands() if isinstance(x, OpenShoe))
    events = story.do(story.answer(asked))
    assert hand_ids(before, events) == [""]
    before = story.state
    assert hand_ids(before, story.do(story.pledge("bob"))) == [""]
    first = Story(chips=("ann",))
    before = first.state
    assert hand_ids(before, first.run(OpenShoe)) == ["t1-3"]


def test_the_pledge_of_a_player_who_leaves_before_the_cut_is_forgotten() -> None:
    """Else every later shoe would wait for a seed that nobody can open."""
    story = in_first_hand()
    story.run(OpenShoe)
    story.do(story.pledge("ann"), story.pledge("bob", b"q" * 32))
    story.run()
    story.do(e.LeaveRequested("bob", story.now))
    assert following(story).pledges == (("ann", b"p" * 32),)


def test_a_pledge_stands_once_the_shoe_is_being_cut() -> None:
    story = Story(chips=("ann", "bob"))
    story.run()
    story.do(story.pledge("bob"))
    story.bet("ann", 1, "player", 1_000)
    story.done("ann", "bob")
    story.do(e.LeaveRequested("bob", story.now))
    story.do(e.CutChosen("ann", 7, story.now))
    assert story.state.shoe is not None
    assert story.state.shoe.pledges == (("bob", b"p" * 32),)


def test_a_shoe_spoiled_in_mid_hand_is_followed_by_the_next() -> None:
    story = in_first_hand()
    story.run(OpenShoe)
    first, second = shoes(story)
    story.run(Cards)
    story.bet("ann", 1, "player", 1_000)
    story.done("ann", "bob")
    story.do(e.HandRuledVoid("pit", "", story.now))
    assert story.last(e.ShoeFinished) == e.ShoeFinished(first, "void")
    assert shoes(story) == (second, "")


def test_a_table_that_closes_gives_back_both_shoes_and_asks_for_no_third() -> None:
    story = in_first_hand()
    story.run()
    first, second = shoes(story)
    story.do(e.TableClosing("pit", "late", story.now))
    over = [event for event in story.log if isinstance(event, e.ShoeFinished)]
    assert over == [e.ShoeFinished(first, "table_closed"), e.ShoeFinished(second, "table_closed")]
    assert shoes(story) == ("", "")
    story.run()
    assert not story.state.putting_away


def test_a_shoe_is_used_once_and_never_comes_back() -> None:
    """Over hands of one deck each: every shoe is asked for, dealt from and put away once, in
    turn."""
    story = Story("casino_holdem", chips=("ann",))
    for _ in range(6):
        story.run()
        bet(story)
        play_on(story)
    requested = [event.shoe_id for event in story.log if isinstance(event, e.ShoeRequested)]
    used = [event.shoe_id for event in story.log if isinstance(event, e.HandOpened)]
    finished = [event.shoe_id for event in story.log if isinstance(event, e.ShoeFinished)]
    assert len(requested) == len(set(requested)) == 7
    assert used == finished == requested[:6]
    assert shoes(story) == (requested[6], "")
