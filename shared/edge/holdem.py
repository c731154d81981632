"""Casino Hold'em, exactly: every way in which a hand can go on from every flop (CHE).

There are 25,989,600 sights that a player can have of his two cards and the flop, and for each of
them 1,070,190 ways in which turn, river and the dealer's cards can come. Nobody plays them one by
one: what they bring depends on ranks, and on one suit where a flush is possible. So there is

- a plain sum as if no flush existed, by ranks alone (`Sums.plain`), and
- for each suit of the flop what flushes change, over the boards with three or more cards of that
  suit, by ranks and by which cards are of the suit (`Sums.flushes`).

A bet's value on a sight is their sum. What is paid, and when the dealer plays, says the game.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import accumulate, combinations, combinations_with_replacement, permutations
from math import comb, prod
from operator import add as plus
from operator import mul as times
from typing import Any

from shared.cards import DECK, RANKS, SUITS, Card
from shared.edge.cores import cores, spread
from shared.edge.figure import Report
from shared.games import casino_holdem
from shared.games.poker import PAIR_OF_FOURS, Strength, strength

SIGHTS = comb(len(DECK), 3) * comb(len(DECK) - 3, 2)
WAYS = comb(len(DECK) - 5, 2) * comb(len(DECK) - 7, 2)
"""In how many ways turn, river and the dealer's two cards can come, once a player sees the flop."""

_DEALERS = comb(len(DECK) - 7, 2)
_STAKES = 3  # ante and bet, in antes

Ranks = tuple[int, ...]
"""Ranks of cards, ascending."""

Suited = tuple[Ranks, Ranks]
"""A flop as one suit sees it: the ranks in the suit and the others."""


class Pairs:
    """The unordered pairs of classes of cards, numbered."""

    def __init__(self, classes: int) -> None:
        self.classes = classes
        self.of = list(combinations_with_replacement(range(classes), 2))
        self.at = [[0] * classes for _ in range(classes)]
        for number, (low, high) in enumerate(self.of):
            self.at[low][high] = self.at[high][low] = number


BY_RANK = Pairs(len(RANKS))
BY_SUIT = Pairs(2 * len(RANKS))
"""Classes by rank and by whether a card is of the suit in question: 2 × rank, one more if it is."""

