"""A table told as a story: each line proposes an input, the errands are run from a given deck."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import pytest

from shared.cards import DECK, Card, parse_card
from shared.errors import CroupierError
from shared.games.play import Face
from shared.table import events as e
from shared.table.decide import decide
from shared.table.evolve import evolve
from shared.table.next_step import (
    Cards,
    Chips,
    Errand,
    OpenShoe,
    PutAway,
    RecordCut,
    SealShoe,
    next_step,
)
from shared.table.state import TableState, next_clock

START = 1_700_000_000_000_000
SECOND = 1_000_000
CLOCKS = e.Clocks(
    betting_ms=15_000,
    decision_warn_ms=180_000,
    decision_default_ms=120_000,
    cut_ms=10_000,
    seed_ms=5_000,
    entry_ms=30_000,
    consent_ms=15_000,
    grace_ms=10_000,
)
E = TypeVar("E")


class Story:
    """A table and all that was logged of it. `cards` leave each new shoe first."""

    def __init__(
        self,
        game: str = "baccarat",
        rules: str = "{}",
        seats: int = 7,
        cards: str = "",
        chips: Iterable[str] = (),
        amount: int = 100_000,
        ante: int = 0,
        open_joining: bool = True,
    ) -> None:
        self.now = START
        self.state = TableState()
        self.log: list[e.Event] = []
        self.top = [parse_card(card) for card in cards.split()]
        self.do(
            e.TableOpened(
                "t1", "One", game, 1, rules, "EUR", CLOCKS, seats, self.now, ante, open_joining
            ),
            e.TableClaimed("n1", 1, self.now),
        )
        for player in chips:
            self.do(e.JoinAsked(player, self.now), e.ChipsRequested(player, amount, self.now))
            self.run(Chips)

    def do(self, *facts: e.Input) -> list[e.Event]:
        """Proposes inputs; checks that evolving the events gives the state that deciding gave."""
        made: list[e.Event] = []
        for fact in facts:
            before = self.state
            events, self.state = decide(before, fact)
            again = before
            for event in events:
                again = evolve(again, event)
            assert again == self.state
            assert events[0] is fact
            made.extend(events)
        self.log.extend(made)
        return made

    def later(self, seconds: float) -> int:
        """Time goes on."""
        self.now += round(seconds * SECOND)
        return self.now

    def expire(self) -> list[e.Event]:
        """The running clock runs out."""
        clock, deadline = next_clock(self.state)
        assert deadline, "no clock runs"
        self.now = max(self.now, deadline)
        return self.do(e.ClockExpired(deadline, self.now, clock))

    def run(self, *kinds: type[Any]) -> list[e.Event]:
        """Runs errands (of these kinds) until none is left."""
        made: list[e.Event] = []
        for _ in range(60):
            due = [x for x in self.errands() if not kinds or isinstance(x, kinds)]
            if not due:
                return made
            made.extend(self.do(self.answer(due[0])))
        raise AssertionError("errands without end")

    def errands(self) -> tuple[Errand, ...]:
        """What the table waits for from others."""
        return next_step(self.state).errands

    def answer(self, errand: Errand) -> e.Input:
        """The input that an errand ends with."""
        match errand:
            case OpenShoe():
                return e.ShoeOffered(errand.shoe_id, b"c" * 32, self.now)
            case RecordCut():
                return e.CutRecorded(errand.shoe_id, errand.place or 99, self.now)
            case SealShoe():
                place = (errand.record.place if errand.record else 0) or 99
                size = self.state.table.decks * 52
                return e.ShoeReady(errand.shoe_id, b"r" * 32, size, place, at=self.now)
            case Cards():
                return e.CardsDealt(
                    errand.request_id, tuple(self.card(slot) for slot in errand.slots), self.now
                )
            case PutAway():
                return e.ShoePutAway(errand.shoe_id, self.now)
            case Chips():
                return e.ChipsArrived(errand.player, errand.amount, errand.request_id, self.now)

    def card(self, slot: e.CardSlot) -> e.DealtCard:
        """The card at a slot, for those who may see it."""
        value = self.value(slot.position)
        shown = None if slot.face is Face.DOWN else value
        return e.DealtCard(slot.position, slot.hand, slot.face, slot.viewer, shown)

    def value(self, position: int) -> Card:
        """The card at a position of any shoe of this story."""
        return self.top[position] if position < len(self.top) else DECK[position * 7 % 52]

    def pledge(self, player: str, commitment: bytes = b"p" * 32) -> e.SeedPledged:
        """A pledge for the shoe that takes them: the one in use before its cut, else the next."""
        shoe = self.state.shoe
        if shoe is None or shoe.cut_offered:
            shoe = self.state.next_shoe
        assert shoe is not None, "no shoe takes seeds"
        return e.SeedPledged(player, commitment, self.now, shoe.shoe_id)

    def bet(self, player: str, box: int, wager: str, stake: int) -> list[e.Event]:
        """Places a bet."""
        return self.do(e.BetPlaced(player, box, wager, stake, at=self.now))

    def done(self, *players: str) -> list[e.Event]:
        """These players have no more bets."""
        return self.do(*(e.BetsDone(player, self.now) for player in players))

    def hand(self, *bets: tuple[str, int, str, int]) -> list[e.Event]:
        """One whole hand of a house game without decisions: bets, done, cut by the dealer."""
        first = len(self.log)
        for bet in bets:
            self.bet(*bet)
        self.done(*dict.fromkeys(player for player, _, _, _ in bets))
        self.run()
        if self.state.shoe is not None and self.state.shoe.cut_deadline:
            self.do(e.CutChosen(self.state.shoe.cut_player, 0, self.now))
        self.run()
        return self.log[first:]

    def expire_cut(self) -> list[e.Event]:
        """The hand is played with the dealer's cut, betting ended by its clock if need be."""
        first = len(self.log)
        if self.state.betting is not None and not self.state.betting.closed:
            self.expire()
        self.run()
        if self.state.shoe is not None and self.state.shoe.cut_deadline:
            self.expire()
        self.run()
        return self.log[first:]

    def last(self, kind: type[E]) -> E:
        """The last event of this kind."""
        return next(event for event in reversed(self.log) if isinstance(event, kind))

    def types(self, first: int = 0) -> list[str]:
        """Names of the events from `first` on."""
        return [type(event).__name__ for event in self.log[first:]]


def refused(story: Story, fact: e.Input) -> str:
    """The reason why the input is refused; it changes nothing."""
    before, logged = story.state, len(story.log)
    with pytest.raises(CroupierError) as error:
        story.do(fact)
    assert story.state is before
    assert len(story.log) == logged
    return error.value.reason
