"""TAB clauses that a live table keeps, whatever the game."""

from __future__ import annotations

from shared.table import events as e
from shared.table.state import free_chips
from shared.table.view import player_view
from tests.unit.table.coups import BANKER
from tests.unit.table.story import Story, refused


def test_TAB_02_a_box_is_shared_by_its_owners_consent_only() -> None:
    story = Story(chips=("ann", "bob"))
    story.bet("ann", 1, "player", 1_000)
    assert refused(story, e.BetPlaced("bob", 1, "tie", 10, at=story.now)) == "CONSENT_NEEDED"
    assert refused(story, e.BettorAdmitted("bob", 1, "bob", story.now)) == "NOT_BOX_OWNER"
    assert refused(story, e.BettorAdmitted("ann", 1, "cid", story.now)) == "NOT_SEATED"
    story.do(e.BettorAdmitted("ann", 1, "bob", story.now))
    story.bet("bob", 1, "tie", 10)
    story.done("ann", "bob")
    story.expire_cut()
    (box,) = story.last(e.HandOpened).boxes
    assert (box.owner, [bet.player for bet in box.bets]) == ("ann", ["ann", "bob"])


def admitting(story: Story, player: str) -> list[tuple[int, str]]:
    """Whom a player may let bet on which box."""
    return [
        (option.box, option.word)
        for option in player_view(story.state, player).options
        if option.command == "admit_bettor"
    ]


def test_TAB_02_an_owner_is_offered_to_let_others_bet_on_his_box() -> None:
    story = Story(chips=("ann", "bob", "cid", "dee"))
    assert admitting(story, "ann") == []
    story.bet("ann", 1, "player", 1_000)
    story.do(e.SitOutChanged("cid", True, story.now))
    assert admitting(story, "ann") == [(1, "bob"), (1, "dee")]
    assert admitting(story, "bob") == []
    story.do(e.BettorAdmitted("ann", 1, "bob", story.now))
    assert admitting(story, "ann") == [(1, "dee")]
    story.bet("bob", 2, "player", 1_000)
    assert admitting(story, "bob") == [(2, "ann"), (2, "dee")]
    story.done("ann")  # no more bets from him; others may still want to bet on his box
    assert admitting(story, "ann") == [(1, "dee")]


def test_TAB_02_no_more_than_three_bet_on_a_box() -> None:
    story = Story(chips=("ann", "bob", "cid", "dee"))
    story.bet("ann", 1, "player", 1_000)
    for guest in ("bob", "cid"):
        story.do(e.BettorAdmitted("ann", 1, guest, story.now))
        story.bet(guest, 1, "player", 1_000)
    assert admitting(story, "ann") == []
    assert refused(story, e.BettorAdmitted("ann", 1, "dee", story.now)) == "TOO_MANY_BETTORS"
    story.do(e.BetsTakenBack("cid", 1, story.now))
    assert admitting(story, "ann") == [(1, "dee")]


def test_TAB_02_any_number_of_bets_that_are_too_small_go_back_as_betting_closes() -> None:
    players = ("ann", "bob", "cid", "dee", "eve")
    story = Story(rules='{"boxes": 82, "bettors_per_box": 5, "min": 100}', chips=players)
    for box in range(1, 83):
        story.bet("ann", box, "tie", 1)
        for guest in players[1:]:
            story.do(e.BettorAdmitted("ann", box, guest, story.now))
            story.bet(guest, box, "tie", 1)
    story.expire()
    assert story.types().count("BetsReturned") == 82 * 5
    assert all(free_chips(story.state, player) == 100_000 for player in players)


def test_TAB_02_at_draw_poker_nobody_is_let_in() -> None:
    story = Story("draw_poker", chips=("ann", "bob"), ante=100, seats=5)
    story.bet("ann", 1, "entry", 100)
    assert admitting(story, "ann") == []
    assert refused(story, e.BettorAdmitted("ann", 1, "bob", story.now)) == "TOO_MANY_BETTORS"


def test_TAB_02_the_owner_is_owner_for_one_hand() -> None:
    story = Story(chips=("ann", "bob"))
    story.hand(("ann", 1, "player", 1_000), ("bob", 2, "player", 1_000))
    story.bet("bob", 1, "tie", 10)
    assert story.state.betting is not None
    assert dict(story.state.betting.owners) == {1: "bob"}


def test_TAB_03_chips_on_the_table_only() -> None:
    story = Story()
    story.do(e.JoinAsked("ann", story.now), e.ChipsRequested("ann", 500, story.now))
    assert refused(story, e.BetPlaced("ann", 1, "tie", 1, at=story.now)) == "INSUFFICIENT_CHIPS"


