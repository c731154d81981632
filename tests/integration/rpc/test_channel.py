"""What a service's channel to another does by itself: it tries again, and says who is calling."""

from __future__ import annotations

from uuid import uuid4

import grpc
import pytest
from croupier.wallet.v1 import wallet_pb2, wallet_pb2_grpc

from shared.errors import CroupierError
from shared.rpc.access import Role
from shared.rpc.caller import bind
from shared.rpc.channel import call_metadata, connect
from tests.integration.rpc.conftest import Behaviour, Served, reason_of
from tests.services import token

ASK = wallet_pb2.GetAccountRequest()


async def test_the_token_and_the_correlation_id_are_passed_on(
    served: Served, behaviour: Behaviour
) -> None:
    correlation = uuid4()
    bind(None, correlation)
    async with connect(served.address) as channel:
        stub = wallet_pb2_grpc.WalletServiceStub(channel)
        await stub.GetAccount(ASK, metadata=call_metadata(token(Role.PLAYER, "bob")))
    assert behaviour.callers[0].id == "bob"
    assert behaviour.correlations == [correlation]


@pytest.mark.parametrize(("reason", "tries"), [("DRAINING", 5), ("NO_HAND", 1)])
async def test_only_what_may_pass_is_tried_again(
    served: Served, behaviour: Behaviour, reason: str, tries: int
) -> None:
    behaviour.error = CroupierError(reason, "not now")
    async with connect(served.address) as channel:
        stub = wallet_pb2_grpc.WalletServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.GetAccount(ASK, metadata=call_metadata(token(Role.PLAYER)))
    assert reason_of(refused.value) == reason
    assert len(behaviour.callers) == tries
