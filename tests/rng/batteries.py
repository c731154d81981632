"""Batteries of others, where they are installed: they read `croupier rng-export --raw`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

SHOWN_LINES = 200


@dataclass(frozen=True, slots=True)
class Battery:
    """A program that reads random bytes from standard input."""

    name: str
    program: str
    arguments: tuple[str, ...]


BATTERIES = (
    Battery("dieharder", "dieharder", ("-a", "-g", "200", "-k", "2", "-Y", "1")),
    Battery("PractRand", "RNG_test", ("stdin", "-tlmax", "1GB", "-multithreaded")),
)


def run(battery: Battery, seed: str, timeout_s: float) -> str | None:
    """What the battery says of the production stream; None where it is not installed. Cut off after
    `timeout_s`: what it has said by then counts."""
    program = shutil.which(battery.program)
    if program is None:
        return None
    export = subprocess.Popen(_export(seed), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    testing = subprocess.Popen(
        (program, *battery.arguments),
        stdin=export.stdout,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # It may have started others, which end with it.
        start_new_session=True,
    )
    try:
        said, _ = testing.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(testing.pid, signal.SIGKILL)
        said, _ = testing.communicate()
        said += f"\n(cut off after {timeout_s:g} s)\n"
    finally:
        export.kill()
        export.wait()
    return "\n".join(said.splitlines()[-SHOWN_LINES:])


def _export(seed: str) -> Sequence[str]:
    words = (sys.executable, "-m", "deploy.main", "rng-export", "--raw")
    return (*words, "--seed", seed) if seed else words
