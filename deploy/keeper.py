"""Keeps one process running: starts it, waits until it serves, starts it again when it dies."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import structlog

from deploy.errors import StartFailedError
from deploy.folder import ProcessState
from deploy.program import Program, end_of

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 10.0
# Whoever has lived for so long has not failed at its start: the pause is short again.
_STEADY_S = 10.0
_POLL_S = 0.05
_LOOK_AGAIN_S = 1.0

_log = structlog.get_logger()


@dataclass
class Keeper:
    """One process under supervision.

    `prepare` puts its folder right before each start, `ready` returns when it serves. `on_change`
    is called when its state has changed.
    """

    program: Program
    prepare: Callable[[], None]
    ready: Callable[[float], Awaitable[None]]
    on_change: Callable[[], None]
    restarts: int = 0
    state: str = "stopped"
    since: datetime = field(default_factory=lambda: datetime.now(UTC))
    _process: subprocess.Popen[bytes] | None = None
    _keeping: asyncio.Task[None] | None = None

    def snapshot(self) -> ProcessState:
        """What `status` shows."""
        return ProcessState(
            pid=None if self._process is None else self._process.pid,
            state=self.state,
            restarts=self.restarts,
            since=self.since.isoformat(timespec="seconds"),
        )

    async def start(self) -> None:
        """Starts the process and returns when it serves; from then on it is kept running.

        Raises `StartFailedError` if it ends, or does not serve in time.
        """
        self.prepare()
        process = self._process = self.program.start()
        self._set("starting")
        ready = asyncio.ensure_future(self.ready(START_TIMEOUT_S))
        try:
            while not ready.done():
                if process.poll() is not None:
                    raise StartFailedError(self._last_words("ended"))
                await asyncio.wait({ready}, timeout=_POLL_S)
            await ready
        except TimeoutError:
            raise StartFailedError(self._last_words("does not serve")) from None
        finally:
            ready.cancel()
        self._set("up")
        self._keeping = asyncio.create_task(self._keep(), name=f"keep-{self.program.name}")

    async def stop(self) -> None:
        """Ends the process: by its clean stop, after 30 s with SIGKILL."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait({self._keeping})
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(self.program.stop_signal)
            if not await _ends(process, STOP_TIMEOUT_S):
                _log.warning("process_killed", process=self.program.name)
                process.kill()
                await _ends(process, STOP_TIMEOUT_S)
        self._set_anyway("stopped")

    async def _keep(self) -> None:
        pause_s = 0.0
        while True:
            assert self._process is not None
            started_s = time.monotonic()
            serving = asyncio.ensure_future(self._tell_when_ready())
            try:
                while self._process.poll() is None:
                    await asyncio.sleep(_POLL_S)
            finally:
                serving.cancel()
            pause_s = next_pause_s(pause_s, time.monotonic() - started_s)
            status = self._process.returncode
            _log.warning("process_died", process=self.program.name, status=status, pause_s=pause_s)
            self._set_anyway("backing-off")
            await asyncio.sleep(pause_s)
            self.restarts += 1
            try:
                # To end what is left of the last one may take a while: the others go on meanwhile.
                await asyncio.to_thread(self.prepare)
                self._process = self.program.start()
            except Exception as error:
                # A full disk, no memory: it is still dead, and tried again after a longer pause.
                _log.error("process_not_started", process=self.program.name, error=repr(error))
            else:
                self._set_anyway("starting")

    async def _tell_when_ready(self) -> None:
        if self.state == "up":
            return
        while True:
            try:
                await self.ready(START_TIMEOUT_S)
            except Exception as error:
                # Postgres, for one, may take long to replay its log, or be full of our own.
                why = repr(error)
                _log.warning("process_does_not_serve", process=self.program.name, error=why)
                await asyncio.sleep(_LOOK_AGAIN_S)
            else:
                break
        _log.info("process_up_again", process=self.program.name, restarts=self.restarts)
        self._set_anyway("up")

    def _set(self, state: str) -> None:
        self.state = state
        self.since = datetime.now(UTC)
        self.on_change()

    def _set_anyway(self, state: str) -> None:
        """The same where it must not fail: what cannot be told now is told with the next change."""
        try:
            self._set(state)
        except OSError as error:
            _log.error("state_not_written", process=self.program.name, error=repr(error))

    def _last_words(self, what: str) -> str:
        log = self.program.log
        return f"{self.program.name} {what}; the end of {log}:\n{end_of(log)}"


def next_pause_s(last_pause_s: float, lived_s: float) -> float:
    """How long to wait before a process that lived for `lived_s` is started again: twice as long
    as the last time, from 0.1 to 10 s; from the beginning after a steady life of 10 s."""
    if lived_s > _STEADY_S:
        return _FIRST_PAUSE_S
    return min(max(2 * last_pause_s, _FIRST_PAUSE_S), _LONGEST_PAUSE_S)


async def _ends(process: subprocess.Popen[bytes], within_s: float) -> bool:
    give_up_s = time.monotonic() + within_s
    while process.poll() is None:
        if time.monotonic() > give_up_s:
            return False
        await asyncio.sleep(_POLL_S)
    return True
