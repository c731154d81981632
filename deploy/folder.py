"""The folder of a local house: its data, keys and logs, and the file that tells others of it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, TypedDict

import psutil

from deploy.errors import (
    CannotJoinError,
    HouseError,
    HouseIsRunningError,
    HouseOpensError,
    OtherFormatError,
)
from deploy.keys import KeyFolder
from deploy.program import free_port, hold_port
from shared.ops.settings import SERVICES, ServiceName

FORMAT = 1
_HOUSE_FILE = Path(".croupier") / "house.json"
_METRICS = "-metrics"
_OPENS = "the house is just being opened: try again in a moment"
# What others do here in passing takes no longer.
_TRIES = 20
_PAUSE_S = 0.05


def processes_of(table_nodes: int) -> tuple[str, ...]:
    """The processes of a house with so many table nodes, in the order in which they are started:
    each service once, but for `table`, `table-2`, …"""
    more = (f"table-{number}" for number in range(2, table_nodes + 1))
    return ("postgres", "nats", *SERVICES, *more)


def service_of(process: str) -> ServiceName | None:
    """The service that a process runs; None for Postgres and NATS."""
    return next((each for each in SERVICES if each == process.partition("-")[0]), None)


def metrics_of(process: str) -> str:
    """The name of the port on which a service's process answers for its metrics."""
    return process + _METRICS


class ProcessState(TypedDict):
    """How one process does: `state` is starting, up, backing-off or stopped."""

    pid: int | None
    state: str
    restarts: int
    since: str


