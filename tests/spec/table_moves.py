"""Random things that may happen at a table, allowed and not: what a state machine plays with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from random import Random
from typing import Any

from croupier.table.v1.table_pb2 import Command, Option

from shared.cards import DECK, Card
from shared.table import events as e
from shared.table.next_step import Chips, Errand
from shared.table.options import options
from shared.table.state import TableState
from tests.unit.table.story import Story

PLAYERS = ("ann", "bob", "cid", "dee", "eve")
INCIDENTS = ("card_exposed", "wrong_card_count", "wrong_order", "dealer_change")
PROMISED = (
    "join",
    "leave",
    "sit_out",
    "buy_chips",
    "cash_out",
    "take_back_bets",
    "admit_bettor",
    "done_betting",
    "cut_shoe",
    "decide",
)
"""Commands that are accepted if they are offered. A bet at a house game may still break a limit of
its box."""


_COMMAND_OF: dict[type[Any], str] = {
    e.JoinAsked: "join",
    e.JoinObjected: "object_to_join",
    e.LeaveRequested: "leave",
    e.SitOutChanged: "sit_out",
    e.ChipsRequested: "buy_chips",
    e.CashOutAsked: "cash_out",
    e.BetPlaced: "place_bet",
    e.BetsTakenBack: "take_back_bets",
    e.BettorAdmitted: "admit_bettor",
    e.BetsDone: "done_betting",
    e.CutChosen: "cut_shoe",
    e.SeedPledged: "pledge_seed",
    e.SeedRevealed: "reveal_seed",
    e.DecisionMade: "decide",
    e.PenaltyGiven: "penalise",
    e.HandRuledVoid: "rule_void",
    e.IncidentReported: "report_incident",
    e.IncidentConfirmed: "confirm_incident",
}


def fields_of(fact: e.Input) -> set[str]:
    """What a refusal may name: a field of the command behind the input, or the table. What the
    house proposes has no command; there its own fields count."""
    command = _COMMAND_OF.get(type(fact))
    if command is None:
        return {"", "table_id", *(field.name for field in fields(fact))}
    message = Command.DESCRIPTOR.fields_by_name[command].message_type
    assert message is not None
    return {"", "table_id", *message.fields_by_name}


class RandomStory(Story):
    """A table whose shoes are shuffled, each by its name."""

    def __init__(self, seed: int, **table: Any) -> None:
        self.seed = seed
        self.random = Random(seed)
        self._shoes: dict[str, list[Card]] = {}
        super().__init__(**table)

    def value(self, position: int) -> Card:
        shoe = self.state.shoe
        assert shoe is not None
        if shoe.shoe_id not in self._shoes:
            deck = list(DECK) * self.state.table.decks
            Random(f"{self.seed} {shoe.shoe_id}").shuffle(deck)
            self._shoes[shoe.shoe_id] = deck
        return self._shoes[shoe.shoe_id][position]

    def answer(self, errand: Errand) -> e.Input:
        """The wallet refuses now and then."""
        if isinstance(errand, Chips) and not self.random.randrange(4):
            return e.ChipsDenied(
                errand.player, errand.amount, errand.request_id, "BLOCKED", self.now
            )
        return super().answer(errand)


def offered(story: RandomStory, player: str) -> list[Option]:
    """What the player may do now."""
    return list(options(story.state, player))


def accept(story: RandomStory, player: str, option: Option) -> e.Input:
    """Something within the bounds of an option."""
    return _ACCEPT[option.command](story, player, option)


def _amount(story: RandomStory, option: Option, most: int) -> int:
    high = min(option.maximum, option.minimum + most)
    return story.random.choice((option.minimum, high, story.random.randint(option.minimum, high)))


def _place_bet(story: RandomStory, player: str, option: Option) -> e.Input:
    box = option.box or story.random.randint(1, 4)
    stake = option.minimum if option.minimum == option.maximum else 20 * story.random.randint(1, 5)
    return e.BetPlaced(player, box, option.word, stake, not story.random.randrange(3), story.now)


def _decide(story: RandomStory, player: str, option: Option) -> e.Input:
    positions: tuple[int, ...] = ()
    if option.counts:
        assert story.state.hand is not None
        cells = story.state.table.game.cells(story.state.hand.play)[f"box{option.box}"]
        count = story.random.choice(list(option.counts))
        positions = tuple(cell.position for cell in story.random.sample(cells, count))
    amount = _amount(story, option, 60) if option.maximum else 0
    insured = [e.InsuranceStake(limit.player, limit.stake) for limit in option.insurance_max]
    insurance = tuple(insured) if story.random.randrange(2) else ()
    return e.DecisionMade(player, option.box, option.word, amount, positions, insurance, story.now)


_ACCEPT: dict[str, Callable[[RandomStory, str, Option], e.Input]] = {
    "join": lambda story, player, option: e.JoinAsked(player, story.now),
    "leave": lambda story, player, option: e.LeaveRequested(player, story.now),
    "sit_out": lambda story, player, option: e.SitOutChanged(
        player, not story.state.seats[player].sitting_out, story.now
    ),
    "buy_chips": lambda story, player, option: e.ChipsRequested(
        player, _amount(story, option, 500), story.now
    ),
    "cash_out": lambda story, player, option: e.CashOutAsked(
        player, _amount(story, option, 500), story.now
    ),
    "place_bet": _place_bet,
    "take_back_bets": lambda story, player, option: e.BetsTakenBack(player, option.box, story.now),
    "done_betting": lambda story, player, option: e.BetsDone(player, story.now),
    "admit_bettor": lambda story, player, option: e.BettorAdmitted(
        player, option.box, option.word, story.now
    ),
    "cut_shoe": lambda story, player, option: e.CutChosen(
        player, story.random.choice((0, option.minimum, option.maximum)), story.now
    ),
    "pledge_seed": lambda story, player, option: e.SeedPledged(
        player, b"p" * 32, story.now, option.word
    ),
    "reveal_seed": lambda story, player, option: e.SeedRevealed(player, b"s" * 16, story.now),
    "decide": _decide,
    "object_to_join": lambda story, player, option: e.JoinObjected(player, option.word, story.now),
}


def pit(story: RandomStory) -> e.Input:
    """Something that the dealer, the pit or the management does."""
    random, now = story.random, story.now
    player = random.choice(PLAYERS)
    match random.randrange(8):
        case 0:
            penalty = random.choice(("warning", "fine", "removal"))
            amount = random.randint(1, 300) if penalty == "fine" else 0
            return e.PenaltyGiven("pit", player, penalty, amount, "", now)
        case 1:
            return e.HandRuledVoid("pit", "", now)
        case 2:
            return e.IncidentConfirmed("pit", now)
        case 3:
            return e.IncidentReported(
                "pit", random.choice(INCIDENTS), 0, "", now, bool(random.randrange(2))
            )
        case _:
            shoe = story.state.shoe
            dealt = shoe.next_position if shoe is not None else 0
            return e.IncidentReported(
                "pit", random.choice(INCIDENTS), random.randint(0, dealt), "", now
            )


def house(story: RandomStory) -> e.Input:
    """Something that befalls the house: another owner, an outage, lost shoes."""
    match story.random.randrange(6):
        case 0:
            return e.ShoesLost(story.random.choice(("log_recovered", "shoe_retired")), story.now)
        case 1 | 2:
            return e.PlayResumed(story.now)
    return e.TableClaimed("n2", story.state.epoch + 1, story.now)


def nonsense(story: RandomStory) -> e.Input:
    """Anything at all, most often not allowed."""
    random, now = story.random, story.now
    player, other = random.choice(PLAYERS), random.choice(PLAYERS)
    box = random.randint(0, 8)
    words = (
        "look",
        "bet",
        "fold",
        "exchange",
        "check",
        "call",
        "raise",
        "fight",
        "keep",
        "timeout",
    )
    ways: list[Callable[[], e.Input]] = [
        lambda: e.JoinAsked(player, now),
        lambda: e.JoinObjected(player, other, now),
        lambda: e.LeaveRequested(player, now),
        lambda: e.ChipsRequested(player, random.randint(-1, 50), now),
        lambda: e.ChipsArrived(player, 50, "no such request", now),
        lambda: e.CashOutAsked(player, random.randint(-1, 5_000), now),
        lambda: e.BetPlaced(
            player,
            box,
            random.choice((*story.state.table.game.WAGERS, "entry", "x")),
            random.randint(-1, 900),
            bool(random.randrange(2)),
            now,
        ),
        lambda: e.BetsTakenBack(player, box, now),
        lambda: e.BettorAdmitted(player, box, other, now),
        lambda: e.BetsDone(player, now),
        lambda: e.CutChosen(player, random.randint(-1, 60), now),
        lambda: e.ShoeOffered("t1-s2", b"c" * 32, now),
        lambda: e.CutRecorded("t1-s2", 5, now),
        lambda: e.ShoeReady("t1-s2", b"r" * 32, 52, 5, at=now),
        lambda: e.ShoePutAway("t1-s2", now),
        lambda: e.SeedRevealed(player, b"s" * random.randint(0, 70), now),
        lambda: e.CardsDealt("no such request", (), now),
        lambda: e.ClockExpired(now, now, random.choice(("decision", "betting", "cut", "join/ann"))),
        lambda: e.DecisionMade(
            player,
            box,
            random.choice(words),
            random.randint(-1, 400),
            tuple(random.sample(range(60), random.randint(0, 6))),
            (
                (e.InsuranceStake(other, random.randint(-1, 50)),)
                if random.randrange(4) == 0
                else ()
            ),
            now,
            bool(random.randrange(2)),
        ),
    ]
    return random.choice(ways)()


def money(state: TableState) -> int:
    """All chips that lie at the table: players', and a carried pot's."""
    return sum(seat.chips for seat in state.seats.values()) + state.pot.carried
