"""A wallet without money, behind the real server: what every service has in common shows here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from uuid import UUID

import grpc
import pytest
from croupier.table.v1 import table_pb2, table_pb2_grpc
from croupier.wallet.v1 import wallet_pb2, wallet_pb2_grpc

from shared.ops.settings import WalletSettings
from shared.rpc.caller import Caller, caller, correlation_id
from shared.rpc.errors import from_rpc_error
from shared.rpc.server import Server
from tests.services import PUBLIC_KEY

NO_RETRIES = (("grpc.enable_retries", 0),)


@dataclass
class Behaviour:
    """What the servicers below do, and what they saw."""

    error: Exception | None = None
    let_go: asyncio.Event = field(default_factory=asyncio.Event)
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    callers: list[Caller] = field(default_factory=list)
    correlations: list[UUID] = field(default_factory=list)


class Wallet(wallet_pb2_grpc.WalletServiceServicer):
    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour

    async def GetAccount(self, request, context):  # type: ignore[no-untyped-def]
        self._behaviour.callers.append(caller())
        self._behaviour.correlations.append(correlation_id())
        if self._behaviour.error is not None:
            raise self._behaviour.error
        return wallet_pb2.GetAccountResponse(account=wallet_pb2.Account(player=caller().id))

    async def GetLedger(self, request, context):  # type: ignore[no-untyped-def]
        self._behaviour.entered.set()
        await self._behaviour.let_go.wait()
        return wallet_pb2.GetLedgerResponse()


class Table(table_pb2_grpc.TableServiceServicer):
    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour

    async def WatchLobby(self, request, context):  # type: ignore[no-untyped-def]
        yield table_pb2.WatchLobbyResponse()
        self._behaviour.entered.set()
        if self._behaviour.error is not None:
            raise self._behaviour.error
        await self._behaviour.let_go.wait()

    async def Play(self, requests, context):  # type: ignore[no-untyped-def]
        async for request in requests:
            yield table_pb2.PlayResponse(
                acknowledgement=table_pb2.Acknowledgement(command_id=request.command.command_id)
            )
            if request.table_id == "slow":
                self._behaviour.entered.set()
                await self._behaviour.let_go.wait()
                yield table_pb2.PlayResponse(
                    acknowledgement=table_pb2.Acknowledgement(command_id="late")
                )


@pytest.fixture
def behaviour() -> Behaviour:
    return Behaviour()


@dataclass
class Served:
    """The server, its address and a channel to it."""

    server: Server
    address: str
    channel: grpc.aio.Channel

    @property
    def wallet(self) -> wallet_pb2_grpc.WalletServiceAsyncStub:
        return wallet_pb2_grpc.WalletServiceStub(self.channel)

    @property
    def table(self) -> table_pb2_grpc.TableServiceAsyncStub:
        return table_pb2_grpc.TableServiceStub(self.channel)


def settings() -> WalletSettings:
    """Settings of a service that needs neither database nor bus."""
    return WalletSettings(
        node="w1",
        listen="127.0.0.1:0",
        metrics_listen="127.0.0.1:0",
        token_public_key=PUBLIC_KEY,
        database_dsn="postgresql://unused",  # type: ignore[arg-type]
        nats_url="nats://unused",  # type: ignore[arg-type]
    )


@pytest.fixture
async def served(behaviour: Behaviour) -> AsyncIterator[Served]:
    server = Server(settings())
    wallet = Wallet(behaviour)  # type: ignore[abstract]
    wallet_pb2_grpc.add_WalletServiceServicer_to_server(wallet, server.grpc)
    server.offer(wallet_pb2.DESCRIPTOR.services_by_name["WalletService"])
    table = Table(behaviour)  # type: ignore[abstract]
    table_pb2_grpc.add_TableServiceServicer_to_server(table, server.grpc)
    server.offer(table_pb2.DESCRIPTOR.services_by_name["TableService"])
    port = await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=NO_RETRIES) as channel:
        yield Served(server, f"127.0.0.1:{port}", channel)
        behaviour.let_go.set()
        await server.drain()


def reason_of(error: grpc.aio.AioRpcError) -> str:
    """The reason of a refusal, as a client reads it."""
    return from_rpc_error(error).reason
