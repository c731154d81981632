"""The timer behind a table's running clock."""

from __future__ import annotations

import asyncio

import pytest

from services.table import clock
from services.table.clock import Clock
from services.table.proposal import now_us

HOUR_US = 3_600_000_000


class Bell:
    """Hears the clock."""

    def __init__(self) -> None:
        self.rung: asyncio.Queue[int] = asyncio.Queue()
        self.clock = Clock(self.rung.put_nowait)

    async def next(self) -> int:
        async with asyncio.timeout(5):
            return await self.rung.get()


async def test_it_rings_once_at_the_deadline() -> None:
    bell = Bell()
    deadline = now_us() + 20_000
    bell.clock.keep(deadline)
    bell.clock.keep(deadline)
    assert await bell.next() == deadline
    assert now_us() >= deadline
    # The same deadline still stands in the state: it has rung.
    bell.clock.keep(deadline)
    later = now_us() + 1_000
    bell.clock.keep(later)
    assert await bell.next() == later
    assert bell.rung.empty()


async def test_two_clocks_that_run_out_in_the_same_microsecond_both_ring() -> None:
    bell = Bell()
    deadline = now_us() + 1_000
    bell.clock.keep(deadline, "join/ann")
    assert await bell.next() == deadline
    bell.clock.keep(deadline, "join/ann")
    bell.clock.keep(deadline, "join/bob")
    assert await bell.next() == deadline
    assert bell.rung.empty()


async def test_a_deadline_that_is_past_rings_at_once() -> None:
    bell = Bell()
    bell.clock.keep(1)
    assert await bell.next() == 1


async def test_a_deadline_that_moves_or_goes_does_not_ring() -> None:
    bell = Bell()
    soon = now_us() + 10_000
    bell.clock.keep(soon)
    bell.clock.keep(soon + HOUR_US)
    bell.clock.keep(0)
    bell.clock.keep(soon)
    bell.clock.stop()
    other = Bell()
    other.clock.keep(soon + 10_000)
    assert await other.next() == soon + 10_000
    assert bell.rung.empty()


async def test_it_rings_again_when_nothing_came_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "AGAIN_AFTER_S", 0.01)
    bell = Bell()
    bell.clock.keep(1)
    assert await bell.next() == 1
    bell.clock.again(1)
    bell.clock.again(1)
    assert await bell.next() == 1
    # One that runs goes on, and none is none.
    far = now_us() + HOUR_US
    bell.clock.keep(far)
    bell.clock.again(1)
    bell.clock.keep(0)
    bell.clock.again(0)
    bell.clock.keep(2)
    assert await bell.next() == 2
    assert bell.rung.empty()


async def test_the_wall_s_clock_decides_when_the_loop_s_is_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readings = iter([0, 0, 100])
    monkeypatch.setattr(clock, "now_us", lambda: next(readings, 100))
    bell = Bell()
    bell.clock.keep(100)  # set at 0, the loop rings at 0, then at 100
    assert await bell.next() == 100
