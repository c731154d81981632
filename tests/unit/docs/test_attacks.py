"""The table of attacks names tests that are there, one each."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def rows() -> list[list[str]]:
    """The table's rows: attack, why it fails, test."""
    text = (ROOT / "docs" / "shuffle.md").read_text()
    table = text.partition("| attack | fails, because | test |\n")[2].partition("\n\n")[0]
    return [re.split(r" *\| *", line.strip("| ")) for line in table.splitlines()[1:]]


def test_every_attack_names_a_test_of_its_own() -> None:
    named = [row[2].strip("`") for row in rows()]
    assert len(named) >= 25
    assert len(named) == len(set(named))
    sources = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    missing = [name for name in named if not re.search(rf"^(async )?def {name}\(", sources, re.M)]
    assert missing == []
