"""Group commit: appends that wait together go in one transaction."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from shared.log.statements import check_streams_once
from shared.log.types import Append, Appended, LogOverloadedError, LogUnavailableError

MAX_WAITING_APPENDS = 4_096
MAX_GROUP_APPENDS = 256
MAX_GROUP_EVENTS = 4_096
MAX_GROUP_BYTES = 2 * 1024 * 1024


@dataclass(slots=True)
class _Waiting:
    """One caller's appends, which stay together, and where it waits for the answers."""

    appends: Sequence[Append]
    answer: asyncio.Future[list[Appended]]
    streams: frozenset[str] = field(init=False)
    events: int = field(init=False)
    size_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        self.streams = frozenset(append.stream for append in self.appends)
        self.events = sum(len(append.events) for append in self.appends)
        self.size_bytes = sum(append.size_bytes for append in self.appends)


class GroupCommit:
    """Hands waiting appends to `commit`, one group at a time.

    While one group is under way the next gathers, so a group is as large as the load makes it and
    nobody waits for a timer. A stream is in a group once at most: a second append of it waits for
    the answer to the first. If `commit` fails for a reason that lies in the appends, each caller's
    are tried for themselves, so that only the one at fault gets the error.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Append]], Awaitable[list[Appended]]],
        max_waiting_appends: int = MAX_WAITING_APPENDS,
    ) -> None:
        self._commit = commit
        self._max_waiting_appends = max_waiting_appends
        self._queue: deque[_Waiting] = deque()
        self._queued_appends = 0
        self._runner: asyncio.Task[None] | None = None
        self._closing = False

    async def append(self, appends: Sequence[Append]) -> list[Appended]:
        """Waits for the answers. Cancelled while it waits, the appends may or may not go in."""
        if not appends:
            return []
        check_streams_once(appends)
        if self._closing:
            raise LogUnavailableError("this process is stopping")
        if self._queued_appends + len(appends) > self._max_waiting_appends:
            raise LogOverloadedError(f"{self._queued_appends} appends wait already")
        waiting = _Waiting(appends, asyncio.get_running_loop().create_future())
        if (
            len(appends) > MAX_GROUP_APPENDS
            or waiting.events > MAX_GROUP_EVENTS
            or waiting.size_bytes > MAX_GROUP_BYTES
        ):
            raise ValueError(
                f"more than {MAX_GROUP_APPENDS} appends, {MAX_GROUP_EVENTS} events or "
                f"{MAX_GROUP_BYTES} bytes in one call"
            )
        self._queue.append(waiting)
        self._queued_appends += len(appends)
        if self._runner is None:
            self._runner = asyncio.create_task(self._run(), name="log-group-commit")
        return await waiting.answer

    async def close(self) -> None:
        """Lets what waits go in, takes nothing more."""
        self._closing = True
        if self._runner is not None:
            await asyncio.wait([self._runner])

    async def _run(self) -> None:
        try:
            while group := self._gather():
                await self._settle(group)
        finally:
            self._runner = None
            # Only when this task itself was cancelled is anybody left.
            for waiting in self._queue:
                waiting.answer.cancel()
            self._queue.clear()
            self._queued_appends = 0

    def _gather(self) -> list[_Waiting]:
        """Takes the next group off the queue: in order, but never past one that shares a stream."""
        group: list[_Waiting] = []
        left: deque[_Waiting] = deque()
        taken: set[str] = set()
        appends = events = size_bytes = 0
        full = False
        while self._queue:
            waiting = self._queue.popleft()
            if waiting.answer.cancelled():
                self._queued_appends -= len(waiting.appends)
                continue
            full = full or (
                bool(group)
                and (
                    appends + len(waiting.appends) > MAX_GROUP_APPENDS
                    or events + waiting.events > MAX_GROUP_EVENTS
                    or size_bytes + waiting.size_bytes > MAX_GROUP_BYTES
                )
            )
            if full or not taken.isdisjoint(waiting.streams):
                left.append(waiting)
            else:
                group.append(waiting)
                appends += len(waiting.appends)
                events += waiting.events
                size_bytes += waiting.size_bytes
            taken |= waiting.streams
        self._queue = left
        self._queued_appends -= appends
        return group

    async def _settle(self, group: Sequence[_Waiting]) -> LogUnavailableError | None:
        """Commits a group and tells its callers; gives what they were told if the log is away."""
        try:
            answers = await self._commit([each for waiting in group for each in waiting.appends])
        except LogUnavailableError as error:
            for waiting in group:
                _fail(waiting, error)
            return error
        except Exception as error:
            if len(group) == 1:
                _fail(group[0], error)
                return None
            away = None
            for waiting in group:
                if away is None:
                    away = await self._settle([waiting])
                else:  # nobody waits once more for what was waited for just now
                    _fail(waiting, away)
            return away
        except asyncio.CancelledError:
            for waiting in group:
                waiting.answer.cancel()
            raise
        else:
            start = 0
            for waiting in group:
                end = start + len(waiting.appends)
                if not waiting.answer.done():
                    waiting.answer.set_result(answers[start:end])
                start = end
            return None


def _fail(waiting: _Waiting, error: Exception) -> None:
    if not waiting.answer.done():
        waiting.answer.set_exception(error)
