"""Oasis and draw poker hands told in a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from math import comb, prod
from typing import Any

from shared.cards import DECK, Card
from shared.games.script import run_script
from tests.spec.hands import Result, decision, play

NO_GAME = "Qc Jd 8h 5s 2c"
ACE_KING = "Ac Kd 4h 3s 2d"


def passes(*hands: str, then: str = "") -> str:
    """A deck that deals these hands of five, one card to each in turn, `then` these."""
    turns = zip(*(hand.split() for hand in hands), strict=True)
    return " ".join([*(card for turn in turns for card in turn), then]).strip()


def oasis(
    hands: Sequence[str],
    dealer: str,
    boxes: dict[int, dict[str, Any]],
    decisions: str,
    then: str = "",
    **others: Any,
) -> Result:
    """An oasis script: the boxes' hands and the dealer's, then the cards of the exchange."""
    deck = passes(*hands, dealer, then=then)
    return play("oasis_poker", deck, boxes, decisions, **others)


def draw(
    seats: Mapping[int, int | tuple[int, int]],
    decisions: str,
    hands: Sequence[str] = (),
    then: str = "",
    **others: Any,
) -> Result:
    """A draw poker script with ante 10: stacks (or stack and entry) by box, player `p<box>`; the
    hands in dealing order, else the deck as it comes out of its wrapper."""
    deck = passes(*hands, then=then).split() if hands else [str(card) for card in DECK]
    return run_script(
        {
            "game": "draw_poker",
            "ante": 10,
            "seats": [_seat(number, stack) for number, stack in seats.items()],
            "deck": deck,
            "decisions": [decision(words) for words in decisions.split(",") if words.strip()],
            **others,
        }
    )


def _seat(number: int, stack: int | tuple[int, int]) -> dict[str, Any]:
    seat: dict[str, Any] = {"box": number, "player": f"p{number}"}
    if isinstance(stack, tuple):
        return {**seat, "stack": stack[0], "entry": stack[1]}
    return {**seat, "stack": stack}


def won(result: Result) -> dict[str, int]:
    """What came back from the pots to each player."""
    return {player: seat["won"] for player, seat in result["seats"].items()}


def put(result: Result) -> dict[str, int]:
    """What each player put into the pots."""
    return {player: seat["put"] for player, seat in result["seats"].items()}


def fault(result: Result) -> tuple[str, int | None]:
    """Why a script was refused, and at which decision."""
    return result["error"]["reason"], result["error"]["at"]


def all_hands() -> Iterator[tuple[list[Card], int]]:
    """All 2,598,960 hands of five, as one of each kind and how many there are like it: those of the
    same ranks are equal but for being of one suit or not (HND-01)."""
    for ranks in combinations_with_replacement(range(13), 5):
        times = Counter(ranks)
        if max(times.values()) > 4:
            continue
        ways = prod(comb(4, count) for count in times.values())
        if len(times) == 5:
            yield [Card(rank * 4) for rank in ranks], 4
            ways -= 4
        suits: Counter[int] = Counter()
        mixed = []
        for place, rank in enumerate(ranks):
            mixed.append(Card(rank * 4 + (suits[rank] or (place == 4 and len(times) == 5))))
            suits[rank] += 1
        yield mixed, ways
