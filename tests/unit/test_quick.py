"""Dataclasses that are quick to make are what they were, and nobody writes to their fields."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from shared.quick import quick

REPO = Path(__file__).parents[2]
PURE = ("shared/games", "shared/table", "shared/edge")


@dataclass(frozen=True, slots=True)
class Plain:
    """What `Quick` would be without the decorator."""

    name: str
    amount: int = 0
    others: Mapping[str, int] = field(default_factory=dict)


@quick
@dataclass(frozen=True, slots=True)
class Quick:
    """With a field of each kind: given, with a default, with a default of its own."""

    name: str
    amount: int = 0
    others: Mapping[str, int] = field(default_factory=dict)


def test_it_takes_the_same_arguments_and_compares_and_shows_itself_alike() -> None:
    for given in ({"name": "ann"}, {"name": "ann", "amount": 2, "others": {"bob": 1}}):
        made, plain = Quick(**given), Plain(**given)
        assert repr(made) == repr(plain).replace("Plain", "Quick")
        assert made == Quick(**given)
        assert made != replace(made, amount=3)
    assert Quick("ann").others is not Quick("ann").others
    with pytest.raises(TypeError):
        Quick()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Quick("ann", 1, {}, 2)  # type: ignore[call-arg]


def test_it_is_hashed_replaced_and_pickled_as_before() -> None:
    @quick
    @dataclass(frozen=True, slots=True)
    class Hashed:
        name: str
        amount: int = 0

    assert len({Hashed("ann"), Hashed("ann", 0), Hashed("bob")}) == 2
    made = Quick("ann", 5, {"bob": 1})
    assert replace(made, amount=6) == Quick("ann", 6, {"bob": 1})
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(AttributeError):
        made.nobody = 1  # type: ignore[attr-defined]


def test_what_would_check_its_fields_cannot_be_made_quick() -> None:
    with pytest.raises(AssertionError):

        @quick
        @dataclass(frozen=True, slots=True)
        class Checked:
            name: str

            def __post_init__(self) -> None:
                raise ValueError


@pytest.mark.parametrize("package", PURE)
def test_no_pure_code_assigns_to_a_field_of_anything_but_itself(package: str) -> None:
    """A quick class does not refuse it; this, and mypy, do."""
    code = {file: file.read_text() for file in sorted((REPO / package).rglob("*.py"))}
    # Protobuf messages are there to be filled.
    values = {file: text for file, text in code.items() if "_pb2" not in text}
    assert values
    for file, text in values.items():
        assert list(_assigned(ast.parse(text))) == [], file


def _assigned(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            if ast.unparse(node.value) != "self":
                yield ast.unparse(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("setattr", "delattr"):
            yield ast.unparse(node)
