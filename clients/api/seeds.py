"""The client's part in a shoe: a seed of its own, committed before the cut and opened after it.

Whoever adds one knows that nobody else could have arranged the order of the cards; it costs
nothing, so every client does it without being asked (architecture §7).
"""

from __future__ import annotations

import secrets

from croupier.table.v1.table_pb2 import Command, PlayerView, TableView

from clients.api import commands
from shared.proofs.seeds import player_seed_commitment

SEED_BYTES = 32
_MOST_SHOES = 4


class SeedKeeper:
    """A player's seeds at one table, a fresh one from the operating system for every shoe."""

    def __init__(self, player: str) -> None:
        self._player = player
        self._seeds: dict[str, bytes] = {}
        self._revealed: set[str] = set()

    def next_command(self, table: TableView, you: PlayerView) -> Command | None:
        """What is to be said now, if anything."""
        shoe_id = table.shoe.shoe_id
        offered = {option.command for option in you.options}
        if "pledge_seed" in offered and shoe_id not in self._seeds:
            while len(self._seeds) >= _MOST_SHOES:
                oldest = next(iter(self._seeds))
                del self._seeds[oldest]
                self._revealed.discard(oldest)
            seed = self._seeds[shoe_id] = secrets.token_bytes(SEED_BYTES)
            return commands.pledge_seed(player_seed_commitment(shoe_id, self._player, seed))
        if "reveal_seed" in offered and shoe_id in self._seeds and shoe_id not in self._revealed:
            self._revealed.add(shoe_id)
            return commands.reveal_seed(self._seeds[shoe_id])
        return None
