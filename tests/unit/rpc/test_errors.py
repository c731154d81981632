"""Every reason has a status, arrives with its field and facts, and is written down."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import grpc
import pytest
from croupier.type.v1 import reason_pb2
from google.rpc import error_details_pb2, status_pb2
from structlog.testing import capture_logs

from shared.errors import CroupierError
from shared.rpc.errors import STATUS, from_rpc_error, to_status

PREFIX = "REASON_"
REASONS = [name[len(PREFIX) :] for name in reason_pb2.Reason.keys()[1:]]
PAGE = Path(__file__).resolve().parents[3] / "docs" / "errors.md"


def as_received(status: grpc.Status) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(
        status.code,
        grpc.aio.Metadata(),
        grpc.aio.Metadata(*(status.trailing_metadata or ())),
        status.details,
    )


def test_the_table_has_exactly_the_reasons_of_the_proto() -> None:
    assert set(STATUS) == set(REASONS)


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_arrives_as_it_was_raised(reason: str) -> None:
    raised = CroupierError(reason, "in words", "stake", {"owner": "t1", "epoch": "4"})
    status = to_status(raised, "5f0c")
    assert status.code is STATUS[reason]
    heard = from_rpc_error(as_received(status))
    assert (heard.reason, heard.message, heard.field, heard.facts) == (
        reason,
        "in words",
        "stake",
        {"owner": "t1", "epoch": "4"},
    )


def test_details_follow_the_error_model() -> None:
    status = to_status(CroupierError("BAD_STAKE", "not that", "stake.minor_units"), "5f0c")
    rich = status_pb2.Status.FromString(
        dict(status.trailing_metadata or ())["grpc-status-details-bin"]
    )
    info, fault, request = (
        error_details_pb2.ErrorInfo(),
        error_details_pb2.BadRequest(),
        error_details_pb2.RequestInfo(),
    )
    assert rich.details[0].Unpack(info)
    assert (info.reason, info.domain) == ("BAD_STAKE", "croupier")
    assert rich.details[1].Unpack(fault)
    assert fault.field_violations[0].field == "stake.minor_units"
    assert rich.details[2].Unpack(request)
    assert request.request_id == "5f0c"


@pytest.mark.parametrize("reason", REASONS)
def test_what_may_succeed_in_a_moment_says_when(reason: str) -> None:
    status = to_status(CroupierError(reason, "in words", "stake"), "5f0c")
    rich = status_pb2.Status.FromString(
        dict(status.trailing_metadata or ())["grpc-status-details-bin"]
    )
    hints = [
        hint for detail in rich.details if detail.Unpack(hint := error_details_pb2.RetryInfo())
    ]
    passing = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)
    assert len(hints) == int(STATUS[reason] in passing)
    assert all(0 < hint.retry_delay.ToMilliseconds() <= 1_000 for hint in hints)


def test_without_a_field_nothing_is_blamed() -> None:
    status = to_status(CroupierError("NO_HAND", "none"), "5f0c")
    assert from_rpc_error(as_received(status)).field == ""


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (grpc.StatusCode.UNAVAILABLE, "LOG_UNAVAILABLE"),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "LOG_UNAVAILABLE"),
        (grpc.StatusCode.UNIMPLEMENTED, "INTERNAL"),
        (grpc.StatusCode.UNKNOWN, "INTERNAL"),
    ],
)
def test_a_status_that_is_not_ours_is_told_by_its_code(code: grpc.StatusCode, reason: str) -> None:
    words = "failed to connect to all addresses; last error: ipv4:10.0.0.7:50051: refused"
    lost = grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), words)
    with capture_logs() as logged:
        heard = from_rpc_error(lost)
    assert heard.reason == reason
    # A player is told no address; whoever reads the log is.
    assert "10.0.0.7" not in heard.message
    assert [line["details"] for line in logged] == [words]


def test_the_page_lists_every_reason_with_its_status() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([A-Z_]+) \| .+ \|$", PAGE.read_text(), re.MULTILINE)
    assert dict(rows) == {reason: code.name for reason, code in STATUS.items()}
    assert len(rows) == len(STATUS)


@pytest.mark.parametrize("letter", ["x", "\U0001f0a1"])
async def test_words_that_repeat_a_long_text_arrive(letter: str) -> None:
    """gRPC answers RESOURCE_EXHAUSTED where trailers are too long, which says: try again."""

    async def refuse(request: bytes, context: Any) -> None:
        error = CroupierError("BAD_SETTING", f"not {letter * 5_000}", letter * 5_000)
        status = to_status(error, "5f0c")
        await context.abort(status.code, status.details, tuple(status.trailing_metadata or ()))

    server = grpc.aio.server()
    method: dict[str, Any] = {"Ask": grpc.unary_unary_rpc_method_handler(refuse)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("Long", method),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            ask: Any = channel.unary_unary("/Long/Ask")
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await ask(b"", timeout=30)
    finally:
        await server.stop(None)
    heard = from_rpc_error(refused.value)
    assert (refused.value.code(), heard.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BAD_SETTING")
    assert heard.message.startswith(f"not {letter * 100}")
    assert heard.field.startswith(letter * 50)


def test_details_of_another_status_than_the_calls_are_passed_over() -> None:
    status = to_status(CroupierError("BAD_STAKE", "not that"), "5f0c")
    received = grpc.aio.AioRpcError(
        grpc.StatusCode.UNAVAILABLE,
        grpc.aio.Metadata(),
        grpc.aio.Metadata(*(status.trailing_metadata or ())),
        "Stream removed",
    )
    assert from_rpc_error(received).reason == "LOG_UNAVAILABLE"
