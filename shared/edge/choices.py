"""How a box plays where its results are simulated: an owner's decision from what he sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from shared.cards import RANKS, Card, parse_card
from shared.games import draw_poker, oasis_poker
from shared.games.play import Decision, Due, known
from shared.games.poker import ACE_KING, LEAST, strength

Choose = Callable[[Any, Due], Decision]
"""The decision of the box that is `due` in this hand of a game."""

_JACKS = strength(parse_card(text) for text in ["Jc", "Jd", "2c", "3d", "4h"])
_ACE_LOW = frozenset((len(RANKS) - 1, 0, 1, 2, 3))
_STRAIGHTS = {frozenset(range(low, low + 5)) for low in range(len(RANKS) - 4)} | {_ACE_LOW}


def exchange_one_of_a_draw(hand: oasis_poker.Hand, due: Due) -> Decision:
    """Oasis poker: bets a pair or better; exchanges the odd card of four to a flush, to a straight
    with two ends or, a pair too, to a straight flush; bets an ace-king only when the dealer's open
    card is of a rank it holds. What an exchange made is judged alike."""
    words = {option.do for option in due.options}
    if "look" in words:
        return Decision(due.box, "look")
    box = next(box for box in hand.boxes if box.number == due.box)
    cards = known(box.cells)
    value = strength(cards)
    if "exchange" in words and value < LEAST["straight"]:
        odd = odd_card(cards, value < LEAST["pair"])
        if odd is not None:
            return Decision(due.box, "exchange", cards=(odd,))
    (opened,) = known(hand.dealer)
    matched = value >= ACE_KING and any(card.rank == opened.rank for card in cards)
    bets = "bet" in words and (value >= LEAST["pair"] or matched)
    return Decision(due.box, "bet" if bets else "fold")


def jacks_or_better(hand: draw_poker.Hand, due: Due) -> Decision:
    """Draw poker: opens on jacks, stays with them or with a draw, raises on three of a kind; draws
    to the best part of the hand; then bets two pair, calls with jacks, raises on a straight."""
    cards = known(hand.cards[hand.seats.boxes.index(due.box)])
    value = strength(cards)
    if hand.phase == draw_poker.EXCHANGE:
        return Decision(due.box, "exchange", cards=_thrown(cards, value))
    first = hand.phase == draw_poker.BETTING_1
    opens = value >= (_JACKS if first else LEAST["two_pair"])
    raises = value >= LEAST["three_of_a_kind" if first else "straight"]
    stays = value >= _JACKS or (first and odd_card(cards, value < LEAST["pair"]) is not None)
    least = {option.do: option.minimum for option in due.options}
    if "bet" in least and opens:
        return Decision(due.box, "bet", amount=least["bet"])
    if "raise" in least and raises and hand.round.level < 2 * hand.round.full:
        return Decision(due.box, "raise", amount=least["raise"])
    words = ("check", "call", "fold") if stays else ("check", "fold")
    return Decision(due.box, next(word for word in words if word in least))


def _thrown(cards: Sequence[Card], value: int) -> tuple[Card, ...]:
    """Nothing of a straight or better, the odd card of a draw, else the lowest that are not paired,
    three at most."""
    if value >= LEAST["straight"]:
        return ()
    odd = odd_card(cards, value < LEAST["pair"])
    if odd is not None:
        return (odd,)
    times = Counter(card.rank for card in cards)
    return tuple(sorted(card for card in cards if times[card.rank] == 1)[:3])


def odd_card(cards: Sequence[Card], unpaired: bool) -> Card | None:
    """The card that does not belong to the draw that the other four are, if they are one."""
    for odd in cards:
        rest = [card for card in cards if card != odd]
        flush = len({card.suit for card in rest}) == 1
        ends = _ends(card.rank for card in rest)
        if (unpaired and (flush or ends == 2)) or (flush and ends):
            return odd
    return None


def _ends(ranks: Iterable[int]) -> int:
    """How many ranks make a straight of four (HND-01)."""
    four = frozenset(ranks)
    return sum(1 for rank in range(len(RANKS)) if rank not in four and four | {rank} in _STRAIGHTS)
