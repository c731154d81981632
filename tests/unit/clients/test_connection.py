"""Unary calls: refusals as typed errors, and when a call is tried again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from croupier.type.v1.money_pb2 import Money
from croupier.wallet.v1 import wallet_pb2

from clients.api import Connection, RefusedError, WalletClient
from tests.unit.clients.fake_tables import refuse_call

CHF = Money(currency="CHF", minor_units=500)


class FakeWallet:
    """`Deposit` alone; the first calls are refused with what `refusals` holds."""

    def __init__(self, *refusals: tuple[grpc.StatusCode, str]) -> None:
        self.refusals = list(refusals)
        self.asked: list[wallet_pb2.DepositRequest] = []

    async def deposit(
        self, request: wallet_pb2.DepositRequest, context: Any
    ) -> wallet_pb2.DepositResponse:
        self.asked.append(request)
        if self.refusals:
            code, reason = self.refusals.pop(0)
            if not reason:
                await context.abort(code, "something else")
            await refuse_call(context, code, reason, "amount")
        return wallet_pb2.DepositResponse(transfer_id="t")

    @asynccontextmanager
    async def client(self, patience_s: float = 60.0) -> AsyncIterator[WalletClient]:
        server = grpc.aio.server()
        handler = grpc.unary_unary_rpc_method_handler(
            self.deposit,
            wallet_pb2.DepositRequest.FromString,
            wallet_pb2.DepositResponse.SerializeToString,
        )
        server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(
                    "croupier.wallet.v1.WalletService", {"Deposit": handler}
                ),
            )
        )
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with Connection([f"127.0.0.1:{port}"], lambda: "t", patience_s) as connection:
            yield WalletClient(connection)
        await server.stop(None)


async def test_a_refusal_carries_reason_words_and_field() -> None:
    wallet = FakeWallet((grpc.StatusCode.FAILED_PRECONDITION, "INSUFFICIENT_FUNDS"))
    async with wallet.client() as client:
        with pytest.raises(RefusedError) as refusal:
            await client.deposit("p_ann", CHF)
    assert refusal.value.reason == "INSUFFICIENT_FUNDS"
    assert refusal.value.field == "amount"
    assert len(wallet.asked) == 1


async def test_a_passing_refusal_is_asked_again_with_the_same_command_id() -> None:
    wallet = FakeWallet(
        (grpc.StatusCode.UNAVAILABLE, "DRAINING"),
        (grpc.StatusCode.UNAVAILABLE, ""),
        (grpc.StatusCode.DEADLINE_EXCEEDED, ""),
        (grpc.StatusCode.ABORTED, "LOG_CONFLICT"),
    )
    async with wallet.client() as client:
        answer = await client.deposit("p_ann", CHF)
    assert answer.transfer_id == "t"
    assert len(wallet.asked) == 5
    assert len({request.command_id for request in wallet.asked}) == 1


async def test_patience_ends() -> None:
    wallet = FakeWallet(*[(grpc.StatusCode.UNAVAILABLE, "LOG_UNAVAILABLE")] * 1000)
    async with wallet.client(patience_s=2.0) as client:
        with pytest.raises(RefusedError, match="LOG_UNAVAILABLE"):
            await client.deposit("p_ann", CHF)
    assert 1 < len(wallet.asked) < 1000


async def test_a_failure_without_a_reason_keeps_the_status() -> None:
    async with FakeWallet((grpc.StatusCode.INVALID_ARGUMENT, "")).client() as client:
        with pytest.raises(RefusedError, match="INVALID_ARGUMENT: something else"):
            await client.deposit("p_ann", CHF)


async def test_nobody_there_is_told_with_the_address() -> None:
    async with FakeWallet().client():
        pass
    async with Connection(["127.0.0.1:1"], lambda: "t", 0.1) as connection:
        with pytest.raises(RefusedError, match=r"nobody answers at 127\.0\.0\.1:1"):
            await WalletClient(connection).deposit("p_ann", CHF)
