"""What runs beside the tables of a node outlives what it does not expect."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from services.table import neighbours, snapshots, whereabouts
from services.table.directory import Place
from services.table.lobby import Lobby
from services.table.neighbours import Neighbours
from services.table.snapshots import Snapshots
from services.table.whereabouts import Whereabouts
from shared.sealing import Keyring
from tests.polling import eventually
from tests.unit.table.story import Story


async def test_one_look_that_fails_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whereabouts, "LOOK_WAITED_S", 0.0)

    class Directory:
        failures = 1

        async def places(self, table_ids: Sequence[str]) -> dict[str, Place]:
            if self.failures:
                self.failures -= 1
                raise RuntimeError
            return {table_id: Place("n2", "n2:1", 1, False) for table_id in table_ids}

    looking = Whereabouts(cast("Any", Directory()), "n1")
    running = asyncio.create_task(looking.run())
    async with asyncio.timeout(20):
        await looking.moved("t1", None, 60.0)
    running.cancel()


async def test_one_look_for_neighbours_that_fails_does_not_end_the_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(neighbours, "LOOK_EVERY_S", 0.0)
    looks: list[int] = []

    class Directory:
        async def others(self) -> list[str]:
            looks.append(1)
            if len(looks) == 1:
                raise RuntimeError
            return []

    directory, none = cast("Any", Directory()), cast("Any", None)
    running = asyncio.create_task(Neighbours(directory, none, Lobby(), "token").run())
    await eventually(lambda: len(looks) > 1)
    running.cancel()


async def test_one_table_that_cannot_be_written_is_no_end_of_snapshots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[Any] = []
    original = snapshots.write_state

    def write_state(state: Any) -> bytes:
        if not written:
            written.append("fails")
            raise ValueError
        return original(state)

    async def write(pool: Any, call: Any, *_: Any) -> None:
        written.append("one more")

    monkeypatch.setattr(snapshots, "write_state", write_state)
    monkeypatch.setattr(snapshots, "on_connection", write)
    taking = Snapshots(cast("Any", None), Keyring("k1", {"k1": bytes(32)}))
    monkeypatch.setattr(snapshots, "EVERY_EVENTS", 0)
    running = asyncio.create_task(taking.run())
    state = Story().state
    taking.offer(state)
    await eventually(lambda: written)
    taking.offer(state)
    await eventually(lambda: len(written) == 2)
    running.cancel()
