"""Given events, when a command, then events or a refusal."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from services.shuffle.decide import Asker, Command, decide
from services.shuffle.shoe import (
    Event,
    SeedCommitted,
    SeedOpened,
    Shoe,
    ShoeCut,
    ShoeOpened,
    ShoeSealed,
    evolve,
)
from shared.errors import CroupierError
from shared.proofs.seeds import player_seed_commitment

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ASKER = Asker("table-1", 3)
ANN_SEED = b"a" * 16
BOB_SEED = b"b" * 64


def commitment(player: str, seed: bytes) -> bytes:
    return player_seed_commitment("shoe-1", player, seed)


OPENED = ShoeOpened("shoe-1", "table-1", 3, 1, 1, b"c" * 32, 3, 3, 7, True, NOW)
ANN = SeedCommitted("ann", commitment("ann", ANN_SEED), 3)
BOB = SeedCommitted("bob", commitment("bob", BOB_SEED), 3)
CUT = ShoeCut("ann", 20, 3)
SEALED = ShoeSealed(b"r" * 32, (), (), 3)
READY: tuple[Event, ...] = (OPENED, ShoeCut("", 20, 3), SEALED)
ANN_OPEN = SeedOpened("ann", ANN_SEED, 3)


def given(*events: Event) -> Shoe | None:
    shoe: Shoe | None = None
    for event in events:
        shoe = evolve(shoe, event)
    return shoe


def when(shoe: Shoe | None, command: Command) -> tuple[Event, ...]:
    return decide(shoe, command, NOW)


def refused(shoe: Shoe | None, command: Command) -> tuple[str, str]:
    """Reason and field of the refusal that `command` meets."""
    with pytest.raises(CroupierError) as caught:
        decide(shoe, command, NOW)
    return caught.value.reason, caught.value.field
