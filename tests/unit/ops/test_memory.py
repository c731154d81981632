"""A service that crashes leaves nothing of its memory behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

SECRET = "no-core-holds-this-word"
GET_DUMPABLE = "import ctypes; print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
ALLOWED = "import resource as r; r.setrlimit(r.RLIMIT_CORE, (r.getrlimit(r.RLIMIT_CORE)[1],) * 2)"
KEEP = "from shared.ops.memory import keep_to_ourselves as keep; keep()"


def python(*lines: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-c", "\n".join(lines)),
        cwd=cwd,
        env={"PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("fatal", [signal.SIGABRT, signal.SIGSEGV])
def test_a_crash_leaves_no_core(tmp_path: Path, fatal: signal.Signals) -> None:
    crash = f"import os; secret = '{SECRET}'; os.kill(os.getpid(), {fatal.value})"
    done = python(ALLOWED, KEEP, crash, cwd=tmp_path)
    assert done.returncode == -fatal.value
    assert list(tmp_path.iterdir()) == []
    assert SECRET not in done.stderr


def test_the_process_is_undumpable_wherever_dumps_are_sent(tmp_path: Path) -> None:
    """A core_pattern that begins with a pipe does not look at the limit."""
    assert python(GET_DUMPABLE, cwd=tmp_path).stdout == "1\n"
    limit = "import resource as r; print(r.getrlimit(r.RLIMIT_CORE))"
    assert python(KEEP, GET_DUMPABLE, limit, cwd=tmp_path).stdout == "0\n(0, 0)\n"
