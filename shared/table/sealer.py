"""Private cards and free text in a table's events, sealed with the deployment key."""

from __future__ import annotations

from typing import Any

from croupier.type.v1.sealed_pb2 import Sealed as SealedMessage

from shared.sealing import Keyring, Sealed, player_audience

AUDITORS = "auditors"
_NOTE = b"croupier/table-note/v1"


class KeyringSealer:
    """Seals a card's code, bound to the hand, its viewer and its position in the shoe; and notes,
    bound to the hand."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    def seal(self, hand_id: str, viewer: str, position: int, card: int) -> SealedMessage:
        """One byte, the card's code, as ciphertext."""
        return _message(
            self._keyring.seal_field(
                bytes((card,)), hand_id, player_audience(viewer), _place(position)
            )
        )

    def open(self, hand_id: str, viewer: str, position: int, sealed: Any) -> int:
        """The card's code; `UnsealError` where it was sealed for something else or altered."""
        audience = player_audience(viewer)
        return self._keyring.unseal_field(_sealed(sealed), hand_id, audience, _place(position))[0]

    def seal_text(self, hand_id: str, text: str) -> SealedMessage:
        """A note of the house, for itself and its auditors."""
        return _message(self._keyring.seal_field(text.encode(), hand_id, AUDITORS, _NOTE))

    def open_text(self, hand_id: str, sealed: Any) -> str:
        """The note; `UnsealError` where it was sealed for something else or altered."""
        return self._keyring.unseal_field(_sealed(sealed), hand_id, AUDITORS, _NOTE).decode()


def _message(sealed: Sealed) -> SealedMessage:
    return SealedMessage(key_id=sealed.key_id, nonce=sealed.nonce, ciphertext=sealed.ciphertext)


def _sealed(message: Any) -> Sealed:
    return Sealed(message.key_id, message.nonce, message.ciphertext)


def _place(position: int) -> bytes:
    return b"croupier/table-card/v1" + position.to_bytes(4, "big")
