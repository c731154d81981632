"""A node that stops lets finish what runs and sends everybody else to another node."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from types import SimpleNamespace

import grpc
import pytest
from croupier.table.v1 import table_pb2, table_pb2_grpc
from croupier.wallet.v1 import wallet_pb2
from grpc_health.v1 import health_pb2

from shared.rpc import tokens
from shared.rpc.access import Role
from shared.rpc.server import Server
from tests.integration.rpc.conftest import NO_RETRIES, Behaviour, Served, reason_of, settings
from tests.polling import eventually
from tests.services import bearer


def command(table_id: str, command_id: str) -> table_pb2.PlayRequest:
    return table_pb2.PlayRequest(
        table_id=table_id, command=table_pb2.Command(command_id=command_id)
    )


async def status(served: Served) -> int:
    check = served.channel.unary_unary(
        "/grpc.health.v1.Health/Check",
        request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
        response_deserializer=health_pb2.HealthCheckResponse.FromString,
    )
    return int((await check(health_pb2.HealthCheckRequest())).status)


async def test_running_calls_finish_and_new_ones_are_refused(
    served: Served, behaviour: Behaviour
) -> None:
    assert await status(served) == health_pb2.HealthCheckResponse.SERVING
    running = served.wallet.GetLedger(wallet_pb2.GetLedgerRequest(), metadata=bearer(Role.AUDITOR))
    await behaviour.entered.wait()
    draining = asyncio.create_task(served.server.drain())

    async def told() -> bool:
        return await status(served) == health_pb2.HealthCheckResponse.NOT_SERVING

    await eventually(told)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await served.wallet.GetAccount(wallet_pb2.GetAccountRequest(), metadata=bearer(Role.PLAYER))
    assert reason_of(refused.value) == "DRAINING"
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert not draining.done()
    behaviour.let_go.set()
    assert await running == wallet_pb2.GetLedgerResponse()
    await draining


async def test_a_watcher_is_told_to_connect_again(served: Served, behaviour: Behaviour) -> None:
    watching = served.table.WatchLobby(table_pb2.WatchLobbyRequest(), metadata=bearer(Role.PLAYER))
    await watching.read()
    await behaviour.entered.wait()
    await served.server.drain()
    with pytest.raises(grpc.aio.AioRpcError) as ended:
        await watching.read()
    assert reason_of(ended.value) == "DRAINING"
    assert ended.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_player_still_gets_the_answer_to_what_was_under_way(
    served: Served, behaviour: Behaviour
) -> None:
    wake = asyncio.Event()

    async def requests() -> AsyncIterator[table_pb2.PlayRequest]:
        yield command("slow", "first")
        await wake.wait()
        yield command("quick", "too late")

    playing = served.table.Play(requests(), metadata=bearer(Role.PLAYER))
    first = await playing.read()
    assert isinstance(first, table_pb2.PlayResponse)
    await behaviour.entered.wait()
    draining = asyncio.create_task(served.server.drain())

    async def told() -> bool:
        return await status(served) == health_pb2.HealthCheckResponse.NOT_SERVING

    await eventually(told)
    wake.set()
    behaviour.let_go.set()
    late = await playing.read()
    assert isinstance(late, table_pb2.PlayResponse)
    assert late.acknowledgement.command_id == "late"
    with pytest.raises(grpc.aio.AioRpcError) as ended:
        await playing.read()
    assert reason_of(ended.value) == "DRAINING"
    await draining


class Torrent(table_pb2_grpc.TableServiceServicer):
    """More than a client takes that does not read."""

    async def WatchLobby(self, request, context):  # type: ignore[no-untyped-def]
        much = table_pb2.WatchLobbyResponse(tables=[table_pb2.TableSummary(name="x" * 2**20)])
        while True:
            yield much


async def test_a_client_that_does_not_read_holds_up_no_stop() -> None:
    """What it is told waits behind what it has not read."""
    server = Server(settings())
    table_pb2_grpc.add_TableServiceServicer_to_server(Torrent(), server.grpc)  # type: ignore[abstract]
    port = await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=NO_RETRIES) as channel:
        stub = table_pb2_grpc.TableServiceStub(channel)
        watching = stub.WatchLobby(table_pb2.WatchLobbyRequest(), metadata=bearer(Role.PLAYER))
        await watching.read()
        async with asyncio.timeout(30):
            await server.drain()


async def test_a_client_that_leaves_frees_its_stream(served: Served, behaviour: Behaviour) -> None:
    watching = served.table.WatchLobby(table_pb2.WatchLobbyRequest(), metadata=bearer(Role.PLAYER))
    await watching.read()
    await behaviour.entered.wait()
    watching.cancel()
    # With the stream gone a drain has nobody to wait for.
    await served.server.drain()


async def test_a_stream_ends_with_the_token_that_opened_it(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was let in an hour ago is not let watch for ever; nothing of his stream is left."""
    now = int(time.time())
    clock = SimpleNamespace(time=lambda: now)
    monkeypatch.setattr(tokens, "time", clock)
    metadata = bearer(Role.PLAYER, ttl_s=3_600)
    clock.time = lambda: now + 3_598  # whole seconds, as in the token: it has two left
    watching = served.table.WatchLobby(table_pb2.WatchLobbyRequest(), metadata=metadata)
    playing = served.table.Play(metadata=metadata)
    await playing.write(command("t1", "first"))
    for stream in (watching, playing):
        await stream.read()
        with pytest.raises(grpc.aio.AioRpcError) as ended:
            await stream.read()
        assert reason_of(ended.value) == "TOKEN_EXPIRED"
        assert ended.value.code() is grpc.StatusCode.UNAUTHENTICATED
    await served.server.drain()


async def test_a_stream_that_is_over_before_its_token_ends_well(
    served: Served, behaviour: Behaviour
) -> None:
    behaviour.let_go.set()
    watching = served.table.WatchLobby(table_pb2.WatchLobbyRequest(), metadata=bearer(Role.PLAYER))
    assert [answer async for answer in watching] == [table_pb2.WatchLobbyResponse()]
