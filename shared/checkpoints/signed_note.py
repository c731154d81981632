"""Texts that somebody has signed, as C2SP signed-note lays them down; Ed25519 signatures.

    <text, which ends with a newline>
    <an empty line>
    — <name of the key> <base64 of the key's id, 4 bytes, and the signature, 64 bytes>

A key that verifies is written `<name>+<id in hexadecimal>+<base64 of a 1 and its 32 bytes>`.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

MAX_NOTE_CHARACTERS = 64 * 1024
MAX_SIGNATURES = 16
_ED25519 = b"\x01"
_ID_BYTES = 4
_KEY_BYTES = 32
_DASH = "\u2014 "
_NO_TEXT = re.compile(r"[\x00-\x09\x0b-\x1f\ud800-\udfff]")
"""Control characters, and what Python makes of bytes that are not UTF-8."""
_SIGNATURE = re.compile(_DASH + r"(\S+) (\S+)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class NoteError(ValueError):
    """A note, or a key, that is none, or that is not to be believed; the words say why."""


class MalformedNoteError(NoteError):
    """It does not have the form that the specification wants."""


class UnknownKeyError(NoteError):
    """None of its signatures is said to be by the key that was asked for."""


class BadSignatureError(NoteError):
    """It says that it is signed by the key, and is not."""


@dataclass(frozen=True, slots=True)
class NoteVerifier:
    """A public key (32 bytes) that goes by a name; `str` gives it as it is handed out."""

    name: str
    public_key: bytes

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[^\s+\ud800-\udfff]+", self.name):
            raise MalformedNoteError(f"no key can be called {self.name!r}")
        if len(self.public_key) != _KEY_BYTES:
            raise MalformedNoteError(f"an Ed25519 key has {_KEY_BYTES} bytes")

    @property
    def key_id(self) -> bytes:
        """4 bytes, by which the signatures of this key are told from others'."""
        return sha256(self.name.encode() + b"\n" + _ED25519 + self.public_key).digest()[:_ID_BYTES]

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{b64encode(_ED25519 + self.public_key).decode()}"

    @classmethod
    def parse(cls, text: str) -> NoteVerifier:
        """The key that was handed out as `text`. Raises `MalformedNoteError`."""
        name, _, rest = text.partition("+")
        key_id, _, encoded = rest.partition("+")
        decoded = _base64(encoded)
        if decoded[:1] != _ED25519:
            raise MalformedNoteError("not an Ed25519 key")
        verifier = cls(name, decoded[1:])
        if key_id != verifier.key_id.hex():
            raise MalformedNoteError("the key does not have the id that stands beside it")
        return verifier

    def open(self, note: str) -> str:
        """The text of a note, which this key has signed.

        Raises `MalformedNoteError`, `UnknownKeyError` or `BadSignatureError`.
        """
        text, signatures = _parts(note)
        own = [sig for name, sig in signatures if name == self.name and sig[:4] == self.key_id]
        if not own:
            raise UnknownKeyError(f"not signed by {self.name}+{self.key_id.hex()}")
        key = Ed25519PublicKey.from_public_bytes(self.public_key)
        for each in own:
            try:
                key.verify(each[_ID_BYTES:], text.encode())
            except InvalidSignature:
                raise BadSignatureError(f"the signature is not one of {self.name}") from None
        return text


@dataclass(frozen=True, slots=True)
class NoteSigner:
    """A private key (the 32 bytes of RFC 8032) that goes by a name."""

    name: str
    private_key: bytes = field(repr=False)

    @property
    def verifier(self) -> NoteVerifier:
        """The public half."""
        return NoteVerifier(self.name, self._key().public_key().public_bytes_raw())

    def sign(self, text: str) -> str:
        """The note. The same text gives the same note. Raises `MalformedNoteError`."""
        verifier = self.verifier
        signature = verifier.key_id + self._key().sign(text.encode())
        note = f"{text}\n{_DASH}{self.name} {b64encode(signature).decode()}\n"
        verifier.open(note)
        return note

    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.private_key)


def split_notes(text: str) -> list[str]:
    """The notes in a text that holds them one after another, with empty lines between them or not;
    their texts have none, as those of checkpoints. Raises `MalformedNoteError`."""
    notes: list[str] = []
    lines: list[str] = []
    for line in _LINE.findall(text):
        signed = bool(lines) and lines[-1].startswith(_DASH)
        if signed and not line.startswith(_DASH):
            notes.append("".join(lines))
            lines = []
        if lines or line != "\n":
            lines.append(line)
    if lines:
        notes.append("".join(lines))
    for number, note in enumerate(notes, 1):
        try:
            _parts(note)
        except MalformedNoteError as error:
            raise MalformedNoteError(f"number {number}: {error}") from error
    return notes


def _parts(note: str) -> tuple[str, list[tuple[str, bytes]]]:
    """The text, and by whom (name) with what (id and signature) it is said to be signed."""
    if len(note) > MAX_NOTE_CHARACTERS or _NO_TEXT.search(note):
        raise MalformedNoteError("too long for a note, or with control characters")
    body, between, tail = note.rpartition("\n\n")
    if not between or not body or not tail.endswith("\n"):
        raise MalformedNoteError("a note is a text, an empty line and signatures")
    lines = tail[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise MalformedNoteError(f"more than {MAX_SIGNATURES} signatures")
    signatures = []
    for line in lines:
        found = _SIGNATURE.fullmatch(line)
        if found is None or "+" in found[1]:
            raise MalformedNoteError("not a line with a signature")
        signature = _base64(found[2])
        if len(signature) <= _ID_BYTES:
            raise MalformedNoteError("too short for a signature")
        signatures.append((found[1], signature))
    return body + "\n", signatures


def _base64(text: str) -> bytes:
    """What `text` encodes; it must be the one way to write it (RFC 4648, section 4)."""
    try:
        decoded = b64decode(text, validate=True)
    except ValueError as error:
        raise MalformedNoteError("not base64") from error
    if b64encode(decoded).decode() != text:
        raise MalformedNoteError("base64 written in another way than it is")
    return decoded
