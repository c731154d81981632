"""Open houses for end-to-end tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.houses import HouseOnDisk
from tests.servers import remove, temporary_folder


@pytest.fixture(scope="module")
def open_house() -> Iterator[HouseOnDisk]:
    """An open house for the tests of one module together."""
    folder = temporary_folder()
    made = HouseOnDisk(folder)
    opened = made.run_now("up", "--detach")
    assert opened.status == 0, opened
    yield made
    made.run_now("down")
    remove(folder)
