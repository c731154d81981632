"""Random hands of oasis and draw poker under random settings, legal and illegal moves mixed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.cards import DECK, Card
from shared.errors import RuleError
from shared.games import draw_poker, oasis_poker
from shared.games.play import (
    Box,
    Cell,
    Deal,
    Decision,
    Decisions,
    Done,
    Face,
    Game,
    Option,
    Setup,
    Show,
)

PLAYERS = ("ann", "bob", "cid", "dee", "eve")
WORDS = ("look", "bet", "fold", "exchange", "check", "call", "raise", "")
MOST_DECISIONS = 150


class Table:
    """Deals from a deck, tells the rules only what a table is told, and remembers all of it."""

    def __init__(self, rules: Game, settings: dict[str, Any], setup: Setup, deck: list[Card]):
        self.rules = rules
        self.deck = deck
        self.used = 0
        self.seen: set[int] = set()
        self.turned_up: set[int] = set()
        self.decided: list[Decision] = []
        self.hand = rules.start(rules.settings(settings), setup)

    def until_decisions(self) -> Decisions | Done:
        """Cards and shows until somebody must decide or the hand is over."""
        while isinstance(step := self.rules.next_step(self.hand), Deal | Show):
            if isinstance(step, Deal):
                faces = list(enumerate((slot.face for slot in step.slots), self.used))
                self.used += len(faces)
                self.seen |= {at for at, face in faces if face is not Face.DOWN}
                cells = (Cell(at, self._card(at)) for at, _ in faces)
                self.hand = self.rules.dealt(self.hand, tuple(cells))
            else:
                hands = self.rules.cells(self.hand)
                for turn in step.turns:
                    assert turn.position in [cell.position for cell in hands[turn.hand]]
                self.seen |= {turn.position for turn in step.turns}
                self.turned_up |= {turn.position for turn in step.turns if turn.face is Face.UP}
                turned = sorted(turn.position for turn in step.turns)
                cells = (Cell(at, self._card(at)) for at in turned)
                self.hand = self.rules.shown(self.hand, tuple(cells))
        return step

    def _card(self, position: int) -> Card | None:
        return self.deck[position] if position in self.seen else None

    def decide(self, decision: Decision) -> None:
        self.hand = self.rules.decide(self.hand, decision)
        self.decided.append(decision)

    def refuse(self, decision: Decision) -> None:
        before = repr(self.hand)
        with pytest.raises(RuleError):
            self.rules.decide(self.hand, decision)
        assert repr(self.hand) == before

    def held(self, box: int) -> list[Card]:
        """The cards of a box that its owner has seen."""
        cells = self.rules.cells(self.hand)[f"box{box}"]
        return [cell.card for cell in cells if cell.card is not None]


def play(data: st.DataObject, table: Table, check: Callable[[], None]) -> Done:
    """A hand to its end: mostly offered moves, some that are not; later only the clock's."""
    for turn in range(MOST_DECISIONS):
        step = table.until_decisions()
        check()
        if isinstance(step, Done):
            return step
        due = data.draw(st.sampled_from(step.due))
        if turn > MOST_DECISIONS // 2:
            table.decide(table.rules.default(table.hand, due.box))
        elif data.draw(st.integers(0, 5)):
            option = data.draw(st.sampled_from(due.options))
            table.decide(data.draw(accepted(table, due.box, option)))
        else:
            table.refuse(data.draw(refused(table, step)))
    raise AssertionError("the hand does not end")


@st.composite
def accepted(draw: st.DrawFn, table: Table, box: int, option: Option) -> Decision:
    """A decision within the bounds that the option gives."""
    cards: tuple[Card, ...] = ()
    if option.do == "exchange":
        count = draw(st.sampled_from(option.counts))
        cards = tuple(draw(st.permutations(table.held(box)))[:count])
    amount = 0
    if option.maximum:
        amount = draw(
            st.one_of(
                st.just(option.minimum),
                st.just(option.maximum),
                st.integers(option.minimum, option.maximum),
            )
        )
    insured = (
        draw(st.lists(st.sampled_from(option.insurance_max), unique=True))
        if option.insurance_max
        else []
    )
    insurance = tuple((player, draw(st.integers(1, most))) for player, most in insured)
    return Decision(box, option.do, amount, cards, insurance)


