"""Baccarat at a live table, and what it shares with all: chips, cuts, frozen settings, clocks."""

from __future__ import annotations

import json

import pytest

from shared.table import events as e
from shared.table.next_step import Cards, OpenShoe, RecordCut, SealShoe
from shared.table.state import next_clock
from shared.table.view import public_view
from tests.spec.tables import chips, commands, deal, play_on, refused
from tests.unit.table.story import SECOND, Story

HOUSE_GAMES = {
    "baccarat": "player",
    "battle": "stake",
    "casino_holdem": "ante",
    "oasis_poker": "ante",
}


def closed(story: Story, *bets: tuple[str, int]) -> Story:
    """Betting on a new shoe is over; somebody is offered the cut."""
    story.run(OpenShoe)
    wager = HOUSE_GAMES[story.state.table.game.NAME]
    for player, box in bets:
        story.bet(player, box, wager, 1_000)
    story.done(*story.state.seats)
    return story


@pytest.mark.parametrize("game", HOUSE_GAMES)
def test_TAB_04_chips_are_bought_and_cashed_between_hands_only(game: str) -> None:
    story = Story(game, chips=("ann", "bob"))
    story.bet("ann", 1, HOUSE_GAMES[game], 1_000)
    story.do(e.ChipsRequested("bob", 50, story.now))
    story.do(e.CashOutAsked("ann", 500, story.now))  # not what she has bet
    assert refused(story, e.CashOutAsked("ann", 98_501, story.now)) == "INSUFFICIENT_CHIPS"
    closed(story)
    for fact in (e.ChipsRequested("ann", 50, story.now), e.CashOutAsked("bob", 50, story.now)):
        assert refused(story, fact) == "HAND_RUNNING"
    while story.state.hand is None:
        story.run(OpenShoe, SealShoe)
        if story.state.shoe is not None and story.state.shoe.cut_deadline:
            story.expire()
        cards = [x for x in story.errands() if isinstance(x, Cards)]
        if cards and story.state.hand is None:
            story.do(story.answer(cards[0]))
    for fact in (e.ChipsRequested("ann", 50, story.now), e.CashOutAsked("bob", 50, story.now)):
        assert refused(story, fact) == "HAND_RUNNING"
    assert not {"buy_chips", "cash_out"} & (commands(story, "ann") | commands(story, "bob"))
    # What was asked for before arrives, and is played with in the next hand.
    story.run()
    while story.state.hand is not None:
        story.expire()
        story.run()
    assert chips(story, "bob") == 100_050
    story.do(e.ChipsRequested("ann", 50, story.now), e.CashOutAsked("bob", 0, story.now))
    assert chips(story, "bob") == 0


def test_TAB_05_who_sits_out_is_not_waited_for() -> None:
    story = Story(chips=("ann", "bob"))
    story.do(e.SitOutChanged("bob", True, story.now))
    story.bet("ann", 1, "player", 1_000)
    story.done("ann")
    assert story.state.betting is not None
    assert story.state.betting.closed


def test_TAB_09_the_cut_goes_to_the_lowest_box_and_moves_on_by_one_with_every_shoe() -> None:
    story = Story("oasis_poker", chips=("ann", "bob", "cid"))
    offered = []
    for _ in range(5):
        closed(story, ("bob", 2), ("ann", 4), ("cid", 5))
        offered.append((story.last(e.CutOffered).player, story.last(e.CutOffered).box))
        play_on(story)
        while story.state.hand is not None:
            story.expire()
            play_on(story)
    assert offered == [("bob", 2), ("ann", 4), ("cid", 5), ("bob", 2), ("ann", 4)]


def test_TAB_09_only_the_player_who_is_offered_it_cuts_and_only_in_time() -> None:
    story = closed(Story(chips=("ann", "bob")), ("ann", 1), ("bob", 2))
    assert "cut_shoe" in commands(story, "ann")
    assert "cut_shoe" not in commands(story, "bob")
    assert public_view(story.state).shoe.cut_player == "ann"
    assert refused(story, e.CutChosen("bob", 9, story.now)) == "CUT_NOT_OFFERED"
    assert refused(story, e.CutChosen("ann", 9, story.later(10))) == "CUT_NOT_OFFERED"


def test_TAB_09_one_too_near_an_edge_is_refused_and_the_clock_goes_on() -> None:
    story = closed(Story(chips=("ann",)), ("ann", 1))
    deadline = story.last(e.CutOffered).deadline
    for place in (416, 417, -1):
        assert refused(story, e.CutChosen("ann", place, story.later(1))) == "CUT_TOO_NEAR_EDGE"
    assert next_clock(story.state) == ("cut", deadline)
    story.do(e.CutChosen("ann", 415, story.now))
    story.run()
    assert story.last(e.ShoeReady).cut_place == 415


@pytest.mark.parametrize("declines", [True, False])
def test_TAB_09_a_player_who_declines_or_runs_out_of_time_leaves_it_to_the_dealer(
    declines: bool,
) -> None:
    story = closed(Story(chips=("ann",)), ("ann", 1))
    if declines:
        story.do(e.CutChosen("ann", 0, story.now))
    else:
        story.expire()
    assert isinstance(story.log[-1], e.CutLeftToDealer)
    (sealing,) = (x for x in story.errands() if isinstance(x, SealShoe))
    assert sealing.record is not None
    assert (sealing.record.player, sealing.record.place) == ("", 0)  # shuffle draws the place


