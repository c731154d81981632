"""How long to wait before trying again."""

from __future__ import annotations

from random import Random

FIRST_S = 0.05
MOST_S = 2.0


class BackOff:
    """Waits that double from 50 ms to 2 s, each drawn between half of it and the whole, so that
    clients which lost the same node do not all come back in the same instant."""

    def __init__(self, random: Random | None = None) -> None:
        self._random = random or Random()
        self._next_s = FIRST_S

    def next_s(self, least_s: float = 0.0) -> float:
        """Seconds to wait now, `least_s` at the least."""
        wait_s = max(self._next_s, 2 * least_s) * (0.5 + self._random.random() / 2)
        self._next_s = min(self._next_s * 2, MOST_S)
        return wait_s

    def reset(self) -> None:
        """Something worked: the next wait is short again."""
        self._next_s = FIRST_S
