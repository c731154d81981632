"""The same cards every time."""

from __future__ import annotations

import pytest

from tests.playing import same_seeds


@pytest.fixture(autouse=True)
def _same_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    same_seeds(monkeypatch)
