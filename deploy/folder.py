"""The folder of a local house: its data, keys and logs, and the file that tells others of it."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from deploy.errors import HouseIsRunningError, OtherFormatError
from deploy.keys import KeyFolder
from deploy.program import free_port, port_is_free
from shared.ops.settings import SERVICES

FORMAT = 1
_HOUSE_FILE = Path(".croupier") / "house.json"
# Each of the five services listens for gRPC and for metrics.
_PORT_NAMES = (
    "postgres",
    "nats",
    *SERVICES,
    *(f"{service}-metrics" for service in SERVICES),
)


class ProcessState(TypedDict):
    """How one process does: `state` is starting, up, backing-off or stopped."""

    pid: int | None
    state: str
    restarts: int
    since: str


@dataclass(frozen=True, slots=True)
class HouseFolder:
    """Paths in the folder, and what is written to `house.json`.

    `house.json` is read by clients and by `status`: `addresses` and `metrics` by service, the pid
    of the supervisor (null when the house is closed) and of each process; and `ports`, so that the
    next start listens where the last one did.
    """

    path: Path

    @property
    def file(self) -> Path:
        return self.path / "house.json"

    @property
    def keys(self) -> KeyFolder:
        return KeyFolder(self.path / "keys")

    def log(self, name: str) -> Path:
        """Where the process `name` writes."""
        return self.path / "logs" / f"{name}.log"

    def secrets(self, service: str) -> Path:
        """What only `service` is told, one file a secret."""
        return self.path / "secrets" / service

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the folder, so that one supervisor runs here. Raises `HouseIsRunningError`."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise HouseIsRunningError(
                    f"a house is open in {self.path} already; see: croupier status"
                ) from None
            yield

    def is_held(self) -> bool:
        """Whether a supervisor runs here now."""
        if not (self.path / "lock").exists():
            return False
        try:
            with self.held():
                return False
        except HouseIsRunningError:
            return True

    def read(self) -> dict[str, Any]:
        """What `house.json` says; empty before the first start."""
        try:
            written: dict[str, Any] = json.loads(self.file.read_text())
        except FileNotFoundError:
            return {}
        if written.get("format") != FORMAT:
            raise OtherFormatError(f"{self.file} was written by another version of this software")
        return written

    def write(self, ports: Mapping[str, int], processes: Mapping[str, ProcessState]) -> None:
        """Tells where the house is and how it does. Without processes it is closed."""
        content = {
            "format": FORMAT,
            "pid": os.getpid() if processes else None,
            "addresses": {name: [address(ports[name])] for name in SERVICES},
            "metrics": {name: [address(ports[f"{name}-metrics"])] for name in SERVICES},
            "token_key_file": str(self.keys.token_key.relative_to(self.path)),
            "ports": dict(ports),
            "processes": dict(processes),
        }
        fresh = self.file.with_name("house.json.new")
        fresh.write_text(json.dumps(content, indent=2))
        fresh.replace(self.file)

    def choose_ports(self) -> dict[str, int]:
        """The ports of the last start as far as they are free, else others."""
        before: Mapping[str, int] = self.read().get("ports", {})
        ports = {name: port for name, port in before.items() if port_is_free(port)}
        for name in _PORT_NAMES:
            if name not in ports:
                ports[name] = free_port(frozenset(ports.values()))
        return ports


def house_folder(file: Path | None) -> HouseFolder:
    """The folder of the house whose `house.json` is `file`, else `.croupier` here."""
    return HouseFolder((file or _HOUSE_FILE).resolve().parent)


def address(port: int) -> str:
    """Where a process of a local house listens."""
    return f"127.0.0.1:{port}"
