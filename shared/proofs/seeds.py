"""Commitments to the seeds of a shoe: the server's, and one a player."""

from __future__ import annotations

from hashlib import sha256

from shared.proofs.encoding import encode

SERVER_SEED_BYTES = 32
MIN_PLAYER_SEED_BYTES = 16
"""Shorter ones could be guessed from their commitment."""
MAX_PLAYER_SEED_BYTES = 64
MAX_PLAYER_SEEDS = 32
COMMITMENT_BYTES = 32


def server_seed_commitment(shoe_id: str, seed: bytes) -> bytes:
    """What `ShoeOpened` tells of the server seed: SHA-256, 32 bytes, good for this shoe alone."""
    return sha256(encode("croupier/server-seed/v1", shoe_id.encode(), seed)).digest()


def player_seed_commitment(shoe_id: str, player: str, seed: bytes) -> bytes:
    """What a player tells of his seed before the cut: SHA-256, 32 bytes.

    Shoe and player are in it, so that nobody can copy another's commitment and open it after him.
    """
    return sha256(
        encode("croupier/player-seed/v1", shoe_id.encode(), player.encode(), seed)
    ).digest()


def player_seed_fingerprint(player: str, seed: bytes) -> bytes:
    """The same for a player's seed in every shoe: finds one that is used again. 32 bytes."""
    return sha256(encode("croupier/player-seed-use/v1", player.encode(), seed)).digest()
