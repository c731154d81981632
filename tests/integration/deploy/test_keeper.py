"""A process is started, kept running, stopped cleanly, and dies with its supervisor."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest

from deploy import keeper as keeping
from deploy.errors import StartFailedError
from deploy.keeper import Keeper
from deploy.program import Program
from tests.polling import eventually

# Says that it serves by writing its pid, and says how it was stopped.
SERVER = """
import signal, sys, pathlib, os, time
here = pathlib.Path(sys.argv[1])
def stop(number, frame):
    (here / "stopped").write_text(signal.Signals(number).name)
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGINT, stop)
(here / "pid").write_text(str(os.getpid()))
(here / "pid").rename(here / "serving")
while True:
    signal.pause()
"""
STUBBORN = SERVER.replace("sys.exit(0)", "pass")
FAILING = "import sys; print('no such table'); sys.exit(3)"


def program(folder: Path, code: str, stop_signal: signal.Signals = signal.SIGTERM) -> Program:
    argv = (sys.executable, "-c", code, str(folder))
    return Program("server", argv, folder / "server.log", stop_signal=stop_signal)


def ready(folder: Path) -> Callable[[float], object]:
    async def wait(timeout_s: float) -> None:
        async with asyncio.timeout(timeout_s):
            while not (folder / "serving").exists():
                await asyncio.sleep(0)

    return wait


def supervisor_of(folder: Path) -> subprocess.Popen[bytes]:
    """A process of its own that starts the server and then does nothing more."""
    code = f"""
import signal, sys
from pathlib import Path
from deploy.program import Program
folder = Path({str(folder)!r})
Program("server", (sys.executable, "-c", {SERVER!r}, str(folder)), folder / "server.log").start()
signal.pause()
"""
    return subprocess.Popen((sys.executable, "-c", code))


@asynccontextmanager
async def kept(folder: Path, made: Program) -> AsyncIterator[Keeper]:
    def prepare() -> None:
        (folder / "serving").unlink(missing_ok=True)

    keeper = Keeper(made, prepare, ready(folder), lambda: None)  # type: ignore[arg-type]
    try:
        yield keeper
    finally:
        await keeper.stop()


def is_up_again(keeper: Keeper, restarts: int) -> bool:
    return keeper.restarts == restarts and keeper.state == "up"


async def test_a_killed_process_is_started_again(tmp_path: Path) -> None:
    async with kept(tmp_path, program(tmp_path, SERVER)) as keeper:
        await keeper.start()
        first = keeper.snapshot()
        assert (first["state"], first["restarts"]) == ("up", 0)
        assert first["pid"] == int((tmp_path / "serving").read_text())
        os.kill(first["pid"], signal.SIGKILL)
        await eventually(partial(is_up_again, keeper, 1))
        second = keeper.snapshot()
        assert second["pid"] == int((tmp_path / "serving").read_text()) != first["pid"]


async def test_a_process_that_keeps_dying_is_started_again_and_again(tmp_path: Path) -> None:
    async with kept(tmp_path, program(tmp_path, SERVER)) as keeper:
        await keeper.start()
        for restarts in range(1, 4):
            os.kill(keeper.snapshot()["pid"] or 0, signal.SIGKILL)
            await eventually(partial(is_up_again, keeper, restarts))


async def test_a_full_disk_ends_no_keeping(tmp_path: Path) -> None:
    """Nothing can be written for a while: neither what a start needs nor how the process does."""
    failures = 0

    def fail_twice() -> None:
        nonlocal failures
        (tmp_path / "serving").unlink(missing_ok=True)
        if 0 < failures < 3:
            failures += 1
            raise OSError(errno.ENOSPC, "no space")

    def cannot_tell() -> None:
        if 0 < failures < 3:
            raise OSError(errno.ENOSPC, "no space")

    made = program(tmp_path, SERVER)
    keeper = Keeper(made, fail_twice, ready(tmp_path), cannot_tell)  # type: ignore[arg-type]
    try:
        await keeper.start()
        failures = 1
        os.kill(keeper.snapshot()["pid"] or 0, signal.SIGKILL)
        await eventually(partial(is_up_again, keeper, 3))
    finally:
        failures = 1
        await keeper.stop()
    assert keeper.state == "stopped"


async def test_a_process_that_takes_long_to_serve_again_is_up_once_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Postgres after a crash, with much of its log to replay: it must not count as starting for as
    long as it then lives."""
    monkeypatch.setattr(keeping, "_LOOK_AGAIN_S", 0.01)
    failures: list[Exception] = []
    serving = ready(tmp_path)

    async def slowly(timeout_s: float) -> None:
        if failures:
            raise failures.pop()
        await serving(timeout_s)  # type: ignore[misc]

    def prepare() -> None:
        (tmp_path / "serving").unlink(missing_ok=True)

    keeper = Keeper(program(tmp_path, SERVER), prepare, slowly, lambda: None)
    try:
        await keeper.start()
        failures += [ConnectionError("too many connections"), TimeoutError()]
        os.kill(keeper.snapshot()["pid"] or 0, signal.SIGKILL)
        await eventually(partial(is_up_again, keeper, 1))
        assert not failures
    finally:
        await keeper.stop()


async def test_the_end_of_the_log_tells_why_a_start_failed(tmp_path: Path) -> None:
    async with kept(tmp_path, program(tmp_path, FAILING)) as keeper:
        with pytest.raises(StartFailedError, match="no such table"):
            await keeper.start()


async def test_a_process_that_never_serves_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "START_TIMEOUT_S", 0.1)
    silent = SERVER.replace('"serving"', '"elsewhere"')
    async with kept(tmp_path, program(tmp_path, silent)) as keeper:
        with pytest.raises(StartFailedError, match="does not serve"):
            await keeper.start()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_process_is_stopped_by_its_own_signal(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with kept(tmp_path, program(tmp_path, SERVER, number)) as keeper:
        await keeper.start()
        await keeper.stop()
        assert keeper.snapshot()["state"] == "stopped"
    assert (tmp_path / "stopped").read_text() == number.name


async def test_a_process_that_will_not_stop_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with kept(tmp_path, program(tmp_path, STUBBORN)) as keeper:
        await keeper.start()
        pid = keeper.snapshot()["pid"] or 0
        monkeypatch.setattr(keeping, "STOP_TIMEOUT_S", 0.2)
        await keeper.stop()
        assert not psutil.pid_exists(pid)


async def test_a_process_does_not_outlive_its_supervisor(tmp_path: Path) -> None:
    with supervisor_of(tmp_path) as process:
        await eventually((tmp_path / "serving").exists)
        process.kill()
    # It is stopped by its clean stop, not killed.
    await eventually((tmp_path / "stopped").exists)
