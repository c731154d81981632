"""A table from its first event: seats, chips, betting and hands."""

from __future__ import annotations

import pytest

from shared.errors import CroupierError
from shared.games.play import Face
from shared.table import events as e
from shared.table.decide import decide
from shared.table.envelope import hand_ids
from shared.table.next_step import Chips, OpenShoe, SealShoe, next_step
from shared.table.state import Status, TableState, free_chips, open_deadline
from tests.unit.table.coups import (
    BANKER,
    NATURAL,
    betting_closed_on_a_new_shoe,
)
from tests.unit.table.story import CLOCKS, SECOND, START, Story, refused


def test_nothing_happens_at_a_table_that_was_never_opened() -> None:
    with pytest.raises(CroupierError) as error:
        decide(TableState(), e.JoinAsked("ann", START))
    assert error.value.reason == "TABLE_NOT_FOUND"
    with pytest.raises(LookupError):
        _ = TableState().table


def test_a_table_opens_once_with_settings_that_hold() -> None:
    story = Story()
    again = e.TableOpened("t1", "One", "baccarat", 1, "{}", "EUR", CLOCKS, 7, START)
    assert refused(story, again) == "TABLE_EXISTS"
    for rules, version, reason in (
        ('{"min": 10, "max": 5}', 1, "BAD_SETTING"),
        ("{}", 2, "BAD_SETTING"),
    ):
        opened = e.TableOpened("t2", "Two", "baccarat", version, rules, "EUR", CLOCKS, 7, START)
        with pytest.raises(CroupierError) as error:
            decide(TableState(), opened)
        assert error.value.reason == reason


def test_a_new_table_asks_for_a_shoe_and_opens_betting() -> None:
    story = Story()
    assert story.types() == ["TableOpened", "ShoeRequested", "BettingOpened", "TableClaimed"]
    assert story.state.betting is not None
    assert story.state.betting.hand_id == "t1-3"
    (errand,) = story.errands()
    assert isinstance(errand, OpenShoe)
    assert (errand.decks, errand.cut_low, errand.cut_high) == (8, 1, 415)
    assert (errand.behind_cut_card, errand.publish) == (7, True)


def test_an_epoch_is_claimed_once() -> None:
    story = Story()
    assert refused(story, e.TableClaimed("n2", 1, story.now)) == "STALE_EPOCH"
    story.do(e.TableClaimed("n2", 2, story.now))
    assert (story.state.node, story.state.epoch) == ("n2", 2)


def test_seats_are_taken_once_and_only_as_many_as_there_are() -> None:
    story = Story(seats=1)
    story.do(e.JoinAsked("ann", story.now))
    assert refused(story, e.JoinAsked("ann", story.now)) == "ALREADY_SEATED"
    assert refused(story, e.JoinAsked("bob", story.now)) == "TABLE_FULL"
    assert refused(story, e.LeaveRequested("bob", story.now)) == "NOT_SEATED"


def test_chips_are_playable_when_they_arrive_and_only_once() -> None:
    story = Story()
    story.do(e.JoinAsked("ann", story.now))
    assert refused(story, e.ChipsRequested("ann", 0, story.now)) == "BAD_AMOUNT"
    story.do(e.ChipsRequested("ann", 500, story.now))
    assert free_chips(story.state, "ann") == 0
    assert refused(story, e.ChipsRequested("ann", 1, story.now)) == "CHIPS_PENDING"
    errand = next(x for x in story.errands() if isinstance(x, Chips))
    assert (errand.player, errand.amount) == ("ann", 500)
    wrong = e.ChipsArrived("ann", 501, errand.request_id, story.now)
    assert refused(story, wrong) == "BAD_REQUEST"
    arrived = e.ChipsArrived("ann", 500, errand.request_id, story.now)
    story.do(arrived)
    assert free_chips(story.state, "ann") == 500
    assert refused(story, arrived) == "BAD_REQUEST"


def test_refused_chips_may_be_asked_for_again() -> None:
    story = Story()
    story.do(e.JoinAsked("ann", story.now), e.ChipsRequested("ann", 500, story.now))
    errand = next(x for x in story.errands() if isinstance(x, Chips))
    story.do(e.ChipsDenied("ann", 500, errand.request_id, "INSUFFICIENT_FUNDS", story.now))
    assert free_chips(story.state, "ann") == 0
    story.do(e.ChipsRequested("ann", 400, story.now))
    assert next(x for x in story.errands() if isinstance(x, Chips)).amount == 400


