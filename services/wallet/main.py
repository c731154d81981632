"""The process of the wallet service: everything wired once."""

from __future__ import annotations

import asyncio

from croupier.wallet.v1 import wallet_pb2
from croupier.wallet.v1.wallet_pb2_grpc import add_WalletServiceServicer_to_server

from services.wallet.cashier import Cashier
from services.wallet.enquiries import CONSUMER
from services.wallet.following import apply
from services.wallet.server import Wallet
from shared.bus.consumer import Consuming
from shared.bus.consumers import Consumers
from shared.bus.ping import Pinger
from shared.bus.stream import connect
from shared.log import PostgresLog, open_pool
from shared.ops.settings import WalletSettings
from shared.rpc.server import Server


async def serve(settings: WalletSettings, stopping: asyncio.Event) -> None:
    """Serves and follows the tables until `stopping`, then drains."""
    dsn = settings.database_dsn.get_secret_value()
    bus = await connect(settings.nats_url.get_secret_value(), settings.node)
    pool = await open_pool(dsn, settings.database_pool_size, settings.node)
    try:
        pinger = Pinger(bus)
        log = PostgresLog(pool)
        cashier = Cashier(pool, pinger)
        consuming = Consuming(CONSUMER, "wallet", apply, pinger)
        following = asyncio.create_task(Consumers(consuming, ("table",), log, dsn, bus).run())
        server = Server(settings)
        add_WalletServiceServicer_to_server(Wallet(cashier, pool), server.grpc)
        server.offer(wallet_pb2.DESCRIPTOR.services_by_name["WalletService"])
        try:
            await server.run_until(stopping)
        finally:
            following.cancel()
            await asyncio.wait([following])
            await cashier.close()
    finally:
        await pool.close()
        await bus.close()