@st.composite
def refused(draw: st.DrawFn, table: Table, step: Decisions) -> Decision:
    """A decision outside of every bound: no such box, word, amount, card, count or insurance."""
    due = draw(st.sampled_from(step.due))
    offered = {option.do: option for option in due.options}
    ways: list[Decision] = [
        Decision(9, due.options[0].do),
        *(Decision(due.box, word) for word in WORDS if word not in offered),
    ]
    for word, option in offered.items():
        if option.maximum:
            amounts = (0, -1, option.minimum - 1, option.maximum + 1)
            ways += [Decision(due.box, word, amount) for amount in amounts]
        if option.counts:
            held = table.held(due.box)
            foreign = next(card for card in DECK if card not in held)
            counts = [count for count in range(7) if count not in option.counts]
            ways += [Decision(due.box, word, cards=tuple((held * 2)[:count])) for count in counts]
            ways += [Decision(due.box, word, cards=(held[0], held[0]))]
            ways += [Decision(due.box, word, cards=(foreign,))]
        if table.rules is oasis_poker and word != "look":
            limits = dict(option.insurance_max)
            bad = [(player, limits.get(player, 0) + 1) for player in ("ann", "bob", "nobody")]
            ways += [Decision(due.box, word, insurance=(stake,)) for stake in bad]
    return draw(st.sampled_from(ways))


def the_same_whatever_was_never_seen(
    data: st.DataObject, table: Table, settings: dict[str, Any], setup: Setup, done: Done
) -> None:
    """The same decisions over a deck whose unseen cards lie otherwise give the same result."""
    unseen = [at for at in range(len(table.deck)) if at not in table.seen]
    deck = list(table.deck)
    for at, other in zip(unseen, data.draw(st.permutations(unseen)), strict=True):
        deck[at] = table.deck[other]
    again = Table(table.rules, settings, setup, deck)
    for decision in table.decided:
        again.until_decisions()
        again.decide(decision)
    assert again.until_decisions() == done
    assert again.hand == table.hand


def cells_are_all_there(table: Table) -> None:
    """No card lies in two places; what was replaced is in none."""
    hands = table.rules.cells(table.hand)
    lying = [cell for cells in hands.values() for cell in cells]
    assert len({cell.position for cell in lying}) == len(lying)
    assert all(cell.position < table.used for cell in lying)
    for cell in lying:
        assert cell.card is None or cell.card == table.deck[cell.position]


oasis_rules = st.fixed_dictionaries(
    {},
    optional={
        "table_class": st.sampled_from(("main", "vip", "private")),
        "exchange_price": st.sampled_from(("sheet", "steep", "classic")),
        "max_payout": st.integers(0, 5000),
        "insurance_from": st.sampled_from(("ace_king", "pair", "two_pair")),
        "insurance_back_when_beaten": st.booleans(),
    },
)


@st.composite
def oasis_setups(draw: st.DrawFn) -> Setup:
    """Neighbouring boxes in turn of ann, bob and cid, with other bettors on some."""
    owners = sorted(draw(st.lists(st.sampled_from(("ann", "bob", "cid")), min_size=1, max_size=6)))
    boxes: list[Box] = []
    for number, owner in enumerate(owners, 1):
        if owners[: number - 1].count(owner) >= 3:
            continue
        others = draw(st.lists(st.sampled_from(PLAYERS[3:]), max_size=2, unique=True))
        bets = []
        for bettor in draw(st.permutations([owner, *others])):
            bets.append((bettor, "ante", 10 * draw(st.integers(1, 20))))
            if draw(st.booleans()):
                bets.append((bettor, "bonus", draw(st.integers(1, 20))))
        blind = draw(st.booleans()) or owners[: number - 1].count(owner) >= 2
        boxes.append(Box(number, owner, tuple(bets), blind))
    staked: dict[str, int] = {}
    for box in boxes:
        for bettor, _, stake in box.bets:
            staked[bettor] = staked.get(bettor, 0) + stake
    left = draw(st.dictionaries(st.sampled_from(PLAYERS), st.integers(0, 1500)))
    stacks = {player: staked.get(player, 0) + chips for player, chips in left.items()}
    return Setup(tuple(boxes), stacks)


