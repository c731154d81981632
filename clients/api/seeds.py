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
        for option in you.options:
            if option.command == "reveal_seed" and self._unrevealed(shoe_id):
                self._revealed.add(shoe_id)
                return commands.reveal_seed(self._seeds[shoe_id])
            if option.command == "pledge_seed" and option.word not in self._seeds:
                return self._pledge(option.word)
        return None

    def _unrevealed(self, shoe_id: str) -> bool:
        return shoe_id in self._seeds and shoe_id not in self._revealed

    def _pledge(self, shoe_id: str) -> Command:
        while len(self._seeds) >= _MOST_SHOES:
            oldest = next(iter(self._seeds))
            del self._seeds[oldest]
            self._revealed.discard(oldest)
        seed = self._seeds[shoe_id] = secrets.token_bytes(SEED_BYTES)
        commitment = player_seed_commitment(shoe_id, self._player, seed)
        return commands.pledge_seed(shoe_id, commitment)
