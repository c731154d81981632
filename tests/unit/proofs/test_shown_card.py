"""Cards shown with their proof: what holds, and what a cheat would try."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.cards import DECK
from shared.proofs.encoding import encode
from shared.proofs.merkle import MerkleTree
from shared.proofs.sealed_shoe import SealedShoe
from shared.proofs.seeds import (
    player_seed_commitment,
    player_seed_fingerprint,
    server_seed_commitment,
)
from shared.proofs.shown_card import card_leaf, shown_card_holds

SEED = bytes(range(32))


@pytest.fixture(scope="module")
def shoe() -> SealedShoe:
    return SealedShoe(SEED, "shoe-1", [("ann", b"a" * 16)], 1, 20)


def test_every_card_of_a_shoe_holds(shoe: SealedShoe) -> None:
    assert len(shoe) == 52
    shown = [shoe.show(position) for position in range(52)]
    assert sorted(card.card for card in shown) == list(DECK)
    assert all(shown_card_holds(shoe.root, "shoe-1", 52, card) for card in shown)


def test_a_swapped_card_does_not_hold(shoe: SealedShoe) -> None:
    shown = shoe.show(7)
    for other in DECK:
        holds = shown_card_holds(shoe.root, "shoe-1", 52, replace(shown, card=other))
        assert holds == (other == shown.card)


def test_a_card_does_not_hold_elsewhere(shoe: SealedShoe) -> None:
    shown = shoe.show(7)
    other = shoe.show(8)
    moved = replace(shown, position=8)
    forged = replace(shown, path=other.path)
    assert not shown_card_holds(shoe.root, "shoe-1", 52, moved)
    assert not shown_card_holds(shoe.root, "shoe-1", 52, forged)
    assert not shown_card_holds(shoe.root, "shoe-2", 52, shown)
    assert not shown_card_holds(shoe.root, "shoe-1", 104, shown)
    assert not shown_card_holds(other.path[0], "shoe-1", 52, shown)
    assert not shown_card_holds(shoe.root, "shoe-1", 52, replace(shown, salt=shown.salt[:15]))
    assert not shown_card_holds(shoe.root, "shoe-1", 52, replace(shown, position=-1))
    assert not shown_card_holds(shoe.root, "shoe-1", 52, replace(shown, position=52))


def test_another_seed_gives_another_seal(shoe: SealedShoe) -> None:
    assert SealedShoe(SEED, "shoe-1", [("ann", b"b" * 16)], 1, 20).root != shoe.root
    assert SealedShoe(SEED, "shoe-1", [("ann", b"a" * 16)], 1, 21).root != shoe.root
    assert SealedShoe(SEED, "shoe-1", [("ann", b"a" * 16)], 1, 20).root == shoe.root


def test_the_root_does_not_let_52_guesses_find_a_card(shoe: SealedShoe) -> None:
    """The neighbour's path holds this leaf's hash; without the salt no guess meets it."""
    leaf_of_seven = shoe.show(6).path[0]
    guesses = [MerkleTree([card_leaf("shoe-1", 7, card, bytes(16))]).root for card in DECK]
    assert leaf_of_seven not in guesses
    shown = shoe.show(7)
    assert MerkleTree([card_leaf("shoe-1", 7, shown.card, shown.salt)]).root == leaf_of_seven


def test_nothing_secret_is_in_the_text_of_a_shoe_or_card(shoe: SealedShoe) -> None:
    shown = shoe.show(7)
    assert repr(shown) == "ShownCard(position=7)"
    assert repr(shoe) == f"SealedShoe(root={shoe.root.hex()})"


def test_commitments_are_for_one_shoe_one_player_and_one_purpose() -> None:
    seed = b"s" * 32
    commitments = {
        server_seed_commitment("shoe-1", seed),
        server_seed_commitment("shoe-2", seed),
        player_seed_commitment("shoe-1", "ann", seed),
        player_seed_commitment("shoe-1", "bob", seed),
        player_seed_commitment("shoe-2", "ann", seed),
        player_seed_fingerprint("ann", seed),
        player_seed_fingerprint("bob", seed),
    }
    assert len(commitments) == 7


def test_lengths_keep_fields_apart() -> None:
    assert encode("d", b"ab", b"c") != encode("d", b"a", b"bc") != encode("da", b"b", b"c")
    assert encode("d", b"a").hex() == "00000001640000000161"
