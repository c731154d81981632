"""Playing cards: one small integer each, written rank then suit (`"Td"`)."""

from __future__ import annotations

RANKS = "23456789TJQKA"
SUITS = "cdhs"


class Card(int):
    """A card of a 52-card deck as `rank * 4 + suit`: 0 is `2c`, 51 is `As` (HND-01).

    An `int`, so that it costs nothing to store, compare and send; equal cards of different decks
    of a shoe are equal.
    """

    __slots__ = ()

    @property
    def rank(self) -> int:
        """0 for a deuce to 12 for an ace."""
        return self >> 2

    @property
    def suit(self) -> int:
        """0 clubs, 1 diamonds, 2 hearts, 3 spades."""
        return self & 3

    def __str__(self) -> str:
        return RANKS[self >> 2] + SUITS[self & 3]

    def __repr__(self) -> str:
        return f"Card({str(self)!r})"


DECK: tuple[Card, ...] = tuple(Card(code) for code in range(52))
_BY_TEXT = {str(card): card for card in DECK}


def parse_card(text: str) -> Card:
    """The card written `text`; `ValueError` where there is none."""
    card = _BY_TEXT.get(text)
    if card is None:
        raise ValueError(f"no such card: {text!r}")
    return card
