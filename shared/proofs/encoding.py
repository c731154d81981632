"""How anything is laid out before it is hashed: a domain and fields, each with its length."""

from __future__ import annotations

_LENGTH_BYTES = 4


def encode(domain: str, *fields: bytes) -> bytes:
    """`domain` (ASCII) and `fields`, each as a big-endian 32-bit length and then its bytes.

    No two different lists give the same bytes, and no two uses share a domain, so that a hash made
    for one purpose never passes for another.
    """
    parts = (domain.encode("ascii"), *fields)
    return b"".join([len(part).to_bytes(_LENGTH_BYTES, "big") + part for part in parts])
