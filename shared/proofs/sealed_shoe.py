"""A whole shoe as its seeds make it: order, salts and seal. All of it is secret but the root."""

from __future__ import annotations

from shared.cards import DECK
from shared.proofs.merkle import MerkleTree
from shared.proofs.shoe_order import DECK_CARDS, PlayerSeeds, card_order, card_salts
from shared.proofs.shown_card import ShownCard, card_leaf


class SealedShoe:
    """Derived by whoever has all seeds: the shuffle service; an auditor once it is retired."""

    __slots__ = ("_cards", "_salts", "_tree", "root")

    def __init__(
        self, server_seed: bytes, shoe_id: str, player_seeds: PlayerSeeds, decks: int, cut_at: int
    ) -> None:
        """`player_seeds`: those that were opened in time, in the order they were committed."""
        self._cards = card_order(server_seed, shoe_id, player_seeds, decks, cut_at)
        self._salts = card_salts(server_seed, shoe_id, player_seeds, decks * DECK_CARDS)
        self._tree = MerkleTree(
            [
                card_leaf(shoe_id, position, card, salt)
                for position, (card, salt) in enumerate(zip(self._cards, self._salts, strict=True))
            ]
        )
        self.root = self._tree.root

    def __len__(self) -> int:
        return len(self._cards)

    def show(self, position: int) -> ShownCard:
        """The card at `position` with its proof; `IndexError` where the shoe has none."""
        path = self._tree.path(position)
        return ShownCard(position, DECK[self._cards[position]], self._salts[position], path)

    def __repr__(self) -> str:
        """Shows nothing but the root, which is public."""
        return f"SealedShoe(root={self.root.hex()})"
