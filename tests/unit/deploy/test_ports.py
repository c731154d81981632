"""A port is given to one process here at a time, whether its server listens yet or not; and a pid
that is used again is not taken for the process that had it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from deploy import program
from deploy.program import end_orphan, free_port, hold_port

ROOT = Path(__file__).parents[3]
ASK_FOR = """
import sys
from deploy import program
program._PORTS = range(int(sys.argv[1]), int(sys.argv[1]) + 1)
print(program.free_port())
"""


def given_to_another(port: int) -> bool:
    """Whether another process that can have this one only is given it."""
    asked = subprocess.run(
        (sys.executable, "-c", ASK_FOR, str(port)), cwd=ROOT, capture_output=True, text=True
    )
    assert asked.returncode == 0 or "no free port" in asked.stderr, asked
    return asked.stdout == f"{port}\n"


def test_what_one_was_given_no_other_is_before_anybody_listens() -> None:
    port = free_port()
    assert not given_to_another(port)
    assert hold_port(port)  # its own, again
    program._held.pop(port).close()
    assert given_to_another(port)


def test_who_holds_a_port_can_listen_on_it() -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        assert not hold_port(port)
    assert hold_port(port)


def test_the_oldest_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_MOST_HELD", 2)
    monkeypatch.setattr(program, "_held", {})
    first, second, third = (free_port() for _ in range(3))
    assert list(program._held) == [second, third]
    assert given_to_another(first)
    for holder in program._held.values():
        holder.close()


def test_a_process_that_may_not_even_be_looked_at_is_somebody_elses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As macOS has it of those of other accounts, one of which may have the pid by now."""

    def denied(_: psutil.Process) -> list[str]:
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil.Process, "cmdline", denied)
    assert not end_orphan(os.getpid(), (), signal.SIGTERM)