def high_first(random: Random, least: int) -> list[Card]:
    """A shuffled deck in which cards of rank `least` or better come first: good hands, ties."""
    return sorted(random.sample(DECK, len(DECK)), key=lambda card: card.rank < least)


decks = st.builds(
    high_first, st.randoms(use_true_random=False), st.sampled_from((0, 0, 4, 7, 8, 10))
)


@given(data=st.data(), settings=oasis_rules, setup=oasis_setups(), deck=decks)
def test_oasis_hands_of_random_moves(
    data: st.DataObject, settings: dict[str, Any], setup: Setup, deck: list[Card]
) -> None:
    table = Table(oasis_poker, settings, setup, deck)

    def check() -> None:
        cells_are_all_there(table)
        staked = oasis_poker.staked(table.hand)
        for player, chips in table.hand.chips.items():
            assert chips >= 0
            assert chips == setup.stacks[player] - staked.get(player, 0)

    done = play(data, table, check)
    booked: dict[str, int] = {}
    cap = settings.get("max_payout")
    for box in setup.boxes:
        lines = [line for line in done.lines if line.box == box.number]
        for line in lines:
            booked[line.player] = booked.get(line.player, 0) + line.stake
            assert line.stake > 0
            assert line.returned >= 0
        wins = [line.returned - line.stake for line in lines if line.bet in ("ante", "bet")]
        assert cap is None or sum(win for win in wins if win > 0) <= cap
        for player in {line.player for line in lines}:
            names = [line.bet for line in lines if line.player == player]
            assert names == sorted(set(names))
    assert booked == oasis_poker.staked(table.hand)
    the_same_whatever_was_never_seen(data, table, settings, setup, done)


draw_rules = st.fixed_dictionaries(
    {},
    optional={
        "all_in": st.sampled_from(("match_or_fold", "side_pots")),
        "unplayed_after_exchange": st.sampled_from(("all_check", "tie", "both")),
        "min_bet": st.integers(1, 30),
        "rake_percent": st.sampled_from((0, 5, 2.5)),
        "rake_cap": st.integers(0, 10),
    },
)


@st.composite
def draw_setups(draw: st.DrawFn) -> Setup:
    numbers = sorted(draw(st.sets(st.integers(1, 5), min_size=2)))
    carried_pot = draw(st.integers(0, 120))
    entry = draw(st.sampled_from(("ante", "half_pot")))
    common = 10 if entry == "ante" else (carried_pot + 1) // 2
    entries = draw(st.dictionaries(st.sampled_from(numbers), st.integers(0, 60), max_size=2))
    stacks = {
        f"p{number}": entries.get(number, common) + draw(st.just(0) | st.integers(0, 150))
        for number in numbers
    }
    return Setup(
        tuple(Box(number, f"p{number}", ()) for number in numbers),
        stacks,
        ante=10,
        first=draw(st.sampled_from(numbers)),
        carried_pot=carried_pot,
        entries=tuple(entries.items()),
        entry=entry,
    )


@given(data=st.data(), settings=draw_rules, setup=draw_setups(), deck=decks)
def test_draw_hands_of_random_moves(
    data: st.DataObject, settings: dict[str, Any], setup: Setup, deck: list[Card]
) -> None:
    table = Table(draw_poker, settings, setup, deck)

    def check() -> None:
        cells_are_all_there(table)
        staked = draw_poker.staked(table.hand)
        assert all(0 <= put <= setup.stacks[player] for player, put in staked.items())

    done = play(data, table, check)
    put = {line.player: line.stake for line in done.lines}
    assert put == draw_poker.staked(table.hand)
    assert [line.box for line in done.lines] == [box.number for box in setup.boxes]
    returned = sum(line.returned for line in done.lines)
    assert returned + done.carried_pot + done.rake == sum(put.values()) + setup.carried_pot
    assert done.rake <= settings.get("rake_cap", done.rake)
    assert (done.result == "carried") == (done.next_entry is not None)
    if done.result == "uncontested":
        assert not table.turned_up
        assert len(done.winners) == 1
    the_same_whatever_was_never_seen(data, table, settings, setup, done)
