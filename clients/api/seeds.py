"""The client's part in a shoe: a seed of its own, committed before the cut and opened after it.

Whoever adds one knows that nobody else could have arranged the order of the cards; it costs
nothing, so every client does it without being asked (architecture §7). It holds the house to the
order of the steps: one who opens his seed while the house, or whoever cuts, can still choose has
given it away.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from croupier.table.v1.events_pb2 import ShoeReady
from croupier.table.v1.table_pb2 import Command, PlayerView, ShoeView, TableView

from clients.api import commands
from shared.proofs.seeds import COMMITMENT_BYTES, player_seed_commitment

SEED_BYTES = 32
_MOST_SHOES = 4


@dataclass(slots=True)
class _Part:
    """A seed, and what the house had committed to when it was pledged."""

    seed: bytes = field(repr=False)
    house: bytes
    opened: bool = False


class SeedKeeper:
    """A player's seeds at one table, a fresh one from the operating system for every shoe."""

    def __init__(self, player: str) -> None:
        self._player = player
        self._parts: dict[str, _Part] = {}
        self.complaints: dict[str, str] = {}
        """By shoe: what the house did that it must not. An honest one never does."""

    def next_command(self, table: TableView, you: PlayerView) -> Command | None:
        """What is to be said now, if anything."""
        for option in you.options:
            if option.command == "reveal_seed" and self._may_open(table.shoe):
                part = self._parts[table.shoe.shoe_id]
                part.opened = True
                return commands.reveal_seed(part.seed)
            if option.command == "pledge_seed" and option.word not in self._parts:
                for shoe in (table.shoe, table.next_shoe):
                    if shoe.shoe_id == option.word and len(shoe.commitment) == COMMITMENT_BYTES:
                        return self._pledge(shoe)
        return None

    def sealed(self, ready: ShoeReady) -> None:
        """Hears whose seeds are in the order."""
        part = self._parts.get(ready.shoe_id)
        if part is not None and part.opened and self._player not in ready.seeds_used:
            self._complain(
                ready.shoe_id, "the seed that was opened here was left out, or came late"
            )

    def _may_open(self, shoe: ShoeView) -> bool:
        part = self._parts.get(shoe.shoe_id)
        if part is None or part.opened:
            return False
        if shoe.commitment != part.house:
            self._complain(shoe.shoe_id, "the house has committed to another seed since the pledge")
        elif shoe.root or not shoe.cut_at:
            self._complain(shoe.shoe_id, "the house asked for the seed before the cut")
        return shoe.shoe_id not in self.complaints

    def _complain(self, shoe_id: str, what: str) -> None:
        self.complaints.setdefault(shoe_id, what)

    def _pledge(self, shoe: ShoeView) -> Command:
        while len(self._parts) >= _MOST_SHOES:
            del self._parts[next(iter(self._parts))]
        seed = secrets.token_bytes(SEED_BYTES)
        self._parts[shoe.shoe_id] = _Part(seed, shoe.commitment)
        commitment = player_seed_commitment(shoe.shoe_id, self._player, seed)
        return commands.pledge_seed(shoe.shoe_id, commitment)