def test_cashing_sends_all_free_chips_or_a_part_of_them() -> None:
    story = Story(chips=("ann",), amount=1_000)
    assert refused(story, e.CashOutAsked("ann", -1, story.now)) == "BAD_AMOUNT"
    assert refused(story, e.CashOutAsked("ann", 1_001, story.now)) == "INSUFFICIENT_CHIPS"
    story.do(e.CashOutAsked("ann", 300, story.now))
    assert story.last(e.CashOutRequested) == e.CashOutRequested("ann", 300)
    story.do(e.CashOutAsked("ann", 0, story.now))
    assert story.last(e.CashOutRequested) == e.CashOutRequested("ann", 700)
    assert refused(story, e.CashOutAsked("ann", 0, story.now)) == "INSUFFICIENT_CHIPS"


def test_chips_that_arrive_after_the_player_left_go_straight_back() -> None:
    story = Story()
    story.do(e.JoinAsked("ann", story.now), e.ChipsRequested("ann", 500, story.now))
    story.do(e.LeaveRequested("ann", story.now))
    assert "ann" not in story.state.seats
    story.run()
    assert story.last(e.CashOutRequested) == e.CashOutRequested("ann", 500)
    assert not story.state.late_chips
    assert not story.state.going_back


def test_late_chips_do_not_touch_the_seat_that_the_player_took_again() -> None:
    story = Story()
    story.do(e.JoinAsked("ann", story.now), e.ChipsRequested("ann", 500, story.now))
    story.do(e.LeaveRequested("ann", story.now), e.JoinAsked("ann", story.now))
    story.run()
    assert story.state.seats["ann"].chips == 0
    assert story.last(e.CashOutRequested) == e.CashOutRequested("ann", 500)


def test_late_chips_that_are_refused_are_forgotten() -> None:
    story = Story()
    story.do(e.JoinAsked("ann", story.now), e.ChipsRequested("ann", 500, story.now))
    errand = next(x for x in story.errands() if isinstance(x, Chips))
    story.do(e.LeaveRequested("ann", story.now))
    story.do(e.ChipsDenied("ann", 500, errand.request_id, "ACCOUNT_BLOCKED", story.now))
    assert not any(isinstance(x, Chips) for x in story.errands())


def test_a_coup_from_the_first_bet_to_the_next_window() -> None:
    story = Story(cards=NATURAL, chips=("ann", "bob"))
    events = story.hand(("ann", 1, "player", 1_000), ("bob", 3, "banker", 500))
    names = [type(event).__name__ for event in events]
    assert names == [
        "BetPlaced",
        "BettingClockStarted",
        "BetPlaced",
        "BetsDone",
        "BetsDone",
        "BettingClosed",
        "ShoeOffered",
        "CutOffered",
        "CutChosen",
        "CutLeftToDealer",
        "ShoeReady",
        "ShoeRequested",
        "CardsDue",
        "ShoeOffered",
        "CardsDealt",
        "CardsDue",
        "CardsDealt",
        "HandOpened",
        "CardsDue",
        "CardsDealt",
        "HandSettled",
        "BettingOpened",
    ]
    settled = story.last(e.HandSettled)
    assert settled.result == "player"
    assert settled.lines == (
        e.SettledLine(1, "ann", "player", 1_000, 2_000),
        e.SettledLine(3, "bob", "banker", 500, 0),
    )
    assert story.state.seats["ann"].chips == 101_000
    assert story.state.seats["bob"].chips == 99_500
    opened = story.last(e.HandOpened)
    assert opened.stacks == (e.Stack("ann", 100_000), e.Stack("bob", 100_000))
    assert (opened.next_position, opened.shoe_id) == (4, "t1-s2")
    assert opened.rules_json == "{}"


def test_every_event_between_the_windows_opening_and_the_end_belongs_to_the_hand() -> None:
    story = Story(cards=NATURAL, chips=("ann",))
    before = story.state
    events = story.hand(("ann", 1, "player", 1_000))
    ids = hand_ids(before, events)
    by_name = dict(zip((type(event).__name__ for event in events), ids, strict=True))
    assert by_name["BetPlaced"] == by_name["CardsDealt"] == by_name["HandSettled"] == "t1-3"
    assert by_name["BettingOpened"] == story.last(e.BettingOpened).hand_id != "t1-3"
    chips: list[e.Event] = [e.ChipsRequested("ann", 1, START), e.BetsDone("ann", START)]
    assert hand_ids(before, chips) == ["", "t1-3"]
    assert hand_ids(TableState(), [e.TableOpened(at=START)]) == [""]


def test_a_bet_may_be_changed_and_taken_back_while_betting_is_open() -> None:
    story = Story(chips=("ann", "bob"))
    story.bet("ann", 1, "player", 1_000)
    story.bet("ann", 1, "player", 3_000)
    assert story.state.betting is not None
    assert story.state.betting.bets == ((1, "ann", "player", 3_000),)
    assert free_chips(story.state, "ann") == 97_000
    assert refused(story, e.BetsTakenBack("bob", 1, story.now)) == "NO_BETS"
    story.do(e.BetsTakenBack("ann", 1, story.now))
    assert free_chips(story.state, "ann") == 100_000
    assert open_deadline(story.state) == 0  # the clock starts with the next first bet