def test_TAB_05_a_player_leaves_once_the_running_hand_is_over() -> None:
    story = Story(chips=("ann", "bob"))
    story.bet("ann", 1, "player", 1_000)
    story.do(e.LeaveRequested("bob", story.now))
    assert "bob" not in story.state.seats  # he has no stake in it
    story.do(e.LeaveRequested("ann", story.now))
    assert story.state.seats["ann"].leaving
    assert refused(story, e.BetPlaced("ann", 1, "tie", 1, at=story.now)) == "BETTING_CLOSED"
    story.expire_cut()
    assert "ann" not in story.state.seats
    assert story.last(e.PlayerLeft) == e.PlayerLeft("ann")


def test_TAB_05_a_player_sits_out_any_number_of_hands() -> None:
    story = Story(chips=("ann", "bob"))
    story.do(e.SitOutChanged("bob", True, story.now))
    for _ in range(3):
        story.hand(("ann", 1, "player", 1_000))
    assert story.state.hands_played == 3
    story.do(e.SitOutChanged("bob", False, story.now))
    story.bet("bob", 2, "tie", 10)


def test_TAB_11_the_hand_carries_the_settings_it_is_played_by() -> None:
    story = Story(rules='{"commission_percent":10}', cards=BANKER, chips=("ann",))
    story.hand(("ann", 1, "banker", 1_000))
    assert story.last(e.HandOpened).rules_json == '{"commission_percent":10}'
    assert story.last(e.HandSettled).commission == (e.CommissionBooked("ann", 100),)


def test_BAC_10_commission_is_owed_and_its_chips_cannot_be_staked_or_cashed() -> None:
    story = Story(cards=BANKER, chips=("ann",))
    story.hand(("ann", 1, "banker", 1_000))
    seat = story.state.seats["ann"]
    assert (seat.chips, seat.owed) == (101_000, 50)
    assert free_chips(story.state, "ann") == 100_950
    assert refused(story, e.CashOutAsked("ann", 100_951, story.now)) == "INSUFFICIENT_CHIPS"
    bet = e.BetPlaced("ann", 1, "player", 100_951, at=story.now)
    assert refused(story, bet) == "INSUFFICIENT_CHIPS"


def test_BAC_11_a_player_who_leaves_pays_the_remainder_as_a_whole_unit() -> None:
    story = Story(cards=BANKER, chips=("ann",))
    story.hand(("ann", 1, "banker", 1_000))
    story.do(e.LeaveRequested("ann", story.now))
    assert story.last(e.CommissionTaken) == e.CommissionTaken("ann", 50, 100)
    assert story.last(e.CashOutRequested) == e.CashOutRequested("ann", 100_900)


def test_BAC_11_a_table_that_closes_ends_its_shoe_and_no_player_has_left() -> None:
    story = Story(cards=BANKER, chips=("ann", "bob"))
    story.hand(("ann", 1, "banker", 1_000), ("bob", 2, "banker", 1_520))
    story.do(e.TableClosing("op", "", story.now))
    taken = [event for event in story.log if isinstance(event, e.CommissionTaken)]
    assert taken == [e.CommissionTaken("ann", 50, 0), e.CommissionTaken("bob", 76, 100)]
    assert story.log.index(taken[-1]) < story.types().index("ShoeFinished")


def test_BAC_10_and_BAC_11_commission_is_settled_when_the_shoe_ends() -> None:
    story = Story(cards=BANKER, chips=("ann",))
    story.hand(("ann", 1, "banker", 3_000))  # owes 150
    shoe = story.state.shoe
    assert shoe is not None
    while story.state.shoe is not None and story.state.shoe.shoe_id == shoe.shoe_id:
        story.hand(("ann", 1, "tie", 10))
    assert story.last(e.CommissionTaken) == e.CommissionTaken("ann", 150, 100)
    assert story.state.seats["ann"].owed == 0


def test_BAC_03_the_first_card_is_turned_up_and_its_value_is_burned_face_down() -> None:
    story = Story(cards="Kc", chips=("ann",))
    story.hand(("ann", 1, "tie", 10))
    burns = [
        event
        for event in story.log
        if isinstance(event, e.CardsDealt) and event.cards[0].hand == "burn"
    ]
    assert [len(burn.cards) for burn in burns] == [1, 10]
    assert burns[0].cards[0].card is not None
    assert all(card.card is None for card in burns[1].cards)


def test_BAC_12_a_coup_starts_while_seven_cards_remain() -> None:
    story = Story(chips=("ann",))
    while "ShoeFinished" not in story.types():
        story.hand(("ann", 1, "tie", 10))
    opened = story.last(e.HandOpened)
    dealt = [event for event in story.log if isinstance(event, e.CardsDealt)][-1]
    assert 416 - opened.next_position >= 7
    assert 416 - (dealt.cards[-1].position + 1) < 7
