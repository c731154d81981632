"""Wires a table node together: the one place that does."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from croupier.shuffle.v1 import shuffle_pb2_grpc
from croupier.table.v1 import nodes_pb2, nodes_pb2_grpc

from services.table.directory import Directory
from services.table.errands import Errands
from services.table.forward import SERVICE, Peers, Routes, handlers
from services.table.hands import Hands
from services.table.lobby import Lobby
from services.table.neighbours import Neighbours
from services.table.node import Node
from services.table.nudges import Nudges
from services.table.opening import default_clocks
from services.table.server import Table
from services.table.snapshots import Snapshots
from services.table.wishes import Wishes
from shared.bus.ping import Pinger
from shared.bus.stream import connect as connect_bus
from shared.log import PostgresLog, open_pool
from shared.ops.settings import TableSettings
from shared.rpc.channel import connect
from shared.rpc.server import Server
from shared.table.codec import TableCodec
from shared.table.sealer import KeyringSealer


async def serve(settings: TableSettings, stopping: asyncio.Event) -> None:
    """Runs a table node until `stopping` is set, then hands its tables over."""
    pool = await open_pool(
        settings.database_dsn.get_secret_value(), settings.database_pool_size, settings.node
    )
    bus = await connect_bus(settings.nats_url.get_secret_value(), settings.node)
    keyring = settings.field_keys()
    codec = TableCodec(KeyringSealer(keyring))
    channel = connect(settings.shuffle_address)
    async with channel, PostgresLog(pool, Pinger(bus)) as log:
        lobby = Lobby()
        errands = Errands(
            shuffle_pb2_grpc.ShuffleServiceStub(channel),
            settings.service_token.get_secret_value(),
        )
        directory = Directory(pool, settings.node, uuid4(), settings.address)
        nudges = Nudges(bus, settings.node)
        node = Node(
            settings.node,
            log,
            codec,
            directory,
            errands,
            lobby,
            Snapshots(pool, keyring),
            nudges,
            settings.lease_ttl_s,
            settings.heartbeat_s,
            hand_over_s=settings.drain_timeout_s / 2,
        )
        server = Server(settings)
        peers = Peers()
        hands = Hands(log, pool, codec, keyring)
        defaults = default_clocks(settings.grace_s)
        table = Table(node, Routes(node, peers), lobby, hands, defaults)
        server.grpc.add_generic_rpc_handlers((handlers(table),))
        server.offer(SERVICE)
        nodes_pb2_grpc.add_NodeServiceServicer_to_server(Wishes(pool, nudges), server.grpc)
        server.offer(nodes_pb2.DESCRIPTOR.services_by_name["NodeService"])
        neighbours = Neighbours(directory, peers, lobby, settings.service_token.get_secret_value())
        running = {
            asyncio.create_task(node.run(stopping), name="lease"),
            asyncio.create_task(node.cashier.run(), name="cashier"),
            asyncio.create_task(neighbours.run(), name="neighbours"),
        }
        # The bus may be away: all of this is only quicker with it.
        listening = {
            asyncio.create_task(node.cashier.listen(bus), name="listen to the wallet"),
            asyncio.create_task(nudges.listen(node.look_now), name="listen to nodes"),
        }
        try:
            await server.start()
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            # New calls are refused, running ones finish, streams are sent to another node: only
            # then are the tables let go, so that nobody is refused for it.
            await server.drain()
            for task in done:
                task.result()  # none ends by itself but for a failure
        finally:
            for task in (*running, *listening):
                task.cancel()
            await asyncio.wait(running | listening)
            await node.hand_over()
            await peers.close()
            await bus.close()
    await pool.close()
