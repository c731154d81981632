"""One service: in the test's own loop, or as a process that can be paused and killed."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from deploy.program import Program
from deploy.programs import serves
from tests.polling import eventually


@dataclass
class Serving:
    """One service, until it is stopped. It may be started again on the same port."""

    serve: Callable[[Any, asyncio.Event], Awaitable[None]]
    settings: Any
    task: asyncio.Future[None] | None = None
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def address(self) -> str:
        return str(self.settings.listen)

    async def start(self) -> None:
        self.stopping = asyncio.Event()
        self.task = asyncio.ensure_future(self.serve(self.settings, self.stopping))
        await eventually(self._up, within_s=60)

    async def _up(self) -> bool:
        assert self.task is not None
        if self.task.done():
            self.task.result()
        return await serves(self.address)

    async def stop(self) -> None:
        """The clean stop (SIGTERM)."""
        if self.task is not None:
            self.stopping.set()
            await self.task
            self.task = None


class ProcessEndedError(Exception):
    """A process ended, or was killed, before it served."""


@dataclass
class Process:
    """One service in a process of its own, to be killed."""

    service: str
    settings: Any
    log: Path
    within: Callable[[], AbstractContextManager[None]] = nullcontext
    module: tuple[str, ...] = ("deploy.serve",)
    """What is run, and what it is told before the service."""
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return str(self.settings.listen)

    async def start(self) -> None:
        fields = {name: getattr(self.settings, name) for name in type(self.settings).model_fields}
        env = {
            f"CROUPIER_{name.upper()}": value.get_secret_value()
            if isinstance(value, SecretStr)
            else str(value)
            for name, value in fields.items()
        }
        argv = (sys.executable, "-m", *self.module, self.service)
        with self.within():
            self.process = Program(self.service, argv, self.log, env).start()
        await self.up()

    async def up(self) -> None:
        """Waits until it serves."""
        await eventually(self._serves, within_s=60)

    async def _serves(self) -> bool:
        if self.process is None or self.process.poll() is not None:
            raise ProcessEndedError(self.service)
        return await serves(self.address)

    def pause(self) -> None:
        """SIGSTOP: to everybody else it is as if it were dead."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """kill -9, and waits for the end."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            self.process = None

    async def stop(self) -> None:
        """SIGTERM, and waits for the end; fails if that was no clean one."""
        if self.process is not None:
            self.go_on()
            self.process.terminate()
            assert await asyncio.to_thread(self.process.wait, 60) == 0
            self.process = None
