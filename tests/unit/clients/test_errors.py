"""What a failed call says: a reason of the house, or that nobody answered."""

from __future__ import annotations

import grpc
import pytest

from clients.api.errors import UNREACHABLE, refused
from shared.errors import CroupierError
from shared.rpc.errors import to_status


def failed(code: grpc.StatusCode, *trailing: tuple[str, str | bytes]) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(*trailing), "words")


@pytest.mark.parametrize(
    "code",
    [
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        # gRPC's own word for a stream that broke while something was being written to it.
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNKNOWN,
    ],
)
def test_without_a_reason_of_the_house_nobody_answered_and_it_may_pass(
    code: grpc.StatusCode,
) -> None:
    refusal = refused(failed(code))
    assert (refusal.reason, refusal.passing) == (UNREACHABLE, True)


def test_what_cannot_pass_is_told_by_its_code() -> None:
    refusal = refused(failed(grpc.StatusCode.UNIMPLEMENTED))
    assert (refusal.reason, refusal.passing) == ("UNIMPLEMENTED", False)


@pytest.mark.parametrize(
    ("reason", "passing"), [("INTERNAL", False), ("BAD_STAKE", False), ("DRAINING", True)]
)
def test_a_reason_of_the_house_is_taken_at_its_word(reason: str, passing: bool) -> None:
    status = to_status(CroupierError(reason, "in words", "stake"), "5f0c")
    heard = refused(failed(status.code, *(status.trailing_metadata or ())))
    assert (heard.reason, heard.message, heard.field) == (reason, "in words", "stake")
    assert heard.passing is passing
