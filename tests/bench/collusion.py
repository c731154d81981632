"""What a house gains that colludes with a cutter or a seeder: `python -m tests.bench.collusion`.

The colluders want the ace of spades as the first card. They know the server seed from the start.
One player is honest: his seed is random, and known to nobody before he opens it. Each strategy is
given exactly what is known at its step; the last three break the order of the steps, to show what
it is for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from shared.cards import DECK, parse_card
from shared.proofs.shoe_order import card_order

WANTED = parse_card("As")
CARDS = len(DECK)
TRIES = 64
"""How many seeds a colluder may try. He could try millions; so few are enough to see it."""
SHOE = "shoe-1"


@dataclass(frozen=True, slots=True)
class Ceremony:
    """What the steps fix: the server seed, the honest player's seed and the colluder's. `cut` is
    the place that an honest dealer would draw."""

    server: bytes
    honest: bytes
    own: bytes
    cut: int

    def first(self, own: bytes | None, cut: int, honest: bytes | None = None) -> int:
        """The first card, with the colluder's seed (None: withheld) and this cut; `honest` is a
        guess at the honest player's seed in place of what it is."""
        seeds = [("ann", self.honest if honest is None else honest)]
        if own is not None:
            seeds.append(("eve", own))
        return card_order(self.server, SHOE, seeds, 1, cut)[0]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether the colluders had their card, and what stays on record against them: seeds withheld,
    shoes given up."""

    won: bool
    withheld: int = 0
    given_up: int = 0


Strategy = Callable[[Ceremony, Random], Outcome]


def nobody_colludes(at: Ceremony, random: Random) -> Outcome:
    return Outcome(at.first(at.own, at.cut) == WANTED)


def cutter_in_order(at: Ceremony, random: Random) -> Outcome:
    """He cuts before any seed is open, where his card would lie if ann's seed were the one that he
    guesses."""
    guess = random.randbytes(32)
    order = card_order(at.server, SHOE, [("ann", guess), ("eve", at.own)], 1, 0)
    place = order.index(WANTED)
    return Outcome(at.first(at.own, place if 0 < place < CARDS else at.cut) == WANTED)


def seeder_in_order(at: Ceremony, random: Random) -> Outcome:
    """He commits before any seed is open, to the one that would do if ann's seed were his guess."""
    guess = random.randbytes(32)
    seeds = (random.randbytes(32) for _ in range(TRIES))
    own = next((s for s in seeds if at.first(s, at.cut, guess) == WANTED), at.own)
    return Outcome(at.first(own, at.cut) == WANTED)


def seeder_who_may_withhold(at: Ceremony, random: Random) -> Outcome:
    """He opens last, and only if that is better: two orders to choose from. He is named for it."""
    if at.first(at.own, at.cut) == WANTED:
        return Outcome(True)
    won = at.first(None, at.cut) == WANTED
    return Outcome(won, withheld=1 if won else 0)


def house_that_gives_shoes_up(at: Ceremony, random: Random) -> Outcome:
    """It knows the order once the seeds are open, and gives up what it does not like, until the
    first card is right: every shoe stays on record with its reason."""
    given_up = 0
    while at.first(at.own, at.cut) != WANTED:
        given_up += 1
        at = ceremony(random)
    return Outcome(True, given_up=given_up)


def seeder_after_the_others(at: Ceremony, random: Random) -> Outcome:
    """If he had committed to nothing: he tries seeds when ann's is open."""
    seeds = (random.randbytes(32) for _ in range(TRIES))
    return Outcome(any(at.first(seed, at.cut) == WANTED for seed in seeds))


def cutter_after_the_seeds(at: Ceremony, random: Random) -> Outcome:
    """If the cut came last: he cuts to his card, wherever it is but on top."""
    order = card_order(at.server, SHOE, [("ann", at.honest), ("eve", at.own)], 1, 0)
    place = order.index(WANTED)
    return Outcome(at.first(at.own, place if place else at.cut) == WANTED)


def house_without_players_seeds(at: Ceremony, random: Random) -> Outcome:
    """If no seed but its own were in the order: it draws until it likes one, then commits."""
    for _ in range(TRIES):
        if card_order(random.randbytes(32), SHOE, [], 1, at.cut)[0] == WANTED:
            return Outcome(True)
    return Outcome(False)


IN_ORDER: tuple[Strategy, ...] = (nobody_colludes, cutter_in_order, seeder_in_order)
ON_RECORD: tuple[Strategy, ...] = (seeder_who_may_withhold, house_that_gives_shoes_up)
OUT_OF_ORDER: tuple[Strategy, ...] = (
    seeder_after_the_others,
    cutter_after_the_seeds,
    house_without_players_seeds,
)


@dataclass(frozen=True, slots=True)
class Tally:
    """How often a strategy won, in how many shoes that were dealt from."""

    trials: int
    won: int
    withheld: int
    given_up: int

    @property
    def share(self) -> float:
        return self.won / self.trials

    @property
    def error(self) -> float:
        """Standard error of `share`, were it that of honest play."""
        return math.sqrt((1 / CARDS) * (1 - 1 / CARDS) / self.trials)


def ceremony(random: Random) -> Ceremony:
    """Everything that is drawn, drawn."""
    server, honest, own = (random.randbytes(32) for _ in range(3))
    return Ceremony(server, honest, own, random.randint(1, CARDS - 1))


def tally(strategy: Strategy, trials: int, seed: int) -> Tally:
    """The same trials every time for a seed."""
    random = Random(seed)
    outcomes = [strategy(ceremony(random), random) for _ in range(trials)]
    return Tally(
        trials,
        sum(each.won for each in outcomes),
        sum(each.withheld for each in outcomes),
        sum(each.given_up for each in outcomes),
    )


def main() -> None:
    """Prints a table for docs/shuffle.md."""
    print("| strategy | trials | first card | withheld | given up |")
    print("| --- | --- | --- | --- | --- |")
    for strategy in (*IN_ORDER, *ON_RECORD, *OUT_OF_ORDER):
        cheap = strategy in (nobody_colludes, cutter_in_order, seeder_who_may_withhold)
        told = tally(strategy, 20_000 if cheap else 1_000, 1)
        print(
            f"| {strategy.__name__.replace('_', ' ')} | {told.trials:,} | {told.share:.2%} "
            f"| {told.withheld} | {told.given_up:,} |"
        )


if __name__ == "__main__":
    main()
