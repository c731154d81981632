"""Sealed fields open for their hand, audience and place, with their key, and for nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.sealing import (
    Keyring,
    Sealed,
    UnsealError,
    card_place,
    player_audience,
)

OLD = bytes(range(32))
NEW = bytes(range(32, 64))
RING = Keyring("new", {"new": NEW, "old": OLD})
ANN = player_audience("ann")
PLACE = card_place("shoe-1", 3)


def test_a_field_opens_as_it_was_sealed() -> None:
    sealed = RING.seal_field(b"Td", "hand-1", ANN, PLACE)
    assert sealed.key_id == "new"
    assert (len(sealed.nonce), len(sealed.ciphertext)) == (12, 2 + 16)
    assert b"Td" not in sealed.ciphertext
    assert RING.unseal_field(sealed, "hand-1", ANN, PLACE) == b"Td"


def test_it_opens_for_nothing_else() -> None:
    sealed = RING.seal_field(b"Td", "hand-1", ANN, PLACE)
    tampered = replace(sealed, ciphertext=bytes([sealed.ciphertext[0] ^ 1]) + sealed.ciphertext[1:])
    attempts: list[tuple[Sealed, str, str, bytes]] = [
        (sealed, "hand-2", ANN, PLACE),
        (sealed, "hand-1", player_audience("bob"), PLACE),
        (sealed, "hand-1", ANN, card_place("shoe-1", 4)),
        (sealed, "hand-1", ANN, card_place("shoe-2", 3)),
        (tampered, "hand-1", ANN, PLACE),
        (replace(sealed, nonce=bytes(12)), "hand-1", ANN, PLACE),
        (replace(sealed, nonce=b""), "hand-1", ANN, PLACE),
        (replace(sealed, key_id="old"), "hand-1", ANN, PLACE),
        (replace(sealed, key_id="lost"), "hand-1", ANN, PLACE),
    ]
    for attempt in attempts:
        with pytest.raises(UnsealError):
            RING.unseal_field(*attempt)


def test_a_row_at_rest_opens_for_its_row_alone() -> None:
    sealed = RING.seal_at_rest(b"seed", "shuffle.seeds", "shoe-1")
    assert RING.unseal_at_rest(sealed, "shuffle.seeds", "shoe-1") == b"seed"
    with pytest.raises(UnsealError):
        RING.unseal_at_rest(sealed, "shuffle.seeds", "shoe-2")
    with pytest.raises(UnsealError):
        RING.unseal_at_rest(sealed, "shuffle.other", "shoe-1")


def test_the_same_text_is_never_sealed_to_the_same_bytes() -> None:
    sealed = {RING.seal_field(b"Td", "hand-1", ANN, PLACE).ciphertext for _ in range(10)}
    assert len(sealed) == 10


def test_a_changed_key_still_opens_what_the_old_one_sealed() -> None:
    sealed = Keyring("old", {"old": OLD}).seal_field(b"Td", "hand-1", ANN, PLACE)
    assert RING.unseal_field(sealed, "hand-1", ANN, PLACE) == b"Td"


def test_a_ring_without_its_current_key_is_refused_and_shows_no_key() -> None:
    with pytest.raises(ValueError, match="not in the ring"):
        Keyring("new", {"old": OLD})
    assert repr(OLD) not in repr(RING)


def test_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Keyring("new", {"new": NEW, "old": OLD[:31]})
