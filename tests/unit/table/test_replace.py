"""States are replaced quickly, and as `dataclasses.replace` would."""

from __future__ import annotations

import dataclasses

import pytest

from shared.table.replace import replace
from tests.unit.table.story import Story


def test_a_state_is_replaced_like_any_dataclass() -> None:
    state = Story(chips=("ann",)).state
    changed = replace(state, version=99, node="n2")
    assert changed == dataclasses.replace(state, version=99, node="n2")
    assert (state.version, state.node) != (99, "n2")
    assert changed.seats is state.seats


def test_what_was_replaced_is_still_frozen() -> None:
    changed = replace(Story(chips=("ann",)).state, version=99)
    with pytest.raises(dataclasses.FrozenInstanceError):
        changed.version = 100  # type: ignore[misc]
