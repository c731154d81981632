"""A table's log as it was played has nothing wrong in it."""

from __future__ import annotations

from tests.unit.audit.given import Evidence, played


async def test_what_was_played_holds() -> None:
    evidence = await Evidence.of(await played(3))
    assert evidence.findings() == []
