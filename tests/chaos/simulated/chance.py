"""Time and chance of a simulated house: whatever the code asks of them comes from loop and seed."""

from __future__ import annotations

import os
import random as random_module
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from random import Random
from typing import Any

import structlog

from clients.api import back_off
from tests.chaos.simulated.loop import VirtualLoop


@contextmanager
def from_seed(loop: VirtualLoop, random: Random, wrong: Callable[[str], None]) -> Iterator[None]:
    """While it lasts nothing in this process knows the true time or draws a true random number.

    `wrong` is told of every line of level error or higher that goes to the log.
    """
    replaced: list[tuple[Any, str, Any]] = [
        (time, "time_ns", loop.time_ns),
        (time, "time", lambda: loop.time_ns() / 1e9),
        (os, "urandom", random.randbytes),
        (random_module, "_urandom", random.randbytes),
        (back_off, "Random", lambda: Random(random.getrandbits(64))),
    ]
    before = [(module, name, getattr(module, name)) for module, name, _ in replaced]
    logging = structlog.get_config()
    for module, name, stand_in in replaced:
        setattr(module, name, stand_in)
    structlog.configure(
        processors=[structlog.processors.format_exc_info, _Listening(wrong)],
        wrapper_class=structlog.make_filtering_bound_logger(40),
        logger_factory=structlog.ReturnLoggerFactory(),
        cache_logger_on_first_use=False,
    )
    try:
        yield
    finally:
        for module, name, own in before:
            setattr(module, name, own)
        structlog.configure(**logging)


class _Listening:
    def __init__(self, wrong: Callable[[str], None]) -> None:
        self._wrong = wrong

    def __call__(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> str:
        words = ", ".join(f"{key}={value}" for key, value in event.items() if key != "event")
        self._wrong(f"logged as {method}: {event.get('event')} {words}")
        return ""
