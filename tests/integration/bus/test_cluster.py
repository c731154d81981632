"""Three NATS servers: what is on the bus lies on all of them, and any one may be lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.api import StreamInfo

from deploy.embedded_nats import EmbeddedNats
from deploy.program import free_port
from services.relay.relay import Relay
from shared.bus.batch import STREAM
from shared.bus.stream import connect, ensure_stream
from shared.ops.tasks import end
from tests.integration.bus.conftest import House, house_in
from tests.integration.bus.probe import Probe
from tests.polling import eventually
from tests.servers import PASSWORD, Database, Running

SERVERS = 3
BEFORE, AFTER = 5, 5


@dataclass(frozen=True, kw_only=True)
class Clustered(EmbeddedNats):
    """A server of a cluster: the port for the others, and theirs."""

    cluster_port: int
    routes: tuple[int, ...]

    def prepare(self) -> None:
        super().prepare()
        file = self.folder / "nats.conf"
        config = json.loads(file.read_text())
        config["server_name"] = f"nats-{self.cluster_port}"
        config["cluster"] = {
            "name": "bus",
            "listen": f"127.0.0.1:{self.cluster_port}",
            "routes": [f"nats://127.0.0.1:{port}" for port in self.routes],
        }
        file.write_text(json.dumps(config))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[list[Running]]:
    between: list[int] = []
    while len(between) < SERVERS:
        between.append(free_port(frozenset(between)))
    taken = list(between)
    running = []
    for number, port in enumerate(between):
        taken.append(free_port(frozenset(taken)))
        server = Clustered(
            tmp_path / f"nats-{number}",
            taken[-1],
            PASSWORD,
            cluster_port=port,
            routes=tuple(between),
        )
        running.append(Running(server.program(tmp_path / f"nats-{number}.log"), server))
    try:
        for each in running:
            each.start()
        yield running
    finally:
        for each in running:
            each.kill()


async def reaches_the_leader(client: Client) -> bool:
    """Whether the server that this client is connected to knows the one that all have chosen."""
    try:
        return bool(await client.jetstream(timeout=0.2).account_info())
    except (NatsError, TimeoutError):
        return False


async def spread(house: House, replicas: int, messages: int) -> StreamInfo | None:
    """How the stream lies, once it is on so many servers that all have so many messages."""
    try:
        info = await house.client.jetstream().stream_info(STREAM)
    except (NatsError, TimeoutError):
        return None  # they have no leader yet, or no stream
    others = (info.cluster.replicas if info.cluster is not None else None) or []
    whole = len(others) == replicas - 1 and all(each.current for each in others)
    return info if whole and info.state.messages >= messages else None


async def test_the_stream_survives_the_loss_of_a_server(
    database: Database, cluster: list[Running]
) -> None:
    urls = [each.server.url for each in cluster]  # type: ignore[union-attr]
    for url in urls:
        alone_with = await connect(url, "first")
        await eventually(partial(reaches_the_leader, alone_with), within_s=30)
        await alone_with.close()
    async with house_in(database, ",".join(urls)) as house:
        await ensure_stream(house.client)  # as the relay does without a setting
        alone = await house.client.jetstream().stream_info(STREAM)
        assert alone.config.num_replicas == 1
        house.start(Relay(house.log, database.dsn("croupier_relay"), house.client, SERVERS).run())
        house.consumer(Probe())
        await house.write_many(BEFORE)
        info = await eventually(lambda: spread(house, SERVERS, BEFORE), within_s=30)
        assert info is not None
        assert info.config == replace(alone.config, num_replicas=SERVERS)
        await house.becomes_equal()
        connected = house.client.connected_url
        assert connected is not None
        [lost] = [each for each in cluster if each.server.port == connected.port]
        lost.kill()
        await house.write_many(AFTER)

        async def all_of_it() -> bool:
            try:
                info = await house.client.jetstream(timeout=0.5).stream_info(STREAM)
            except (NatsError, TimeoutError):
                return False
            return info.state.messages == BEFORE + AFTER

        await eventually(all_of_it, within_s=30)
        await house.becomes_equal()
        # The fixture would delete the stream, which takes its time where a server is lost.
        await end(house.tasks)
        await house.client.close()


async def test_a_stream_on_more_servers_than_there_are_is_refused(
    database: Database, nats_server: Running
) -> None:
    async with house_in(database, nats_server.server.url) as house:  # type: ignore[union-attr]
        with pytest.raises(NatsError, match="replicas > 1"):
            await ensure_stream(house.client, SERVERS)
        await ensure_stream(house.client)
        with pytest.raises(NatsError, match="replicas > 1"):
            await ensure_stream(house.client, SERVERS)
