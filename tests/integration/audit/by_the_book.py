"""Signed notes and proofs checked by the words of the specifications, without the house's code."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def opened(note: str, verifier_key: str) -> tuple[str, int, bytes]:
    """Origin, size and root of a checkpoint whose signature holds (C2SP signed-note)."""
    name, key_id, key = verifier_key.split("+", 2)
    text, _, signature = note.rpartition("\n\n")
    dash, signer, encoded = signature.removesuffix("\n").split(" ")
    assert (dash, signer) == ("—", name)
    assert b64decode(encoded)[:4].hex() == key_id
    public = Ed25519PublicKey.from_public_bytes(b64decode(key)[1:])
    public.verify(b64decode(encoded)[4:], f"{text}\n".encode())
    origin, size, root = text.split("\n")
    return origin, int(size), b64decode(root)


def leaf(data: bytes) -> bytes:
    return sha256(b"\0" + data).digest()


def node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def half(size: int) -> int:
    """The largest power of two below `size`."""
    power = 1
    while power * 2 < size:
        power *= 2
    return power


def root(data: Sequence[bytes]) -> bytes:
    """MTH (RFC 6962, 2.1)."""
    if len(data) == 1:
        return leaf(data[0])
    split = half(len(data))
    return node(root(data[:split]), root(data[split:]))


def root_of_inclusion(hashed: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """Where PATH leads to (2.1.1)."""
    if size == 1:
        assert not path
        return hashed
    *inner, sibling = path
    split = half(size)
    if index < split:
        return node(root_of_inclusion(hashed, index, split, inner), sibling)
    return node(sibling, root_of_inclusion(hashed, index - split, size - split, inner))


def roots_of_consistency(
    old: int, size: int, proof: Sequence[bytes], known: bytes | None
) -> tuple[bytes, bytes]:
    """The old and the new root that SUBPROOF leads to (2.1.2); `known` is the old root."""
    if old == size:
        if known is not None:
            assert not proof
            return known, known
        [only] = proof
        return only, only
    *inner, sibling = proof
    split = half(size)
    if old <= split:
        before, after = roots_of_consistency(old, split, inner, known)
        return before, node(after, sibling)
    before, after = roots_of_consistency(old - split, size - split, inner, None)
    return node(sibling, before), node(sibling, after)
