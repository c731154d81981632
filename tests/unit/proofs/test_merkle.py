"""RFC 6962 trees: the known vectors of Certificate Transparency, and every path of small trees."""

from __future__ import annotations

from hashlib import sha256

import pytest

from shared.proofs.merkle import MerkleTree, leaf_hash, node_hash, root_from_path

# The reference leaves and roots of the Certificate Transparency code (merkletree tests).
LEAVES = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def recursive_root(leaves: list[bytes]) -> bytes:
    """MTH exactly as section 2.1 defines it."""
    if not leaves:
        return sha256().digest()
    if len(leaves) == 1:
        return leaf_hash(leaves[0])
    half = 1
    while half * 2 < len(leaves):
        half *= 2
    return node_hash(recursive_root(leaves[:half]), recursive_root(leaves[half:]))


@pytest.mark.parametrize("size", range(9))
def test_the_roots_of_the_reference_leaves(size: int) -> None:
    assert MerkleTree(LEAVES[:size]).root.hex() == ROOTS[size]


@pytest.mark.parametrize("size", [*range(1, 34), 52, 416])
def test_every_path_of_a_tree_leads_to_its_root(size: int) -> None:
    leaves = [index.to_bytes(2, "big") for index in range(size)]
    tree = MerkleTree(leaves)
    assert tree.root == recursive_root(leaves)
    for index, leaf in enumerate(leaves):
        assert root_from_path(leaf, index, size, tree.path(index)) == tree.root


def test_known_paths_of_the_reference_tree() -> None:
    tree = MerkleTree(LEAVES)
    assert [node.hex() for node in tree.path(5)] == [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ]
    assert [node.hex() for node in MerkleTree(LEAVES[:3]).path(2)] == [
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"
    ]


@pytest.mark.parametrize("index", [-1, 3])
def test_there_is_no_path_to_a_leaf_that_is_not_there(index: int) -> None:
    with pytest.raises(IndexError):
        MerkleTree(LEAVES[:3]).path(index)


def test_a_forged_path_leads_elsewhere_or_nowhere() -> None:
    tree = MerkleTree(LEAVES)
    path = tree.path(5)
    leaf = LEAVES[5]
    forged = (path[0], bytes([path[1][0] ^ 1]) + path[1][1:], path[2])
    assert root_from_path(leaf, 5, 8, forged) not in (None, tree.root)
    assert root_from_path(leaf, 4, 8, path) != tree.root
    assert root_from_path(LEAVES[4], 5, 8, path) != tree.root
    assert root_from_path(leaf, 5, 8, path[:2]) is None
    assert root_from_path(leaf, 5, 8, (*path, path[0])) is None
    assert root_from_path(leaf, 5, 8, (path[0][:31], *path[1:])) is None
    assert root_from_path(leaf, 8, 8, path) is None
    assert root_from_path(leaf, -1, 8, path) is None
    assert root_from_path(leaf, 5, 1 << 70, (path[0],) * 65) is None


def test_an_inner_node_does_not_pass_for_a_leaf() -> None:
    """Leaves and nodes are hashed apart, so that a tree cannot be read one level too high."""
    tree = MerkleTree(LEAVES[:4])
    inner = leaf_hash(LEAVES[0]) + leaf_hash(LEAVES[1])
    assert root_from_path(inner, 0, 2, tree.path(0)[1:]) != tree.root
