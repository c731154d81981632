"""The running clock of a table: one timer that is set again as deadlines come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from services.table.proposal import now_us

AGAIN_AFTER_S = 1.0


class Clock:
    """Calls `expired` with the deadline that has passed by this node's time."""

    def __init__(self, expired: Callable[[int], None]) -> None:
        self._expired = expired
        self._deadline = 0
        self._name = ""
        self._timer: asyncio.TimerHandle | None = None

    def keep(self, deadline: int, name: str = "") -> None:
        """The clock of this name runs until `deadline` (microseconds since 1970; 0: no clock runs).
        Another one may run out in the same microsecond, and rings for itself."""
        if (deadline, name) != (self._deadline, self._name):
            self._name = name
            self._set(deadline)

    def again(self, deadline: int) -> None:
        """Nothing came of the deadline that passed: tells it again after a pause."""
        if deadline and self._timer is None:
            self._set(deadline, AGAIN_AFTER_S)

    def stop(self) -> None:
        """Tells nothing more."""
        self.keep(0)

    def _set(self, deadline: int, least_s: float = 0.0) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._deadline = deadline
        if deadline:
            delay_s = max(least_s, (deadline - now_us()) / 1_000_000)
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._ring, deadline)

    def _ring(self, deadline: int) -> None:
        self._timer = None
        if now_us() < deadline:  # the loop's clock and the wall's are two
            self._set(deadline)
        else:
            self._expired(deadline)
