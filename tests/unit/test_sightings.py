"""What looks for leaks finds them: a secret in any encoding, a card anywhere in a message."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import pytest
from croupier.table.v1 import table_pb2
from croupier.type.v1 import card_pb2
from google.protobuf import json_format

from tests.e2e.sightings import cards_in, secrets_in

SALT = bytes.fromhex("00ff10c3d2e1f0a9b8c7d6e5f4031223")
OTHER = bytes(range(16))

ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "raw": lambda salt: salt,
    "protobuf": lambda salt: card_pb2.CardProof(salt=salt, card="Td").SerializeToString(),
    "hex": lambda salt: salt.hex().encode(),
    "HEX": lambda salt: salt.hex().upper().encode(),
    "hex within more": lambda salt: b"a" + salt.hex().encode() + b"bc",
    "base64": base64.b64encode,
    "base64 for addresses": base64.urlsafe_b64encode,
    "base64 at 1": lambda salt: base64.b64encode(b"x" + salt),
    "base64 at 2": lambda salt: base64.b64encode(b"xy" + salt + b"z"),
    "base64 without end": lambda salt: base64.b64encode(salt).rstrip(b"="),
    "Python": lambda salt: repr(salt).encode(),
    "escapes": lambda salt: "".join(f"\\x{byte:02x}" for byte in salt).encode(),
    "octal": lambda salt: "".join(f"\\{byte:03o}" for byte in salt).encode(),
    "list": lambda salt: json.dumps(list(salt)).encode(),
    "number": lambda salt: str(int.from_bytes(salt, "big")).encode(),
    "number, little end first": lambda salt: str(int.from_bytes(salt, "little")).encode(),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_secret_is_found_in(encoding: str) -> None:
    blob = b'{"salt": "' + ENCODINGS[encoding](SALT) + b'"}'
    assert secrets_in(blob, frozenset({SALT, OTHER})) == {SALT}


def test_what_is_not_there_is_not_found() -> None:
    assert secrets_in(SALT[:-1] + b"\0", frozenset({SALT})) == set()


def test_cards_are_found_wherever_they_stand() -> None:
    answer = {
        "update": {
            "events": [{"cards_dealt": {"cards": [{"position": 4, "card_plus_one": 1}]}}],
            "table": {"hands": [{"cards": [{"position": 5, "card": "Td"}]}]},
            "you": {"proofs": [{"position": 6, "card": "2c"}], "hands": [{"cards": [{}]}]},
        }
    }
    shown = set(cards_in(json_format.ParseDict(answer, table_pb2.WatchResponse())))
    assert {(5, "Td"), (6, "2c")} < shown
    assert {position for position, _ in shown} == {4, 5, 6}
