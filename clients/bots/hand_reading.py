"""What a bot makes of the cards it sees. Rules of thumb; results are for the rules to say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from enum import IntEnum

from shared.cards import Card

ACE = 12
_WHEEL = frozenset({ACE, 0, 1, 2, 3})


class Made(IntEnum):
    """What a hand holds already, the better the higher."""

    HIGH_CARD = 0
    PAIR = 1
    TWO_PAIR = 2
    THREE_OF_A_KIND = 3
    STRAIGHT = 4
    FLUSH = 5
    FULL_HOUSE = 6
    FOUR_OF_A_KIND = 7
    STRAIGHT_FLUSH = 8


def made(cards: Collection[Card]) -> Made:
    """The best that is in the cards (any number of them)."""
    by_suit = [[card.rank for card in cards if card.suit == suit] for suit in range(4)]
    flush = next((ranks for ranks in by_suit if len(ranks) >= 5), None)
    if flush is not None and _straight(flush):
        return Made.STRAIGHT_FLUSH
    counts = sorted(Counter(card.rank for card in cards).values(), reverse=True)
    first, second = (*counts, 0, 0)[:2]
    if first == 4:
        return Made.FOUR_OF_A_KIND
    if first == 3 and second >= 2:
        return Made.FULL_HOUSE
    if flush is not None:
        return Made.FLUSH
    if _straight([card.rank for card in cards]):
        return Made.STRAIGHT
    if first == 3:
        return Made.THREE_OF_A_KIND
    if first == 2:
        return Made.TWO_PAIR if second == 2 else Made.PAIR
    return Made.HIGH_CARD


def four_to_a_flush(cards: Collection[Card]) -> list[Card]:
    """Four cards of one suit, where there are exactly that many."""
    for suit in range(4):
        of_suit = [card for card in cards if card.suit == suit]
        if len(of_suit) == 4:
            return of_suit
    return []


def four_to_a_straight(cards: Collection[Card]) -> list[Card]:
    """Four cards in a row that either end would make a straight of."""
    by_rank = {card.rank: card for card in cards}
    for low in range(8, 0, -1):
        if all(rank in by_rank for rank in range(low, low + 4)):
            return [by_rank[rank] for rank in range(low, low + 4)]
    return []


def matched(cards: Collection[Card]) -> list[Card]:
    """The cards that belong to a pair, three or four of a kind."""
    counts = Counter(card.rank for card in cards)
    return [card for card in cards if counts[card.rank] > 1]


def has_ace_king(cards: Iterable[Card]) -> bool:
    """Whether an ace and a king are among them."""
    return {ACE, ACE - 1} <= {card.rank for card in cards}


def _straight(ranks: Collection[int]) -> bool:
    held = set(ranks)
    return held >= _WHEEL or any(set(range(low, low + 5)) <= held for low in range(ACE - 3))
