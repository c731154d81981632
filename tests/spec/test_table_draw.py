"""Draw poker at a live table: consent, entries, cut and order, carried pots."""

from __future__ import annotations

from shared.games.play import Face
from shared.table import events as e
from shared.table.options import options
from shared.table.state import Status, clocks
from shared.table.view import public_view
from tests.spec.draw_tables import (
    ACES,
    KINGS,
    QUEENS,
    carried_half_pot,
    check_around,
    dealt_in,
    enter,
    table,
    to_second_round,
)
from tests.spec.tables import (
    chips,
    commands,
    decide,
    deciding,
    play_on,
    refused,
    seen,
    words,
)
from tests.unit.table.story import SECOND, Story

# ---- TAB-10: joining


def asked() -> Story:
    """Cid has asked to join ann and bob."""
    story = Story("draw_poker", ante=10, seats=5, open_joining=False)
    story.do(e.JoinAsked("ann", story.now))
    story.do(e.JoinAsked("bob", story.now))
    story.expire()
    story.do(e.JoinAsked("cid", story.now))
    return story


def test_TAB_10_at_house_games_joining_needs_no_consent() -> None:
    for game in ("baccarat", "battle", "casino_holdem", "oasis_poker"):
        story = Story(game, chips=("ann",), open_joining=False)
        events = story.do(e.JoinAsked("bob", story.now))
        assert [type(event) for event in events] == [e.JoinAsked, e.PlayerJoined]


def test_TAB_10_at_draw_poker_silence_of_fifteen_seconds_is_consent() -> None:
    story = asked()
    consent = story.last(e.ConsentAsked)
    assert consent == e.ConsentAsked("cid", story.now + 15 * SECOND)
    assert "cid" not in story.state.seats
    assert "object_to_join" in commands(story, "ann")
    assert [joining.player for joining in public_view(story.state).joining] == ["cid"]
    early = e.ClockExpired(consent.deadline, story.later(14), "join/cid")
    assert refused(story, early) == "DECISION_NOT_DUE"
    story.expire()
    assert story.last(e.PlayerJoined) == e.PlayerJoined("cid")


def test_TAB_10_and_TAB_06_an_outage_is_no_silence() -> None:
    story = asked()
    for player in ("ann", "bob"):
        story.do(e.ChipsRequested(player, 1_000, story.now))
    story.run()
    story.bet("ann", 1, "entry", 10)
    story.bet("bob", 2, "entry", 10)
    story.run()
    assert set(clocks(story.state)) == {"join/cid", "decision"}
    story.do(e.TableClaimed("n2", 2, story.later(600)))
    least = story.now + 10 * SECOND
    assert clocks(story.state) == {"join/cid": least, "decision": least}
    (asking,) = public_view(story.state).joining
    assert asking.deadline.ToMicroseconds() == least
    story.do(e.JoinObjected("ann", "cid", story.now))
    assert "cid" not in story.state.seats


def test_TAB_10_one_objection_of_somebody_seated_is_enough() -> None:
    story = asked()
    assert refused(story, e.JoinObjected("dee", "cid", story.now)) == "NOT_SEATED"
    assert refused(story, e.JoinObjected("ann", "bob", story.now)) == "DECISION_NOT_DUE"
    before = len(story.log)
    story.do(e.JoinObjected("bob", "cid", story.now))
    assert story.types(before) == ["JoinObjected", "JoinFailed"]
    assert story.last(e.JoinFailed) == e.JoinFailed("cid", "objected")
    story.do(e.JoinAsked("cid", story.now))  # he may ask again
    late = e.JoinObjected("bob", "cid", story.later(15))
    assert refused(story, late) == "DECISION_NOT_DUE"


def test_TAB_10_the_first_player_needs_nobodys_consent() -> None:
    story = Story("draw_poker", ante=10, seats=5, open_joining=False)
    story.do(e.JoinAsked("ann", story.now))
    assert "ann" in story.state.seats


def test_TAB_10_at_an_open_table_nobody_is_asked() -> None:
    story = table("ann")
    story.do(e.JoinAsked("bob", story.now))
    assert "bob" in story.state.seats


def test_TAB_10_a_seat_that_is_asked_for_is_taken() -> None:
    story = asked()
    for player in ("dee", "eve"):
        story.do(e.JoinAsked(player, story.now))
    assert refused(story, e.JoinAsked("fay", story.now)) == "TABLE_FULL"


