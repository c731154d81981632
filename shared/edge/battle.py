"""Battle, exactly: all that a coup can see by rank, from its last round back to the first (BTL).

What a coup may still bring depends on the ranks that both sides hold and not on how they came, so
there is one value for each pair of hands: some 1.2 million where fights go on.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations_with_replacement

from shared.cards import RANKS, SUITS
from shared.games.battle import ODDS

_RANKS = len(RANKS)
_ACE = _RANKS - 1
_CARDS = len(ODDS)

Ranks = tuple[int, ...]
"""The cards of one side by rank, from the lowest."""

PLANS: dict[str, Callable[[int, int], int]] = {
    "never_fight": lambda fight, surrender: surrender,
    "always_fight": lambda fight, surrender: fight,
    "best_play": max,
}
"""What an owner gets who has the choice between what a fight and what a surrender is worth."""

_HANDS: tuple[list[Ranks], ...] = tuple(
    list(combinations_with_replacement(range(_RANKS), cards)) for cards in range(_CARDS)
)
"""Everything that so many cards can be; a hand is known by its place here."""

_PLACES = [{hand: place for place, hand in enumerate(hands)} for hands in _HANDS]


def value(decks: int, strategy: str) -> Fraction:
    """What a box wins on the average per unit of its first stake, out of a full shoe."""
    coup = _Coup(decks, PLANS[strategy], strategy != "never_fight")
    return Fraction(coup.next_round(0, 0, 0), coup.scales[0])


class _Coup:
    """Values are whole numbers: with `held` cards a side they are in units of 1 / `scales[held]`,
    `scales` being in how many ways all later cards can come."""

    def __init__(self, decks: int, plan: Callable[[int, int], int], fights: bool) -> None:
        self._of_a_rank = len(SUITS) * decks
        cards = self._of_a_rank * _RANKS
        self._cards = [cards - 2 * held for held in range(_CARDS)]
        self.scales = [1] * (_CARDS + 1)
        for held in reversed(range(_CARDS)):
            self.scales[held] = self.scales[held + 1] * self._cards[held] * (self._cards[held] - 1)
        self._plan = plan
        self._fights = fights
        self._known: list[dict[tuple[int, int], int]] = [{} for _ in range(_CARDS)]
        self._winning = _last_round(decks)

    def next_round(self, box: int, dealer: int, held: int) -> int:
        """The value of one more card to each side, with one more stake on the box."""
        mine, theirs = _HANDS[held][box], _HANDS[held][dealer]
        left = [self._of_a_rank - mine.count(rank) - theirs.count(rank) for rank in range(_RANKS)]
        staked = held + 1
        won, lost = staked * ODDS[held] * self.scales[staked], -staked * self.scales[staked]
        total = lost * left[_ACE] * (self._cards[held] - 1)  # BTL-04
        boxes, dealers = _grown(held, box), _grown(held, dealer)
        worth = self._last_comparison if staked == _CARDS - 1 else self._lost_comparison
        for drawn in range(_ACE):
            if not left[drawn]:
                continue
            after = dealers[drawn]
            least = least_winning(mine, _HANDS[staked][after])
            left[drawn] -= 1
            of_rank = won * sum(left[least:])
            for rank in range(least):
                if left[rank]:
                    of_rank += left[rank] * worth(boxes[rank], after, staked)
            left[drawn] += 1
            total += left[drawn] * of_rank
        return total

    def _lost_comparison(self, box: int, dealer: int, held: int) -> int:
        """The value of a box that has lost the comparison with these cards (BTL-05)."""
        surrender = -held * self.scales[held]
        if not self._fights:
            return surrender
        found = self._known[held].get((box, dealer))
        if found is None:
            found = self._plan(self.next_round(box, dealer, held), surrender)
            self._known[held][box, dealer] = found
        return found

    def _last_comparison(self, box: int, dealer: int, held: int) -> int:
        """The value of one that has lost the comparison before the last, in which all stakes are
        won or lost (BTL-07)."""
        pair = box * len(_HANDS[held]) + dealer
        ways = self._winning[pair]
        if ways < 0:
            mine, theirs = _HANDS[held][box], _HANDS[held][dealer]
            ways = self._winning[pair] = winning_ways(mine, theirs, self._of_a_rank)
        scale = self.scales[held]
        return self._plan(_CARDS * ((ODDS[held] + 1) * ways - scale), -held * scale)


@lru_cache(maxsize=1)
def _last_round(decks: int) -> array[int]:
    """In how many ways the fifth cards win, for every pair of hands of four; -1 where not asked
    yet. It is the same for every strategy."""
    return array("q", [-1]) * len(_HANDS[-1]) ** 2


@cache
def _grown(held: int, place: int) -> list[int]:
    """The places of the hand with one more card of each rank."""
    hand = _HANDS[held][place]
    return [_PLACES[held + 1][tuple(sorted((*hand, rank)))] for rank in range(_RANKS)]


def least_winning(box: Ranks, dealer: Ranks) -> int:
    """The lowest rank of a next card with which `box` beats `dealer`, who has his already; 13 where
    none does. Whatever is higher wins as well (BTL-03, BTL-06).

    Pair by pair no card is lower if and only if the box has, of every rank or higher, at least as
    many cards as the dealer; and the highest must be higher.
    """
    least = dealer[-1] + 1 if not box or box[-1] <= dealer[-1] else 0
    for rank, own, other in zip(range(_RANKS), _at_least(box), _at_least(dealer), strict=True):
        if own < other:
            if own < other - 1:
                return _RANKS
            least = max(least, rank)
    return least


@cache
def _at_least(hand: Ranks) -> list[int]:
    """How many cards of the hand are of each rank or higher."""
    return [sum(1 for rank in hand if rank >= least) for least in range(_RANKS)]


def winning_ways(box: Ranks, dealer: Ranks, of_a_rank: int) -> int:
    """In how many ways the last two cards let `box` win: by where it is one short of the dealer
    now, and where level (see `least_winning`)."""
    mine, theirs = _at_least(box), _at_least(dealer)
    ahead = [own - other for own, other in zip(mine, theirs, strict=True)]
    if min(ahead) < -1:
        return 0
    short = [rank for rank, by in enumerate(ahead) if by < 0]
    least = short[-1] if short else 0
    left = [
        of_a_rank * (_RANKS - rank) - own - other
        for rank, (own, other) in enumerate(zip(mine, theirs, strict=True))
    ]
    left.append(0)
    total = 0
    top = dealer[-1]
    # The dealer's card must be below the ranks where the box is short.
    for drawn in range(short[0] if short else _ACE):
        if not ahead[drawn]:
            least = max(least, drawn)
        highest = max(top, drawn)
        winning = least if box[-1] > highest else max(least, highest + 1)
        total += (left[drawn] - left[drawn + 1]) * (left[winning] - (winning <= drawn))
    return total