def test_the_next_first_bettor_owns_a_box_whose_owner_took_his_bets_back() -> None:
    story = Story(chips=("ann", "bob"))
    story.bet("ann", 1, "player", 1_000)
    story.do(e.BettorAdmitted("ann", 1, "bob", story.now))
    story.bet("bob", 1, "tie", 500)
    story.do(e.BetsTakenBack("ann", 1, story.now))
    assert story.state.betting is not None
    assert dict(story.state.betting.owners) == {1: "bob"}


def test_a_bet_is_checked_as_it_is_placed() -> None:
    story = Story(rules='{"min": 100, "max": 5000}', chips=("ann",), amount=4_000)
    at = story.now
    assert refused(story, e.BetPlaced("bob", 1, "player", 100, at=at)) == "NOT_SEATED"
    assert refused(story, e.BetPlaced("ann", 1, "ante", 100, at=at)) == "BAD_STAKE"
    assert refused(story, e.BetPlaced("ann", 1, "player", 0, at=at)) == "BAD_STAKE"
    assert refused(story, e.BetPlaced("ann", 8, "player", 100, at=at)) == "TOO_MANY_BOXES"
    assert refused(story, e.BetPlaced("ann", 1, "player", 4_001, at=at)) == "INSUFFICIENT_CHIPS"
    assert refused(story, e.BetPlaced("ann", 1, "player", 5_001, at=at)) == "STAKE_ABOVE_MAXIMUM"
    story.do(e.SitOutChanged("ann", True, at))
    assert refused(story, e.BetPlaced("ann", 1, "player", 100, at=at)) == "NOT_SEATED"


def test_done_with_too_little_on_a_box_is_refused() -> None:
    story = Story(rules='{"min": 100}', chips=("ann",))
    story.bet("ann", 1, "tie", 50)
    assert refused(story, e.BetsDone("ann", story.now)) == "STAKE_BELOW_MINIMUM"
    story.bet("ann", 1, "player", 50)
    story.done("ann")
    assert "BettingClosed" in story.types()
    assert refused(story, e.BetsDone("ann", story.now)) == "BETTING_CLOSED"


def test_a_last_bet_says_that_it_is_the_last() -> None:
    story = Story(rules='{"min": 100}', chips=("ann", "bob"))
    small = e.BetPlaced("ann", 1, "tie", 50, at=story.now, done=True)
    assert refused(story, small) == "STAKE_BELOW_MINIMUM"
    story.bet("ann", 1, "tie", 50)
    story.do(e.BetPlaced("ann", 1, "player", 50, at=story.now, done=True))
    assert story.state.seats["ann"].done
    story.bet("ann", 2, "player", 100)
    assert not story.state.seats["ann"].done, "another bet: not the last after all"
    story.do(e.BetPlaced("ann", 2, "player", 200, at=story.now, done=True))
    assert "BettingClosed" not in story.types(), "bob has not said so"
    story.do(e.BetPlaced("bob", 3, "banker", 100, at=story.now, done=True))
    assert isinstance(story.log[-1], e.BettingClosed)
    assert "BetsDone" not in story.types()


def test_betting_closes_when_its_clock_runs_out() -> None:
    story = Story(chips=("ann", "bob"))
    story.bet("ann", 1, "player", 1_000)
    assert story.last(e.BettingClockStarted).deadline == START + 15 * SECOND
    early = e.ClockExpired(open_deadline(story.state), story.later(14), "betting")
    assert refused(story, early) == "DECISION_NOT_DUE"
    story.expire()
    assert isinstance(story.log[-1], e.BettingClosed)
    for late in (
        e.BetPlaced("bob", 2, "tie", 100, at=story.now),
        e.BetsTakenBack("ann", 1, story.now),
        e.BetsDone("bob", story.now),
        e.BettorAdmitted("ann", 1, "bob", story.now),
    ):
        assert refused(story, late) == "BETTING_CLOSED"
    assert refused(story, e.ChipsRequested("bob", 1, story.now)) == "HAND_RUNNING"
    assert refused(story, e.CashOutAsked("bob", 1, story.now)) == "HAND_RUNNING"


def test_what_arrives_at_the_deadline_is_too_late_even_before_the_clock_says_so() -> None:
    story = Story(chips=("ann", "bob"))
    story.bet("ann", 1, "player", 1_000)
    at = story.later(15)
    assert refused(story, e.BetPlaced("bob", 2, "tie", 100, at=at)) == "BETTING_CLOSED"
    assert refused(story, e.BetsTakenBack("ann", 1, at)) == "BETTING_CLOSED"
    assert refused(story, e.BetsDone("bob", at)) == "BETTING_CLOSED"


