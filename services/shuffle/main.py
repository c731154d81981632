"""The process of the shuffle service: everything wired once."""

from __future__ import annotations

import asyncio

from croupier.shuffle.v1 import shuffle_pb2
from croupier.shuffle.v1.shuffle_pb2_grpc import add_ShuffleServiceServicer_to_server

from services.shuffle.server import Shuffle
from services.shuffle.shoes import Shoes
from services.shuffle.storage import ShoeStore
from shared.bus.ping import Pinger
from shared.bus.stream import connect
from shared.log import PostgresLog, open_pool
from shared.ops.settings import ShuffleSettings, key_bytes
from shared.proofs.hmac_drbg import known_answer_holds
from shared.rpc.server import Server
from shared.sealing import Keyring


async def serve(settings: ShuffleSettings, stopping: asyncio.Event) -> None:
    """Serves until `stopping`, then drains. Raises if the generator fails its health test."""
    if not known_answer_holds():
        raise RuntimeError("HMAC_DRBG fails its known-answer test: no shoe is made here")
    field_keys = Keyring(
        settings.deployment_key_id,
        {settings.deployment_key_id: key_bytes(settings.deployment_key)},
    )
    seed_keys = Keyring(settings.seed_key_id, {settings.seed_key_id: key_bytes(settings.seed_key)})
    bus = await connect(settings.nats_url.get_secret_value(), settings.node)
    pool = await open_pool(
        settings.database_dsn.get_secret_value(), settings.database_pool_size, settings.node
    )
    try:
        pinger = Pinger(bus)
        async with PostgresLog(pool, pinger) as log:
            server = Server(settings)
            shoes = Shoes(log, ShoeStore(pool, seed_keys, pinger), field_keys)
            add_ShuffleServiceServicer_to_server(Shuffle(shoes), server.grpc)
            server.offer(shuffle_pb2.DESCRIPTOR.services_by_name["ShuffleService"])
            await server.run_until(stopping)
    finally:
        await pool.close()
        await bus.close()
