"""Live tables told in a few words, on top of `tests.unit.table.story`."""

from __future__ import annotations

from collections.abc import Iterable

from shared.table import events as e
from shared.table.state import Deciding, Hand, next_clock
from shared.table.view import player_view, public_view
from tests.unit.table.story import SECOND, Story
from tests.unit.table.story import refused as refused

WARNING_S = 180
DEFAULT_S = 300
Bet = tuple[str, int, str, int]
"""Player, box, wager, stake."""


def deal(story: Story, *bets: Bet, blind: Iterable[int] = ()) -> Story:
    """These bets, nobody has more, the dealer cuts; then all cards until somebody must decide."""
    for player, box, wager, stake in bets:
        story.do(e.BetPlaced(player, box, wager, stake, box in blind, story.now))
    betting = story.state.betting
    assert betting is not None
    for player in story.state.seats:
        if story.state.betting is not None and not story.state.betting.closed:
            story.done(player)
    play_on(story)
    return story


def play_on(story: Story) -> None:
    """Everything that needs no player; a cut that is offered is declined."""
    story.run()
    shoe = story.state.shoe
    if shoe is not None and shoe.cut_deadline:
        story.do(e.CutChosen(shoe.cut_player, 0, story.now))
        story.run()


def decide(
    story: Story, player: str, box: int, action: str, *positions: int, amount: int = 0
) -> None:
    """One decision and the cards that it brings about."""
    story.do(e.DecisionMade(player, box, action, amount, positions, at=story.now))
    story.run()


def deciding(story: Story) -> Deciding:
    """The decisions that are due."""
    assert story.state.deciding is not None, "nobody has to decide"
    return story.state.deciding


def hand(story: Story) -> Hand:
    """The running hand."""
    assert story.state.hand is not None, "no hand is played"
    return story.state.hand


def chips(story: Story, player: str) -> int:
    """What lies before a player, stakes of a running hand included."""
    return story.state.seats[player].chips


def words(story: Story, player: str) -> dict[int, list[str]]:
    """What a player may decide now, by box."""
    found: dict[int, list[str]] = {}
    for option in player_view(story.state, player).options:
        if option.command == "decide":
            found.setdefault(option.box, []).append(option.word)
    return found


def commands(story: Story, player: str) -> set[str]:
    """The commands that are open to a player."""
    return {option.command for option in player_view(story.state, player).options}


def offers(story: Story, player: str, command: str) -> list[tuple[str, int, int]]:
    """What a player may do by this command: the word, the least and the most."""
    return [
        (option.word, option.minimum, option.maximum)
        for option in player_view(story.state, player).options
        if option.command == command
    ]


def seen(story: Story, name: str, player: str = "") -> list[str]:
    """The cards of a hand as everybody, or a player, sees them; "" where one lies face down."""
    view = player_view(story.state, player).hands if player else public_view(story.state).hands
    return [card.card for cards in view if cards.name == name for card in cards.cards]


def report(story: Story, incident: str, position: int = 0, by_pit: bool = False) -> list[str]:
    """The dealer, or the pit, reports an incident; the events that it brings about."""
    before = len(story.log)
    story.do(e.IncidentReported("dealer", incident, position, "as seen", story.now, by_pit))
    return story.types(before)


def outcome(story: Story) -> tuple[str, str]:
    """The last incident that was resolved, and how."""
    resolved = story.last(e.IncidentResolved)
    return resolved.incident, resolved.outcome


def check_decision_clock(story: Story, asked_at: int, refusal: e.Input) -> None:
    """TAB-06: a warning after 180 s, the default 120 s later; what is refused restarts nothing."""
    clock = deciding(story)
    assert (clock.warn_at, clock.deadline) == (
        asked_at + WARNING_S * SECOND,
        asked_at + DEFAULT_S * SECOND,
    )
    view = public_view(story.state)
    assert view.warn_at.ToMicroseconds() == clock.warn_at
    assert view.deadline.ToMicroseconds() == clock.deadline
    refused(story, refusal)
    assert next_clock(story.state) == ("decision", clock.deadline)
