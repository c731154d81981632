"""Work on all cores: the same function over many parts, in processes of their own."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(work: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
    """The results as they come, in any order. With a single part, or core, nothing is started.

    New processes are spawned, not forked: a copy of a process with threads may hang. `work` must be
    a function of a module.
    """
    at_once = min(cores(), len(parts))
    if at_once <= 1:
        yield from map(work, parts)
        return
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(at_once, spawning, _end_with_parent) as pool:
        try:
            for future in as_completed([pool.submit(work, part) for part in parts]):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for more work for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
