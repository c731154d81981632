"""Replicas of which one at a time does the work, and the pauses between its tries."""

from __future__ import annotations

import asyncio

from shared.log.connecting import session_settings
from shared.log.statements import Connection

STANDBY_LOOK_S = 0.5
HELD_UP_S = 10
"""Who has the turn asks something more often than this: the server ends the session of a process
that is paused, and another replica takes over."""
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0


def turn_settings(application: str) -> dict[str, str]:
    """Settings of a session that takes turns."""
    return {**session_settings(application), "idle_session_timeout": f"{HELD_UP_S}s"}


async def take_turn(connection: Connection, name: str) -> None:
    """Waits until nobody else has the turn of this name; it lasts as long as the connection.

    It is tried again and again: waiting for the lock inside Postgres would hold a snapshot, and
    with it every dead row, all the time.
    """
    while not await connection.fetchval(
        "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", name
    ):
        await asyncio.sleep(STANDBY_LOOK_S)


class Pauses:
    """Between tries that came to nothing: each twice as long, short again after one that lasted."""

    def __init__(self) -> None:
        self._next_s = _FIRST_PAUSE_S

    async def after(self, started: float) -> None:
        """Pauses after a try that began at `started`, seconds of the running loop's clock."""
        if asyncio.get_running_loop().time() - started > _LONGEST_PAUSE_S:
            self._next_s = _FIRST_PAUSE_S
        await asyncio.sleep(self._next_s)
        self._next_s = min(2 * self._next_s, _LONGEST_PAUSE_S)
