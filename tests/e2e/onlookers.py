"""Everything that leaves a house while people play: what clients get, bus, metrics, logs."""

from __future__ import annotations

import asyncio
import time
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import nats
import pytest
from croupier.table.v1 import table_pb2, table_pb2_grpc
from google.protobuf.message import Message
from nats.aio.msg import Msg

from deploy.folder import HouseFolder
from deploy.programs import Programs
from shared.rpc import tokens
from shared.rpc.access import Role
from tests.e2e.houses import HouseOnDisk

WATCHERS = (Role.PLAYER, Role.DEALER, Role.PIT, Role.AUDITOR, Role.OPERATOR)

LONGEST_EVENING_S = 3_600


@dataclass(frozen=True)
class Seen:
    """Something that came out of the house, and when (seconds since 1970)."""

    at_s: float
    where: str
    content: bytes
    message: Message | None = None


@dataclass
class Seeing:
    """All of it, in order."""

    seen: list[Seen] = field(default_factory=list)

    def add(self, where: str, content: bytes, message: Message | None = None) -> None:
        self.seen.append(Seen(time.time(), where, content, message))

    def reading(self, where: str, parse: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
        """`parse` for a gRPC answer that is taken down as well."""

        def parsed(content: bytes) -> Any:
            message = parse(content)
            self.add(where, content, message)
            return message

        return parsed


class Listening:
    """A channel whose answers are taken down: everything else is the real channel's."""

    def __init__(self, channel: grpc.aio.Channel, seeing: Seeing) -> None:
        self._channel = channel
        self._seeing = seeing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    async def __aenter__(self) -> Listening:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close()

    def unary_unary(self, path: str, **how: Any) -> Any:
        return self._channel.unary_unary(path, **self._heard(path, how))

    def unary_stream(self, path: str, **how: Any) -> Any:
        return self._channel.unary_stream(path, **self._heard(path, how))

    def stream_stream(self, path: str, **how: Any) -> Any:
        return self._channel.stream_stream(path, **self._heard(path, how))

    def _heard(self, path: str, how: dict[str, Any]) -> dict[str, Any]:
        return how | {
            "response_deserializer": self._seeing.reading(path, how["response_deserializer"])
        }


def hear_clients(monkeypatch: pytest.MonkeyPatch, seeing: Seeing) -> None:
    """From now on every channel that is made in this process is listened to."""
    plain = grpc.aio.insecure_channel

    def made(target: str, *rest: Any, **how: Any) -> Listening:
        return Listening(plain(target, *rest, **how), seeing)

    monkeypatch.setattr(grpc.aio, "insecure_channel", made)


@asynccontextmanager
async def hear_bus(house: HouseOnDisk, seeing: Seeing) -> AsyncIterator[None]:
    """Takes down every message on the bus, headers included."""
    folder = HouseFolder(house.file.parent)
    url = Programs(folder, folder.keys.load(), folder.read()["ports"]).nats.url

    async def hear(message: Msg) -> None:
        headers = "".join(f"{key}: {value}\n" for key, value in (message.headers or {}).items())
        seeing.add(f"bus {message.subject}", message.data)
        seeing.add(f"bus headers {message.subject}", headers.encode())

    client = await nats.connect(url)
    try:
        for subject in ("croupier.>", "croupier-ping.>"):
            await client.subscribe(subject, cb=hear)
        yield
    finally:
        await client.close()


@asynccontextmanager
async def watch_as_everybody(house: HouseOnDisk, table_id: str) -> AsyncIterator[None]:
    """Somebody of each role watches table and lobby; the channels are listened to already."""
    key = (house.file.parent / house.told()["token_key_file"]).read_text()
    address = house.told()["addresses"]["table"][0]
    async with grpc.aio.insecure_channel(address) as channel:
        stub = table_pb2_grpc.TableServiceStub(channel)
        calls: list[Any] = []
        for role in WATCHERS:
            token = tokens.sign(key, f"onlooker-{role}", role, LONGEST_EVENING_S)
            metadata = (("authorization", f"Bearer {token}"),)
            calls.append(stub.Watch(table_pb2.WatchRequest(table_id=table_id), metadata=metadata))
            calls.append(stub.WatchLobby(table_pb2.WatchLobbyRequest(), metadata=metadata))
        tasks = [asyncio.create_task(_drain(call)) for call in calls]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for task in tasks:
                assert task.cancelled(), f"an onlooker was sent away: {task.exception()}"


async def _drain(call: Any) -> None:
    async for _ in call:
        pass


async def read_metrics(house: HouseOnDisk, seeing: Seeing) -> None:
    """Takes down what each service tells of itself."""
    for service, (address, *_) in house.told()["metrics"].items():
        seeing.add(f"metrics {service}", await asyncio.to_thread(_get, address))


def _get(address: str) -> bytes:
    with urllib.request.urlopen(f"http://{address}/metrics") as answer:
        body: bytes = answer.read()
        return body


def read_logs(house: HouseOnDisk, seeing: Seeing) -> None:
    """Takes down every line that a process of the house has written."""
    for log in (house.file.parent / "logs").iterdir():
        for line in log.read_bytes().splitlines():
            seeing.add(f"log {log.name}", line)
