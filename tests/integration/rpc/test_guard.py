"""Who gets through to a handler, what the handler knows of the caller, and how errors arrive."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from io import StringIO
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import grpc
import pytest
import structlog
from croupier.table.v1 import table_pb2
from croupier.wallet.v1 import wallet_pb2
from google.protobuf.descriptor import MethodDescriptor
from prometheus_client import REGISTRY

from shared.errors import CroupierError
from shared.ops import logs
from shared.rpc.access import ACCESS, Role
from shared.rpc.errors import STATUS, from_rpc_error
from shared.rpc.server import Server
from tests.integration.rpc.conftest import Behaviour, Served, reason_of, settings
from tests.polling import eventually
from tests.services import all_methods, all_services, bearer, path_of
from tests.unit.rpc.test_errors import REASONS

ASK = wallet_pb2.GetAccountRequest()


@pytest.fixture
def log_lines() -> Iterator[StringIO]:
    out = StringIO()
    logs.set_up("info", out, service="wallet", node="w1")
    yield out
    structlog.reset_defaults()


async def test_a_token_gets_through_and_names_the_caller(
    served: Served, behaviour: Behaviour
) -> None:
    answer = await served.wallet.GetAccount(ASK, metadata=bearer(Role.PLAYER, "bob"))
    assert answer.account.player == "bob"
    assert (behaviour.callers[0].id, behaviour.callers[0].role) == ("bob", Role.PLAYER)


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        (lambda: (), "UNAUTHENTICATED"),
        (lambda: (("authorization", "Basic YW5uOmFubg=="),), "UNAUTHENTICATED"),
        (lambda: (("authorization", "Bearer nonsense"),), "UNAUTHENTICATED"),
        (lambda: bearer(Role.PLAYER, ttl_s=-1), "TOKEN_EXPIRED"),
        (lambda: bearer(Role.DEALER), "ROLE_NOT_ALLOWED"),
    ],
    ids=["none", "another scheme", "nonsense", "expired", "role"],
)
async def test_without_a_good_token_nothing_is_reached(
    served: Served, behaviour: Behaviour, metadata: Callable[[], Any], reason: str
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await served.wallet.GetAccount(ASK, metadata=metadata())
    assert reason_of(refused.value) == reason
    assert refused.value.code() is STATUS[reason]
    assert behaviour.callers == []


async def test_streams_ask_for_a_token_too(served: Served) -> None:
    watching = served.table.WatchLobby(table_pb2.WatchLobbyRequest())
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await watching.read()
    assert reason_of(refused.value) == "UNAUTHENTICATED"


@pytest.fixture
async def everything_served() -> AsyncIterator[grpc.aio.Channel]:
    """A server with every method of every service; each answers with an empty message."""
    server = Server(settings())
    for service in all_services():
        handlers = {method.name: handler_of(method) for method in service.methods}
        generic = grpc.method_handlers_generic_handler(service.full_name, handlers)
        server.grpc.add_generic_rpc_handlers((generic,))
        server.offer(service)
    port = await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield channel
    await server.drain()


def handler_of(method: MethodDescriptor) -> grpc.RpcMethodHandler[bytes, bytes]:
    async def one(_: object, __: object) -> bytes:
        return b""

    async def many(_: object, __: object) -> AsyncIterator[bytes]:
        yield b""

    if method.client_streaming:
        return grpc.stream_stream_rpc_method_handler(many)
    if method.server_streaming:
        return grpc.unary_stream_rpc_method_handler(many)
    return grpc.unary_unary_rpc_method_handler(one)


async def answer_to(channel: Any, method: MethodDescriptor, role: Role) -> grpc.StatusCode:
    """The status that an empty call ends with."""
    path, metadata = path_of(method), bearer(role)
    try:
        if method.client_streaming:
            await channel.stream_stream(path)(iter(()), metadata=metadata).read()
        elif method.server_streaming:
            await channel.unary_stream(path)(b"", metadata=metadata).read()
        else:
            await channel.unary_unary(path)(b"", metadata=metadata)
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


@pytest.mark.parametrize("role", list(Role))
async def test_the_server_admits_exactly_whom_the_table_names(
    everything_served: grpc.aio.Channel, role: Role
) -> None:
    """Every method of every service there is, over the wire, with a token of each role."""
    for method in all_methods():
        code = await answer_to(everything_served, method, role)
        allowed = role in ACCESS[path_of(method)]
        expected = grpc.StatusCode.OK if allowed else grpc.StatusCode.PERMISSION_DENIED
        assert code is expected, (method.full_name, role)


async def test_a_method_without_a_row_is_closed_to_everybody(
    everything_served: grpc.aio.Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = all_methods()[0]
    monkeypatch.delitem(ACCESS, path_of(method))
    for role in Role:
        code = await answer_to(everything_served, method, role)
        assert code is grpc.StatusCode.PERMISSION_DENIED


@pytest.mark.parametrize("reason", REASONS)
async def test_a_refusal_arrives_with_status_reason_and_field(
    served: Served, behaviour: Behaviour, reason: str
) -> None:
    behaviour.error = CroupierError(reason, "in words", "player")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await served.wallet.GetAccount(ASK, metadata=bearer(Role.PLAYER))
    heard = from_rpc_error(refused.value)
    assert (heard.reason, heard.message, heard.field) == (reason, "in words", "player")
    assert refused.value.code() is STATUS[reason]


async def test_a_stream_is_refused_in_the_same_way(served: Served, behaviour: Behaviour) -> None:
    behaviour.error = CroupierError("TABLE_NOT_FOUND", "no such table", "table_id")
    watching = served.table.WatchLobby(table_pb2.WatchLobbyRequest(), metadata=bearer(Role.PLAYER))
    assert await watching.read() == table_pb2.WatchLobbyResponse()
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await watching.read()
    assert reason_of(refused.value) == "TABLE_NOT_FOUND"


async def test_a_fault_of_ours_is_logged_but_not_told(
    served: Served, behaviour: Behaviour, log_lines: StringIO
) -> None:
    behaviour.error = RuntimeError("salt 00112233")
    correlation = uuid4()
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await served.wallet.GetAccount(
            ASK,
            metadata=(*bearer(Role.PLAYER), ("croupier-correlation-id", str(correlation))),
        )
    assert reason_of(refused.value) == "INTERNAL"
    assert "salt" not in str(refused.value)
    line = next(
        parsed
        for parsed in map(json.loads, log_lines.getvalue().splitlines())
        if parsed["event"] == "call_failed"
    )
    assert line["correlation"] == str(correlation)
    assert (line["service"], line["node"], line["player"]) == ("wallet", "w1", "ann")
    assert "locals" not in json.dumps(line["exception"])


@pytest.mark.parametrize(
    "outage",
    [
        ConnectionRefusedError("no"),
        asyncpg.ConnectionDoesNotExistError("closed"),
        asyncpg.CannotConnectNowError("starting up"),
        asyncpg.InterfaceError("connection is closed"),
        asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is …"),
        asyncpg.LockNotAvailableError("held by another"),
        asyncpg.DiskFullError("no room to sort"),
        asyncpg.ReadOnlySQLTransactionError("a standby now"),
    ],
    ids=lambda outage: type(outage).__name__,
)
async def test_an_outage_of_the_database_asks_to_try_again(
    served: Served, behaviour: Behaviour, outage: Exception
) -> None:
    behaviour.error = outage
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await served.wallet.GetAccount(ASK, metadata=bearer(Role.PLAYER))
    assert reason_of(refused.value) == "LOG_UNAVAILABLE"


@pytest.mark.parametrize(
    "fault",
    [asyncpg.DataError("value out of int64 range"), asyncpg.UniqueViolationError("twice")],
    ids=lambda fault: type(fault).__name__,
)
async def test_what_the_database_cannot_take_is_not_asked_for_again(
    served: Served, behaviour: Behaviour, fault: Exception
) -> None:
    """It would be refused for ever: a client that tries again as long as it is told to would not
    come to an end."""
    behaviour.error = fault
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await served.wallet.GetAccount(ASK, metadata=bearer(Role.PLAYER))
    assert reason_of(refused.value) == "INTERNAL"


async def test_who_hangs_up_is_not_counted_as_answered(
    served: Served, behaviour: Behaviour
) -> None:
    def counted(reason: str) -> float:
        method = "/croupier.wallet.v1.WalletService/GetLedger"
        labels = {"method": method, "reason": reason}
        return REGISTRY.get_sample_value("croupier_rpc_calls_total", labels) or 0

    answered, cancelled = counted("OK"), counted("CANCELLED")
    asking = served.wallet.GetLedger(wallet_pb2.GetLedgerRequest(), metadata=bearer(Role.AUDITOR))
    await behaviour.entered.wait()
    asking.cancel()
    await eventually(lambda: counted("CANCELLED") == cancelled + 1)
    assert counted("OK") == answered


async def test_an_answer_that_does_not_come_in_time(served: Served, behaviour: Behaviour) -> None:
    behaviour.error = TimeoutError()
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await served.wallet.GetAccount(ASK, metadata=bearer(Role.PLAYER))
    assert reason_of(refused.value) == "OVERLOADED"


@pytest.mark.parametrize("sent", ["", "no uuid"])
async def test_a_correlation_id_is_taken_over_or_made(
    served: Served, behaviour: Behaviour, sent: str
) -> None:
    mine = uuid4()
    for value in (str(mine), sent):
        await served.wallet.GetAccount(
            ASK, metadata=(*bearer(Role.PLAYER), ("croupier-correlation-id", value))
        )
    assert behaviour.correlations[0] == mine
    assert isinstance(behaviour.correlations[1], UUID)
    assert behaviour.correlations[1] != mine


async def test_a_message_that_is_too_large_is_refused(served: Served) -> None:
    too_large = wallet_pb2.GetAccountRequest(player="x" * (4 * 1024 * 1024 + 1))
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await served.wallet.GetAccount(too_large, metadata=bearer(Role.PLAYER))
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