def test_BAC_03_the_shoe_is_cut_a_card_from_either_edge_at_least() -> None:
    story = closed(Story(chips=("ann",)), ("ann", 1))
    offered = story.last(e.CutOffered)
    assert (offered.minimum, offered.maximum) == (1, 415)


def test_BAC_01_nobody_bets_on_both_sides_on_whatever_boxes() -> None:
    story = Story(chips=("ann", "bob"))
    story.bet("ann", 1, "player", 1_000)
    for box in (1, 2):
        both = e.BetPlaced("ann", box, "banker", 1_000, at=story.now)
        assert refused(story, both) == "BOTH_SIDES"
    story.bet("bob", 2, "banker", 1_000)
    story.do(e.BettorAdmitted("bob", 2, "ann", story.now))
    assert refused(story, e.BetPlaced("ann", 2, "banker", 1_000, at=story.now)) == "BOTH_SIDES"
    story.do(e.BetsTakenBack("ann", 1, story.now))
    story.bet("ann", 2, "banker", 1_000)


def test_BAC_09b_a_banker_stake_with_a_fraction_of_commission_is_refused_as_it_is_placed() -> None:
    story = Story(chips=("ann",))
    odd = e.BetPlaced("ann", 1, "banker", 1_010, at=story.now)
    assert refused(story, odd) == "STAKE_NOT_DIVISIBLE"
    story.bet("ann", 1, "player", 1_010)


def test_TAB_11_limits_and_settings_can_be_read_before_betting_and_do_not_change() -> None:
    rules = {"min": 100, "max": 5_000, "max_payout": 50_000, "commission_percent": 4}
    story = Story(rules=json.dumps(rules), chips=("ann",))
    assert json.loads(public_view(story.state).table.rules_json) == rules
    config = story.state.config
    story.bet("ann", 1, "banker", 1_000)
    again = e.TableOpened("t1", "One", "baccarat", 1, "{}", "EUR", at=story.now)
    assert refused(story, again) == "TABLE_EXISTS"
    story.done("ann")
    play_on(story)
    assert story.state.config is config
    assert json.loads(story.last(e.HandOpened).rules_json) == rules
    assert isinstance(story.last(e.HandSettled), e.HandSettled)


def test_TAB_07_a_table_whose_max_payout_is_below_three_times_its_maximum_is_refused() -> None:
    with pytest.raises(Exception, match="max payout") as refusal:
        Story("oasis_poker", rules='{"max": 100, "max_payout": 299}')
    assert getattr(refusal.value, "field", "") == "max_payout"
    Story("oasis_poker", rules='{"max": 100, "max_payout": 300}')


def test_TAB_13_whoever_cuts_does_it_before_anybody_can_know_the_order() -> None:
    """The cut is on record before any seed of the players is opened, and no card is asked for
    before the shoe is sealed."""
    story = Story(chips=("ann",))
    story.run()
    story.do(story.pledge("ann"))
    closed(story, ("ann", 1))
    assert refused(story, e.SeedRevealed("ann", b"s" * 16, story.now)) == "SEED_REFUSED"
    story.do(e.CutChosen("ann", 200, story.now))
    assert refused(story, e.SeedRevealed("ann", b"s" * 16, story.now)) == "SEED_REFUSED"
    assert [type(errand) for errand in story.errands()] == [RecordCut]
    story.run(RecordCut)
    story.do(e.SeedRevealed("ann", b"s" * 16, story.now))
    assert [type(errand) for errand in story.errands()] == [SealShoe]
    story.run()
    order = [
        name
        for name in story.types()
        if name in ("CutChosen", "CutRecorded", "SeedRevealed", "ShoeReady", "CardsDue")
    ]
    assert order[:5] == ["CutChosen", "CutRecorded", "SeedRevealed", "ShoeReady", "CardsDue"]


def test_TAB_06_an_outage_leaves_the_clock_of_a_decision_its_warning_and_ten_seconds() -> None:
    story = deal(Story("casino_holdem", chips=("ann",)), ("ann", 1, "ante", 100))
    story.do(e.TableClaimed("n2", 2, story.later(299)))
    moved = story.last(e.DeadlineMoved)
    assert (moved.clock, moved.deadline) == ("decision", story.now + 10 * SECOND)
    assert moved.warn_at == story.now
    story.do(e.DecisionMade("ann", 1, "bet", at=story.later(9)))


def test_TAB_02_a_further_bettor_owns_the_box_once_its_owner_has_taken_his_bets_back() -> None:
    story = Story(chips=("ann", "bob"))
    story.bet("ann", 1, "player", 1_000)
    story.do(e.BettorAdmitted("ann", 1, "bob", story.now))
    story.bet("bob", 1, "tie", 500)
    story.do(e.BetsTakenBack("ann", 1, story.now))
    again = e.BetPlaced("ann", 1, "player", 1_000, at=story.now)
    assert refused(story, again) == "CONSENT_NEEDED"
