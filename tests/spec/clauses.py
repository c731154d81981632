"""Which tests hold which clause, by their names: `test_BAC_07_…`, `test_BAC_10_and_BAC_11_…`."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
RULES = ROOT / "docs" / "rules.md"
MAP = ROOT / "docs" / "clauses.md"

_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_CLAUSE = re.compile(r"^- ([A-Z]{3}-\d\d[a-z]?) ", re.MULTILINE)
_NAMED = re.compile(r"(?:^|_)([A-Z]{3})_(\d\d[a-z]?)(?=_)")


def clauses() -> list[str]:
    """The numbers of all clauses, in the order of the rules."""
    return _CLAUSE.findall(RULES.read_text(encoding="utf-8"))


def tests() -> Iterator[tuple[str, str]]:
    """Every test as its file and its name."""
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, _FUNCTIONS) and node.name.startswith("test_"):
                yield file.relative_to(ROOT).as_posix(), node.name


@cache
def held() -> dict[str, list[tuple[str, str]]]:
    """The tests that name each clause, also such as there are not."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for file, name in tests():
        for game, number in dict.fromkeys(_NAMED.findall(name)):
            found[f"{game}-{number}"].append((file, name))
    return found


def as_page() -> str:
    """The map as a page of the documentation."""
    by_clause = held()
    every = {test for clause in clauses() for test in by_clause.get(clause, [])}
    lines = [
        "# Clauses and the tests that hold them",
        "",
        "Written by `tests/spec/test_clauses.py`, which fails when a clause of",
        f"[rules.md](rules.md) has no test. {len(clauses())} clauses, {len(every)} tests.",
        "",
    ]
    for clause in clauses():
        lines.append(f"- {clause}")
        files: dict[str, list[str]] = defaultdict(list)
        for file, name in by_clause.get(clause, []):
            files[file].append(name)
        lines += [
            f"  - {file}: {', '.join(f'`{name}`' for name in sorted(files[file]))}"
            for file in files
        ]
    return "\n".join(lines) + "\n"
