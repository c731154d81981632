"""What the generator of the house gives, as a test laboratory wants it: bytes, or whole shoes.

Every shoe is made as the shuffle service makes one without players: a fresh server seed, the
dealer's cut and the order from the generator, by the same functions.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator

from shared.proofs.encoding import encode
from shared.proofs.hmac_drbg import HmacDrbg
from shared.proofs.seeds import SERVER_SEED_BYTES
from shared.proofs.shoe_order import BLOCK_BYTES, DECK_CARDS, card_order, dealer_cut, order_source

Entropy = Callable[[int], bytes]
"""Gives so many random bytes."""

CUT_MIN = 1
_SHOE_ID = "rng-export-{}"


def operating_system() -> Entropy:
    """What the service takes its seeds from."""
    return secrets.token_bytes


def fixed(seed: bytes) -> Entropy:
    """The same seeds every time, for checks that must not change: a generator over `seed`, at least
    32 bytes."""
    nonce = encode("croupier/rng-export/v1")
    return HmacDrbg(seed, nonce).generate


def raw_blocks(entropy: Entropy) -> Iterator[bytes]:
    """The block of 4,096 bytes that orders a shoe, one shoe after the other: what the draws of the
    shuffle are taken from, before any rejection."""
    number = 0
    while True:
        seed = entropy(SERVER_SEED_BYTES)
        yield order_source(seed, _SHOE_ID.format(number), ()).generate(BLOCK_BYTES)
        number += 1


def final_shoes(entropy: Entropy, decks: int) -> Iterator[bytes]:
    """Whole shoes as they are dealt, shuffled and cut: one byte a card, 0 (`2c`) to 51 (`As`)."""
    number, cards = 0, decks * DECK_CARDS
    while True:
        seed, shoe_id = entropy(SERVER_SEED_BYTES), _SHOE_ID.format(number)
        cut = dealer_cut(seed, shoe_id, CUT_MIN, cards - CUT_MIN)
        yield card_order(seed, shoe_id, (), decks, cut)
        number += 1
