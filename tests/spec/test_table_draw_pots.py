"""Draw poker at a live table: several pots, of which a tied one is carried, and the window in which
half a pot is paid (DRW-10, DRW-11)."""

from __future__ import annotations

import pytest

from shared.table import events as e
from tests.spec.draw_tables import (
    ACES,
    KINGS,
    carried_half_pot,
    check_around,
    dealt_in,
    table,
    to_second_round,
)
from tests.spec.poker_hands import passes
from tests.spec.tables import chips, decide, hand, play_on
from tests.unit.table.story import Story

ACES_TOO = "As Ah 9c Jd 7s"
KINGS_TOO = "Ks Kh 8c Td 6d"


def several_pots(*hands: str) -> Story:
    """Ann and bob have put in 110 each, cid his last 50: a main pot of 150, a side pot of 120."""
    rules = '{"all_in": "side_pots", "unplayed_after_exchange": "tie"}'
    story = table("ann", "bob", "cid", rules=rules, hands=hands)
    story.do(e.CashOutAsked("cid", 950, story.now))
    dealt_in(story, ann=1, bob=2, cid=3)
    decide(story, "ann", 1, "bet", amount=100)
    decide(story, "bob", 2, "call")
    decide(story, "cid", 3, "call")
    for player, box in (("ann", 1), ("bob", 2), ("cid", 3)):
        decide(story, player, box, "exchange")
    check_around(story)
    story.run()
    return story


@pytest.mark.parametrize(
    ("hands", "carried", "back"),
    [
        ((ACES, KINGS, ACES_TOO), 150, {"ann": 50, "bob": 50, "cid": 50}),
        ((KINGS, KINGS_TOO, ACES), 120, {"ann": 60, "bob": 60}),
    ],
)
def test_DRW_10_a_pot_that_is_carried_goes_back_to_those_who_paid_into_that_one(
    hands: tuple[str, ...], carried: int, back: dict[str, int]
) -> None:
    story = several_pots(*hands)
    assert story.state.pot.carried == carried
    before = {player: chips(story, player) for player in ("ann", "bob", "cid")}
    for _ in range(10):
        story.expire()
    assert story.last(e.PotPaid).why == "windows_passed"
    after = {player: chips(story, player) - before[player] for player in before}
    assert {player: share for player, share in after.items() if share} == back


def test_DRW_10_a_pot_carried_before_and_won_now_is_nobodys_claim_on_the_next() -> None:
    story = several_pots(ACES, KINGS, ACES_TOO)  # the main pot is carried
    assert sorted(story.state.pot.paid.items()) == [("ann", 50), ("bob", 50), ("cid", 50)]
    dealt_in(story, ann=1, bob=2)  # half of it each; ann has the aces, and wins it
    to_second_round(story, "ann", "bob")
    check_around(story)
    story.run()
    assert (story.state.pot.carried, story.state.pot.paid) == (0, {})


def test_DRW_02_the_winner_of_the_lowest_pot_is_the_last_winner_though_another_is_carried() -> None:
    story = several_pots(KINGS, KINGS_TOO, ACES)
    assert story.state.pot.winners == (3,)


# ---- The window in which half the pot is paid (DRW-10)


def test_DRW_10_the_window_waits_for_who_has_to_buy_chips_first() -> None:
    story = carried_half_pot("cid")
    story.do(e.CashOutAsked("cid", 990, story.now))
    story.bet("ann", 1, "entry", 20)
    story.bet("bob", 2, "entry", 20)
    assert story.state.betting is not None
    assert not story.state.betting.closed
    story.do(e.ChipsRequested("cid", 500, story.later(20)))
    story.run()
    story.bet("cid", 3, "entry", 20)
    assert story.state.betting.closed


@pytest.mark.parametrize("let_in", [True, False])
def test_DRW_10_the_window_waits_for_who_has_asked_to_join(let_in: bool) -> None:
    """New players may play for the pot as well as old ones."""
    story = Story(
        "draw_poker",
        chips=("ann",),
        cards=passes(ACES, KINGS),
        ante=10,
        seats=5,
        open_joining=False,
    )
    story.do(e.JoinAsked("bob", story.now))
    story.expire()
    story.do(e.ChipsRequested("bob", 1_000, story.now))
    story.run()
    dealt_in(story, ann=1, bob=2)
    to_second_round(story, "ann", "bob")
    check_around(story)
    story.run()
    story.do(e.JoinAsked("cid", story.now))
    story.bet("ann", 1, "entry", 20)
    story.bet("bob", 2, "entry", 20)
    assert story.state.betting is not None
    assert not story.state.betting.closed
    if not let_in:
        story.do(e.JoinObjected("ann", "cid", story.now))
        assert story.state.betting.closed
        return
    story.expire()
    story.do(e.ChipsRequested("cid", 500, story.now))
    story.run()
    story.bet("cid", 3, "entry", 20)
    assert story.state.betting.closed


@pytest.mark.parametrize("removed", [False, True])
def test_DRW_10_who_is_in_for_nothing_leaves_behind_the_hand_he_is_in(removed: bool) -> None:
    """As who has paid does. A hand with somebody in it who is gone could not be opened, ever."""
    story = carried_half_pot("cid", rules='{"half_pot_paid_by": "newcomers"}')
    story.bet("ann", 1, "entry", 0)
    if removed:
        story.do(e.PenaltyGiven("pit", "ann", "removal", at=story.now))
    else:
        story.do(e.LeaveRequested("ann", story.now))
    assert "ann" in story.state.seats
    story.bet("cid", 4, "entry", 20)
    story.done("bob")
    play_on(story)
    assert [box.owner for box in hand(story).setup.boxes] == ["ann", "cid"]
    while story.state.hand is not None:
        story.expire()
        story.run()
    assert "ann" not in story.state.seats
    assert story.last(e.CashOutRequested) == e.CashOutRequested("ann", 980)


def test_DRW_10_who_is_in_for_nothing_and_leaves_gets_the_pot_if_nobody_else_comes() -> None:
    story = carried_half_pot("cid", rules='{"half_pot_paid_by": "newcomers"}')
    story.bet("ann", 1, "entry", 0)
    story.do(e.LeaveRequested("ann", story.now))
    story.expire()
    assert story.last(e.PotPaid) == e.PotPaid((e.PotShare("ann", 40),), "lone_entrant")
    assert story.last(e.CashOutRequested) == e.CashOutRequested("ann", 980 + 40)


def test_DRW_10_who_is_in_for_nothing_has_his_bet_back_as_the_table_closes() -> None:
    story = carried_half_pot("cid", rules='{"half_pot_paid_by": "newcomers"}')
    story.bet("ann", 1, "entry", 0)
    story.do(e.LeaveRequested("ann", story.now), e.TableClosing("op", "", story.now))
    assert story.last(e.PotPaid).why == "table_closed"
    assert not story.state.seats


def test_DRW_02_and_DRW_03_who_takes_the_pot_as_the_only_entrant_is_its_winner() -> None:
    story = carried_half_pot("cid")
    story.bet("bob", 2, "entry", 20)
    story.expire()
    assert story.last(e.PotPaid).why == "lone_entrant"
    dealt_in(story, ann=1, bob=2, cid=3)
    assert story.last(e.CutOffered).player == "ann"  # on his right
    assert story.last(e.HandOpened).first == 2
