"""Random hands of the house games, legal and illegal moves mixed, watched at every step."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.cards import DECK, Card
from shared.errors import RuleError
from shared.games import baccarat, battle, casino_holdem
from shared.games.boxes import first_stakes
from shared.games.play import (
    Box,
    Cell,
    Deal,
    Decision,
    Decisions,
    Done,
    Face,
    Game,
    Line,
    Setup,
    Show,
)

GAMES: tuple[Game, ...] = (baccarat, battle, casino_holdem)
PLAYERS = ("ann", "bob", "cid", "dee")
REFUSALS = ("NOT_YOUR_TURN", "ILLEGAL_DECISION", "INSUFFICIENT_CHIPS")
WORDS = ("fight", "surrender", "bet", "fold", "exchange", "look", "timeout", "")
MOST_STEPS = 100


@st.composite
def setups(draw: st.DrawFn, rules: Game) -> Setup:
    """Boxes with bets that may stand; some players have few chips left, some never run out."""
    numbers = draw(st.sets(st.integers(1, 6), min_size=1, max_size=5))
    most = 1 if rules is casino_holdem else 3
    sides = {player: draw(st.sampled_from(rules.WAGERS[:2])) for player in PLAYERS}
    boxes = []
    for number in sorted(numbers):
        bettors = draw(st.lists(st.sampled_from(PLAYERS), min_size=1, max_size=most, unique=True))
        bets = []
        for bettor in bettors:
            wagers = [sides[bettor]]
            if "tie" in rules.WAGERS:
                wagers = draw(st.sampled_from((wagers, ["tie"], [*wagers, "tie"])))
            stake = 20 * draw(st.integers(1, 5))
            bets += [(bettor, wager, stake) for wager in wagers]
        boxes.append(Box(number, bettors[0], tuple(bets)))
    left = draw(st.dictionaries(st.sampled_from(PLAYERS), st.integers(0, 600)))
    first = first_stakes(Setup(tuple(boxes)))
    stacks = {player: first.get(player, 0) + chips for player, chips in left.items()}
    return Setup(tuple(boxes), MappingProxyType(stacks))


class Table:
    """A table that checks the rules while it deals: what it must never see, what it must keep."""

    def __init__(self, rules: Game, setup: Setup, deck: list[Card]) -> None:
        self.rules = rules
        self.setup = setup
        self.deck = deck
        self.used = 0
        self.down: dict[int, str] = {}
        self.hand = rules.start(rules.settings({}), setup)
        self.staked = Counter(dict(rules.staked(self.hand)))

    def answer(self, step: Deal | Show) -> None:
        """Cards for a deal, values for a show: only ever of a card that lies face down."""
        if isinstance(step, Show):
            for turn in step.turns:
                assert turn.face is not Face.DOWN
                assert self.down[turn.position] == turn.hand
            shown = tuple(Cell(turn.position, self.deck[turn.position]) for turn in step.turns)
            self.hand = self.rules.shown(self.hand, shown)
            return
        cells = []
        for slot in step.slots:
            if slot.face is Face.DOWN:
                self.down[self.used] = slot.hand
            cells.append(Cell(self.used, None if slot.face is Face.DOWN else self.deck[self.used]))
            self.used += 1
        self.hand = self.rules.dealt(self.hand, tuple(cells))

    def decide(self, step: Decisions, decision: Decision) -> None:
        """The options tell beforehand whether a decision is accepted; a refusal changes nothing."""
        offered = {
            (due.box, option.do): (due.player, option.price)
            for due in step.due
            for option in due.options
        }
        if (decision.box, decision.do) not in offered:
            before = repr(self.hand)
            with pytest.raises(RuleError) as refused:
                self.rules.decide(self.hand, decision)
            assert refused.value.reason in REFUSALS
            assert repr(self.hand) == before
            return
        after = self.rules.decide(self.hand, decision)
        player, price = offered[(decision.box, decision.do)]
        staked = Counter(dict(self.rules.staked(after)))
        more = staked - self.staked
        assert not self.staked - staked
        assert more[player] >= price
        self.hand, self.staked = after, staked

    def check(self) -> None:
        """Every card lies in one place; chips are where they were, staked, or paid."""
        lying = [cell.position for cells in self.rules.cells(self.hand).values() for cell in cells]
        assert sorted(lying) == list(range(self.used))
        if self.rules is not baccarat:
            paid = self.paid()
            for player, chips in self.hand.chips.items():
                assert chips >= 0
                assert chips == self.setup.stacks[player] - self.staked[player] + paid[player]

    def paid(self) -> Counter[str]:
        """What battle has paid at once (BTL-03); the other games pay at the end."""
        paid: Counter[str] = Counter()
        for fighter in self.hand.fighters if self.rules is battle else ():
            for share in fighter.shares:
                if fighter.won_on and share.fights:
                    paid[share.player] += share.staked * (1 + battle.ODDS[fighter.won_on - 1])
        return paid


@pytest.mark.parametrize("rules", GAMES, ids=[rules.NAME for rules in GAMES])
@given(data=st.data())
def test_a_hand_of_random_moves_keeps_all_its_promises(rules: Game, data: st.DataObject) -> None:
    setup = data.draw(setups(rules))
    deck = data.draw(st.randoms(use_true_random=False)).sample(list(DECK) * 6, 60)
    table = Table(rules, setup, deck)
    for _ in range(MOST_STEPS):
        step = rules.next_step(table.hand)
        assert rules.next_step(table.hand) == step
        if isinstance(step, Done):
            break
        if isinstance(step, Decisions):
            table.decide(step, data.draw(decisions(step)))
        else:
            table.answer(step)
        table.check()
    else:
        # Too many refusals: the clock ends the hand.
        while isinstance(step := rules.next_step(table.hand), Decisions):
            box = step.due[0].box
            table.decide(step, rules.default(table.hand, box))
            table.check()
        assert isinstance(step, Done)
    settle(table, step.lines)


def decisions(step: Decisions) -> st.SearchStrategy[Decision]:
    """Mostly what is offered, sometimes anything."""
    offered = [Decision(due.box, option.do) for due in step.due for option in due.options]
    anything = st.builds(Decision, st.integers(0, 8), st.sampled_from(WORDS))
    return st.one_of(st.sampled_from(offered), st.sampled_from(offered), anything)


def settle(table: Table, lines: tuple[Line, ...]) -> None:
    """Each stake has one line, nothing is made or lost, nothing is negative."""
    booked: Counter[str] = Counter()
    for line in lines:
        assert line.stake > 0
        assert line.returned >= 0
        booked[line.player] += line.stake
    assert booked == table.staked
    order = [(line.box, line.player, line.bet) for line in lines]
    assert len(set(order)) == len(order)
    assert [box for box, _, _ in order] == sorted(box for box, _, _ in order)
    for player, stack in table.setup.stacks.items():
        won = sum(line.returned for line in lines if line.player == player)
        assert stack - booked[player] + won >= 0


@given(data=st.data())
def test_the_order_of_arrival_changes_nothing_while_chips_suffice(data: st.DataObject) -> None:
    """BTL-05, CHE-02: decisions under one clock, in any order of arrival."""
    for rules, yes, no in ((battle, "fight", "surrender"), (casino_holdem, "bet", "fold")):
        setup = data.draw(setups(rules))
        setup = Setup(setup.boxes)
        deck = data.draw(st.randoms(use_true_random=False)).sample(list(DECK), 52)
        results = []
        says: dict[tuple[int, int], bool] = {}
        for ordering in (lambda due: due, lambda due: data.draw(st.permutations(due))):
            table = Table(rules, setup, deck)
            rounds = 0
            while not isinstance(step := rules.next_step(table.hand), Done):
                if isinstance(step, Decisions):
                    for due in ordering(list(step.due)):
                        key = (rounds, due.box)
                        if key not in says:
                            says[key] = data.draw(st.booleans())
                        still = rules.next_step(table.hand)
                        assert isinstance(still, Decisions)
                        table.decide(still, Decision(due.box, yes if says[key] else no))
                    rounds += 1
                else:
                    table.answer(step)
            results.append((step, rules.cells(table.hand)))
        assert results[0] == results[1]


@given(data=st.data())
def test_no_result_depends_on_a_card_that_was_never_shown(data: st.DataObject) -> None:
    """Hold'em in which all fold: whatever the dealer has, the table's whole hand is the same."""
    setup = Setup(data.draw(setups(casino_holdem)).boxes)
    deck = data.draw(st.randoms(use_true_random=False)).sample(list(DECK), 52)
    count = len(setup.boxes)
    swapped = list(deck)
    for at in (count, 2 * count + 1):
        swapped[at], swapped[-1 - at] = swapped[-1 - at], swapped[at]
    hands = []
    for cards in (deck, swapped):
        table = Table(casino_holdem, setup, cards)
        while not isinstance(step := casino_holdem.next_step(table.hand), Done):
            if isinstance(step, Decisions):
                table.decide(step, Decision(step.due[0].box, "fold"))
            else:
                table.answer(step)
        hands.append(table.hand)
    assert hands[0] == hands[1]
