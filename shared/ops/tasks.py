"""Ending tasks for certain."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

_CANCEL_AGAIN_S = 1.0


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels tasks and waits until they are over, however they end.

    One cancellation is not always enough: in Python 3.11 `asyncio.wait_for`, which the NATS client
    waits with, forgets a cancellation that comes at the same time as what it waits for.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        done, left = await asyncio.wait(left, timeout=_CANCEL_AGAIN_S)
        for task in done:
            if not task.cancelled():
                # Looked at, so that the loop does not tell that nobody did.
                task.exception()


async def serve_with(
    working: asyncio.Task[Any], serving: asyncio.Task[Any], *beside: asyncio.Task[Any]
) -> None:
    """Until `serving` is over; raises what `working` fails with, which ends by itself only then.
    All of them, and what runs `beside`, have ended afterwards."""
    try:
        await asyncio.wait({working, serving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        await serving
    finally:
        await end([working, serving, *beside])
