"""Poker hands: their order and their names (HND-01 to HND-03).

A hand's `Strength` is one integer, 1 for the worst (7-5-4-3-2) to 7462 for a royal flush: greater
is better and equal is a tie, by the kind first, then by the cards that make it, then by the rest.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping

from phevaluator import _pheval

from shared.cards import Card, parse_card

Strength = int

HAND_NAMES: tuple[str, ...] = (
    "high_card",
    "pair",
    "two_pair",
    "three_of_a_kind",
    "straight",
    "flush",
    "full_house",
    "four_of_a_kind",
    "straight_flush",
    "royal_flush",
)
"""HND-02, from the weakest kind to the strongest."""

# phevaluator counts the 7,462 classes of five-card hands from the best (1) to the worst.
_CLASSES = 7462
# Its functions in C by the number of cards: the one in Python around them, which reads cards in
# other forms too, takes five times as long.
_EVALUATE: Mapping[int, Callable[..., int]] = {
    5: _pheval.evaluate_5cards,
    6: _pheval.evaluate_6cards,
    7: _pheval.evaluate_7cards,
}


def strength(cards: Iterable[Card]) -> Strength:
    """The strength of the best five of five to seven different cards; else `ValueError`."""
    held = tuple(cards)
    if len(held) not in _EVALUATE:
        raise ValueError(f"a hand of {len(held)} cards")
    return _CLASSES + 1 - _EVALUATE[len(held)](*held)


def _weakest(hand: str) -> Strength:
    return strength(parse_card(text) for text in hand.split())


ACE_KING: Strength = _weakest("Ac Kd 4c 3c 2c")
"""The least strength that is "ace-king or better" (OAS-09)."""

PAIR_OF_FOURS: Strength = _weakest("4c 4d 5c 3c 2c")
"""The least strength that is "a pair of fours or better" (CHE-03)."""

_LEAST: tuple[Strength, ...] = (
    _weakest("7c 5d 4c 3c 2c"),
    _weakest("2c 2d 5c 4c 3c"),
    _weakest("3c 3d 2c 2d 4c"),
    _weakest("2c 2d 2h 4c 3c"),
    _weakest("5c 4d 3c 2c Ac"),
    _weakest("7c 5c 4c 3c 2c"),
    _weakest("2c 2d 2h 3c 3d"),
    _weakest("2c 2d 2h 2s 3c"),
    _weakest("5c 4c 3c 2c Ac"),
    _weakest("Ac Kc Qc Jc Tc"),
)

LEAST: dict[str, Strength] = dict(zip(HAND_NAMES, _LEAST, strict=True))
"""The least strength of each kind: `strength(...) >= LEAST["pair"]` is a pair or better."""


def hand_name(value: Strength) -> str:
    """The kind of hand that has this strength, one of `HAND_NAMES`."""
    return HAND_NAMES[bisect_right(_LEAST, value) - 1]