_RANKS_OF = [BY_RANK.at[low // 2][high // 2] for low, high in BY_SUIT.of]
_SUITED = [low % 2 + high % 2 for low, high in BY_SUIT.of]
_BITS = [(low % 2) << (low // 2) | (high % 2) << (high // 2) for low, high in BY_SUIT.of]


def pair_ways(pairs: Pairs, left: Sequence[int]) -> list[int]:
    """How many there are of each pair, of `left` cards of each class."""
    return [left[low] * left[high] if low != high else comb(left[low], 2) for low, high in pairs.of]


@dataclass(frozen=True, slots=True)
class Sums:
    """By how much betting wins or loses in minor units, summed up over all ways, for all sights."""

    plain: dict[Ranks, list[int]]
    flushes: dict[Suited, list[int]]

    def of_bet(self, hole: Sequence[Card], flop: Sequence[Card]) -> int:
        """The sum for one sight, over `WAYS`."""
        one, other = hole
        total = self.plain[ranks_of(flop)][BY_RANK.at[one.rank][other.rank]]
        for suit, key in suits_of(flop):
            pair = BY_SUIT.at[2 * one.rank + (one.suit == suit)][
                2 * other.rank + (other.suit == suit)
            ]
            total += self.flushes[key][pair]
        return total


def ranks_of(cards: Iterable[Card]) -> Ranks:
    """The ranks of cards, ascending."""
    return tuple(sorted(card.rank for card in cards))


def suits_of(flop: Sequence[Card]) -> Iterator[tuple[int, Suited]]:
    """The suits of a flop, each with the ranks in it and those in other suits."""
    for suit in sorted({card.suit for card in flop}):
        suited = ranks_of(card for card in flop if card.suit == suit)
        yield suit, (suited, ranks_of(card for card in flop if card.suit != suit))


class Outcomes:
    """What a bet brings on a whole board: the sum over the dealer's 990 hands, by player's pair."""

    def __init__(self, settings: casino_holdem.Settings, ante: int) -> None:
        self._settings = settings
        self._ante = ante
        self._paid: dict[Strength, tuple[int, ...]] = {}
        self._plain: dict[Ranks, list[int]] = {}

    def plain(self, board: Ranks) -> list[int]:
        """On a board of these ranks on which no flush exists."""
        found = self._plain.get(board)
        if found is None:
            left = [len(SUITS) - board.count(rank) for rank in range(len(RANKS))]
            found = self._plain[board] = self._of_pairs(BY_RANK, left, plain_strengths(board))
        return found

    def change(self, suited: Ranks, others: Ranks) -> list[int]:
        """What is more or less than that where these ranks, three or more, are of one suit."""
        left: list[int] = []
        for rank in range(len(RANKS)):
            left += [len(SUITS) - 1 - others.count(rank), 1 - suited.count(rank)]
        board = tuple(sorted(suited + others))
        without_flush, strengths = self.plain(board), plain_strengths(board)
        bits = sum(1 << rank for rank in suited)
        with_flush = self._of_pairs(
            BY_SUIT,
            left,
            [
                _flush_strength(bits | more) if len(suited) + count >= 5 else strengths[pair]
                for pair, count, more in zip(_RANKS_OF, _SUITED, _BITS, strict=True)
            ],
        )
        return [
            value - without_flush[pair] if possible else 0
            for value, pair, possible in zip(
                with_flush, _RANKS_OF, pair_ways(BY_SUIT, left), strict=True
            )
        ]

    def _returned(self, own: Strength) -> tuple[int, ...]:
        """What goes back of all stakes where the dealer does not play, is beaten, is level."""
        found = self._paid.get(own)
        if found is None:
            dealers = (None, own - 1, own)
            returned = (
                sum(casino_holdem.returned(self._settings, self._ante, own, dealer))
                for dealer in dealers
            )
            found = self._paid[own] = tuple(returned)
        return found

    def _of_pairs(self, pairs: Pairs, left: Sequence[int], strengths: Sequence[int]) -> list[int]:
        """The sums by the player's pair, `left` cards of each class being off the board and
        `strengths` those of the pairs with it; 0 for a pair that cannot be."""
        ways = pair_ways(pairs, left)
        kinds = sorted({value for value, count in zip(strengths, ways, strict=True) if count})
        place = {value: at for at, value in enumerate(kinds)}
        size = len(kinds) + 1
        # How many of the dealer's hands are weaker than each kind: all, and those with one certain
        # card of a class. Those with a player's card he cannot have.
        every = [0] * size
        holding = [[0] * size for _ in left]
        for (low, high), value, count in zip(pairs.of, strengths, ways, strict=True):
            if count:
                at = place[value] + 1
                every[at] += count
                holding[low][at] += left[high] - (low == high)
                if low != high:
                    holding[high][at] += left[low]
        every = list(accumulate(every))
        holding = [list(accumulate(of_class)) for of_class in holding]
        playing = bisect_left(kinds, PAIR_OF_FOURS)
        staked = _DEALERS * _STAKES * self._ante
        sums: list[int] = []
        for (low, high), value, count in zip(pairs.of, strengths, ways, strict=True):
            if not count:
                sums.append(0)
                continue
            with_low, with_high, own = holding[low], holding[high], place[value]
            idle = every[playing] - with_low[playing] - with_high[playing] + (own < playing)
            unopposed, winning, level = self._returned(value)
            total = idle * unopposed - staked
            if own >= playing:
                weaker = every[own] - with_low[own] - with_high[own]
                equal = every[own + 1] - with_low[own + 1] - with_high[own + 1] + 1 - weaker
                total += (weaker - idle) * winning + equal * level
            sums.append(total)
        return sums


@cache
def plain_strengths(board: Ranks) -> list[int]:
    """The strength of each pair of ranks with a board of these ranks, flushes left aside."""
    strengths: list[int] = []
    for low, high in BY_RANK.of:
        if max(board.count(low) + 1 + (low == high), board.count(high) + 1) > len(SUITS):
            strengths.append(0)
            continue
        ranks = sorted((*board, low, high))
        # Suits in turn: equal ranks differ, and no suit comes more than twice.
        strengths.append(strength(Card(rank * 4 + at % 4) for at, rank in enumerate(ranks)))
    return strengths


@cache
def _flush_strength(bits: int) -> Strength:
    """Of the ranks whose bits are set; 0 where a pair names a card that lies on the board."""
    suited = [Card(rank * 4) for rank in range(len(RANKS)) if bits >> rank & 1]
    return strength(suited) if len(suited) >= 5 else 0


# ---- From boards back to flops


def plain_sum(outcomes: Outcomes, flop: Ranks) -> list[int]:
    """The sums over turn, river and the dealer's hands by pair of ranks, flushes left aside."""
    total = [0] * len(BY_RANK.of)
    for drawn in combinations_with_replacement(range(len(RANKS)), 2):
        board = tuple(sorted(flop + drawn))
        if all(board.count(rank) <= len(SUITS) for rank in drawn):
            ways = _ways(BY_RANK, flop, drawn, len(SUITS), 1)
            row = map(times, ways, outcomes.plain(board))
            total = list(map(plus, total, row))
    return total


def flush_changes(outcomes: Outcomes, suited: Ranks) -> dict[Suited, list[int]]:
    """What flushes change on the boards with just these ranks in the suit, summed up for each flop
    that they may come of, by the player's pair."""
    sums: dict[Suited, list[int]] = {}
    for others in combinations_with_replacement(range(len(RANKS)), 5 - len(suited)):
        row = outcomes.change(suited, others)
        for flop, drawn in _flops(suited, others):
            ways = _ways(BY_SUIT, flop[1], drawn, len(SUITS) - 1, 2)
            add(sums, {flop: list(map(times, ways, row))})
    return sums


def _flops(suited: Ranks, others: Ranks) -> Iterator[tuple[Suited, Ranks]]:
    """The flops that such a board may come of, each with the ranks of other suits that came after
    it."""
    for size in range(max(1, 3 - len(others)), 4):
        for kept in combinations(suited, size):
            for before in sorted(set(combinations(others, 3 - size))):
                after = Counter(others) - Counter(before)
                yield (kept, before), tuple(sorted(after.elements()))


@cache
def _ways(pairs: Pairs, flop: Ranks, drawn: Ranks, of_a_rank: int, step: int) -> list[int]:
    """In how many ways cards of the ranks `drawn` come after cards of the ranks `flop`, by the
    player's pair; class `step * rank` are those of a rank that count."""
    ways = []
    for pair in pairs.of:
        of_ranks = (
            comb(max(0, of_a_rank - flop.count(rank) - pair.count(step * rank)), count)
            for rank, count in Counter(drawn).items()
        )
        ways.append(prod(of_ranks))
    return ways


def add(sums: dict[Suited, list[int]], more: Mapping[Suited, list[int]]) -> None:
    """Adds up sums by flop."""
    for flop, row in more.items():
        known = sums.get(flop)
        sums[flop] = row if known is None else list(map(plus, known, row))


# ---- All sights


def count(raw: dict[str, Any], ante: int, report: Report) -> Sums:
    """The sums under the settings `raw`, counted on all cores."""
    suited = [suited for size in (3, 4, 5) for suited in combinations(range(len(RANKS)), size)]
    pieces = 8 * cores()
    flushes: dict[Suited, list[int]] = {}
    report("all hands", 0, pieces)
    parts = [(raw, ante, suited[at::pieces]) for at in range(pieces)]
    for done, changes in enumerate(spread(_count_flushes, parts), 1):
        add(flushes, changes)
        report("all hands", done, pieces)
    outcomes = _outcomes(json.dumps(raw), ante)
    flops = combinations_with_replacement(range(len(RANKS)), 3)
    return Sums({flop: plain_sum(outcomes, flop) for flop in flops}, flushes)


def _count_flushes(part: tuple[dict[str, Any], int, list[Ranks]]) -> dict[Suited, list[int]]:
    raw, ante, boards = part
    outcomes = _outcomes(json.dumps(raw), ante)
    sums: dict[Suited, list[int]] = {}
    for suited in boards:
        add(sums, flush_changes(outcomes, suited))
    return sums


@lru_cache(maxsize=1)
def _outcomes(raw: str, ante: int) -> Outcomes:
    """Those of a process: parts have many boards in common."""
    return Outcomes(casino_holdem.settings(json.loads(raw)), ante)


def flops() -> Iterator[tuple[tuple[Card, ...], int]]:
    """One flop out of all that differ only in the names of the suits, and how many they are."""
    names = list(permutations(range(len(SUITS))))
    alike = Counter(
        min(tuple(sorted(card & ~3 | suits[card & 3] for card in flop)) for suits in names)
        for flop in combinations(DECK, 3)
    )
    for codes, many in alike.items():
        yield tuple(DECK[code] for code in codes), many


def values(sums: Sums, ante: int) -> tuple[Fraction, Fraction, Fraction]:
    """What a box wins on the average per unit of its ante if it always bets, if it bets only where
    that is worth more than a fold, which loses the ante, and how often it folds then."""
    folded = -ante * WAYS
    always = best = folds = 0
    for flop, many in flops():
        plain = sums.plain[ranks_of(flop)]
        suits = [(suit, sums.flushes[key]) for suit, key in suits_of(flop)]
        deck = [card for card in DECK if card not in flop]
        for at, one in enumerate(deck):
            row = BY_RANK.at[one >> 2]
            rows = [
                (suit, changes, BY_SUIT.at[(one >> 2) * 2 + (one & 3 == suit)])
                for suit, changes in suits
            ]
            for other in deck[at + 1 :]:
                rank = other >> 2
                bet = plain[row[rank]]
                for suit, changes, pair in rows:
                    bet += changes[pair[2 * rank + (other & 3 == suit)]]
                always += many * bet
                if bet <= folded:
                    folds += many
                    bet = folded
                best += many * bet
    every = SIGHTS * WAYS * ante
    return Fraction(always, every), Fraction(best, every), Fraction(folds, SIGHTS)
