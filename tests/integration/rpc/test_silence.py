"""A link between two hosts drops everything, without a word to either end: both notice."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from deploy.embedded_nats import EmbeddedNats
from deploy.embedded_postgres import binary
from shared.bus.stream import connect as connect_bus
from shared.log import connect, is_infrastructure, session_settings
from shared.ops.settings import RelaySettings
from shared.rpc.channel import connect as connect_to
from tests.integration.table.house import House
from tests.network import HERE, Network, network, why_not
from tests.polling import eventually
from tests.servers import PostgresForTests, nats_for_tests, twin_of

SOON_S = 15.0
"""Left to itself TCP takes fifteen minutes, or two hours."""


@pytest.fixture
def hosts() -> Iterator[Network]:
    if why := why_not():
        pytest.skip(why)
    with network("postgres", "nats", "relay-1", "elsewhere") as net:
        yield net


@pytest.fixture
async def house(
    hosts: Network, postgres: PostgresForTests, own_folder: Path
) -> AsyncIterator[House]:
    """Postgres, NATS and a relay, each on its host."""
    await postgres.drop(await postgres.database())  # so that the twin need not migrate
    server = twin_of(postgres, own_folder, hosts.hosts["postgres"])
    bus = nats_for_tests(own_folder, hosts.hosts["nats"])
    await asyncio.gather(server.start_again(), bus.start_again())
    assert isinstance(bus.server, EmbeddedNats)
    house = House(await server.database(), bus.server.url, own_folder, hosts=hosts.hosts)
    relay = await house._start_process(
        "relay-1", RelaySettings(**house._common("relay-1", "croupier_relay"))
    )
    yield house
    relay.kill()
    bus.kill()
    server.kill()


async def test_everybody_notices_a_link_that_drops_everything(hosts: Network, house: House) -> None:
    """A statement ends and a stream does, an idle bus connection is given up; and Postgres gives up
    the lock of somebody whom it does not hear any more."""
    dsn = house.database.dsn("croupier_relay")
    connection = await connect(dsn, server_settings=session_settings("test"))
    await connection.execute("SELECT pg_advisory_lock(7)")
    assert not lock_is_free(hosts, house)
    bus = await connect_bus(house.nats_url, "test")
    async with connect_to(house.address("relay-1")) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        watching = stub.Watch(health_pb2.HealthCheckRequest())
        assert (await watching.read()).status == health_pb2.HealthCheckResponse.SERVING
        for name in ("postgres", "nats", "relay-1"):
            hosts.cut(HERE, name)
            hosts.cut(name, HERE)
        async with asyncio.timeout(SOON_S):
            with pytest.raises(Exception) as noticed:
                await connection.execute("SELECT pg_sleep(3600)")
            assert is_infrastructure(noticed.value)
            with pytest.raises(grpc.aio.AioRpcError) as ended:
                await watching.read()
            assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
        await eventually(lambda: not bus.is_connected, within_s=SOON_S)
        await eventually(lambda: lock_is_free(hosts, house), within_s=SOON_S, every_s=0.5)
        hosts.heal_all()
    await eventually(lambda: bus.is_connected)
    await bus.close()


def lock_is_free(hosts: Network, house: House) -> bool:
    """As somebody on another host sees it."""
    query = "SELECT pg_try_advisory_lock(7)"
    with hosts.hosts["elsewhere"].inside():
        asked = subprocess.run(
            (str(binary("psql")), "-XAtc", query, house.database.dsn()),
            capture_output=True,
            text=True,
            check=True,
        )
    return asked.stdout.strip() == "t"
