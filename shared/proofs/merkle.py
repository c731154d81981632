"""Merkle trees as RFC 6962 section 2.1 has them: root, inclusion path and its check, SHA-256."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

HASH_BYTES = 32
MAX_PATH = 64
"""Longest path accepted: the depth of a tree of 2^64 leaves."""


def leaf_hash(data: bytes) -> bytes:
    """Hash of a leaf holding `data`; the leading 0 keeps leaves and nodes apart."""
    return sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash of an inner node."""
    return sha256(b"\x01" + left + right).digest()


class MerkleTree:
    """A tree over `leaves` (the data, not the hashes), with all its levels at hand.

    Each level is one `bytes` of 32-byte hashes: a shoe of 416 cards takes 27 kB. A last node
    without a neighbour moves up as it is, which gives the tree of the RFC's recursive definition.
    """

    __slots__ = ("_levels", "size")

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self.size = len(leaves)
        level = [leaf_hash(leaf) for leaf in leaves]
        self._levels = [b"".join(level)]
        while len(level) > 1:
            above = [node_hash(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)]
            if len(level) % 2:
                above.append(level[-1])
            level = above
            self._levels.append(b"".join(level))

    @property
    def root(self) -> bytes:
        """32 bytes; SHA-256 of nothing for an empty tree."""
        return self._levels[-1] if self.size else sha256().digest()

    def path(self, index: int) -> tuple[bytes, ...]:
        """Sibling hashes of leaf `index` from the leaf up (2.1.1); `IndexError`: no such leaf."""
        if not 0 <= index < self.size:
            raise IndexError(index)
        path = []
        for level in self._levels[:-1]:
            sibling = (index ^ 1) * HASH_BYTES
            if sibling < len(level):
                path.append(level[sibling : sibling + HASH_BYTES])
            index >>= 1
        return tuple(path)


def root_from_path(data: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """The root that `path` gives for leaf `index` of `size` holding `data` (RFC 9162, 2.1.3.2).

    `None` for a path that no such leaf can have.
    """
    if not 0 <= index < size or len(path) > MAX_PATH:
        return None
    node, last = leaf_hash(data), size - 1
    for sibling in path:
        if last == 0 or len(sibling) != HASH_BYTES:
            return None
        if index & 1 or index == last:
            node = node_hash(sibling, node)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            node = node_hash(node, sibling)
        index, last = index >> 1, last >> 1
    return node if last == 0 else None
