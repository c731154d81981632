"""An event loop in which no time passes while nothing happens, and whose tasks belong to processes.

A process is what a fault strikes. One that is killed never runs again, at whatever `await` it was;
one that is paused runs nothing until it goes on, and then finds all at once what came meanwhile.
"""

from __future__ import annotations

import asyncio
import contextvars
from asyncio import base_events, events
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

START = datetime(2026, 1, 1, tzinfo=UTC)
_START_NS = int(START.timestamp()) * 1_000_000_000

T = TypeVar("T")

_running_in: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process")


@dataclass(eq=False)
class Process:
    """One process. `ahead_s` is how far its clock is from the true time."""

    name: str
    alive: bool = True
    paused: bool = False
    ahead_s: float = 0.0
    backlog: list[asyncio.Handle] = field(default_factory=list)

    def __repr__(self) -> str:
        return self.name


def here() -> Process | None:
    """The process whose code runs now; None: nobody's, as the test itself is."""
    return _running_in.get(None)


def spawn(
    process: Process, work: Coroutine[Any, Any, T], name: str | None = None
) -> asyncio.Task[T]:
    """Starts a task of a process; all that it starts belongs to that process too."""
    context = contextvars.Context()
    context.run(_running_in.set, process)
    return asyncio.get_running_loop().create_task(work, name=name, context=context)


class StuckError(Exception):
    """Nothing is left that could ever happen."""


class VirtualLoop(base_events.BaseEventLoop):
    """Runs what is due, then moves its clock to what is due next."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._clock_resolution = 1e-9
        self._selector = _Clockwork(self)
        self._of_the_dead: list[asyncio.Handle] = []
        self._all_run = False

    def time(self) -> float:
        """Seconds since the beginning, the true time."""
        return self._now

    def time_ns(self) -> int:
        """Nanoseconds since 1970 by the clock of the process that asks."""
        process = here()
        ahead_s = process.ahead_s if process is not None else 0.0
        return _START_NS + round((self._now + ahead_s) * 1e9)

    def moment(self) -> datetime:
        """The same as a `datetime`."""
        return START + timedelta(microseconds=(self.time_ns() - _START_NS) // 1000)

    def forward(self) -> None:
        """Moves the clock to the next timer."""
        if not self._scheduled:  # type: ignore[attr-defined]
            raise StuckError("nothing is left that could ever happen")
        self._now = max(self._now, self._scheduled[0].when())  # type: ignore[attr-defined]

    # ---- Processes

    def kill(self, process: Process) -> None:
        """kill -9."""
        process.alive = False
        self._of_the_dead += process.backlog
        process.backlog.clear()

    def pause(self, process: Process) -> None:
        """SIGSTOP."""
        process.paused = True

    def go_on(self, process: Process) -> None:
        """SIGCONT."""
        process.paused = False
        self._ready.extend(process.backlog)  # type: ignore[attr-defined]
        process.backlog.clear()

    async def end_all(self) -> None:
        """Cancels all there is, the tasks of the dead too, so that nothing is left to be collected.
        What they do as they end is of no account."""
        self._all_run = True
        self._ready.extend(self._of_the_dead)  # type: ignore[attr-defined]
        self._of_the_dead.clear()
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=1.0)

    def admits(self, handle: Any) -> bool:
        """Whether the handle's process runs now; else it is kept for when it does."""
        process: Process | None = handle._context.get(_running_in)
        if process is None or self._all_run:
            return True
        if not process.alive:
            self._of_the_dead.append(handle)
        elif process.paused:
            process.backlog.append(handle)
        return process.alive and not process.paused

    # ---- What asyncio needs

    def create_task(  # type: ignore[override]
        self,
        coro: Any,
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[Any]:
        """A task in its context; one without a process there gets the running one's."""
        context = contextvars.copy_context() if context is None else context
        if context.get(_running_in) is None:
            context.run(_running_in.set, here())
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        # Tasks of a killed process never end.
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        return task

    def call_soon(  # type: ignore[override]
        self,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        """In order, as always."""
        handle = _Handle(callback, args, self, context)
        self._ready.append(handle)  # type: ignore[attr-defined]
        return handle

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """When the true time has come."""
        timer = _Timer(when, callback, args, self, context)
        base_events.heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]
        timer._scheduled = True  # type: ignore[attr-defined]
        return timer

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """After so many seconds."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def _process_events(self, event_list: list[Any]) -> None:
        """There is no I/O."""

    def _write_to_self(self) -> None:
        """There are no other threads."""


class _Clockwork:
    """What the loop takes for its selector."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        """Nothing is waited for: the clock moves."""
        if timeout is None or timeout > 0:
            self._loop.forward()
        return []


class _Handle(events.Handle):
    """A handle that runs if its process does."""

    __slots__ = ()

    def _run(self) -> None:
        if self._loop.admits(self):  # type: ignore[attr-defined]
            super()._run()


class _Timer(events.TimerHandle):
    """A timer that rings if its process runs."""

    __slots__ = ()

    def _run(self) -> None:
        if self._loop.admits(self):  # type: ignore[attr-defined]
            super()._run()