# ---- DRW-01 to DRW-03: entries, cut, order


def test_DRW_01_everyone_pays_the_same_ante_at_a_box_of_his_own() -> None:
    story = table("ann", "bob")
    at = story.now
    assert refused(story, e.BetPlaced("ann", 1, "entry", 9, at=at)) == "BAD_STAKE"
    assert refused(story, e.BetPlaced("ann", 1, "ante", 10, at=at)) == "BAD_STAKE"
    assert refused(story, e.BetPlaced("ann", 6, "entry", 10, at=at)) == "TOO_MANY_BOXES"
    story.bet("ann", 3, "entry", 10)
    assert refused(story, e.BetPlaced("ann", 4, "entry", 10, at=at)) == "NOT_BOX_OWNER"
    assert refused(story, e.BetPlaced("bob", 3, "entry", 10, at=at)) == "NOT_BOX_OWNER"
    assert story.state.shoe is not None
    assert not story.state.betting or not story.state.betting.closed  # two are needed
    story.bet("bob", 1, "entry", 10)
    play_on(story)
    view = public_view(story.state)
    assert view.pot.minor_units == 20
    assert [seat.chips.minor_units for seat in view.seats] == [1_000, 1_000]


def test_DRW_02_the_dealer_cuts_first_then_the_player_to_the_right_of_the_winner() -> None:
    story = dealt_in(table("ann", "bob", "cid", hands=(ACES, KINGS, QUEENS)), ann=1, bob=3, cid=5)
    assert "CutOffered" not in story.types()
    assert "CutLeftToDealer" in story.types()
    decide(story, "ann", 1, "bet", amount=10)
    decide(story, "bob", 3, "fold")
    decide(story, "cid", 5, "fold")
    enter(story, ann=1, bob=3, cid=5)
    story.run()
    offered = story.last(e.CutOffered)
    assert (offered.player, offered.box) == ("cid", 5)  # from box 1 round to the highest
    assert (offered.minimum, offered.maximum) == (1, 51)
    assert refused(story, e.CutChosen("bob", 9, story.now)) == "CUT_NOT_OFFERED"
    story.expire()
    assert isinstance(story.last(e.CutLeftToDealer), e.CutLeftToDealer)


def test_DRW_03_deals_begin_at_the_lowest_box_then_at_the_last_winner_or_the_next() -> None:
    story = dealt_in(table("ann", "bob", "cid", hands=(ACES, KINGS, QUEENS)), ann=1, bob=3, cid=5)
    assert story.last(e.HandOpened).first == 1
    decide(story, "ann", 1, "bet", amount=10)
    decide(story, "bob", 3, "call")
    decide(story, "cid", 5, "fold")
    story.do(e.DecisionMade("ann", 1, "exchange", at=story.now))
    decide(story, "bob", 3, "exchange")
    decide(story, "ann", 1, "check")
    decide(story, "bob", 3, "bet", amount=10)
    decide(story, "ann", 1, "fold")
    assert story.last(e.HandSettled).winners == (3,)
    dealt_in(story, ann=1, bob=3, cid=5)
    assert story.last(e.HandOpened).first == 3
    decide(story, "bob", 3, "bet", amount=10)
    decide(story, "cid", 5, "fold")
    decide(story, "ann", 1, "fold")
    story.do(e.LeaveRequested("bob", story.now))
    dealt_in(story, ann=1, cid=5)
    assert story.last(e.HandOpened).first == 5  # the winner is gone: the next player on


def test_DRW_04_cards_are_seen_when_all_are_dealt_and_only_by_their_player() -> None:
    story = dealt_in(table("ann", "bob"), ann=1, bob=2)
    dealt, shown = [event.cards for event in story.log if isinstance(event, e.CardsDealt)]
    assert {card.face for card in dealt} == {Face.DOWN}
    assert [card.hand for card in dealt] == ["box1", "box2"] * 5
    assert len(shown) == 10
    assert seen(story, "box1", "ann") == ACES.split()
    assert seen(story, "box1", "bob") == []
    assert seen(story, "box1") == [""] * 5


