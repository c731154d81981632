"""What a NATS server does not take: more than it has room for, and a message that is too large."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.js.api import StreamConfig

from deploy import embedded_nats
from deploy.embedded_nats import EmbeddedNats
from shared.bus.batch import STREAM, SUBJECTS
from shared.bus.stream import connect, ensure_stream
from tests.integration.bus.conftest import house_in
from tests.integration.bus.probe import Probe
from tests.servers import Database, nats_for_tests

STORAGE_BYTES = 3 * 1024 * 1024
SMALL_BYTES = 16 * 1024
MESSAGE = bytes(100_000)
MORE_THAN_FIT = 2 * STORAGE_BYTES // len(MESSAGE)


@contextmanager
def running(folder: Path) -> Iterator[str]:
    server = nats_for_tests(folder)
    server.start()
    assert isinstance(server.server, EmbeddedNats)
    yield server.server.url
    server.stop()


@pytest.fixture
def little(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server with little storage."""
    monkeypatch.setattr(embedded_nats, "_MAX_FILE_BYTES", STORAGE_BYTES)
    with running(own_folder) as url:
        yield url


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


async def test_a_message_that_is_too_large_holds_up_no_other(
    database: Database, small: str
) -> None:
    """The consumers read it from the log."""
    async with house_in(database, small) as house:
        house.relay()
        house.consumer(Probe())
        await house.write("s0", 1)
        await house.write("s1", b"x" * 2 * SMALL_BYTES)
        await house.write("s0", 2)
        await house.stores(2)
        await house.becomes_equal()


@pytest.fixture
def small(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server that takes small messages."""
    monkeypatch.setattr(embedded_nats, "_MAX_PAYLOAD_BYTES", SMALL_BYTES)
    with running(own_folder) as url:
        yield url
