"""The process of the audit service: everything wired once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from croupier.audit.v1 import audit_pb2
from croupier.audit.v1.audit_pb2_grpc import add_AuditServiceServicer_to_server
from croupier.shuffle.v1.shuffle_pb2_grpc import ShuffleServiceStub

from services.audit.checkpointer import Checkpointer
from services.audit.disclosure import Disclosure
from services.audit.projection import rows_of
from services.audit.server import Audit
from services.audit.shoe_checker import ShoeChecker
from services.audit.storage import BY_KEY, write
from shared.bus.consumer import Consuming
from shared.bus.consumers import Consumers
from shared.bus.ping import Pinger
from shared.bus.stream import connect
from shared.log import Connection, PostgresLog, RecordedEvent, open_pool
from shared.ops.settings import AuditSettings
from shared.ops.tasks import serve_with
from shared.rpc.channel import connect as connect_to
from shared.rpc.server import Server

CATEGORIES = ("table", "shuffle", "wallet", "audit")
GATHER_S = 0.05
"""Nobody waits for the index; in a twentieth of a second there is more to write at a time."""


async def apply(connection: Connection, events: Sequence[RecordedEvent]) -> frozenset[str]:
    """Indexes events, in the consumer's transaction."""
    await write(connection, [row for event in events for row in rows_of(event)])
    return frozenset()


async def serve(settings: AuditSettings, stopping: asyncio.Event) -> None:
    """Serves and indexes until `stopping`, then drains."""
    dsn = settings.database_dsn.get_secret_value()
    keyring = settings.field_keys()
    signer = settings.note_signer()
    bus = await connect(settings.nats_url.get_secret_value(), settings.node)
    pool = await open_pool(dsn, settings.database_pool_size, settings.node)
    shuffle = connect_to(settings.shuffle_address)
    disclose = Disclosure(ShuffleServiceStub(shuffle), settings.service_token.get_secret_value())
    try:
        log = PostgresLog(pool, Pinger(bus))
        consuming = Consuming(
            "audit", "audit", apply, Pinger(bus), gather_s=GATHER_S, planning=BY_KEY
        )
        indexing = asyncio.create_task(
            Consumers(consuming, CATEGORIES, log, dsn, bus).run(), name="consumers"
        )
        server = Server(settings)
        audit = Audit(log, pool, keyring, disclose, disclose.to_person, signer.verifier)
        add_AuditServiceServicer_to_server(audit, server.grpc)
        server.offer(audit_pb2.DESCRIPTOR.services_by_name["AuditService"])
        checking = asyncio.create_task(
            ShoeChecker(log, pool, keyring, disclose).run(), name="shoe checker"
        )
        signing = asyncio.create_task(
            Checkpointer(pool, signer, settings.checkpoint_every_s).run(), name="checkpointer"
        )
        serving = asyncio.create_task(server.run_until(stopping), name="grpc")
        try:
            await serve_with(indexing, serving, checking, signing)
        finally:
            await log.close()
    finally:
        await shuffle.close()
        await pool.close()
        await bus.close()