def test_DRW_05_out_of_turn_is_refused_and_a_raise_is_bounded_by_the_options() -> None:
    story = dealt_in(table("ann", "bob"), ann=1, bob=2)
    out_of_turn = e.DecisionMade("bob", 2, "check", at=story.now)
    assert refused(story, out_of_turn) == "NOT_YOUR_TURN"
    assert words(story, "ann") == {1: ["check", "bet"]}
    small = e.DecisionMade("ann", 1, "bet", 9, at=story.now)
    assert refused(story, small) == "BET_TOO_SMALL"
    decide(story, "ann", 1, "bet", amount=40)
    assert words(story, "bob") == {2: ["fold", "call", "raise"]}
    assert refused(story, e.DecisionMade("ann", 1, "check", at=story.now)) == "NOT_YOUR_TURN"


# ---- DRW-06 and DRW-10: carried pots


def test_DRW_06_a_first_round_without_a_bet_carries_the_pot_and_all_ante_again() -> None:
    story = dealt_in(table("ann", "bob"), ann=1, bob=2)
    check_around(story)
    settled = story.last(e.HandSettled)
    assert (settled.result, settled.carried_pot, settled.pot_change) == ("carried", 20, 20)
    assert (chips(story, "ann"), chips(story, "bob")) == (990, 990)
    opened = story.last(e.BettingOpened)
    assert (opened.entry, opened.entry_amount, opened.carried_pot) == ("ante", 10, 20)
    assert public_view(story.state).carried_pot.minor_units == 20
    dealt_in(story, ann=1, bob=2)
    assert story.last(e.HandOpened).carried_pot == 20
    decide(story, "ann", 1, "bet", amount=10)
    decide(story, "bob", 2, "fold")
    assert (chips(story, "ann"), chips(story, "bob")) == (1_020, 980)
    assert story.last(e.HandSettled).pot_change == -20


def test_DRW_06_there_is_no_deal_until_two_have_anted() -> None:
    story = dealt_in(table("ann", "bob"), ann=1, bob=2)
    check_around(story)
    enter(story, ann=1)
    story.run()
    assert story.state.betting is not None
    assert not story.state.betting.closed
    assert "PotPaid" not in story.types()


def test_DRW_10_half_the_pot_buys_into_the_next_hand_for_old_and_new_alike() -> None:
    story = carried_half_pot("cid")
    settled = story.last(e.HandSettled)
    assert (settled.result, settled.carried_pot) == ("carried", 40)
    opened = story.last(e.BettingOpened)
    assert (opened.entry, opened.entry_amount, opened.carried_pot) == ("half_pot", 20, 40)
    assert story.last(e.BettingClockStarted).deadline == story.now + 30 * SECOND
    for player, box in (("ann", 1), ("cid", 4)):
        assert refused(story, e.BetPlaced(player, box, "entry", 10, at=story.now)) == "BAD_STAKE"
        story.bet(player, box, "entry", 20)
    story.expire()
    play_on(story)
    opened_hand = story.last(e.HandOpened)
    assert [(entry.box, entry.amount) for entry in opened_hand.entries] == [(1, 20), (4, 20)]
    assert (opened_hand.entry, opened_hand.carried_pot) == ("half_pot", 40)


def test_DRW_10_chips_may_be_bought_while_the_window_is_open() -> None:
    story = carried_half_pot()
    story.do(e.ChipsRequested("bob", 500, story.later(5)))
    story.run()
    assert chips(story, "bob") == 980 + 500
    story.bet("bob", 2, "entry", 20)


def test_DRW_10_newcomers_alone_pay_where_the_table_says_so() -> None:
    story = carried_half_pot("cid", rules='{"half_pot_paid_by": "newcomers"}')
    assert refused(story, e.BetPlaced("ann", 1, "entry", 20, at=story.now)) == "BAD_STAKE"
    story.bet("ann", 1, "entry", 0)
    story.bet("cid", 4, "entry", 20)
    story.done("bob")
    play_on(story)
    opened = story.last(e.HandOpened)
    assert [(entry.box, entry.amount) for entry in opened.entries] == [(1, 0), (4, 20)]


def test_DRW_10_who_owes_nothing_for_the_pot_is_waited_for_without_any_chips() -> None:
    story = table("ann", "bob", "cid", rules='{"half_pot_paid_by": "newcomers"}', amount=40)
    dealt_in(story, ann=1, bob=2)
    to_second_round(story, "ann", "bob")
    check_around(story)
    story.run()
    story.do(e.CashOutAsked("bob", 0, story.now))  # all that he has
    story.bet("ann", 1, "entry", 0)
    story.bet("cid", 4, "entry", 20)
    assert story.state.betting is not None
    assert not story.state.betting.closed
    story.bet("bob", 2, "entry", 0)
    assert story.state.betting.closed


