"""A table's shoe: who cuts it, whose seeds go into it, what belongs to it."""

from __future__ import annotations

from dataclasses import replace

from shared.table import events as e
from shared.table.next_step import RecordCut, SealShoe
from shared.table.state import open_deadline
from tests.unit.table.coups import (
    betting_closed_on_a_new_shoe,
    finish_shoe,
)
from tests.unit.table.story import SECOND, Story, refused


def test_a_cut_is_offered_to_the_lowest_box_and_moves_on_each_shoe() -> None:
    story = Story(chips=("ann", "bob"))
    story.hand(("bob", 2, "player", 1_000), ("ann", 5, "player", 1_000))
    assert story.last(e.CutOffered).player == "bob"
    finish_shoe(story)
    story.hand(("bob", 2, "player", 1_000), ("ann", 5, "player", 1_000))
    assert (story.last(e.CutOffered).player, story.last(e.CutOffered).box) == ("ann", 5)
    finish_shoe(story)
    story.hand(("bob", 2, "player", 1_000), ("ann", 5, "player", 1_000))
    assert story.last(e.CutOffered).player == "bob"


def test_a_cut_too_near_the_edge_is_refused_and_the_clock_runs_on() -> None:
    story = betting_closed_on_a_new_shoe()
    offered = story.last(e.CutOffered)
    assert (offered.player, offered.minimum, offered.maximum) == ("ann", 1, 415)
    assert offered.deadline == story.now + 10 * SECOND
    assert refused(story, e.CutChosen("bob", 100, story.now)) == "CUT_NOT_OFFERED"
    assert refused(story, e.CutChosen("ann", 416, story.later(1))) == "CUT_TOO_NEAR_EDGE"
    assert open_deadline(story.state) == offered.deadline
    assert refused(story, e.CutChosen("ann", 9, story.later(9))) == "CUT_NOT_OFFERED"


def test_the_chosen_place_is_what_shuffle_is_asked_for() -> None:
    story = betting_closed_on_a_new_shoe()
    story.do(e.CutChosen("ann", 100, story.now))
    (errand,) = story.errands()
    assert isinstance(errand, SealShoe)
    assert errand.record is not None
    assert (errand.record.player, errand.record.place) == ("ann", 100)
    assert refused(story, e.CutChosen("ann", 101, story.now)) == "CUT_NOT_OFFERED"


def test_no_answer_leaves_the_cut_to_the_dealer() -> None:
    story = betting_closed_on_a_new_shoe()
    story.expire()
    assert isinstance(story.log[-1], e.CutLeftToDealer)
    (errand,) = story.errands()
    assert isinstance(errand, SealShoe)
    assert errand.record is not None
    assert (errand.record.player, errand.record.place) == ("", 0)


def test_seeds_are_pledged_before_the_cut_and_revealed_after_it_is_on_record() -> None:
    story = Story(chips=("ann", "bob"))
    pledge = story.pledge("ann")
    assert refused(story, pledge) == "SEED_REFUSED"  # no shoe is offered yet
    story.run()
    assert refused(story, story.pledge("ann", b"p")) == "SEED_REFUSED"
    assert refused(story, replace(pledge, shoe_id="t1-s9")) == "SHOE_NOT_FOUND"
    story.do(pledge, story.pledge("bob", b"q" * 32))
    assert refused(story, pledge) == "SEED_REFUSED"
    story.bet("ann", 1, "player", 1_000)
    story.done("ann", "bob")
    reveal = e.SeedRevealed("ann", b"s" * 16, story.now)
    assert refused(story, reveal) == "SEED_REFUSED"
    story.do(e.CutChosen("ann", 7, story.now))
    assert refused(story, reveal) == "SEED_REFUSED"
    (errand,) = story.errands()
    assert isinstance(errand, RecordCut)
    assert errand.pledges == (("ann", b"p" * 32), ("bob", b"q" * 32))
    story.run(RecordCut)
    assert story.last(e.SeedsDue).deadline == story.now + 5 * SECOND
    assert story.errands() == ()
    assert refused(story, e.SeedRevealed("cid", b"s" * 16, story.now)) == "SEED_REFUSED"
    assert refused(story, e.SeedRevealed("ann", b"s", story.now)) == "SEED_REFUSED"
    story.do(reveal)
    assert refused(story, reveal) == "SEED_REFUSED"
    story.do(e.SeedRevealed("bob", b"t" * 16, story.now))
    (seal,) = story.errands()
    assert isinstance(seal, SealShoe)
    assert seal.record is None
    assert seal.reveals == (("ann", b"s" * 16), ("bob", b"t" * 16))
    story.run()
    assert isinstance(story.last(e.HandSettled), e.HandSettled)


def test_a_seed_that_is_not_revealed_in_time_is_left_out() -> None:
    story = Story(chips=("ann",))
    story.run()
    story.do(story.pledge("ann"))
    story.bet("ann", 1, "player", 1_000)
    story.done("ann")
    story.do(e.CutChosen("ann", 7, story.now))
    story.run(RecordCut)
    late = e.SeedRevealed("ann", b"s" * 16, story.now + 5 * SECOND)
    assert refused(story, late) == "SEED_REFUSED"
    story.expire()
    (seal,) = story.errands()
    assert isinstance(seal, SealShoe)
    assert seal.reveals == ()


def test_a_shoe_takes_32_seeds_and_no_more() -> None:
    players = tuple(f"p{n}" for n in range(33))
    story = Story(seats=33)
    story.run()
    for player in players:
        story.do(e.JoinAsked(player, story.now))
    for player in players[:32]:
        story.do(story.pledge(player, player.encode().ljust(32)))
    assert refused(story, story.pledge("p32")) == "SEED_REFUSED"


def test_answers_about_another_shoe_or_out_of_turn_are_refused() -> None:
    story = Story(chips=("ann",))
    at = story.now
    assert refused(story, e.ShoeOffered("x", b"c" * 32, at)) == "SHOE_NOT_FOUND"
    assert refused(story, e.CutRecorded("t1-s2", 5, at)) == "SHOE_NOT_CUT"
    assert refused(story, e.ShoeReady("t1-s2", b"r" * 32, 416, 5, at=at)) == "SHOE_SEALED"
    assert refused(story, e.ShoePutAway("t1-s2", at)) == "SHOE_NOT_FOUND"
    story.run()
    assert refused(story, e.ShoeOffered("t1-s2", b"c" * 32, at)) == "SHOE_EXISTS"


def test_what_belongs_to_a_shoe_that_is_gone_changes_nothing() -> None:
    story = Story()
    story.do(e.TableClosing("op", "", story.now))
    late = e.ShoeOffered("t1-s2", b"c" * 32, story.now)
    assert refused(story, late) == "TABLE_CLOSED"
