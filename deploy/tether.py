"""Becomes another program, under another account if told so, that dies with whoever started it.

    python tether.py PARENT_PID SIGNAL UID:GID|- PROGRAM [ARGUMENT …]

A process of its own instead of a hook between fork and exec: no Python may safely run there in a
process that has threads. Run with `-I -S`, it imports nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, number: int, account: str, argv: list[str]) -> None:
    """Never returns: the process is another program afterwards, or has ended."""
    if account != "-":
        uid, gid = map(int, account.split(":"))
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    # Only after the change of account, which would undo it. Other systems than Linux have no such
    # call: there the next start ends what was left running.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() == parent:
        os.execv(argv[0], argv)
    sys.exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
