"""JetStream's storage is full: it lets go of the oldest messages instead of taking no new ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.js.api import StreamConfig

from deploy import embedded_nats
from deploy.embedded_nats import EmbeddedNats
from shared.bus.batch import STREAM, SUBJECTS
from shared.bus.stream import connect, ensure_stream
from tests.servers import nats_for_tests

STORAGE_BYTES = 3 * 1024 * 1024
MESSAGE = bytes(100_000)
MORE_THAN_FIT = 2 * STORAGE_BYTES // len(MESSAGE)


@pytest.fixture
def little(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server with little storage."""
    monkeypatch.setattr(embedded_nats, "_MAX_FILE_BYTES", STORAGE_BYTES)
    running = nats_for_tests(own_folder)
    running.start()
    assert isinstance(running.server, EmbeddedNats)
    yield running.server.url
    running.stop()


@pytest.fixture
async def client(little: str) -> AsyncIterator[Client]:
    connected = await connect(little, "t1")
    yield connected
    await connected.close()


async def fill(client: Client) -> None:
    for _ in range(MORE_THAN_FIT):
        await client.jetstream().publish("croupier.table.0.7", MESSAGE)


async def test_the_newest_messages_are_kept(client: Client) -> None:
    await ensure_stream(client)
    await fill(client)
    info = await client.jetstream().stream_info(STREAM)
    assert 0 < info.state.messages < MORE_THAN_FIT
    assert info.state.last_seq == MORE_THAN_FIT
    assert 0 < (info.config.max_bytes or 0) <= STORAGE_BYTES


async def test_a_stream_of_an_earlier_version_is_bounded_too(client: Client) -> None:
    await client.jetstream().add_stream(StreamConfig(name=STREAM, subjects=[SUBJECTS]))
    await ensure_stream(client)
    await fill(client)
    await ensure_stream(client)
    assert ((await client.jetstream().stream_info(STREAM)).config.max_bytes or 0) > 0
