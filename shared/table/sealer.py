"""Private cards in a table's events, sealed for their viewers with the deployment key."""

from __future__ import annotations

from typing import Any

from croupier.type.v1.sealed_pb2 import Sealed as SealedMessage

from shared.sealing import Keyring, Sealed, player_audience


class KeyringSealer:
    """Seals a card's code, bound to the hand, its viewer and its position in the shoe."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    def seal(self, hand_id: str, viewer: str, position: int, card: int) -> SealedMessage:
        """One byte, the card's code, as ciphertext."""
        sealed = self._keyring.seal_field(
            bytes((card,)), hand_id, player_audience(viewer), _place(position)
        )
        return SealedMessage(key_id=sealed.key_id, nonce=sealed.nonce, ciphertext=sealed.ciphertext)

    def open(self, hand_id: str, viewer: str, position: int, sealed: Any) -> int:
        """The card's code; `UnsealError` where it was sealed for something else or altered."""
        plain = self._keyring.unseal_field(
            Sealed(sealed.key_id, sealed.nonce, sealed.ciphertext),
            hand_id,
            player_audience(viewer),
            _place(position),
        )
        return plain[0]


def _place(position: int) -> bytes:
    return b"croupier/table-card/v1" + position.to_bytes(4, "big")
