"""How many hands a second the pure rules play on one core.

Beside it what the cards alone cost: a sample of as many as the hand uses, and the ranking of its
poker hands. Times are of the processor, so that a busy machine changes little.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Any

from phevaluator.evaluator import evaluate_cards

from shared.cards import DECK, Card
from shared.games.play import (
    Box,
    Cell,
    Deal,
    Decision,
    Decisions,
    Face,
    Game,
    Option,
    Setup,
    Show,
    known,
)
from shared.games.registry import GAMES
from tests.bench.figures import Effort, Figure

HAND_CARDS = {"casino_holdem": 7, "oasis_poker": 5, "draw_poker": 5}
"""Of each poker hand that is ranked."""
PLAYERS = ("ann", "bob", "cid", "dee", "eve", "fay")
SHARE_OF_S = 0.3


async def rules(effort: Effort) -> list[Figure]:
    """Every game, with one box and with five (draw poker: two and five)."""
    return [
        measure(game, boxes, effort)
        for game in GAMES.values()
        for boxes in ((2, 5) if game.NAME == "draw_poker" else (1, 5))
    ]


def per_second(work: Callable[[], object], seconds: float) -> float:
    """How often `work` runs in a second of the processor."""
    started, count = time.process_time(), 0
    while (passed := time.process_time() - started) < seconds:
        for _ in range(20):
            work()
        count += 20
    return count / passed


def play(rules: Game, settings: Any, setup: Setup, deck: list[Card], random: Random) -> int:
    """One hand of offered moves; the number of cards it used, drawn from `deck` as it goes."""
    next_step, decide, draw, down = rules.next_step, rules.decide, random.random, Face.DOWN
    hand = rules.start(settings, setup)
    used, size = 0, len(deck)
    while True:
        step = next_step(hand)
        if isinstance(step, Decisions):
            due = step.due[0]
            options = due.options
            option = options[int(draw() * len(options))]
            named = _named(rules, hand, due.box, option, random) if option.counts else ()
            hand = decide(hand, Decision(due.box, option.do, option.minimum, named))
        elif isinstance(step, Deal):
            cells = []
            for slot in step.slots:
                other = used + int(draw() * (size - used))
                card = deck[other]
                deck[used], deck[other] = card, deck[used]
                cells.append(Cell(used, None if slot.face is down else card))
                used += 1
            hand = rules.dealt(hand, tuple(cells))
        elif isinstance(step, Show):
            seen = [Cell(turn.position, deck[turn.position]) for turn in step.turns]
            hand = rules.shown(hand, tuple(seen))
        else:
            return used


def _named(rules: Game, hand: Any, box: int, option: Option, random: Random) -> tuple[Card, ...]:
    """As many cards of the box as one of the exchange's counts."""
    count = option.counts[int(random.random() * len(option.counts))]
    return known(rules.cells(hand)[f"box{box}"][:count])


def setup_of(rules: Game, boxes: int) -> Setup:
    """So many boxes, each of its own player, with a stake of 100 (draw poker: an ante of 10)."""
    wagers = {"baccarat": "player", "battle": "stake", "draw_poker": ""}
    wager = wagers.get(rules.NAME, "ante")
    players = PLAYERS[:boxes]
    return Setup(
        tuple(
            Box(number, player, ((player, wager, 100),) if wager else ())
            for number, player in enumerate(players, 1)
        ),
        dict.fromkeys(players, 1000) if not wager else {},
        ante=0 if wager else 10,
    )


def measure(rules: Game, boxes: int, effort: Effort) -> Figure:
    """One game with so many boxes."""
    random = Random(1)
    settings = rules.settings({})
    setup = setup_of(rules, boxes)
    deck = list(DECK) * rules.decks(settings)
    used: list[int] = []

    def hand() -> None:
        used.append(play(rules, settings, setup, deck, random))

    seconds = effort.seconds * SHARE_OF_S
    per_second(hand, seconds)
    cards = round(sum(used) / len(used))
    hand_cards = HAND_CARDS.get(rules.NAME)
    ranked = boxes + (rules.NAME != "draw_poker")

    def alone() -> None:
        drawn = random.sample(deck, cards)
        if hand_cards is not None:
            for at in range(ranked):
                evaluate_cards(*drawn[at : at + hand_cards])

    figure = Figure(
        "rules",
        f"hands a second and core: {rules.NAME}, {boxes} box{'es' * (boxes > 1)}",
        "1/s",
        f"random.sample of {cards}" + (f", phevaluator of {ranked}" if hand_cards else ""),
        0.1,
    )
    for _ in range(effort.turns):
        figure.add(per_second(hand, seconds), per_second(alone, seconds))
    return figure
