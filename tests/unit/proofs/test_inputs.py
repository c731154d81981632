"""What goes into a shoe: seeds and its id, and nothing else."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shared.proofs import hmac_drbg, shoe_order
from shared.proofs.hmac_drbg import RESEED_INTERVAL, HmacDrbg
from shared.proofs.sealed_shoe import SealedShoe
from shared.proofs.shoe_order import MAX_DECKS, dealer_cut

ROOT = Path(__file__).parents[3]
PURE = {
    "__future__",
    "collections.abc",
    "dataclasses",
    "hashlib",
    "hmac",
    "typing",
    "shared.cards",
}
"""No clock, no files, no network, no other source of random numbers."""


def imports(source: str) -> set[str]:
    """The modules that a module imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize(
    "path", sorted((ROOT / "shared/proofs").glob("*.py")), ids=lambda p: p.stem
)
def test_what_makes_a_shoe_can_reach_nothing_but_its_arguments(path: Path) -> None:
    """No clock, stake, balance or history goes in: there is no way to them."""
    reached = {name for name in imports(path.read_text()) if not name.startswith("shared.proofs.")}
    assert reached <= PURE


def test_the_same_seeds_give_the_same_shoe_at_any_time_in_any_process() -> None:
    script = (
        "from shared.proofs.sealed_shoe import SealedShoe\n"
        "print(SealedShoe(bytes(32), 'shoe-1', [('ann', b'a' * 16)], 8, 77).root.hex())"
    )
    roots = {SealedShoe(bytes(32), "shoe-1", [("ann", b"a" * 16)], 8, 77).root.hex()}
    for seed, zone in (("1", "Asia/Tokyo"), ("2", "America/Lima")):
        env = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            (sys.executable, "-c", script), env=env, capture_output=True, text=True, check=True
        )
        roots.add(done.stdout.strip())
    assert len(roots) == 1


def test_the_largest_shoe_comes_nowhere_near_a_reseed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each instance makes one shoe's order, salts or cut and is gone: none lives to be reseeded."""
    made: list[HmacDrbg] = []

    class Watched(HmacDrbg):
        def __init__(self, entropy: bytes, nonce: bytes, personalization: bytes = b"") -> None:
            super().__init__(entropy, nonce, personalization)
            made.append(self)

        def reseed(self, entropy: bytes, additional: bytes = b"") -> None:
            raise AssertionError("nothing reseeds")

    monkeypatch.setattr(shoe_order, "HmacDrbg", Watched)
    SealedShoe(bytes(32), "shoe-1", [], MAX_DECKS, 9)
    dealer_cut(bytes(32), "shoe-1", 1, MAX_DECKS * 52 - 1)
    assert len(made) == 3
    assert max(each.reseed_counter for each in made) < 10 < RESEED_INTERVAL
    assert hmac_drbg.RESEED_INTERVAL == 2**48
