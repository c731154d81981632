"""What a hand of draw poker waits for, made once for all hands in which it is the same: cards to
deal, looks, and the decisions of a box (DRW-04, DRW-05, DRW-08)."""

from __future__ import annotations

from functools import lru_cache

from shared.games.draw_entries import BOXES
from shared.games.play import Deal, Decisions, Due, Face, Option, Show, Slot, Turn

CARDS = 5
MOST_EXCHANGED = 3  # DRW-08

NAMES = tuple([f"box{box}" for box in range(BOXES + 1)])
"""Of the boxes' hands of cards, by the number of the box."""


@lru_cache(maxsize=256)
def five_passes(boxes: tuple[int, ...]) -> Deal:
    """Five cards each, face down, one at a time (DRW-04)."""
    return Deal(tuple([Slot(NAMES[box], Face.DOWN) for box in boxes]) * CARDS)


@lru_cache(maxsize=256)
def looks(boxes: tuple[int, ...], positions: tuple[int, ...]) -> Show:
    """Each player looks at his five cards once all are dealt (DRW-04); positions box by box."""
    turned = zip([NAMES[box] for box in boxes for _ in range(CARDS)], positions, strict=True)
    return Show(tuple([Turn(name, position, Face.OWNER) for name, position in turned]))


_EXCHANGES = (Option("exchange", counts=tuple(range(MOST_EXCHANGED + 1))),)


@lru_cache(maxsize=2048)
def turn_to_exchange(phase: str, box: int, player: str) -> Decisions:
    """The box's exchange of up to three cards (DRW-08)."""
    return Decisions(phase, (Due(box, player, _EXCHANGES),), together=False)


@lru_cache(maxsize=BOXES * MOST_EXCHANGED)
def new_cards(box: int, count: int) -> Deal:
    """The cards for all that the box has discarded, at once (DRW-08)."""
    return Deal((Slot(NAMES[box], Face.OWNER),) * count)
