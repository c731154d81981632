"""A house of a test's own, opened and closed with the `croupier` command as people do."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.folder import HouseFolder
from deploy.programs import DATABASE, Programs
from tests.polling import eventually

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = ("postgres", "nats", "shuffle", "wallet", "audit", "relay", "table")
OPEN_TIMEOUT_S = 60.0
COMMAND_TIMEOUT_S = 110.0


@dataclass(frozen=True)
class Answer:
    """How a command ended, and what it printed."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class HouseOnDisk:
    """A house in `folder`, seen from outside: commands, and what its file tells."""

    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / ".croupier" / "house.json"

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Starts `croupier words…` for this house."""
        return subprocess.Popen(
            (sys.executable, "-m", "deploy.main", *words),
            cwd=ROOT,
            # Nobody waits a minute for the first checkpoint.
            env={
                **os.environ,
                "CROUPIER_HOUSE": str(self.file),
                "CROUPIER_CHECKPOINT_EVERY_S": "0.5",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_now(self, *words: str) -> Answer:
        """Runs `croupier words…` to its end."""
        return _end_of(self.start(*words))

    async def run(self, *words: str) -> Answer:
        """The same without holding up the test's loop."""
        return await asyncio.to_thread(self.run_now, *words)

    async def end_of(self, process: subprocess.Popen[str]) -> Answer:
        """Waits for the end of what `start` has started."""
        return await asyncio.to_thread(_end_of, process)

    def told(self) -> dict[str, Any]:
        """What `house.json` says; nothing runs before there is one."""
        if not self.file.exists():
            return {"processes": {}}
        told: dict[str, Any] = json.loads(self.file.read_text())
        return told

    def is_up(self) -> bool:
        """Whether every process serves, by the house's own word."""
        states = [str(process["state"]) for process in self.told()["processes"].values()]
        return states == ["up"] * len(PROCESSES)

    def process(self, name: str) -> dict[str, Any]:
        """What it says of one process."""
        process: dict[str, Any] = self.told()["processes"][name]
        return process

    async def status(self) -> dict[str, Any]:
        """What `croupier status --json` says."""
        told: dict[str, Any] = json.loads((await self.run("status", "--json")).out)
        return told

    def kill(self, name: str) -> int:
        """kill -9; returns how often the process had been restarted before."""
        process = self.process(name)
        os.kill(process["pid"], signal.SIGKILL)
        restarts: int = process["restarts"]
        return restarts

    async def is_back(self, name: str, restarts_before: int) -> None:
        """Waits until the killed process serves again."""

        def back() -> bool:
            process = self.process(name)
            return bool(process["restarts"] > restarts_before and process["state"] == "up")

        await eventually(back, within_s=OPEN_TIMEOUT_S)


def database_of(house: HouseOnDisk) -> str:
    """A superuser's DSN of an open house's database."""
    folder = HouseFolder(house.file.parent)
    servers = Programs(folder, folder.keys.load(), folder.read()["ports"])
    return servers.postgres.dsn(DATABASE)


def _end_of(process: subprocess.Popen[str]) -> Answer:
    try:
        out, err = process.communicate(timeout=COMMAND_TIMEOUT_S)
    finally:
        process.kill()
    return Answer(process.returncode, out, err)


def alive(pid: int) -> bool:
    """Whether there is a process with this pid that has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter: gone since it was opened
        return False
