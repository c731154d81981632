"""A call to the database that is repeated while the infrastructure lets it down, within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

import asyncpg
import structlog

from shared.log.faults import is_infrastructure
from shared.log.types import LogUnavailableError

# In quotes: the classes take parameters in their stubs only.
Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
PooledConnection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"

GIVE_UP_AFTER_S = 10.0
CALL_TIMEOUT_S = 5.0
_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 1.0

_T = TypeVar("_T")

_log = structlog.get_logger()


async def on_connection(
    pool: Pool,
    call: Callable[[PooledConnection], Awaitable[_T]],
    give_up_after_s: float = GIVE_UP_AFTER_S,
    call_timeout_s: float = CALL_TIMEOUT_S,
) -> _T:
    """The answer of `call` on a connection of `pool`, which it is given within `call_timeout_s`.

    `call` may run several times, each on a connection of its own; any but the last may have done
    its work and only its answer got lost: it must be such that this does no harm. Any error
    that is not the infrastructure's is raised at once. Raises `LogUnavailableError` after
    `give_up_after_s` seconds.
    """
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + give_up_after_s
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            async with pool.acquire(timeout=call_timeout_s) as connection:
                return await call(connection)
        except Exception as error:
            if not is_infrastructure(error):
                raise
            if loop.time() + pause_s > give_up_at:
                # Words of the driver name hosts and roles, which are nothing for whoever called.
                _log.warning("log_away", error=f"{type(error).__name__}: {error}")
                raise LogUnavailableError("the log does not answer: try again") from error
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