def test_bets_too_small_for_the_table_go_back_as_betting_closes() -> None:
    story = Story(rules='{"min": 100}', chips=("ann", "bob"))
    story.bet("ann", 1, "tie", 50)
    story.bet("bob", 2, "player", 100)
    story.expire()
    assert story.last(e.BetsReturned) == e.BetsReturned("ann", 1, "STAKE_BELOW_MINIMUM")
    assert isinstance(story.log[-1], e.BettingClosed)


def test_betting_goes_on_when_no_bet_stands_at_its_end() -> None:
    story = Story(rules='{"min": 100}', chips=("ann",))
    story.bet("ann", 1, "tie", 50)
    story.expire()
    assert isinstance(story.log[-1], e.BetsReturned)
    assert open_deadline(story.state) == 0
    story.bet("ann", 1, "tie", 100)
    assert open_deadline(story.state) == story.now + 15 * SECOND


def test_betting_closes_early_when_nobody_who_could_bet_wants_to() -> None:
    story = Story(chips=("ann", "bob"))
    story.do(e.JoinAsked("cid", story.now))  # no chips
    story.do(e.JoinAsked("dee", story.now), e.SitOutChanged("dee", True, story.now))
    story.bet("ann", 1, "player", 1_000)
    story.done("ann")
    assert story.state.betting is not None
    assert not story.state.betting.closed
    story.done("bob")
    assert story.state.betting.closed


def test_cards_are_taken_only_when_they_are_those_asked_for() -> None:
    story = betting_closed_on_a_new_shoe()
    story.do(e.CutChosen("ann", 0, story.now))
    story.run(SealShoe, OpenShoe)
    (errand,) = story.errands()
    fact = story.answer(errand)
    assert isinstance(fact, e.CardsDealt)
    (card,) = fact.cards
    assert card.face is Face.UP
    for wrong in (
        e.CardsDealt("other", fact.cards, fact.at),
        e.CardsDealt(fact.request_id, (e.DealtCard(5, "burn", Face.UP, "", card.card),), fact.at),
    ):
        assert refused(story, wrong) == "BAD_POSITION"
    hidden = e.CardsDealt(fact.request_id, (e.DealtCard(0, "burn", Face.UP, "", None),), fact.at)
    assert refused(story, hidden) == "AUDIENCE_NOT_ALLOWED"


def test_no_input_decides_a_coup_of_baccarat() -> None:
    story = Story(chips=("ann",))
    decision = e.DecisionMade("ann", 1, "bet", at=story.now)
    assert refused(story, decision) == "DECISION_NOT_DUE"


def test_closing_lets_the_hand_end_and_sends_everything_home() -> None:
    story = Story(cards=BANKER, chips=("ann", "bob"))
    story.do(e.JoinAsked("cid", story.now), e.ChipsRequested("cid", 50, story.now))
    story.bet("ann", 1, "banker", 1_000)
    story.do(e.TableClosing("op", "late", story.now))
    assert refused(story, e.TableClosing("op", "", story.now)) == "TABLE_CLOSED"
    assert refused(story, e.JoinAsked("eve", story.now)) == "TABLE_CLOSED"
    assert refused(story, e.BetPlaced("bob", 2, "tie", 5, at=story.now)) == "BETTING_CLOSED"
    assert refused(story, e.ChipsRequested("bob", 5, story.now)) == "TABLE_CLOSED"
    story.done("ann", "bob")
    story.run(OpenShoe)
    story.do(e.CutChosen("ann", 0, story.now))
    while not isinstance(story.log[-1], e.TableClosed):
        errand = next(x for x in story.errands() if not isinstance(x, Chips))
        story.do(story.answer(errand))
    assert story.state.status is Status.CLOSED
    assert story.last(e.CommissionTaken) == e.CommissionTaken("ann", 50, 0)
    out = [event for event in story.log if isinstance(event, e.CashOutRequested)]
    assert out == [e.CashOutRequested("ann", 101_000), e.CashOutRequested("bob", 100_000)]
    assert refused(story, e.JoinAsked("eve", story.now)) == "TABLE_CLOSED"
    story.run()  # the shoe is put away, cid's chips come late and go back
    assert story.last(e.CashOutRequested) == e.CashOutRequested("cid", 50)
    assert story.errands() == ()
    story.do(e.TableClaimed("n2", 2, story.now), e.PlayResumed(story.now))


def test_a_table_without_bets_closes_at_once() -> None:
    story = Story(chips=("ann",))
    story.do(e.TableClosing("op", "", story.now))
    assert isinstance(story.log[-1], e.TableClosed)
    assert next_step(story.state).errands != ()  # its shoe is put away
