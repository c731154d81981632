"""The RFC 6962 tree over a log that grows: its root, inclusion and consistency proofs.

Leaves are counted from 0. What is kept of a tree is the hash of each complete subtree of 256,
256², 256³, … leaves: a hash for every 255 leaves or so. A `Tile` is what stands side by side at one
such level below the same parent, at most 256 hashes; those of level 0 are the leaves' own. Whatever
a proof needs is made of a few tiles (as C2SP tlog-tiles has it): `tiles_of` says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from shared.proofs.merkle import HASH_BYTES, MAX_PATH, leaf_hash, node_hash

TILE_HEIGHT = 8
TILE_WIDTH = 1 << TILE_HEIGHT

EMPTY_ROOT = sha256().digest()


class Range(NamedTuple):
    """The leaves from `begin` up to, not including, `end`; their hash is MTH(D[begin:end])."""

    begin: int
    end: int


class Tile(NamedTuple):
    """The hashes of the subtrees from number `256 * number` on, of 256^`level` leaves each."""

    level: int
    number: int


class Subtree(NamedTuple):
    """A complete subtree that is kept: number `number` of those of 256^`level` leaves."""

    level: int
    number: int
    hash: bytes


@dataclass(slots=True)
class GrowingTree:
    """A tree by its right edge: `edges[level]` holds what stands in that level's last tile as long
    as it is not full. `size` leaves in all."""

    size: int
    edges: list[list[bytes]]

    @classmethod
    def empty(cls) -> GrowingTree:
        """Without leaves."""
        return cls(0, [[]])

    def grow(self, leaves: Sequence[bytes]) -> list[Subtree]:
        """Adds leaves (the data, not the hashes); the subtrees that are complete by it, lower
        levels before the higher ones that they complete."""
        complete: list[Subtree] = []
        edge = self.edges[0]
        for data in leaves:
            edge.append(leaf_hash(data))
            self.size += 1
            if len(edge) == TILE_WIDTH:
                self._complete(complete)
                edge = self.edges[0]
        return complete

    def _complete(self, complete: list[Subtree]) -> None:
        level = 0
        while len(self.edges[level]) == TILE_WIDTH:
            whole = _fold(self.edges[level])
            self.edges[level] = []
            level += 1
            if level == len(self.edges):
                self.edges.append([])
            self.edges[level].append(whole)
            number = (self.size >> TILE_HEIGHT * level) - 1
            complete.append(Subtree(level, number, whole))

    @property
    def root(self) -> bytes:
        """32 bytes; SHA-256 of nothing for an empty tree (RFC 6962, 2.1)."""
        rest: list[bytes] = []
        for edge in self.edges:
            beside = edge + rest
            rest = [_fold(beside)] if beside else []
        return rest[0] if rest else EMPTY_ROOT


def edge_of(size: int) -> list[tuple[Tile, int]]:
    """The tiles that are the right edge of a tree of `size` leaves, lowest first, and how many
    hashes of each: what a `GrowingTree` of that size begins with."""
    edge = []
    level = 0
    while size >> TILE_HEIGHT * level:
        count = size >> TILE_HEIGHT * level
        edge.append((Tile(level, count // TILE_WIDTH), count % TILE_WIDTH))
        level += 1
    return edge


def inclusion_ranges(index: int, size: int) -> list[Range]:
    """What the proof of leaf `index` in the tree of `size` leaves consists of (RFC 6962, 2.1.1).

    `IndexError` where there is no such leaf.
    """
    if not 0 <= index < size:
        raise IndexError(index)
    path: list[Range] = []
    begin, end = 0, size
    while end - begin > 1:
        split = begin + _half(end - begin)
        if index < split:
            path.append(Range(split, end))
            end = split
        else:
            path.append(Range(begin, split))
            begin = split
    return path[::-1]


def consistency_ranges(old_size: int, size: int) -> list[Range]:
    """What the proof consists of that the tree of `size` leaves begins with that of `old_size`
    (RFC 6962, 2.1.2). `IndexError` unless 0 < `old_size` <= `size`."""
    if not 0 < old_size <= size:
        raise IndexError(old_size)
    proof: list[Range] = []
    begin, end = 0, size
    while old_size < end:
        split = begin + _half(end - begin)
        if old_size <= split:
            proof.append(Range(split, end))
            end = split
        else:
            proof.append(Range(begin, split))
            begin = split
    if begin:
        proof.append(Range(begin, end))
    return proof[::-1]


def tiles_of(ranges: Iterable[Range]) -> frozenset[Tile]:
    """The tiles from which the hashes of `ranges` are made."""
    return frozenset(
        _tile(height, number) for each in ranges for height, number in _subtrees(*each)
    )


def range_hash(wanted: Range, tiles: Mapping[Tile, Sequence[bytes]]) -> bytes:
    """MTH of the leaves in `wanted`, which begins where one of a proof's ranges does.

    `LookupError` where `tiles` lack what it takes.
    """
    hashes = [
        _subtree_hash(height, number, tiles[_tile(height, number)])
        for height, number in _subtrees(*wanted)
    ]
    whole = hashes.pop()
    while hashes:
        whole = node_hash(hashes.pop(), whole)
    return whole


def consistency_holds(
    old_size: int, old_root: bytes, size: int, root: bytes, proof: Sequence[bytes]
) -> bool:
    """Whether `proof` shows that the tree with `root` begins with that of `old_root` (RFC 9162,
    2.1.4.2). The sizes are those that were signed with the roots."""
    if not 0 < old_size <= size or len(proof) > MAX_PATH:
        return False
    if any(len(node) != HASH_BYTES for node in proof):
        return False
    if old_size == size:
        return not proof and old_root == root
    nodes = list(proof)
    if old_size & (old_size - 1) == 0:
        nodes.insert(0, old_root)
    if not nodes:
        return False
    old_last, last = old_size - 1, size - 1
    while old_last & 1:
        old_last, last = old_last >> 1, last >> 1
    old_node = node = nodes[0]
    for sibling in nodes[1:]:
        if last == 0:
            return False
        if old_last & 1 or old_last == last:
            old_node, node = node_hash(sibling, old_node), node_hash(sibling, node)
            while not old_last & 1 and old_last:
                old_last, last = old_last >> 1, last >> 1
        else:
            node = node_hash(node, sibling)
        old_last, last = old_last >> 1, last >> 1
    return last == 0 and old_node == old_root and node == root


def _half(count: int) -> int:
    """The largest power of two below `count`."""
    return 1 << (count - 1).bit_length() - 1


def _subtrees(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Height and number of the complete subtrees that make up the leaves from `begin` to `end`,
    each as large as can be; `begin` is a multiple of all of their sizes."""
    while begin < end:
        height = (end - begin).bit_length() - 1
        yield height, begin >> height
        begin += 1 << height


def _tile(height: int, number: int) -> Tile:
    level, above = divmod(height, TILE_HEIGHT)
    return Tile(level, number >> TILE_HEIGHT - above)


def _subtree_hash(height: int, number: int, tile: Sequence[bytes]) -> bytes:
    width = 1 << height % TILE_HEIGHT
    first = number * width % TILE_WIDTH
    hashes = tile[first : first + width]
    if len(hashes) < width:
        raise LookupError("the tile is not so long")
    return _fold(hashes)


def _fold(hashes: Sequence[bytes]) -> bytes:
    """The root over nodes side by side; one without a neighbour moves up as it is."""
    level = list(hashes)
    while len(level) > 1:
        above = [node_hash(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)]
        if len(level) % 2:
            above.append(level[-1])
        level = above
    return level[0]
