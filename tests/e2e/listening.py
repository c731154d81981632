"""Everything that leaves a house: messages to clients, messages on the bus, metrics, log lines."""

from __future__ import annotations

import base64
import re
import urllib.request
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest

from tests.e2e.houses import HouseOnDisk

SECRET_BYTES = 16
_HEX = re.compile(rb"[0-9a-fA-F]{32,}")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{22,}")


@dataclass(frozen=True)
class Heard:
    """A message to a client: the method, its bytes and when it came."""

    method: str
    body: bytes
    at: datetime


@dataclass
class Ears:
    """Keeps every message that any client of this process receives."""

    heard: list[Heard] = field(default_factory=list)

    def listen(self, patch: pytest.MonkeyPatch) -> None:
        """From here on, on every channel that is opened."""
        opened = grpc.aio.insecure_channel

        def open_and_listen(*words: Any, **named: Any) -> Any:
            return _Overheard(opened(*words, **named), self.heard)

        patch.setattr(grpc.aio, "insecure_channel", open_and_listen)


class _Overheard:
    """A channel whose answers are kept as bytes before they are read."""

    def __init__(self, channel: Any, heard: list[Heard]) -> None:
        self._channel = channel
        self._heard = heard

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._channel, name)
        if name not in ("unary_unary", "unary_stream", "stream_stream"):
            return found

        def method(path: str, *words: Any, **named: Any) -> Any:
            read = named["response_deserializer"]

            def keep(body: bytes) -> Any:
                self._heard.append(Heard(path, body, datetime.now(UTC)))
                return read(body)

            return found(path, *words, **{**named, "response_deserializer": keep})

        return method


def metrics(house: HouseOnDisk) -> Iterator[bytes]:
    """What every service tells Prometheus now."""
    for address, *_ in house.told()["metrics"].values():
        with urllib.request.urlopen(f"http://{address}/metrics") as answer:
            yield answer.read()


def log_lines(house: HouseOnDisk) -> Iterator[bytes]:
    """What every process has written."""
    for file in sorted((house.file.parent / "logs").iterdir()):
        yield file.read_bytes()


def secrets_in(texts: Iterable[bytes], secrets: frozenset[bytes]) -> set[bytes]:
    """Which of the secrets (16 bytes each) stand in the texts: as they are, in hex in either case,
    or in base64 of either alphabet at any alignment."""
    found: set[bytes] = set()
    for text in set(texts):
        found |= _windows(text, secrets)
        for run in _HEX.findall(text):
            for start in (0, 1):
                even = run[start : start + (len(run) - start) // 2 * 2]
                found |= _windows(bytes.fromhex(even.decode()), secrets)
        for run in _BASE64.findall(text):
            plain = run.translate(bytes.maketrans(b"-_", b"+/"))
            for start in range(4):
                whole = plain[start : start + (len(plain) - start) // 4 * 4]
                rest = plain[start + len(whole) :]
                padded = whole + (rest + b"AA"[: 4 - len(rest)] if len(rest) > 1 else b"")
                padded += b"=" * (-len(padded) % 4)
                found |= _windows(base64.b64decode(padded), secrets)
    return found


def _windows(text: bytes, secrets: frozenset[bytes]) -> set[bytes]:
    return {
        window
        for start in range(len(text) - SECRET_BYTES + 1)
        if (window := text[start : start + SECRET_BYTES]) in secrets
    }
