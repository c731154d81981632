"""What it takes to start one process of the house, and to end one that was left over."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

# Below the range that Linux hands out to outgoing connections (32768 and up): a port kept for the
# next start is then not taken by a passing connection in between.
_PORTS = range(20_000, 32_000)
_PORT_TRIES = 200
_MOST_HELD = 256
# The ports that this process was given, each with a UDP socket of the same number: until its server
# listens, or while that is started again, no other process here is given the port. The sockets end
# with the process, and TCP does not mind them.
_held: dict[int, socket.socket] = {}
_END_BYTES = 2_000
_TETHER = Path(__file__).with_name("tether.py")
_ORPHAN_WAIT_S = 15.0


@dataclass(frozen=True, slots=True)
class Program:
    """One foreground process: its command line, environment, user and the signal that ends it.

    `user` is None for "as I am", else (uid, gid) to switch to. Output goes to `log`, appended.
    `without` names (in lower case) what it is not to have of this process's environment.
    """

    name: str
    argv: tuple[str, ...]
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    user: tuple[int, int] | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    without: frozenset[str] = frozenset()

    def start(self) -> subprocess.Popen[bytes]:
        """Starts the process. It lives in its own session, so that a terminal's Ctrl-C reaches
        only the supervisor, and is told to stop if this process dies without stopping it."""
        account = "-" if self.user is None else f"{self.user[0]}:{self.user[1]}"
        tether = (sys.executable, "-I", "-S", str(_TETHER))
        how = (str(os.getpid()), str(int(self.stop_signal)), account)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            return subprocess.Popen(
                (*tether, *how, *self.argv),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.environment(),
                start_new_session=True,
            )

    def environment(self) -> dict[str, str]:
        """What its environment is: this process's own, but for `without`, and `env`."""
        kept = {
            name: value for name, value in os.environ.items() if name.lower() not in self.without
        }
        return {**kept, **self.env}


def end_of(log: Path) -> str:
    """The last lines of a log, for whoever has to see what went wrong."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _END_BYTES))
        return file.read().decode(errors="replace")


def free_port(taken: frozenset[int] = frozenset()) -> int:
    """A TCP port of 127.0.0.1 that nobody listens on now, that nobody else was given by this
    function, and that is not in `taken`."""
    for _ in range(_PORT_TRIES):
        port = random.choice(_PORTS)
        if port not in taken and port not in _held and hold_port(port):
            return port
    raise OSError(f"no free port found between {_PORTS.start} and {_PORTS.stop}")


def hold_port(port: int) -> bool:
    """Whether one can listen on 127.0.0.1:`port` now (a connection in TIME_WAIT does not count) and
    no other process was given it. It is this process's then, until that ends or has held 256 more.
    """
    holder = _held.pop(port, None) or _holder(port)
    if holder is None:
        return False
    if not _can_listen(port):
        holder.close()
        return False
    _held[port] = holder
    if len(_held) > _MOST_HELD:
        _held.pop(next(iter(_held))).close()
    return True


def _holder(port: int) -> socket.socket | None:
    holder = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        holder.bind(("127.0.0.1", port))
    except OSError:
        holder.close()
        return None
    return holder


def _can_listen(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def end_orphan(pid: int, marks: tuple[str, ...], stop_signal: signal.Signals) -> bool:
    """Ends the process `pid` that an earlier, killed supervisor left running.

    Only if its command line holds every one of `marks`: pids are used again, and a stranger that
    now has this one must not be touched. Waits for its end, kills it after 15 s. Returns whether
    there was such a process.
    """
    try:
        process = psutil.Process(pid)
        line = " ".join(process.cmdline())
        if not all(mark in line for mark in marks):
            return False
        process.send_signal(stop_signal)
        try:
            process.wait(_ORPHAN_WAIT_S)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait(_ORPHAN_WAIT_S)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        # What may not even be looked at is somebody else's.
        return False
    return True
