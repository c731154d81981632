"""What the commands about a house say and do at moments when it is neither open nor closed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deploy import commands, database_commands, where
from deploy.errors import HouseOpensError
from deploy.folder import HouseFolder, ProcessState
from shared.bus.parking import ParkedEvent

ROOT = Path(__file__).parents[3]
HOLDER = """
import signal, sys
from pathlib import Path
from deploy.folder import HouseFolder
with HouseFolder(Path(sys.argv[1])).held():
    print("held", flush=True)
    signal.pause()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HouseFolder:
    """The folder that the commands are about."""
    made = HouseFolder(tmp_path)
    for module in (commands, where):
        monkeypatch.setattr(module, "folder_of", lambda _: made)
    return made


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen((sys.executable, *words), cwd=ROOT, stdout=pipe, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def left_by_a_killed_supervisor(folder: HouseFolder, pid: int) -> None:
    up = ProcessState(pid=pid, state="up", restarts=0, since="2026-01-01T00:00:00+00:00")
    folder.write(folder.choose_ports(), {"postgres": up, "nats": up})
    folder.file.write_text(json.dumps({**folder.read(), "pid": pid}))


def test_the_status_of_a_house_at_its_very_beginning(folder: HouseFolder) -> None:
    """A database that is made for the first time takes seconds, in which nothing is written."""
    with folder.held():
        shown = CliRunner().invoke(commands.commands, ["status"])
        assert (shown.exit_code, shown.output) == (1, "the house is just being opened, or closed\n")
        told = json.loads(CliRunner().invoke(commands.commands, ["status", "--json"]).output)
    assert told == {"open": True, "pid": os.getpid(), "serves": False, "processes": {}}


def test_what_a_killed_supervisor_has_left_is_not_the_status_of_the_next(
    folder: HouseFolder,
) -> None:
    left_by_a_killed_supervisor(folder, os.getppid())
    with folder.held():
        told = json.loads(CliRunner().invoke(commands.commands, ["status", "--json"]).output)
    assert (told["pid"], told["processes"]) == (os.getpid(), {})


def test_down_ends_who_holds_the_folder_and_nobody_else(folder: HouseFolder) -> None:
    with process("-c", "import signal; signal.pause()") as stranger:
        left_by_a_killed_supervisor(folder, stranger.pid)
        with process("-c", HOLDER, str(folder.path)) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            done = CliRunner().invoke(commands.commands, ["down"])
            assert (done.exit_code, done.output) == (0, "the house is closed\n")
            assert holder.wait() == -signal.SIGTERM
        assert stranger.poll() is None


@pytest.mark.parametrize("before", [signal.SIG_IGN, signal.SIG_DFL])
def test_a_terminal_that_is_closed_closes_no_house_under_nohup(before: signal.Handlers) -> None:
    async def heard(stopping: asyncio.Event) -> bool:
        return signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN

    found = signal.signal(signal.SIGHUP, before)
    try:
        closes = asyncio.run(commands._with_signals(heard))
    finally:
        signal.signal(signal.SIGHUP, found)
    assert closes == (before is signal.SIG_DFL)


def test_the_database_of_a_house_at_its_very_beginning_is_not_there_yet(
    folder: HouseFolder,
) -> None:
    with folder.held():
        asked = CliRunner().invoke(database_commands.parked, ["list"])
    assert isinstance(asked.exception, HouseOpensError)


def test_the_words_of_an_error_are_shown_as_they_are(
    folder: HouseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may look like what makes text bold."""
    parked = ParkedEvent(
        consumer="wallet",
        stream="table/b-1",
        version=7,
        partition="table.0",
        position=70,
        type="HandSettled",
        error="KeyError: [b] [/nope]",
        attempts=1,
        parked_at=datetime(2026, 1, 1, tzinfo=UTC),
        retry_requested=False,
    )
    monkeypatch.setattr(database_commands, "_in_database", lambda *_: [parked])
    shown = CliRunner().invoke(database_commands.parked, ["list"], env={"COLUMNS": "200"})
    assert "[b]" in shown.output
    assert "[/nope]" in shown.output