def test_DRW_10_a_lone_entrant_takes_the_pot_and_keeps_his_entry() -> None:
    story = carried_half_pot()
    story.bet("bob", 2, "entry", 20)
    before = len(story.log)
    story.expire()
    assert story.types(before)[:2] == ["ClockExpired", "PotPaid"]
    assert story.last(e.PotPaid) == e.PotPaid((e.PotShare("bob", 40),), "lone_entrant")
    assert (chips(story, "ann"), chips(story, "bob")) == (980, 1_020)
    assert story.last(e.BettingOpened).entry == "ante"


def test_DRW_10_with_no_entrant_the_pot_waits_and_after_ten_windows_it_goes_back() -> None:
    story = carried_half_pot()
    for window in range(1, 10):
        story.expire()
        assert story.last(e.WindowPassed) == e.WindowPassed(window)
        assert story.state.pot.carried == 40
    story.expire()
    assert story.last(e.PotPaid) == e.PotPaid(
        (e.PotShare("ann", 20), e.PotShare("bob", 20)), "windows_passed"
    )
    assert (chips(story, "ann"), chips(story, "bob")) == (1_000, 1_000)


def test_DRW_10_as_the_table_closes_the_pot_goes_back_to_who_paid_it_also_if_he_is_gone() -> None:
    story = carried_half_pot()
    story.do(e.LeaveRequested("bob", story.now))
    assert "bob" not in story.state.seats
    story.do(e.TableClosing("op", "", story.now))
    assert story.last(e.PotPaid) == e.PotPaid(
        (e.PotShare("ann", 20), e.PotShare("bob", 20)), "table_closed"
    )
    out = [event for event in story.log if isinstance(event, e.CashOutRequested)]
    assert out == [
        e.CashOutRequested("bob", 980),
        e.CashOutRequested("bob", 20),
        e.CashOutRequested("ann", 1_000),
    ]
    assert story.state.status is Status.CLOSED


def test_DRW_10_a_window_goes_on_across_an_outage() -> None:
    story = carried_half_pot()
    story.do(e.TableClaimed("n2", 2, story.later(25)))
    assert story.last(e.DeadlineMoved).deadline == story.now + 10 * SECOND


def standing(story: Story) -> tuple[int, int, list[tuple[str, int, int, bool]]]:
    """The level, the least raise, and (player, in this round, in the hand, folded)."""
    seen_by_all = public_view(story.state).betting_round
    stakes = [
        (one.player, one.in_round.minor_units, one.in_hand.minor_units, one.folded)
        for one in seen_by_all.stakes
    ]
    return seen_by_all.level.minor_units, seen_by_all.least_raise.minor_units, stakes


def test_DRW_01_all_see_what_each_has_put_in_and_what_is_to_be_called() -> None:
    story = table("ann", "bob", "cid", hands=(ACES, KINGS, QUEENS))
    assert not public_view(story.state).HasField("betting_round")
    enter(story, ann=1, bob=2, cid=3)
    play_on(story)
    assert standing(story) == (
        0,
        10,
        [("ann", 0, 10, False), ("bob", 0, 10, False), ("cid", 0, 10, False)],
    )
    decide(story, "ann", 1, "bet", amount=30)
    decide(story, "bob", 2, "raise", amount=80)
    decide(story, "cid", 3, "fold")
    assert standing(story) == (
        80,
        50,
        [("ann", 30, 40, False), ("bob", 80, 90, False), ("cid", 0, 10, True)],
    )
    (raising,) = (one for one in options(story.state, "ann") if one.word == "raise")
    assert raising.minimum == 80 + 50
    decide(story, "ann", 1, "call")
    assert deciding(story).phase == "exchange"
    level, _, stakes = standing(story)
    assert (level, [in_round for _, in_round, _, _ in stakes]) == (0, [0, 0, 0])
    assert [in_hand for _, _, in_hand, _ in stakes] == [90, 90, 10]
    decide(story, "ann", 1, "exchange")
    decide(story, "bob", 2, "exchange")
    decide(story, "ann", 1, "check")
    decide(story, "bob", 2, "check")
    assert not public_view(story.state).HasField("betting_round")
