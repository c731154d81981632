"""Batteries of others, where they are installed: they read `croupier rng-export --raw`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Battery:
    """A program that reads random bytes from standard input, and the arguments of each of its runs:
    they go on in the same stream."""

    name: str
    program: str
    runs: tuple[tuple[str, ...], ...]


# Those of dieharder that are content with a few hundred megabytes: birthdays, ranks of matrices,
# ones, runs, craps, the STS tests. All take hours: rng-export --raw | dieharder -a -g 200
_DIEHARDER = (0, 2, 3, 8, 9, 13, 15, 16, 100, 101, 102)
BATTERIES = (
    Battery("dieharder", "dieharder", tuple(("-g", "200", "-d", str(n)) for n in _DIEHARDER)),
    Battery("PractRand", "RNG_test", (("stdin", "-tlmax", "1GB", "-multithreaded"),)),
)


def run(battery: Battery, seed: str, timeout_s: float) -> str | None:
    """What the battery says of the production stream; None where it is not installed. Cut off after
    `timeout_s`: what it has said by then counts."""
    program = shutil.which(battery.program)
    if program is None:
        return None
    give_up_at = time.monotonic() + timeout_s
    export = subprocess.Popen(_export(seed), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert export.stdout is not None
    said: list[str] = []
    try:
        for arguments in battery.runs:
            left_s = give_up_at - time.monotonic()
            if not _one((program, *arguments), export.stdout.fileno(), left_s, said):
                said.append(f"(cut off after {timeout_s:g} s)")
                break
    finally:
        export.kill()
        export.wait()
        export.stdout.close()
    return "\n".join(said)


def _one(argv: Sequence[str], stream: int, timeout_s: float, said: list[str]) -> bool:
    """One run; false if it was cut off."""
    testing = subprocess.Popen(
        argv,
        stdin=stream,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # It may have started others, which end with it.
        start_new_session=True,
    )
    try:
        out, _ = testing.communicate(timeout=max(timeout_s, 0))
    except subprocess.TimeoutExpired:
        os.killpg(testing.pid, signal.SIGKILL)
        _say(testing.communicate()[0], said)
        return False
    _say(out, said)
    return True


def _say(out: str, said: list[str]) -> None:
    """A heading that comes with every run is said once."""
    said += [line for line in out.splitlines() if not line.startswith("#") or line not in said]


def _export(seed: str) -> Sequence[str]:
    words = (sys.executable, "-m", "deploy.main", "rng-export", "--raw")
    return (*words, "--seed", seed) if seed else words
