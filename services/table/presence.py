"""Whether this node is there for its players: it runs, and its lease does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass

import structlog

from services.table.proposal import now_us
from shared.log import LogUnavailableError

OUTAGE_S = 2.0
"""What takes longer was an outage to the players: a running clock gets its grace."""
LOOK_EVERY_S = 0.5

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Outage:
    """From the last sign of life before it until the first one after it (microseconds since
    1970)."""

    since: int = 0
    until: int = 0


class Presence:
    """Notices when the node was away: stopped, on a machine that slept, under a clock that was set
    forward, or without its lease.

    `back` is called after each such outage, `lapsed` as the lease ends without a new one.
    """

    def __init__(
        self, back: Callable[[], object] = bool, lapsed: Callable[[], object] = bool
    ) -> None:
        self._back = back
        self._lapsed = lapsed
        self._outage = Outage()
        self._alive = now_us()
        self._leased = 0
        self._lease_ends_s = 0.0
        self._lapse: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Looks, until it is cancelled."""
        while True:
            self.outage()
            await asyncio.sleep(LOOK_EVERY_S)

    def outage(self) -> Outage:
        """The latest one; the same object until there is another. By the wall's clock: deadlines go
        by it too, and the loop's stands still while the machine sleeps."""
        before, self._alive = self._alive, now_us()
        self._see(before)
        return self._outage

    @property
    def has_lease(self) -> bool:
        """Whether no other node can have taken a table of this one: by this node's own clock, from
        when it asked, so that its lease is over here before it is at the database."""
        return asyncio.get_running_loop().time() < self._lease_ends_s

    def returned(self) -> None:
        """The lease had run out, whatever this node's own clock says, or there was none yet: that
        was an outage too."""
        self._lease_ends_s = 0.0
        if self._leased:
            self._see(self._leased)

    def leased(self, asked_s: float, ttl_s: float) -> None:
        """The lease runs for `ttl_s` from `asked_s` by the loop's clock."""
        self._leased = now_us()
        self._lease_ends_s = asked_s + ttl_s
        self.stop()
        loop = asyncio.get_running_loop()
        self._lapse = loop.call_at(self._lease_ends_s, self._lapsed)

    def stop(self) -> None:
        """Tells of no lapse any more."""
        if self._lapse is not None:
            self._lapse.cancel()

    def _see(self, since: int) -> None:
        until = now_us()
        if until - since > OUTAGE_S * 1_000_000:
            self._outage = Outage(since, until)
            self._back()


async def under_lease(
    work: Coroutine[None, None, None],
    renew: Callable[[], Awaitable[bool]],
    asked_s: float,
    ttl_s: float,
    every_s: float,
) -> float:
    """Does what may take longer than the lease that was asked for at `asked_s` (by the loop's
    clock), which `renew` renews meanwhile; when it was asked for last.

    Raises `LOG_UNAVAILABLE` where that was once too late: what was done may count for nothing.
    """
    loop = asyncio.get_running_loop()
    held = True
    working = asyncio.create_task(work)
    try:
        while not (await asyncio.wait({working}, timeout=every_s))[0]:
            ends_s, asked_s = asked_s + ttl_s, loop.time()
            try:
                held = await renew() and loop.time() < ends_s and held
            except LogUnavailableError:
                held = False
            except Exception as error:
                _log.error("lease_not_renewed", exc_info=error)
                held = False
        working.result()
    finally:
        working.cancel()
    if not held:
        raise LogUnavailableError("the lease ran out once more")
    return asked_s
