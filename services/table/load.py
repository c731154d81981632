"""How much a node has to do, as its heartbeat says it."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """Tables that the node has, hands that run on them, viewers, commands a second and processor
    seconds a second since the last heartbeat."""

    tables: int = 0
    hands: int = 0
    watchers: int = 0
    commands_per_s: float = 0.0
    busy: float = 0.0


class LoadMeter:
    """Measures from one reading to the next."""

    def __init__(self) -> None:
        self._last = (time.monotonic(), time.process_time(), 0)

    def read(self, tables: int, hands: int, watchers: int, commands: int) -> Load:
        """The load since the last reading; `commands` are all that were taken so far."""
        at_s, used_s, before = self._last
        self._last = (time.monotonic(), time.process_time(), commands)
        over_s = max(self._last[0] - at_s, 1e-6)
        commands_per_s = (commands - before) / over_s
        return Load(tables, hands, watchers, commands_per_s, (self._last[1] - used_s) / over_s)
