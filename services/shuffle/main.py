"""The process of the shuffle service: everything wired once."""

from __future__ import annotations

import asyncio

from croupier.shuffle.v1 import shuffle_pb2
from croupier.shuffle.v1.shuffle_pb2_grpc import add_ShuffleServiceServicer_to_server

from services.shuffle.resealing import reseal_all
from services.shuffle.server import Shuffle
from services.shuffle.shoes import Shoes
from services.shuffle.storage import ShoeStore
from shared.bus.ping import Pinger
from shared.bus.stream import connect
from shared.log import PostgresLog, open_pool
from shared.ops.settings import ShuffleSettings
from shared.proofs.hmac_drbg import known_answer_holds
from shared.rpc.server import Server


async def serve(settings: ShuffleSettings, stopping: asyncio.Event) -> None:
    """Serves until `stopping`, then drains. Raises if the generator fails its health test."""
    if not known_answer_holds():
        raise RuntimeError("HMAC_DRBG fails its known-answer test: no shoe is made here")
    bus = await connect(settings.nats_url.get_secret_value(), settings.node)
    pool = await open_pool(
        settings.database_dsn.get_secret_value(), settings.database_pool_size, settings.node
    )
    try:
        pinger = Pinger(bus)
        async with PostgresLog(pool, pinger) as log:
            server = Server(settings)
            store = ShoeStore(pool, settings.seed_keys(), pinger)
            shoes = Shoes(log, store, settings.field_keys())
            add_ShuffleServiceServicer_to_server(Shuffle(shoes), server.grpc)
            server.offer(shuffle_pb2.DESCRIPTOR.services_by_name["ShuffleService"])
            resealing = asyncio.create_task(reseal_all(store), name="reseal seeds")
            try:
                await server.run_until(stopping)
            finally:
                resealing.cancel()
                await asyncio.wait({resealing})
    finally:
        await pool.close()
        await bus.close()
