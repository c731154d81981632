"""The relay's process: what it is made of, and how it stops."""

from __future__ import annotations

import asyncio
import contextlib

from services.relay.relay import Relay
from shared.bus.stream import connect
from shared.log import PostgresLog, open_pool
from shared.ops.settings import RelaySettings
from shared.ops.tasks import serve_with
from shared.rpc.server import Server


async def serve(settings: RelaySettings, stopping: asyncio.Event) -> None:
    """Relays until `stopping`. gRPC answers health checks only."""
    dsn = settings.database_dsn.get_secret_value()
    async with contextlib.AsyncExitStack() as stack:
        client = await connect(settings.nats_url.get_secret_value(), settings.node)
        stack.push_async_callback(client.close)
        pool = await open_pool(dsn, settings.database_pool_size, settings.node)
        stack.push_async_callback(pool.close)
        log = await stack.enter_async_context(PostgresLog(pool))
        relay = Relay(log, dsn, client, settings.nats_replicas)
        relaying = asyncio.create_task(relay.run(), name="relay")
        serving = asyncio.create_task(Server(settings).run_until(stopping), name="grpc")
        await serve_with(relaying, serving)
