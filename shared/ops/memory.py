"""What is in a service's memory stays there: keys, seeds, cards nobody has seen."""

from __future__ import annotations

import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4  # linux/prctl.h


def keep_to_ourselves() -> None:
    """From here on this process leaves no core dump, wherever the system would send it, and no
    other process of its user may read its memory.

    Raises `OSError` where the system does not let it.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        # A dump that is piped to a program is not held up by the limit (core(5)).
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "the process cannot be made undumpable")
