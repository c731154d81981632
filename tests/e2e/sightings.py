"""Finds secrets in whatever was seen of a house, in whatever encoding, and cards that were seen."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from shared.cards import DECK

SECRET_BYTES = 16
"""What is looked for has so many bytes: a salt, or half of a seed."""

_HEX = re.compile(rb"[0-9a-fA-F]{32,}")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{22,}={0,2}")
_NUMBERS = re.compile(rb"\d{1,3}(?:,\s*\d{1,3}){15,}")
_ESCAPED = re.compile(rb"\\(?:x[0-9a-fA-F]{2}|[0-7]{3})")
_WHOLE_NUMBER = re.compile(rb"\d{30,}")


def secrets_in(blob: bytes, secrets: frozenset[bytes]) -> set[bytes]:
    """Those of `secrets` (16 bytes each) that stand in `blob`: as they are, in hexadecimal or
    base64 at any alignment, as escapes, as a list of byte values or as one number."""
    found: set[bytes] = set()
    for plain in readings(blob):
        found |= {plain[at : at + SECRET_BYTES] for at in range(len(plain))} & secrets
    return found


def readings(blob: bytes) -> Iterator[bytes]:
    """The bytes that `blob` may stand for."""
    yield blob
    for run in _HEX.findall(blob):
        for start in (0, 1):
            yield binascii.unhexlify(run[start : start + (len(run) - start) // 2 * 2])
    for run in _BASE64.findall(blob):
        usual = run.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
        for start in range(4):
            part = usual[start:]
            if len(part) % 4 == 1:
                part = part[:-1]
            yield base64.b64decode(part + b"=" * (-len(part) % 4))
    for run in _NUMBERS.findall(blob):
        values = [int(value) for value in run.split(b",")]
        yield bytes(value for value in values if value < 256)
    if _ESCAPED.search(blob):
        yield _ESCAPED.sub(_unescaped, blob)
    for run in _WHOLE_NUMBER.findall(blob):
        number = int(run)
        size = max(SECRET_BYTES, (number.bit_length() + 7) // 8)
        yield number.to_bytes(size, "big")
        yield number.to_bytes(size, "little")


def _unescaped(found: re.Match[bytes]) -> bytes:
    text = found.group()[1:]
    return bytes((int(text[1:], 16) if text[:1] == b"x" else int(text, 8) & 0xFF,))


def cards_in(message: Message) -> Iterable[tuple[int, str]]:
    """Each (position, card) that a message shows, wherever it stands in it."""
    names = message.DESCRIPTOR.fields_by_name
    if "position" in names:
        read: Any = message
        if "card" in names and read.card:
            yield read.position, read.card
        if "card_plus_one" in names and read.card_plus_one:
            yield read.position, str(DECK[read.card_plus_one - 1])
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for part in _parts(value):
                yield from cards_in(part)


def _parts(value: Any) -> Iterable[Message]:
    if isinstance(value, Message):
        return [value]
    parts = value.values() if isinstance(value, Mapping) else value
    return [part for part in parts if isinstance(part, Message)]
