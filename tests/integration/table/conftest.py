"""A house for each test, over the session's Postgres and NATS servers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from nats.js.errors import NotFoundError

from deploy.embedded_nats import EmbeddedNats
from shared.bus.batch import STREAM
from shared.bus.stream import connect
from tests.integration.table.house import House
from tests.integration.table.nodes import NODES
from tests.servers import Database, Running


@pytest.fixture
async def empty_house(
    database: Database, nats_server: Running, tmp_path: Path
) -> AsyncIterator[House]:
    """Nothing runs yet."""
    assert isinstance(nats_server.server, EmbeddedNats)
    # Each test has a log of its own, so the last one's messages are no part of it.
    client = await connect(nats_server.server.url, "test")
    with contextlib.suppress(NotFoundError):
        await client.jetstream().delete_stream(STREAM)
    await client.close()
    house = House(database, nats_server.server.url, tmp_path)
    yield house
    await house.stop()


@pytest.fixture
async def house(empty_house: House) -> House:
    """One of each service."""
    return await empty_house.start()


@pytest.fixture
async def pair(empty_house: House) -> House:
    """Two nodes in this process."""
    house = empty_house
    await house.shuffle()
    await house.wallet()
    await house.relay()
    for name in NODES:
        await house.node(name)
    return house
