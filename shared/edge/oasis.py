"""Oasis poker without exchanges, exactly: every hand against every hand of the dealer (OAS).

What a hand brings depends on how many of the dealer's hands do not play, are weaker, are level.
They may hold none of the player's cards, so they are counted by inclusion and exclusion: the hands
of five that hold certain cards depend on those cards' ranks alone, flushes left aside, and flushes
on the ranks of one suit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement
from math import comb, lcm, prod
from operator import attrgetter

from shared.cards import DECK, RANKS, SUITS, Card
from shared.games.oasis_poker import CARDS
from shared.games.oasis_settings import Settings
from shared.games.oasis_shares import Playing, Share, lines
from shared.games.play import Cell
from shared.games.poker import ACE_KING, LEAST, Strength, strength

HANDS = comb(len(DECK), CARDS)
DEALERS = comb(len(DECK) - CARDS, CARDS)

BET_FROM: Mapping[str, Strength] = {
    "bet_everything": 1,
    "bet_any_pair_or_better": LEAST["pair"],
    "bet_ace_king_or_better": ACE_KING,
}
"""The weakest hand that each strategy bets on; it folds all others."""

Ranks = tuple[int, ...]
"""Ranks of cards, ascending."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Hands of five of the same ranks, all of one suit or not: how many there are, and one."""

    ranks: Ranks
    flush: bool
    count: int
    cards: tuple[Card, ...]
    strength: Strength


@lru_cache(maxsize=1)
def kinds() -> tuple[Kind, ...]:
    """All hands of five."""
    return tuple(_kinds())


def _kinds() -> Iterator[Kind]:
    for ranks in combinations_with_replacement(range(len(RANKS)), CARDS):
        times = Counter(ranks)
        if max(times.values()) > len(SUITS):
            continue
        count = prod(comb(len(SUITS), each) for each in times.values())
        if len(times) == CARDS:
            suited = tuple(Card(rank * 4) for rank in ranks)
            yield Kind(ranks, True, len(SUITS), suited, strength(suited))
            count -= len(SUITS)
        # Suits in turn: equal ranks differ, and five cards are not of one suit.
        mixed = tuple(Card(rank * 4 + at % 4) for at, rank in enumerate(ranks))
        yield Kind(ranks, False, count, mixed, strength(mixed))


class Tally:
    """Hands by strength: how many are weaker than any given one. The weakest are added first."""

    def __init__(self) -> None:
        self._strengths: list[Strength] = []
        self._counts = [0]

    def add(self, value: Strength, count: int) -> None:
        self._strengths.append(value)
        self._counts.append(self._counts[-1] + count)

    def below(self, value: Strength) -> int:
        return self._counts[bisect_left(self._strengths, value)]


def _by_ranks() -> dict[Ranks, Tally]:
    """The hands that hold certain cards of these ranks, flushes left aside."""
    tallies: defaultdict[Ranks, Tally] = defaultdict(Tally)
    for kind in sorted((kind for kind in kinds() if not kind.flush), key=attrgetter("strength")):
        times = Counter(kind.ranks)
        for held in parts(kind.ranks):
            left = times - Counter(held)
            count = prod(comb(len(SUITS) - times[rank] + more, more) for rank, more in left.items())
            tallies[held].add(kind.strength, count)
    return tallies


def _by_suit(flush: bool) -> dict[Ranks, Tally]:
    """The flushes of one suit that hold these ranks, taken for what they are or, with `flush`
    false, for what they would be without it."""
    taken_for = {kind.ranks: kind.strength for kind in kinds() if kind.flush == flush}
    suited = [kind.ranks for kind in kinds() if kind.flush]
    tallies: defaultdict[Ranks, Tally] = defaultdict(Tally)
    for ranks in sorted(suited, key=taken_for.__getitem__):
        for held in parts(ranks):
            tallies[held].add(taken_for[ranks], 1)
    return tallies


def parts(ranks: Ranks) -> set[Ranks]:
    """Everything that some of these cards can be."""
    return {part for size in range(len(ranks) + 1) for part in combinations(ranks, size)}


def sign(size: int) -> int:
    """Of a term of an inclusion and exclusion over so many cards."""
    return -1 if size % 2 else 1


