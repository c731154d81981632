"""A service process: set up, serves, drains when told to, and ends with a telling status."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from deploy.program import free_port
from tests.polling import eventually
from tests.services import PUBLIC_KEY

SERVICE = """
import asyncio, sys
from shared.ops.lifecycle import run
from shared.ops.settings import RelaySettings

async def serve(settings, stopping):
    {body}

sys.exit(run(RelaySettings(
    node="r1", listen="127.0.0.1:1", metrics_listen=sys.argv[1], drain_timeout_s={drain_s},
    token_public_key={key!r}, database_dsn="postgresql://unused", nats_url="nats://unused",
), serve))
"""


class Service:
    """A service whose `serve` has `body`."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, metrics: str) -> None:
        self.process = process
        self._log = log
        self._metrics = metrics

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines()]

    def events(self) -> list[str]:
        return [line["event"] for line in self.lines()]

    async def status(self) -> int:
        return await asyncio.to_thread(self.process.wait, 20)

    async def metrics(self) -> str:
        def get() -> str:
            with urllib.request.urlopen(f"http://{self._metrics}/metrics") as answer:
                text: bytes = answer.read()
                return text.decode()

        return await asyncio.to_thread(get)


@contextmanager
def service(folder: Path, body: str, drain_s: float = 60.0, port: int = 0) -> Iterator[Service]:
    metrics = f"127.0.0.1:{port or free_port()}"
    log = folder / "service.log"
    code = SERVICE.format(body=body, drain_s=drain_s, key=PUBLIC_KEY)
    with log.open("wb") as out:
        process = subprocess.Popen((sys.executable, "-c", code, metrics), stdout=out)
    with process:
        try:
            yield Service(process, log, metrics)
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_service_that_is_told_to_stop_drains_and_ends_well(
    tmp_path: Path, number: signal.Signals
) -> None:
    with service(tmp_path, "await stopping.wait()") as running:
        await eventually(lambda: "service_started" in running.events())
        running.process.send_signal(number)
        assert await running.status() == 0
        assert running.events() == ["service_started", "service_draining", "service_stopped"]


async def test_metrics_say_which_process_it_is(tmp_path: Path) -> None:
    with service(tmp_path, "await stopping.wait()") as running:
        await eventually(lambda: "service_started" in running.events())
        assert 'croupier_process_info{node="r1",service="relay"} 1.0' in await running.metrics()


async def test_a_failure_ends_the_process_with_1_and_is_logged(tmp_path: Path) -> None:
    with service(tmp_path, "raise RuntimeError('no partition')") as running:
        assert await running.status() == 1
        line = running.lines()[-1]
        assert line["event"] == "service_failed"
        assert (line["service"], line["node"]) == ("relay", "r1")
        assert "no partition" in json.dumps(line["exception"])


async def test_a_port_for_metrics_that_somebody_has_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with service(tmp_path, "await stopping.wait()", port=port) as running:
            assert await running.status() == 1
            (line,) = running.lines()
    assert (line["event"], line["metrics_listen"]) == ("metrics_not_served", f"127.0.0.1:{port}")


async def test_a_service_that_just_ends_has_failed(tmp_path: Path) -> None:
    with service(tmp_path, "return") as running:
        assert await running.status() == 1
        assert running.events()[-1] == "service_ended_unasked"


async def test_a_drain_is_cut_short(tmp_path: Path) -> None:
    with service(tmp_path, "await asyncio.Event().wait()", drain_s=0.3) as running:
        await eventually(lambda: "service_started" in running.events())
        running.process.send_signal(signal.SIGTERM)
        assert await running.status() == 1
        assert running.events()[-1] == "drain_cut_short"


async def test_a_failure_during_the_drain_is_told(tmp_path: Path) -> None:
    body = "await stopping.wait(); raise RuntimeError('in the drain')"
    with service(tmp_path, body) as running:
        await eventually(lambda: "service_started" in running.events())
        running.process.send_signal(signal.SIGTERM)
        assert await running.status() == 1
        assert running.events()[-1] == "service_failed"
