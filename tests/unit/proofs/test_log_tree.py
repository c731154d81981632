"""The tree over a log: the vectors of Certificate Transparency, and every proof of small trees
against the definition of RFC 6962, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from random import Random

import pytest

from shared.proofs.log_tree import (
    EMPTY_ROOT,
    TILE_WIDTH,
    GrowingTree,
    Range,
    Subtree,
    Tile,
    consistency_holds,
    consistency_ranges,
    edge_of,
    inclusion_ranges,
    range_hash,
    tiles_of,
)
from shared.proofs.merkle import MerkleTree, leaf_hash, node_hash, root_from_path
from tests.unit.proofs.test_merkle import LEAVES, ROOTS, recursive_root

SIZES = [*range(1, 20), 31, 32, 33, 255, 256, 257, 511, 512, 513, 770]
FAR = [65_535, 65_536, 65_537, 66_100]


def leaves(count: int) -> list[bytes]:
    """As many event hashes."""
    return [sha256(b"event %d" % number).digest() for number in range(count)]


MANY = leaves(66_100)


class Kept:
    """A tree that has grown in pieces, and the tiles that are kept of it."""

    def __init__(self, data: Sequence[bytes], pieces: Sequence[int] = ()) -> None:
        self.tree = GrowingTree.empty()
        self.kept: list[Subtree] = []
        self.data = data
        at = 0
        for end in (*pieces, len(data)):
            self.kept += self.tree.grow(data[at:end])
            at = end

    def tile(self, tile: Tile) -> list[bytes]:
        begin = tile.number * TILE_WIDTH
        if tile.level == 0:
            return [leaf_hash(data) for data in self.data[begin : begin + TILE_WIDTH]]
        held = {each.number: each.hash for each in self.kept if each.level == tile.level}
        return [held[at] for at in range(begin, begin + TILE_WIDTH) if at in held]

    def hashes(self, ranges: Sequence[Range]) -> list[bytes]:
        tiles = {tile: self.tile(tile) for tile in tiles_of(ranges)}
        return [range_hash(each, tiles) for each in ranges]


def recursive_consistency(old: int, data: list[bytes], whole: bool = True) -> list[bytes]:
    """SUBPROOF exactly as section 2.1.2 defines it."""
    if old == len(data):
        return [] if whole else [recursive_root(data)]
    half = 1
    while half * 2 < len(data):
        half *= 2
    if old <= half:
        inner = recursive_consistency(old, data[:half], whole)
        return [*inner, recursive_root(data[half:])]
    inner = recursive_consistency(old - half, data[half:], False)
    return [*inner, recursive_root(data[:half])]


@pytest.mark.parametrize("size", range(9))
def test_the_roots_of_the_reference_leaves(size: int) -> None:
    assert Kept(LEAVES[:size]).tree.root.hex() == ROOTS[size]


@pytest.mark.parametrize(
    ("old", "size", "proof"),
    [
        (1, 1, []),
        (
            1,
            8,
            [
                "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
            ],
        ),
        (
            6,
            8,
            [
                "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            ],
        ),
        (
            2,
            5,
            [
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            ],
        ),
    ],
)
def test_the_reference_proofs_of_consistency(old: int, size: int, proof: list[str]) -> None:
    made = Kept(LEAVES[:size]).hashes(consistency_ranges(old, size))
    assert [node.hex() for node in made] == proof
    roots = bytes.fromhex(ROOTS[old]), bytes.fromhex(ROOTS[size])
    assert consistency_holds(old, roots[0], size, roots[1], made)


@pytest.mark.parametrize("size", SIZES)
def test_every_inclusion_path_is_that_of_the_whole_tree(size: int) -> None:
    data = MANY[:size]
    kept, whole = Kept(data), MerkleTree(data)
    assert kept.tree.root == whole.root == recursive_root(data)
    for index in range(0, size, 1 + size // 40):
        path = kept.hashes(inclusion_ranges(index, size))
        assert tuple(path) == whole.path(index)
        assert root_from_path(data[index], index, size, path) == whole.root


@pytest.mark.parametrize("size", SIZES)
def test_every_consistency_proof_is_that_of_the_definition(size: int) -> None:
    data = MANY[:size]
    kept = Kept(data)
    for old in range(1, size + 1, 1 + size // 25):
        proof = kept.hashes(consistency_ranges(old, size))
        assert proof == recursive_consistency(old, data)
        assert consistency_holds(old, recursive_root(data[:old]), size, kept.tree.root, proof)


def test_a_tree_of_three_levels() -> None:
    """More than 65,536 leaves; from each of the kept tiles few are read."""
    kept = Kept(MANY)
    assert [each.number for each in kept.kept if each.level == 2] == [0]
    assert len(kept.kept) == len(MANY) // TILE_WIDTH + 1
    by_size = {size: MerkleTree(MANY[:size]).root for size in FAR}
    assert kept.tree.root == by_size[len(MANY)]
    for size in FAR:
        for index in (0, 255, 256, 40_000, size - 1):
            ranges = inclusion_ranges(index, size)
            assert len(tiles_of(ranges)) <= 4
            path = kept.hashes(ranges)
            assert root_from_path(MANY[index], index, size, path) == by_size[size]
        proof = kept.hashes(consistency_ranges(size, len(MANY)))
        assert consistency_holds(size, by_size[size], len(MANY), kept.tree.root, proof)


def test_a_tree_that_grows_in_pieces_is_the_same() -> None:
    random = Random(6962)
    for _ in range(40):
        size = random.randrange(1, 1_500)
        pieces = sorted(random.sample(range(size), min(size, 6)))
        grown, whole = Kept(MANY[:size], pieces), Kept(MANY[:size])
        assert (grown.tree, grown.kept) == (whole.tree, whole.kept)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 300, 65_536, 65_537, 66_100])
def test_a_tree_goes_on_from_its_edge(size: int) -> None:
    kept = Kept(MANY[:size])
    edges = [kept.tile(tile)[:count] for tile, count in edge_of(size)]
    again = GrowingTree(size, edges or [[]])
    assert again == kept.tree
    assert again.root == kept.tree.root


def test_random_wrong_proofs_do_not_hold() -> None:
    random = Random(9162)
    kept = Kept(MANY[:600])
    for _ in range(300):
        size = random.randrange(2, 600)
        old = random.randrange(1, size)
        proof = kept.hashes(consistency_ranges(old, size))
        roots = [Kept(MANY[:each]).tree.root for each in (old, size)]
        assert consistency_holds(old, roots[0], size, roots[1], proof)
        at = random.randrange(len(proof))
        other = bytes([proof[at][0] ^ 1]) + proof[at][1:]
        assert not consistency_holds(old, roots[1], size, roots[1], proof)
        assert not consistency_holds(old, roots[0], size, roots[0], proof)
        forged = [*proof[:at], other, *proof[at + 1 :]]
        assert not consistency_holds(old, roots[0], size, roots[1], forged)
        assert not consistency_holds(old, roots[0], size, roots[1], proof[:-1])
        assert not consistency_holds(old, roots[0], size, roots[1], [*proof, other])


def test_sizes_and_hashes_that_cannot_be() -> None:
    root = Kept(MANY[:3]).tree.root
    assert not consistency_holds(0, EMPTY_ROOT, 3, root, [])
    assert not consistency_holds(4, root, 3, root, [])
    assert not consistency_holds(3, root, 3, root, [root])
    assert not consistency_holds(3, EMPTY_ROOT, 3, root, [])
    assert not consistency_holds(3, root, 4, root, [])
    assert not consistency_holds(1, root, 3, root, [root[:31]] * 2)
    assert not consistency_holds(1, root, 1 << 70, root, [root] * 65)
    for index, size in ((-1, 3), (3, 3), (0, 0)):
        with pytest.raises(IndexError):
            inclusion_ranges(index, size)
    for old, size in ((0, 3), (4, 3)):
        with pytest.raises(IndexError):
            consistency_ranges(old, size)


def test_a_tile_that_lacks_what_is_needed_is_not_made_up_for() -> None:
    ranges = inclusion_ranges(0, 5)
    tiles = {Tile(0, 0): [leaf_hash(data) for data in MANY[:4]]}
    with pytest.raises(LookupError):
        [range_hash(each, tiles) for each in ranges]
    with pytest.raises(LookupError):
        range_hash(Range(0, 256), {})


def test_an_inner_node_is_no_leaf() -> None:
    kept = Kept(MANY[:2])
    assert kept.tree.root == node_hash(leaf_hash(MANY[0]), leaf_hash(MANY[1]))