class Dealers:
    """The dealer's hands against those of a kind."""

    def __init__(self) -> None:
        self._by_ranks = _by_ranks()
        self._flushes = _by_suit(True)
        self._otherwise = _by_suit(False)
        suited = {kind.ranks for kind in kinds() if kind.flush}
        self._steps = sorted({kind.strength for kind in kinds() if kind.ranks in suited})

    def weaker(self, kind: Kind, value: Strength) -> int:
        """How many pairs there are of a hand of this kind and a weaker one than `value`."""
        plain = sum(
            sign(size) * self.holding(part, value)
            for size in range(CARDS + 1)
            for part in combinations(kind.ranks, size)
        )
        return kind.count * plain + sum(
            sign(len(part)) * _suits(kind, part) * self.flush_change(part, value)
            for part in parts(tuple(sorted(set(kind.ranks))))
        )

    def holding(self, held: Ranks, value: Strength) -> int:
        """How many hands with certain cards of these ranks are weaker, flushes left aside."""
        return self._by_ranks[held].below(value)

    def flush_step(self, value: Strength) -> Strength:
        """The greatest strength that changes no more than `value` does in `flush_change`: most
        hands are in between such steps."""
        place = bisect_left(self._steps, value)
        return self._steps[place] if place < len(self._steps) else value

    def flush_change(self, held: Ranks, value: Strength) -> int:
        """How many more are where those with these ranks in one suit are what they are, flushes."""
        return self._flushes[held].below(value) - self._otherwise[held].below(value)


def _suits(kind: Kind, part: Ranks) -> int:
    """How many pairs there are of a hand of this kind and a suit in which it has these ranks."""
    of_one_suit = len(SUITS) if part else len(SUITS) ** 2
    if kind.flush:
        return of_one_suit
    pairs = len(SUITS) * prod(
        comb(len(SUITS) - 1, times - 1) if rank in part else comb(len(SUITS), times)
        for rank, times in Counter(kind.ranks).items()
    )
    return pairs - of_one_suit if len(set(kind.ranks)) == CARDS else pairs


def values(settings: Settings, ante: int, strategies: Iterable[str]) -> dict[str, Fraction]:
    """What a box wins on the average per unit of its ante under strategies of `BET_FROM`."""
    dealers = Dealers()
    bet = {kind: _bet(settings, ante, kind, dealers) for kind in kinds()}
    every = HANDS * DEALERS * ante
    return {
        strategy: Fraction(
            sum(
                won if kind.strength >= BET_FROM[strategy] else -ante * kind.count * DEALERS
                for kind, won in bet.items()
            ),
            every,
        )
        for strategy in strategies
    }


def _bet(settings: Settings, ante: int, kind: Kind, dealers: Dealers) -> int:
    """What bets on hands of this kind win, over all the dealer's hands."""
    return Wins(settings, ante, kind).over(
        kind.count * DEALERS, lambda value: dealers.weaker(kind, value)
    )


class Wins:
    """What a bet on a hand of a kind wins against a hand of the dealer: by the game's own rules."""

    def __init__(self, settings: Settings, ante: int, kind: Kind) -> None:
        def won(dealer: Strength) -> int:
            made = lines(settings, _box(kind, Share("player", ante, 0), "bet"), dealer)
            return sum(line.returned - line.stake for line in made)

        self._own = kind.strength
        self._idle = won(ACE_KING - 1)
        self._against_weaker = won(kind.strength - 1)
        self._level = won(kind.strength)
        self._against_better = won(max(kind.strength + 1, ACE_KING))

    def over(self, hands: int, weaker: Callable[[Strength], int]) -> int:
        """The sum over so many hands of the dealer, of which `weaker` are less than a strength."""
        idle = below = up_to = weaker(ACE_KING)
        if self._own >= ACE_KING:
            below, up_to = weaker(self._own), weaker(self._own + 1)
        return (
            idle * self._idle
            + (below - idle) * self._against_weaker
            + (up_to - below) * self._level
            + (hands - up_to) * self._against_better
        )


def bonus(settings: Settings) -> Fraction:
    """What a bonus wins on the average per unit, held without an exchange (OAS-13)."""
    stake = lcm(*(odds.denominator for odds in settings.bonus_table.values()))
    total = 0
    for kind in kinds():
        made = lines(settings, _box(kind, Share("player", 1, stake), "fold"), None)
        total += kind.count * sum(
            line.returned - line.stake for line in made if line.bet == "bonus"
        )
    return Fraction(total, HANDS * stake)


def _box(kind: Kind, share: Share, word: str) -> Playing:
    cells = tuple(Cell(at, card) for at, card in enumerate(kind.cards))
    return Playing(1, 0, False, (share,), cells, word=word, looked=True)
