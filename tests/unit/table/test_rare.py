"""What seldom happens at a table, and what must not."""

from __future__ import annotations

import pytest

from shared.errors import CroupierError, RuleError
from shared.table import decide as deciding
from shared.table import events as e
from shared.table.decide import decide
from shared.table.evolve import evolve
from shared.table.state import Status, TableState
from tests.unit.table.story import CLOCKS, START, Story, refused


def opened(game: str, version: int = 1, rules: str = "{}") -> e.TableOpened:
    return e.TableOpened("t1", "One", game, version, rules, "EUR", CLOCKS, 5, START)


@pytest.mark.parametrize(
    ("fact", "field"),
    [
        (opened("baccarat", version=2), "game"),
        (opened("draw_poker"), "ante"),
        (opened("battle", rules='{"min": 100, "max": 99}'), "max"),
    ],
)
def test_a_table_that_could_not_be_played_at_is_not_opened(fact: e.TableOpened, field: str) -> None:
    with pytest.raises(CroupierError) as refusal:
        decide(TableState(), fact)
    assert (refusal.value.reason, refusal.value.field) == ("BAD_SETTING", field)


def draw(*players: str) -> Story:
    return Story("draw_poker", chips=players, ante=10, seats=3)


def test_who_has_asked_to_join_does_not_ask_again() -> None:
    story = Story("draw_poker", chips=("ann",), ante=10, seats=3, open_joining=False)
    while "ann" not in story.state.seats:
        story.expire()
    story.do(e.JoinAsked("bob", story.now))
    assert refused(story, e.JoinAsked("bob", story.now)) == "ALREADY_SEATED"


def test_who_has_asked_to_join_a_table_that_closes_does_not() -> None:
    story = Story("draw_poker", chips=("ann",), ante=10, seats=3, open_joining=False)
    story.do(e.JoinAsked("bob", story.now), e.TableClosing("op", "", story.now))
    assert story.last(e.JoinFailed) == e.JoinFailed("bob", "table_closed")


def test_a_draw_poker_player_enters_once_and_at_a_box_of_the_table() -> None:
    story = draw("ann", "bob", "cid")
    for box in (0, 4):
        entry = e.BetPlaced("ann", box, "entry", 10, at=story.now)
        assert refused(story, entry) == "TOO_MANY_BOXES"
    story.bet("ann", 2, "entry", 10)
    again = e.BetPlaced("ann", 2, "entry", 10, at=story.now)
    assert refused(story, again) == "BETTING_CLOSED"


def test_a_draw_poker_player_pays_with_chips_that_he_has() -> None:
    story = Story("draw_poker", chips=("ann",), amount=9, ante=10, seats=3)
    entry = e.BetPlaced("ann", 1, "entry", 10, at=story.now)
    assert refused(story, entry) == "INSUFFICIENT_CHIPS"


def test_entries_go_back_as_a_draw_poker_table_closes() -> None:
    story = draw("ann", "bob", "cid")
    story.bet("ann", 1, "entry", 10)
    story.do(e.TableClosing("op", "", story.now))
    assert story.last(e.BetsReturned) == e.BetsReturned("ann", 1, "TABLE_CLOSED")
    assert story.state.status is Status.CLOSED


def test_a_hand_dealt_again_at_a_table_that_closes_gets_a_shoe_all_the_same() -> None:
    story = Story("casino_holdem", chips=("ann",))
    story.bet("ann", 1, "ante", 100)
    story.done("ann")
    story.do(e.TableClosing("op", "", story.now))  # no next shoe is asked for any more
    story.run()
    story.expire()
    story.run()
    assert story.state.next_shoe is None
    before = len(story.log)
    story.do(e.IncidentReported("pit", "wrong_card_count", 0, "", story.now, by_pit=True))
    assert story.types(before) == [
        "IncidentReported",
        "IncidentResolved",
        "HandRedealt",
        "ShoeFinished",
        "ShoeRequested",
    ]


def test_what_one_input_brings_about_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "MOST_DERIVED", 1)
    with pytest.raises(AssertionError, match="TableOpened brings about more than 1"):
        Story()


def test_an_event_about_what_is_not_there_is_no_tables_history() -> None:
    state = Story().state
    with pytest.raises(LookupError):
        evolve(state, e.HandSettled("t1-5"))
    with pytest.raises(RuleError):
        decide(state, e.IncidentConfirmed("pit", START))
