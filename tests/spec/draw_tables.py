"""Draw poker tables for the tests: entries paid, hands dealt, rounds played."""

from __future__ import annotations

from shared.table import events as e
from shared.table.options import options
from tests.spec.poker_hands import passes
from tests.spec.tables import (
    decide,
    deciding,
    hand,
    play_on,
)
from tests.unit.table.story import Story

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
