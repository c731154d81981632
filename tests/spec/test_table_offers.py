"""What a player is offered: just what is accepted from him (architecture, 5)."""

from __future__ import annotations

from shared.table import events as e
from shared.table.codec import to_message
from shared.table.state import MOST_CHIPS
from shared.table.view import public_view
from tests.spec.draw_tables import dealt_in
from tests.spec.tables import commands, deciding, offers, refused
from tests.unit.table.story import Story


def test_OAS_01_a_bonus_is_offered_beside_an_ante_and_within_limits_of_its_own() -> None:
    rules = '{"min": 100, "max": 1000, "max_payout": 9000, "bonus_min": 20, "bonus_max": 50}'
    story = Story("oasis_poker", rules=rules, chips=("ann",))
    assert offers(story, "ann", "place_bet") == [("ante", 100, 1_000)]
    story.bet("ann", 1, "ante", 100)
    assert offers(story, "ann", "place_bet") == [("ante", 100, 1_000), ("bonus", 20, 50)]
    story.bet("ann", 1, "bonus", 50)


def test_OAS_01_a_bonus_without_limits_of_its_own_is_bounded_by_the_chips_alone() -> None:
    rules = '{"min": 100, "max": 1000, "max_payout": 9000}'
    story = Story("oasis_poker", rules=rules, chips=("ann",), amount=5_000)
    story.bet("ann", 1, "ante", 1_000)
    assert ("bonus", 1, 4_000) in offers(story, "ann", "place_bet")
    story.bet("ann", 1, "bonus", 4_000)


def test_BAC_01_who_has_bet_on_one_side_is_not_offered_the_other() -> None:
    story = Story(chips=("ann", "bob"))
    story.bet("ann", 1, "banker", 1_000)
    assert [word for word, _, _ in offers(story, "ann", "place_bet")] == ["banker", "tie"]
    assert [word for word, _, _ in offers(story, "bob", "place_bet")] == ["player", "banker", "tie"]
    story.do(e.BetsTakenBack("ann", 1, story.now))
    story.bet("ann", 1, "player", 1_000)
    assert [word for word, _, _ in offers(story, "ann", "place_bet")] == ["player", "tie"]


def test_OAS_07_and_BAC_09b_the_least_and_the_most_of_a_bet_are_stakes_that_are_taken() -> None:
    story = Story("oasis_poker", rules='{"min": 95}', chips=("ann",), amount=999)
    assert offers(story, "ann", "place_bet") == [("ante", 100, 990)]
    story.bet("ann", 1, "ante", 990)
    story = Story(rules='{"commission_percent": 2.5}', chips=("ann",), amount=99)
    assert offers(story, "ann", "place_bet") == [
        ("player", 1, 99),
        ("banker", 40, 80),
        ("tie", 1, 99),
    ]
    for stake in (40, 80):
        story.bet("ann", 1, "banker", stake)


def test_TAB_02_who_has_not_the_chips_for_the_least_bet_is_offered_none() -> None:
    story = Story(rules='{"min": 100}', chips=("ann",), amount=99)
    assert "place_bet" not in commands(story, "ann")


def test_TAB_03_no_bet_is_so_high_that_what_it_may_win_has_no_number() -> None:
    """A royal flush pays a bonus 1,000:1, and the log has 64 bits for it."""
    story = Story("oasis_poker", chips=("ann", "bob"), amount=MOST_CHIPS)
    for amount in (MOST_CHIPS + 1, 2**63 - 1):
        buys = e.ChipsRequested("ann", amount, story.now)
        assert refused(story, buys) == "BAD_AMOUNT"
    assert offers(story, "ann", "buy_chips") == [("", 1, MOST_CHIPS)]
    story.do(e.ChipsRequested("ann", MOST_CHIPS, story.now))
    story.run()
    above = e.BetPlaced("ann", 1, "ante", MOST_CHIPS + 8, at=story.now)
    assert refused(story, above) == "BAD_STAKE"
    assert offers(story, "ann", "place_bet") == [("ante", 10, MOST_CHIPS // 10 * 10)]
    paid = e.SettledLine(1, "ann", "bonus", MOST_CHIPS, MOST_CHIPS * 1_001)
    assert to_message(paid).returned == MOST_CHIPS * 1_001


def test_TAB_02_to_be_done_is_offered_once_the_bets_may_stand() -> None:
    story = Story(rules='{"min": 100}', chips=("ann",))
    story.bet("ann", 1, "player", 60)
    assert refused(story, e.BetsDone("ann", story.now)) == "STAKE_BELOW_MINIMUM"
    assert "done_betting" not in commands(story, "ann")
    story.bet("ann", 1, "tie", 40)  # BAC-01: the minimum is for the sum
    assert "done_betting" in commands(story, "ann")
    story.done("ann")


def test_TAB_06_a_decisions_deadline_is_seen_also_while_somebody_asks_to_join() -> None:
    story = Story("draw_poker", chips=("ann",), ante=10, seats=5, open_joining=False)
    story.do(e.JoinAsked("bob", story.now))
    story.expire()
    story.do(e.ChipsRequested("bob", 1_000, story.now))
    story.run()
    dealt_in(story, ann=1, bob=2)
    clock = deciding(story).deadline
    story.do(e.JoinAsked("cid", story.now))
    assert 0 < story.state.joining["cid"] < clock
    assert public_view(story.state).deadline.ToMicroseconds() == clock
