"""What lies between the processes: everything said takes time, may wait at a cut, may get lost."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from tests.chaos.simulated.loop import Process, here, spawn

T = TypeVar("T")

USUAL_S = (0.0002, 0.003)
SLOW_S = (0.02, 0.3)
VERY_SLOW_S = (0.5, 3.0)
HELD_FOR_S = 20.0
"""What waits at a cut for longer is lost, and its connection breaks."""
LOOK_AGAIN_S = 0.1
NOBODY = "people"
"""The host of all that belongs to no process."""


def host() -> str:
    """Where the running code is."""
    process = here()
    return NOBODY if process is None else process.name


@dataclass(eq=False)
class Asked:
    """A question that is on its way, being answered, or whose answer is on its way."""

    asker: Process | None
    there: Process
    answer: asyncio.Future[Any]
    cancels: bool
    work: asyncio.Task[Any] | None = None


@dataclass
class Wires:
    """Messages between processes, by the names of the hosts they run on.

    `cuts` are (from, to): one way each. `answers_lost` is how many of a thousand answers of a
    server get lost together with their connection.
    """

    random: Random
    cuts: set[tuple[str, str]] = field(default_factory=set)
    answers_lost: int = 0
    open: list[Asked] = field(default_factory=list)

    def latency_s(self) -> float:
        """How long the next message takes."""
        dice = self.random.random()
        between = USUAL_S if dice < 0.95 else SLOW_S if dice < 0.995 else VERY_SLOW_S
        return self.random.uniform(*between)

    def later(self, delay_s: float, callback: Callable[..., object], *args: Any) -> None:
        """Calls back in nobody's name: what is on its way arrives whoever has died meanwhile."""
        asyncio.get_running_loop().call_later(
            delay_s, callback, *args, context=contextvars.Context()
        )

    def send(
        self, source: str, target: str, deliver: Callable[[], object], broken: Callable[[], object]
    ) -> None:
        """Calls `deliver` when the message has come through, or `broken` when it never will."""
        self.later(
            self.latency_s(),
            self._pass,
            (source, target),
            deliver,
            broken,
            asyncio.get_running_loop().time() + HELD_FOR_S,
        )

    def _pass(
        self,
        way: tuple[str, str],
        deliver: Callable[[], object],
        broken: Callable[[], object],
        until_s: float,
    ) -> None:
        if way not in self.cuts:
            deliver()
        elif asyncio.get_running_loop().time() < until_s:
            self.later(LOOK_AGAIN_S, self._pass, way, deliver, broken, until_s)
        else:
            broken()

    async def ask(
        self, there: Process, work: Callable[[], Awaitable[T]], cancels: bool = False
    ) -> T:
        """What `work` gives when the process `there` does it.

        Raises `ConnectionError` where the connection breaks, and then nobody knows whether it was
        done. An asker who gives up has the work cancelled there if it `cancels`.
        """
        asked = Asked(here(), there, asyncio.get_running_loop().create_future(), cancels)
        self.open.append(asked)
        source = host()
        self.send(
            source,
            there.name,
            lambda: self._begin(asked, source, work),
            lambda: self._fail(asked),
        )
        try:
            result: T = await asked.answer
        except asyncio.CancelledError:
            if cancels and asked.work is not None:
                self.send(source, there.name, asked.work.cancel, lambda: None)
            raise
        finally:
            self.open.remove(asked)
        return result

    def _begin(self, asked: Asked, source: str, work: Callable[[], Awaitable[Any]]) -> None:
        if asked.answer.cancelled() and asked.cancels:
            return  # Else it is done all the same, late.
        if not asked.there.alive:
            self._fail(asked)
        else:
            asked.work = spawn(asked.there, self._work(asked, source, work))

    async def _work(self, asked: Asked, source: str, work: Callable[[], Awaitable[Any]]) -> None:
        result: Any = None
        error: Exception | None = None
        try:
            result = await work()
        except Exception as raised:
            error = raised
        if self.random.randrange(1000) < self.answers_lost:
            error = ConnectionResetError("the answer was lost")
        self.send(
            asked.there.name,
            source,
            lambda: self._answer(asked, result, error),
            lambda: self._fail(asked),
        )

    def _answer(self, asked: Asked, result: Any, error: Exception | None) -> None:
        if asked.answer.done():
            return
        if error is None:
            asked.answer.set_result(result)
        else:
            asked.answer.set_exception(error)

    def _fail(self, asked: Asked) -> None:
        self._answer(asked, None, ConnectionResetError(f"{asked.there} does not answer"))

    def died(self, process: Process) -> None:
        """Whoever waits for the answer of a process that was killed hears so."""
        for asked in [each for each in self.open if each.there is process]:
            self.later(self.latency_s(), self._fail, asked)
