"""Secrets in places that may be read: AES-256-GCM, keys derived from a deployment key by HKDF.

Layouts are in docs/shuffle.md. Every sealed field names the deployment key it needs, so that keys
can be changed: new fields take the ring's current key, old ones find theirs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from shared.proofs.encoding import encode

KEY_BYTES = 32
NONCE_BYTES = 12


class UnsealError(Exception):
    """No key of the ring opens it: unknown key, other hand, audience or place, altered bytes."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """Ciphertext with its 16-byte tag, the 12-byte nonce and the id of the deployment key."""

    key_id: str
    nonce: bytes
    ciphertext: bytes


@dataclass(frozen=True, slots=True)
class Keyring:
    """Deployment keys by id, 32 bytes each; `current` seals, all unseal."""

    current: str
    keys: Mapping[str, bytes] = field(repr=False)

    def __post_init__(self) -> None:
        if self.current not in self.keys:
            raise ValueError(f"key {self.current!r} is not in the ring")
        if any(len(key) != KEY_BYTES for key in self.keys.values()):
            raise ValueError(f"a key has {KEY_BYTES} bytes")

    def seal_field(self, plaintext: bytes, hand_id: str, audience: str, place: bytes) -> Sealed:
        """Seals a field of an event for `audience` ("player/<id>", "auditors") of a hand.

        `place` says where it stands, e.g. shoe and position; moved elsewhere it does not open.
        """
        return self._seal(plaintext, _field_key(hand_id, audience), place)

    def unseal_field(self, sealed: Sealed, hand_id: str, audience: str, place: bytes) -> bytes:
        """What `seal_field` sealed with the same arguments; else `UnsealError`."""
        return self._unseal(sealed, _field_key(hand_id, audience), place)

    def seal_at_rest(self, plaintext: bytes, table: str, row: str) -> Sealed:
        """Seals a column of a row in a service's own schema."""
        return self._seal(plaintext, _column_key(table), row.encode())

    def unseal_at_rest(self, sealed: Sealed, table: str, row: str) -> bytes:
        """What `seal_at_rest` sealed for the same row; else `UnsealError`."""
        return self._unseal(sealed, _column_key(table), row.encode())

    def _seal(self, plaintext: bytes, info: bytes, place: bytes) -> Sealed:
        nonce = os.urandom(NONCE_BYTES)
        ciphertext = AESGCM(self._derived(self.current, info)).encrypt(nonce, plaintext, place)
        return Sealed(self.current, nonce, ciphertext)

    def _unseal(self, sealed: Sealed, info: bytes, place: bytes) -> bytes:
        if sealed.key_id not in self.keys:
            raise UnsealError(f"no key {sealed.key_id!r} in the ring")
        try:
            key = AESGCM(self._derived(sealed.key_id, info))
            return key.decrypt(sealed.nonce, sealed.ciphertext, place)
        except (InvalidTag, ValueError) as error:
            raise UnsealError("altered, or not sealed for this") from error

    def _derived(self, key_id: str, info: bytes) -> bytes:
        return HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(self.keys[key_id])


def player_audience(player: str) -> str:
    """The audience that is one player."""
    return f"player/{player}"


def card_place(shoe_id: str, position: int) -> bytes:
    """Where the sealed proof of a private card stands."""
    return encode("croupier/sealed-card/v1", shoe_id.encode(), position.to_bytes(4, "big"))


def _field_key(hand_id: str, audience: str) -> bytes:
    return encode("croupier/sealed-field/v1", hand_id.encode(), audience.encode())


def _column_key(table: str) -> bytes:
    return encode("croupier/sealed-column/v1", table.encode())