class Joined(TypedDict):
    """A table node that another command runs in this house (`croupier serve table --node NODE`)."""

    pid: int
    address: str
    metrics: str


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

    def seed_key_in_use(self) -> str:
        """The id of the seed key that the house was started with; "" before the first start."""
        return self._started_with("seed_key_id")

    def deployment_key_in_use(self) -> str:
        """The id of the deployment key that the house was started with; "" before the first."""
        return self._started_with("deployment_key_id")

    def _started_with(self, field: str) -> str:
        told = self.secrets("shuffle") / f"croupier_{field}"
        return told.read_text() if told.exists() else ""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the folder, so that one supervisor, this process, runs here. Raises
        `HouseIsRunningError`."""
        self.path.mkdir(parents=True, exist_ok=True)
        with self._lock.open("a") as lock:
            if not _taken(lock):
                raise HouseIsRunningError(
                    f"a house is open in {self.path} already; see: croupier status"
                )
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            try:
                yield
            finally:
                lock.truncate(0)

    def is_held(self) -> bool:
        """Whether a supervisor runs here now."""
        try:
            with self._lock.open() as lock:
                return not _has(lock, fcntl.LOCK_SH)
        except FileNotFoundError:
            return False

    def holder(self) -> int | None:
        """The pid of the supervisor that runs here now; None where none does. Raises
        `HouseOpensError` where it has not said so yet."""
        for _ in range(_TRIES):
            if not self.is_held():
                return None
            if said := self._lock.read_text():
                return int(said)
            time.sleep(_PAUSE_S)
        # One of an earlier version says it in the house's file.
        pid: int | None = self.read().get("pid")
        if pid is None:
            raise HouseOpensError(_OPENS)
        return pid

    @property
    def _lock(self) -> Path:
        return self.path / "lock"

    def ports(self) -> dict[str, int]:
        """Where the processes of an open house listen. Raises `HouseOpensError`."""
        ports: dict[str, int] | None = self.read().get("ports")
        if ports is None:
            raise HouseOpensError(_OPENS)
        return ports

    def read(self) -> dict[str, Any]:
        """What `house.json` says; empty before the first start."""
        try:
            written: Any = json.loads(self.file.read_text())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise OtherFormatError(
                f"{self.file} cannot be read ({error}); without it the next start makes a new one"
            ) from error
        if not isinstance(written, dict) or written.get("format") != FORMAT:
            raise OtherFormatError(f"{self.file} was written by another version of this software")
        return written

    def write(self, ports: Mapping[str, int], processes: Mapping[str, ProcessState]) -> None:
        """Tells where the house is and how it does. Without processes it is closed."""
        with self._one_writes():
            self._write(ports, processes, os.getpid() if processes else None)

    def _write(
        self, ports: Mapping[str, int], processes: Mapping[str, ProcessState], pid: int | None
    ) -> None:
        addresses: dict[str, list[str]] = {service: [] for service in SERVICES}
        metrics: dict[str, list[str]] = {service: [] for service in SERVICES}
        for name, port in ports.items():
            service = service_of(name)
            if service is not None:
                told = metrics if name.endswith(_METRICS) else addresses
                told[service].append(address(port))
        for node in self._joined().values():
            addresses["table"].append(node["address"])
            metrics["table"].append(node["metrics"])
        content = {
            "format": FORMAT,
            "pid": pid,
            "addresses": addresses,
            "metrics": metrics,
            "token_key_file": str(self.keys.token_key.relative_to(self.path)),
            "ports": dict(ports),
            "processes": dict(processes),
        }
        _write_whole(self.file, content)

    @contextmanager
    def _one_writes(self) -> Iterator[None]:
        """The supervisor and nodes that join write one after the other."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "writing").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextmanager
    def joined(self, node: str, where: Joined) -> Iterator[None]:
        """Names a node of this process to clients, as long as it is here. Raises
        `CannotJoinError` where another process has the name."""
        file = self._nodes / f"{node}.json"
        with self._one_writes():
            if node in self._joined():
                raise CannotJoinError(f"a node {node} has joined already")
            self._nodes.mkdir(exist_ok=True)
            _write_whole(file, where)
        self._tell_again()
        try:
            yield
        finally:
            file.unlink(missing_ok=True)
            self._tell_again()

    @property
    def _nodes(self) -> Path:
        return self.path / "nodes"

    def _tell_again(self) -> None:
        with self._one_writes():
            told = self.read()
            self._write(told["ports"], told["processes"], told["pid"])

    def _joined(self) -> dict[str, Joined]:
        """By name; not those that were killed, or came to no more than half a file."""
        nodes: dict[str, Joined] = {}
        for file in sorted(self._nodes.glob("*.json")):
            with contextlib.suppress(FileNotFoundError, ValueError):
                nodes[file.stem] = json.loads(file.read_text())
        return {name: node for name, node in nodes.items() if psutil.pid_exists(node["pid"])}

    def choose_ports(self, table_nodes: int = 1) -> dict[str, int]:
        """A port for each process, and one for the metrics of each service's; those of the last
        start as far as they are free, else others."""
        before: Mapping[str, int] = self.read().get("ports", {})
        processes = processes_of(table_nodes)
        metrics = [metrics_of(name) for name in processes if service_of(name) is not None]
        ports: dict[str, int] = {}
        for name in (*processes, *metrics):
            port = before.get(name)
            if port is None or not hold_port(port):
                port = free_port(frozenset((*before.values(), *ports.values())))
            ports[name] = port
        return ports


def _taken(lock: TextIO) -> bool:
    """Whether the lock is ours now. Whoever has it only to look lets it go at once."""
    for _ in range(_TRIES):
        if _has(lock, fcntl.LOCK_EX):
            return True
        if not _has(lock, fcntl.LOCK_SH):
            return False
        fcntl.flock(lock, fcntl.LOCK_UN)
        time.sleep(_PAUSE_S)
    return False


def _has(lock: TextIO, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_whole(file: Path, content: Mapping[str, Any]) -> None:
    """Writes a file so that nobody ever reads half of it, whenever this process or machine ends."""
    fresh = file.with_name(f"{file.name}.new")
    with fresh.open("w") as out:
        out.write(json.dumps(content, indent=2))
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(file)


def house_folder(file: Path | None) -> HouseFolder:
    """The folder of the house whose `house.json` is `file`, else `.croupier` here. Raises
    `HouseError` where that is the name of something else: the house would open beside it."""
    if file is not None and file.name != _HOUSE_FILE.name:
        raise HouseError(f"a house is named by the {_HOUSE_FILE.name} of its folder, not by {file}")
    return HouseFolder((file or _HOUSE_FILE).resolve().parent)


def address(port: int) -> str:
    """Where a process of a local house listens."""
    return f"127.0.0.1:{port}"
