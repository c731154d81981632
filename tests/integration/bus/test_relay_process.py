"""The relay's process as `croupier serve relay` runs it: it relays, tells its health, and stops."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from pydantic import SecretStr

from deploy.program import free_port
from services.relay.main import serve
from shared.ops.settings import RelaySettings
from tests.integration.bus.conftest import House
from tests.polling import eventually
from tests.services import PUBLIC_KEY


async def test_it_relays_until_it_is_told_to_stop(house: House) -> None:
    listen = f"127.0.0.1:{free_port()}"
    settings = RelaySettings(
        node="relay-test",
        listen=listen,
        metrics_listen="127.0.0.1:0",
        token_public_key=PUBLIC_KEY,
        database_dsn=SecretStr(house.database.dsn("croupier_relay")),
        nats_url=SecretStr(house.nats_url),
    )
    stopping = asyncio.Event()
    serving = house.start(serve(settings, stopping))
    await house.write_many(10)
    await house.stores(10)
    async with grpc.aio.insecure_channel(listen) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)

        async def serves() -> bool:
            answer = await health.Check(health_pb2.HealthCheckRequest(), wait_for_ready=True)
            return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

        await eventually(serves)
    stopping.set()
    await asyncio.wait_for(serving, 15)

    async def holds_no_lock() -> bool:
        return not await house.root.fetchval(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name LIKE 'relay%'"
        )

    await eventually(holds_no_lock)
