"""The process of the wallet service: everything wired once."""

from __future__ import annotations

import asyncio
import contextlib

from croupier.wallet.v1 import wallet_pb2
from croupier.wallet.v1.wallet_pb2_grpc import add_WalletServiceServicer_to_server

from services.wallet.cashier import Cashier
from services.wallet.enquiries import CONSUMER
from services.wallet.following import apply
from services.wallet.server import Wallet
from services.wallet.table_events import MONEY_EVENTS
from shared.bus.consumer import Consuming
from shared.bus.consumers import Consumers
from shared.bus.ping import Pinger
from shared.bus.stream import connect
from shared.log import PostgresLog, open_pool
from shared.ops.settings import WalletSettings
from shared.ops.tasks import serve_with
from shared.rpc.server import Server

GATHER_S = 0.01
"""Who buys chips waits so much longer; settlements share their transactions."""


async def serve(settings: WalletSettings, stopping: asyncio.Event) -> None:
    """Serves and follows the tables until `stopping`, then drains."""
    dsn = settings.database_dsn.get_secret_value()
    async with contextlib.AsyncExitStack() as stack:
        bus = await connect(settings.nats_url.get_secret_value(), settings.node)
        stack.push_async_callback(bus.close)
        pool = await open_pool(dsn, settings.database_pool_size, settings.node)
        stack.push_async_callback(pool.close)
        log = await stack.enter_async_context(PostgresLog(pool))
        pinger = Pinger(bus)
        cashier = Cashier(pool, pinger)
        stack.push_async_callback(cashier.close)
        server = Server(settings)
        add_WalletServiceServicer_to_server(Wallet(cashier, pool), server.grpc)
        server.offer(wallet_pb2.DESCRIPTOR.services_by_name["WalletService"])
        consuming = Consuming(CONSUMER, "wallet", apply, pinger, MONEY_EVENTS, GATHER_S)
        consumers = Consumers(consuming, ("table",), log, dsn, bus)
        following = asyncio.create_task(consumers.run(), name="consumers")
        serving = asyncio.create_task(server.run_until(stopping), name="grpc")
        await serve_with(following, serving)
