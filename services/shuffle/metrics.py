"""What the shuffle service counts. Never a card, a seed or a shoe's id."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import Counter

from services.shuffle.shoe import (
    CardsBurned,
    CardsExposed,
    CardsShown,
    CardsTaken,
    Event,
    SeedOpened,
    SeedReused,
    ShoeOpened,
    ShoeRetired,
    ShoeSealed,
)

_opened = Counter("croupier_shuffle_shoes_opened_total", "Shoes opened")
_retired = Counter("croupier_shuffle_shoes_retired_total", "Shoes retired", ["reason"])
_seeds = Counter("croupier_shuffle_player_seeds_total", "Players' seeds, by end", ["end"])
_cards = Counter("croupier_shuffle_cards_total", "What was made of cards", ["use"])
derived = Counter("croupier_shuffle_shoes_derived_total", "Orders computed from their seeds")


def count(events: Iterable[Event]) -> None:
    """Counts events that have just been committed."""
    for event in events:
        match event:
            case ShoeOpened():
                _opened.inc()
            case SeedOpened():
                _seeds.labels("opened").inc()
            case SeedReused():
                _seeds.labels("reused").inc()
            case ShoeSealed():
                _seeds.labels("withheld").inc(len(event.withheld))
            case ShoeRetired(reason):
                _retired.labels(reason.name.lower()).inc()
            case CardsTaken(positions):
                _cards.labels("down").inc(len(positions))
            case CardsShown(cards):
                _cards.labels("shown").inc(len(cards))
            case CardsBurned(down, up):
                _cards.labels("burned").inc(len(down) + len(up))
            case CardsExposed(positions):
                _cards.labels("exposed").inc(len(positions))
            case _:
                pass
