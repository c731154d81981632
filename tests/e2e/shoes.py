"""What a test may know that nobody in the house does: every card and salt of every shoe."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from deploy.folder import HouseFolder
from shared.events import decode
from shared.proofs.sealed_shoe import SealedShoe
from shared.sealing import Keyring, Sealed
from tests.e2e.houses import HouseOnDisk, database_of
from tests.e2e.sightings import SECRET_BYTES

NEVER_S = float("inf")


@dataclass
class Shoe:
    """A shoe as it really was, and when each card was shown to everybody by the log."""

    shoe_id: str
    sealed: SealedShoe | None
    server_seed: bytes
    published_s: float
    shown_s: dict[int, float] = field(default_factory=dict)

    def secrets(self) -> dict[bytes, float]:
        """Each secret, and from when on it is none: salts with their cards, the seed at the end."""
        known = {
            self.server_seed[:SECRET_BYTES]: self.published_s,
            self.server_seed[SECRET_BYTES:]: self.published_s,
        }
        for position in range(len(self.sealed or ())):
            # Who has the seed has every salt.
            when_s = min(self.shown_s.get(position, NEVER_S), self.published_s)
            known[self.shown(position).salt] = when_s
        return known

    def shown(self, position: int) -> Any:
        """The card at a position, with its proof."""
        assert self.sealed is not None
        return self.sealed.show(position)


async def all_shoes(house: HouseOnDisk) -> list[Shoe]:
    """Every shoe of the house, derived from its seeds: those at rest are opened with shuffle's own
    key, which this test takes from the house's folder."""
    keys = HouseFolder(house.file.parent).keys.load()
    connection = await asyncpg.connect(database_of(house))
    try:
        rows = await connection.fetch(
            "SELECT stream, type, payload, recorded_at FROM log.events"
            " WHERE stream LIKE 'shuffle/%' ORDER BY stream, version"
        )
        at_rest = await connection.fetch("SELECT * FROM shuffle.seeds")
    finally:
        await connection.close()
    seeds = {}
    for row in at_rest:
        sealed = Sealed(row["key_id"], row["nonce"], row["ciphertext"])
        ring = Keyring(row["key_id"], {row["key_id"]: b64decode(keys.seed)})
        seeds[row["shoe_id"]] = ring.unseal_at_rest(sealed, "shuffle.seeds", row["shoe_id"])
    streams: dict[str, list[tuple[float, str, Any]]] = {}
    for row in rows:
        event = (row["recorded_at"].timestamp(), row["type"], decode(row["type"], row["payload"]))
        streams.setdefault(row["stream"].removeprefix("shuffle/"), []).append(event)
    return [_shoe(shoe_id, events, seeds) for shoe_id, events in streams.items()]


def _shoe(shoe_id: str, events: Iterable[tuple[float, str, Any]], seeds: dict[str, bytes]) -> Shoe:
    shown_s: dict[int, float] = {}
    opened: dict[str, bytes] = {}
    decks, cut_at, used, published_s = 0, 0, None, NEVER_S
    for at_s, kind, event in events:
        match kind:
            case "ShoeOpened":
                decks = event.decks
            case "ShoeCut":
                cut_at = event.at
            case "SeedOpened":
                opened[event.player] = event.seed
            case "ShoeSealed":
                used = list(event.used)
            case "CardsShown":
                for card in event.cards:
                    if card.HasField("open"):
                        shown_s.setdefault(card.position, at_s)
            case "CardsBurned" | "CardsExposed":
                for proof in event.open:
                    shown_s.setdefault(proof.position, at_s)
            case "ShoeRetired" if event.server_seed:
                seeds[shoe_id], published_s = event.server_seed, at_s
    seed = seeds[shoe_id]
    sealed = None
    if used is not None:
        player_seeds = [(player, opened[player]) for player in used]
        sealed = SealedShoe(seed, shoe_id, player_seeds, decks, cut_at)
    return Shoe(shoe_id, sealed, seed, published_s, shown_s)
