"""Tables of all five games under random inputs, allowed and not, watched after every step."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from services.wallet import domain
from shared.errors import CroupierError
from shared.sealing import Keyring
from shared.table import events as e
from shared.table.codec import TableCodec
from shared.table.envelope import hand_ids
from shared.table.next_step import next_step
from shared.table.sealer import KeyringSealer
from shared.table.setup import bettors_on, proposed_setup
from shared.table.state import Status, TableState, free_chips, next_clock, staked
from shared.table.view import player_view, public_view
from tests.spec.followed import Followed
from tests.spec.table_moves import (
    PLAYERS,
    PROMISED,
    RandomStory,
    accept,
    fields_of,
    house,
    money,
    nonsense,
    offered,
    pit,
)

CODEC = TableCodec(KeyringSealer(Keyring("k1", {"k1": bytes(range(32))})))
RULES: dict[str, list[dict[str, Any]]] = {
    "baccarat": [{}, {"min": 40, "max": 200, "commission_percent": 2.5}],
    "battle": [{}, {"min": 40, "max": 200}],
    "casino_holdem": [{}, {"max_payout": 300, "ante_table": {"pair": 2}}],
    "oasis_poker": [
        {},
        {"table_class": "vip", "insurance_back_when_beaten": True},
        {"min": 40, "max": 100, "max_payout": 300},
    ],
    "draw_poker": [
        {},
        {"all_in": "side_pots", "rake_percent": 5},
        {"unplayed_after_exchange": "both", "half_pot_paid_by": "newcomers", "min_bet": 3},
        {"unplayed_after_exchange": "tie", "all_in": "side_pots"},
    ],
}
seeds = st.integers(0, 1 << 20)


class Table(RuleBasedStateMachine):
    """One table. `story` plays it; what it must keep is checked by `_did`."""

    game = ""

    @initialize(seed=seeds)
    def opens(self, seed: int) -> None:
        between_players = self.game == "draw_poker"
        rules = RULES[self.game][seed % len(RULES[self.game])]
        self.story = RandomStory(
            seed,
            game=self.game,
            rules=json.dumps(rules),
            seats=5,
            ante=20 if between_players else 0,
            open_joining=bool(seed % 2),
        )
        self.brought = 0
        self.wallet = Followed(domain.Table("t1", "EUR", self.game), PLAYERS, CODEC)
        for player in PLAYERS[:3]:
            self._seats(player)
        self._errands(100)

    @rule(seed=seeds)
    def a_hand_is_bet_for(self, seed: int) -> None:
        """Everybody bets once or twice and is done."""
        story = self._turn(seed)
        for player in story.random.sample(PLAYERS, len(PLAYERS)):
            for command in ("place_bet", "place_bet", "done_betting"):
                allowed = [option for option in offered(story, player) if option.command == command]
                if allowed and story.random.randrange(6):
                    self._try(accept(story, player, story.random.choice(allowed)))
        self._errands(100)

    @rule(seed=seeds)
    def they_play_on(self, seed: int) -> None:
        """Some decisions and cuts, one after the other, and the cards they bring."""
        story = self._turn(seed)
        for _ in range(story.random.randrange(1, 12)):
            moves = [
                (player, option)
                for player in PLAYERS
                for option in offered(story, player)
                if option.command in ("decide", "cut_shoe", "reveal_seed")
            ]
            if not moves:
                return
            self._accepts(*story.random.choice(moves))
            self._errands(story.random.choice((0, 1, 100, 100)))

    @rule(seed=seeds)
    def somebody_does_what_he_may(self, seed: int) -> None:
        story = self._turn(seed)
        player = story.random.choice(PLAYERS)
        rare = ("leave", "sit_out", "cash_out")
        options = [
            option
            for option in offered(story, player)
            if option.command not in rare or not story.random.randrange(4)
        ]
        if options:
            self._accepts(player, story.random.choice(options))

    @rule(seed=seeds)
    def somebody_comes(self, seed: int) -> None:
        story = self._turn(seed)
        player = story.random.choice(PLAYERS)
        if any(option.command == "join" for option in offered(story, player)):
            self._seats(player)

    @rule(seed=seeds)
    def others_answer(self, seed: int) -> None:
        story = self._turn(seed)
        self._errands(story.random.randrange(1, 9))

    @precondition(lambda self: next_clock(self.story.state)[1] > 0)
    @rule()
    def a_clock_runs_out(self) -> None:
        self._expire()

    @rule(seconds=st.integers(0, 200))
    def time_goes_on(self, seconds: int) -> None:
        deadline = next_clock(self.story.state)[1]
        self.story.later(seconds)
        if deadline:
            self.story.now = min(self.story.now, deadline - 1)

    @rule(seed=seeds)
    def the_pit_steps_in(self, seed: int) -> None:
        self._try(pit(self._turn(seed)))

    @rule(seed=seeds)
    def the_house_is_shaken(self, seed: int) -> None:
        self._try(house(self._turn(seed)))

    @rule(seed=seeds)
    def somebody_tries_something(self, seed: int) -> None:
        story = self._turn(seed)
        for _ in range(4):
            self._try(nonsense(story))

    @precondition(lambda self: self.story.state.hands_played > 2)
    @rule()
    def the_table_closes(self) -> None:
        self._try(e.TableClosing("op", "", self.story.now))
        self._errands(100)

    def _seats(self, player: str) -> None:
        """He joins, unless somebody objects, and asks for chips, if he may now."""
        self._do(e.JoinAsked(player, self.story.now))
        while player in self.story.state.joining:
            self._expire()
        self._try(e.ChipsRequested(player, self.story.random.randint(50, 1_000), self.story.now))

    # ---- What has to hold

    def _turn(self, seed: int) -> RandomStory:
        self.story.random.seed(seed)
        return self.story

    def _accepts(self, player: str, option: Any) -> None:
        fact = accept(self.story, player, option)
        if option.command in PROMISED:
            self._do(fact)
        else:
            self._try(fact)

    def _expire(self) -> None:
        clock, deadline = next_clock(self.story.state)
        self.story.now = max(self.story.now, deadline)
        self._do(e.ClockExpired(deadline, self.story.now, clock))

    def _errands(self, most: int) -> None:
        for _ in range(most):
            due = self.story.errands()
            if not due:
                return
            self._do(self.story.answer(self.story.random.choice(due)))

    def _try(self, fact: e.Input) -> None:
        """An input that is not allowed changes nothing, and the refusal names a field it has."""
        before, image = self.story.state, repr(self.story.state)
        try:
            self._do(fact)
        except CroupierError as error:
            refusal = error
        else:
            return
        assert self.story.state is before
        assert repr(before) == image
        assert refusal.field in fields_of(fact)

    def _do(self, fact: e.Input) -> None:
        """The story itself holds evolving the events against deciding them."""
        before = self.story.state
        events = self.story.do(fact)
        self._keeps_the_chips(before, events)
        self.wallet.follow(zip(events, hand_ids(before, events), strict=True))
        assert self.wallet.agrees_with(self.story.state)
        self._survives_the_log(before, events)
        self._waits_for_somebody()
        self._bets_stand(before)
        self._is_seen_by_all()

    def _keeps_the_chips(self, before: TableState, events: list[e.Event]) -> None:
        after = self.story.state
        for event in events:
            match event:
                case e.ChipsArrived():
                    self.brought += event.amount
                case e.CashOutRequested() | e.FineTaken():
                    assert event.amount >= 0
                    self.brought -= event.amount
                case e.CommissionTaken():
                    self.brought -= event.taken
                case e.HandSettled():
                    won = sum(line.returned - line.stake for line in event.lines)
                    if after.table.between_players:
                        assert won + event.pot_change + event.rake == 0
                        self.brought -= event.rake
                    else:
                        self.brought += won
        assert money(after) == self.brought
        for player, seat in after.seats.items():
            assert min(seat.chips, seat.owed, staked(after, player)) >= 0
            assert free_chips(after, player) >= 0
        assert sum(after.pot.paid.values()) == after.pot.carried
        assert min(after.pot.paid.values(), default=0) >= 0
        assert after.going_back == ()
        assert before.hands_played <= after.hands_played

    def _survives_the_log(self, before: TableState, events: list[e.Event]) -> None:
        for event, hand_id in zip(events, hand_ids(before, events), strict=True):
            payload = CODEC.encode(event, hand_id)
            assert CODEC.decode(type(event).__name__, payload, hand_id) == event

    def _waits_for_somebody(self) -> None:
        """For an errand, for a deadline, or for players to bet."""
        state = self.story.state
        waiting = next_step(state)
        if waiting.errands or waiting.deadline or state.status is Status.CLOSED:
            return
        assert state.hand is None
        assert state.betting is not None
        assert not state.betting.closed

    def _bets_stand(self, before: TableState) -> None:
        """In an open window nothing but a sum too small, or boxes too many, speaks against the bets
        of anybody; and who owns a box does so for as long as he bets on it."""
        state = self.story.state
        betting = state.betting
        if betting is not None:
            assert {player for _, player, _, _ in betting.bets} <= state.seats.keys()
        if betting is None or betting.closed or state.table.between_players:
            return
        state.table.game.check_bets(state.table.settings, proposed_setup(state, None), False)
        if before.betting is not None and before.betting.hand_id == betting.hand_id:
            for box, owner in before.betting.owners.items():
                assert betting.owners.get(box) == owner or owner not in bettors_on(betting, box)

    def _is_seen_by_all(self) -> None:
        """Everybody gets a view; no one sees a card that was not shown to him."""
        state = self.story.state
        hand = state.hand
        public = {
            card.position: card.card
            for cards in public_view(state).hands
            for card in cards.cards
            if card.card
        }
        assert public.keys() <= (hand.public if hand is not None else set())
        player = PLAYERS[state.version % len(PLAYERS)]
        owned = (
            {f"box{box.number}" for box in hand.setup.boxes if box.owner == player}
            if hand
            else set()
        )
        assert {cards.name for cards in player_view(state, player).hands} <= owned


class Baccarat(Table):
    game = "baccarat"


class Battle(Table):
    game = "battle"


class CasinoHoldem(Table):
    game = "casino_holdem"


class OasisPoker(Table):
    game = "oasis_poker"


class DrawPoker(Table):
    game = "draw_poker"


_EFFORT = settings(max_examples=50, stateful_step_count=50, deadline=None)

TestBaccarat = Baccarat.TestCase
TestBattle = Battle.TestCase
TestCasinoHoldem = CasinoHoldem.TestCase
TestOasisPoker = OasisPoker.TestCase
TestDrawPoker = DrawPoker.TestCase
for _case in (TestBaccarat, TestBattle, TestCasinoHoldem, TestOasisPoker, TestDrawPoker):
    _case.settings = _EFFORT
del _case  # or it would be run a second time
