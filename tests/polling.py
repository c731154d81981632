"""Waiting for something to become true, bounded."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")


@overload
async def eventually(
    check: Callable[[], Awaitable[T]], *, within_s: float = ..., every_s: float = ...
) -> T: ...
@overload
async def eventually(
    check: Callable[[], T], *, within_s: float = ..., every_s: float = ...
) -> T: ...
async def eventually(
    check: Callable[[], Any], *, within_s: float = 30.0, every_s: float = 0.02
) -> Any:
    """Calls `check` (plain or async) until what it gives is truthy, and returns that.

    A failed assertion inside counts as "not yet". Fails with the last answer or failure when
    `within_s` is over.
    """
    deadline = time.monotonic() + within_s
    while True:
        last: object
        try:
            answer = check()
            found = await answer if inspect.isawaitable(answer) else answer
            if found:
                return found
            last = found
        except AssertionError as failure:
            last = failure
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s} s; last: {last!r}")
        await asyncio.sleep(every_s)
