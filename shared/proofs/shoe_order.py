"""The order of a shoe: HMAC_DRBG over the seeds, Fisher–Yates without bias, then the cut. Scheme 1.

The salts of the seal and the dealer's cut come from instances of their own, told apart by their
personalisation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Protocol

from shared.proofs.encoding import encode
from shared.proofs.hmac_drbg import HmacDrbg

SCHEME = 1
DECK_CARDS = 52
MAX_DECKS = 16
BLOCK_BYTES = 4096
SALT_BYTES = 16

PlayerSeeds = Sequence[tuple[str, bytes]]
"""(player, seed) in the order of their commitments."""

_DRAW_BYTES = 2
_DRAW_SPAN = 1 << (8 * _DRAW_BYTES)


class ByteSource(Protocol):
    """Whatever gives random bytes by request; an `HmacDrbg` in a real shoe."""

    def generate(self, count: int) -> bytes: ...


class Draws:
    """Bytes drawn from `source` in blocks of 4,096, used in order, none twice."""

    __slots__ = ("_block", "_source", "_used")

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._block = b""
        self._used = 0

    def take(self, count: int) -> bytes:
        """The next `count` bytes; `count` divides the block, so that none spans two."""
        if self._used == len(self._block):
            self._block, self._used = self._source.generate(BLOCK_BYTES), 0
        start = self._used
        self._used += count
        return self._block[start : self._used]

    def below(self, bound: int) -> int:
        """A uniform integer from 0 to `bound` − 1, `bound` 1 to 65,536.

        Two bytes, big-endian, are taken until they lie below the greatest multiple of `bound` that
        fits in 65,536; their remainder is the answer. Equally many values stand behind each.
        """
        limit = _DRAW_SPAN - _DRAW_SPAN % bound
        while True:
            value = int.from_bytes(self.take(_DRAW_BYTES), "big")
            if value < limit:
                return value % bound


def permuted(items: Sequence[int], below: Callable[[int], int]) -> list[int]:
    """`items` shuffled by Fisher–Yates from the last to the second, with n − 1 draws of `below`."""
    order = list(items)
    for last in range(len(order) - 1, 0, -1):
        other = below(last + 1)
        order[last], order[other] = order[other], order[last]
    return order


def cut(order: Sequence[int], at: int) -> list[int]:
    """The `at` cards on top go under the rest."""
    return [*order[at:], *order[:at]]


def card_order(
    server_seed: bytes, shoe_id: str, player_seeds: PlayerSeeds, decks: int, cut_at: int
) -> bytes:
    """The cards of a shoe by position, one byte each (code of `shared.cards.Card`), after the cut.

    Before the shuffle the decks lie one after the other, each from 0 (`2c`) to 51 (`As`).
    """
    draws = Draws(order_source(server_seed, shoe_id, player_seeds))
    fresh = [code for _ in range(decks) for code in range(DECK_CARDS)]
    return bytes(cut(permuted(fresh, draws.below), cut_at))


def order_source(server_seed: bytes, shoe_id: str, player_seeds: PlayerSeeds) -> HmacDrbg:
    """The generator whose bytes order a shoe."""
    return _instance("croupier/shoe-order/v1", server_seed, shoe_id, player_seeds)


def card_salts(
    server_seed: bytes, shoe_id: str, player_seeds: PlayerSeeds, cards: int
) -> tuple[bytes, ...]:
    """The salts of `cards` positions, 16 bytes each."""
    draws = Draws(_instance("croupier/shoe-salts/v1", server_seed, shoe_id, player_seeds))
    return tuple(draws.take(SALT_BYTES) for _ in range(cards))


def dealer_cut(server_seed: bytes, shoe_id: str, least: int, most: int) -> int:
    """Where the dealer cuts: uniform from `least` to `most`, fixed with the server seed."""
    draws = Draws(_instance("croupier/shoe-cut/v1", server_seed, shoe_id, ()))
    return least + draws.below(most - least + 1)


def _instance(
    purpose: str, server_seed: bytes, shoe_id: str, player_seeds: PlayerSeeds
) -> HmacDrbg:
    # The nonce need not be secret but must never come with the same entropy twice (8.6.7).
    nonce = sha256(encode("croupier/shoe-nonce/v1", shoe_id.encode())).digest()
    seeds = [field for player, seed in player_seeds for field in (player.encode(), seed)]
    return HmacDrbg(server_seed, nonce, encode(purpose, shoe_id.encode(), *seeds))
