"""Draw poker at a live table: consent, entries, cut and order, carried pots, the pit, penalties."""

from __future__ import annotations

import pytest

from shared.games.play import Face
from shared.table import events as e
from shared.table.next_step import OpenShoe
from shared.table.options import options
from shared.table.state import Status
from shared.table.view import public_view
from tests.spec.poker_hands import passes
from tests.spec.tables import (
    check_decision_clock,
    chips,
    commands,
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

ACES = "Ac Ad 9h Js 7c"
KINGS = "Kc Kd 8h Ts 6c"
QUEENS = "Qc Qd 5h 4s 3c"


def table(
    *players: str, rules: str = "{}", hands: tuple[str, ...] = (ACES, KINGS), amount: int = 1_000
) -> Story:
    """A table with an ante of 10; these hands are dealt, the first to the first dealt."""
    return Story(
        "draw_poker",
        rules=rules,
        cards=passes(*hands, then="2c 2d 2h 3d 3h 3s"),
        chips=players,
        amount=amount,
        ante=10,
        seats=5,
    )


def enter(story: Story, **boxes: int) -> None:
    """These players pay what is asked at their boxes; nobody else wants to."""
    assert story.state.betting is not None
    for player, box in boxes.items():
        price = next(
            option.minimum
            for option in options(story.state, player)
            if option.command == "place_bet" and option.box == box
        )
        story.do(e.BetPlaced(player, box, "entry", price, at=story.now))
    for player in story.state.seats:
        betting = story.state.betting
        if player not in boxes and betting is not None and not betting.closed:
            story.done(player)


def dealt_in(story: Story, **boxes: int) -> Story:
    """A hand up to its first decision."""
    enter(story, **boxes)
    play_on(story)
    return story


def check_around(story: Story) -> None:
    """Everybody checks until the hand is over or something else is due."""
    phase = deciding(story).phase
    while story.state.deciding is not None and deciding(story).phase == phase:
        ((box, player),) = deciding(story).players.items()
        decide(story, player, box, "check")


def to_second_round(story: Story, bettor: str, caller: str) -> None:
    """One bets an ante, the other calls, neither exchanges."""
    boxes = {box.owner: box.number for box in hand(story).setup.boxes}
    decide(story, bettor, boxes[bettor], "bet", amount=10)
    decide(story, caller, boxes[caller], "call")
    for _ in range(2):
        ((box, player),) = deciding(story).players.items()
        decide(story, player, box, "exchange")


def carried_half_pot(
    *players: str, rules: str = "{}", hands: tuple[str, ...] = (ACES, KINGS)
) -> Story:
    """Ann on box 1 and bob on box 2 have left a pot of 40 unplayed after the exchange."""
    story = dealt_in(table("ann", "bob", *players, rules=rules, hands=hands), ann=1, bob=2)
    to_second_round(story, "ann", "bob")
    check_around(story)
    story.run()
    assert story.last(e.HandSettled).next_entry == "half_pot"
    return story


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
