"""Frozen dataclasses that are quick to make: a hand makes dozens, a table hundreds a second."""

from __future__ import annotations

from dataclasses import field, fields, make_dataclass
from typing import TypeVar

T = TypeVar("T")


def quick(kind: type[T]) -> type[T]:
    """The frozen dataclass `kind`, made three to six times as fast.

    A frozen dataclass calls `object.__setattr__` for each field as it is made, because it has
    closed the ordinary way; here the ordinary way stays open. That nobody assigns to a field is
    then for mypy to see, to which the class is as frozen as before, and for
    tests/unit/test_quick.py, which reads all the code for assignments.
    """
    assert not hasattr(kind, "__post_init__"), kind
    made = [
        (each.name, each.type, field(default=each.default, default_factory=each.default_factory))
        for each in fields(kind)  # type: ignore[arg-type]
    ]
    kind.__init__ = make_dataclass(kind.__name__, made).__init__  # type: ignore[misc, method-assign]
    del kind.__setattr__, kind.__delattr__
    return kind
