"""One card of a sealed shoe with its proof, and the check of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.cards import Card
from shared.proofs.encoding import encode
from shared.proofs.merkle import root_from_path
from shared.proofs.shoe_order import SALT_BYTES


@dataclass(frozen=True, slots=True)
class ShownCard:
    """A card at a position (from 0, after the cut), its 16-byte salt and its path from the leaf up.

    Salt and card stay out of `repr`, and so out of logs.
    """

    position: int
    card: Card = field(repr=False)
    salt: bytes = field(repr=False)
    path: tuple[bytes, ...] = field(repr=False)


def card_leaf(shoe_id: str, position: int, card: int, salt: bytes) -> bytes:
    """The data of a card's leaf in the tree that seals its shoe."""
    return encode(
        "croupier/shoe-card/v1",
        shoe_id.encode(),
        position.to_bytes(4, "big"),
        card.to_bytes(1, "big"),
        salt,
    )


def shown_card_holds(root: bytes, shoe_id: str, cards: int, shown: ShownCard) -> bool:
    """Whether `shown` is what the seal `root` of a shoe of `cards` cards fixed at its position."""
    if len(shown.salt) != SALT_BYTES or not 0 <= shown.position < cards:
        return False
    leaf = card_leaf(shoe_id, shown.position, shown.card, shown.salt)
    return root_from_path(leaf, shown.position, cards, shown.path) == root
