"""The whole service in one task: it serves, follows the tables, and drains when told to."""

from __future__ import annotations

import asyncio

import grpc
import pytest
from pydantic import SecretStr

from deploy.program import free_port
from services.wallet.main import serve
from shared.bus.consumers import Consumers
from shared.errors import CroupierError
from shared.ops.settings import WalletSettings
from shared.rpc.access import Role
from tests.integration.wallet.conftest import Client, Ledger, Service, Tables
from tests.polling import eventually
from tests.servers import Database, Running
from tests.services import PUBLIC_KEY


def settings_for(database: Database, nats_server: Running, listen: str) -> WalletSettings:
    return WalletSettings(
        node="w1",
        listen=listen,
        metrics_listen="127.0.0.1:0",
        token_public_key=PUBLIC_KEY,
        database_dsn=SecretStr(database.dsn("croupier_wallet")),
        nats_url=SecretStr(nats_server.server.url),  # type: ignore[union-attr]
    )


async def test_it_serves_follows_and_drains(
    database: Database, nats_server: Running, tables: Tables, ledger: Ledger
) -> None:
    stopping = asyncio.Event()
    listen = f"127.0.0.1:{free_port()}"
    serving = asyncio.create_task(serve(settings_for(database, nats_server, listen), stopping))
    async with grpc.aio.insecure_channel(listen) as channel:
        await asyncio.wait_for(channel.channel_ready(), 15)
        service = Service(channel)
        ann = await service.player_with("ann", 1_000)
        await tables.open("b1")
        await tables.buy_in("b1", "ann", 400)

        async def has_chips() -> bool:
            return [chips.table_id for chips in (await ann.account()).at_tables] == ["b1"]

        await eventually(has_chips)
        applied = (await service.auditor.ledger()).applied
        assert applied == {"table.0": 2}
        stopping.set()
        async with asyncio.timeout(15):
            await serving
        with pytest.raises(CroupierError) as refused:
            await Client(channel, Role.PLAYER, "ann").account()
        assert refused.value.reason in ("DRAINING", "LOG_UNAVAILABLE")
    await ledger.check()


async def test_it_ends_when_it_cannot_follow_the_tables(
    database: Database, nats_server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(self: Consumers) -> None:
        raise RuntimeError("no way to follow")

    monkeypatch.setattr(Consumers, "run", run)
    settings = settings_for(database, nats_server, f"127.0.0.1:{free_port()}")
    with pytest.raises(RuntimeError, match="no way to follow"):
        await asyncio.wait_for(serve(settings, asyncio.Event()), 15)
