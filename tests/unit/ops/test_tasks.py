"""Tasks end, whatever they do about it."""

from __future__ import annotations

import asyncio

import pytest

from shared.ops import tasks
from shared.ops.tasks import end


async def for_ever() -> None:
    await asyncio.Event().wait()


async def test_tasks_are_over_when_it_returns() -> None:
    running = [asyncio.create_task(for_ever()) for _ in range(3)]
    await asyncio.sleep(0)
    await end(running)
    assert all(task.cancelled() for task in running)


async def test_a_task_that_misses_a_cancellation_is_cancelled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, "_CANCEL_AGAIN_S", 0.01)
    missed: list[int] = []

    async def deaf() -> None:
        while len(missed) < 2:
            try:
                await for_ever()
            except asyncio.CancelledError:
                missed.append(1)
        await for_ever()

    task = asyncio.create_task(deaf())
    await asyncio.sleep(0)
    await end([task])
    assert task.cancelled()
    assert len(missed) == 2


async def test_one_that_failed_is_no_news() -> None:
    async def fail() -> None:
        raise ValueError("told elsewhere")

    task = asyncio.create_task(fail())
    await asyncio.sleep(0)
    await end([task])
    assert isinstance(task.exception(), ValueError)


async def test_nothing_to_end() -> None:
    await end([])
