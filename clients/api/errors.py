"""What a call may come back with instead of an answer."""

from __future__ import annotations

import grpc
from google.rpc import error_details_pb2, status_pb2

from shared.errors import CroupierError

UNREACHABLE = "UNREACHABLE"
"""Nobody answered, so there is no reason of the house's own."""

_DETAILS = "grpc-status-details-bin"

# Reasons that say "not now": the same command, sent again with the same id, may well succeed.
PASSING_REASONS = frozenset(
    {
        "NO_OWNER",
        "NOT_OWNER",
        "DRAINING",
        "OVERLOADED",
        "LOG_UNAVAILABLE",
        "LOG_CONFLICT",
        "SHUFFLE_UNAVAILABLE",
        "SLOW_WATCHER",
        UNREACHABLE,
    }
)
_PASSING_CODES = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ABORTED})
# The house gives a reason with each of its refusals. Without one it is gRPC itself that speaks: of
# a connection that broke while something was being written, for instance.
_TRANSPORT_CODES = frozenset({*_PASSING_CODES, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN})


class RefusedError(CroupierError):
    """The house said no. `reason` is a `croupier.type.v1.Reason` name without its prefix, or
    `UNREACHABLE` where nobody answered and nothing is known of why. `retry_after_s` is how long the
    house asks to wait before the same again, 0 where it does not say."""

    def __init__(
        self,
        reason: str,
        message: str,
        field: str = "",
        passing: bool = False,
        retry_after_s: float = 0.0,
    ) -> None:
        super().__init__(reason, message, field)
        self.passing = passing or reason in PASSING_REASONS
        self.retry_after_s = retry_after_s


class UnansweredError(CroupierError):
    """A command was sent and its answer did not come in time: it may or may not have happened.

    The same `command_id` sent again gets the first answer, so asking again is safe.
    """

    def __init__(self, command_id: str, message: str) -> None:
        super().__init__("UNANSWERED", message)
        self.command_id = command_id


def refused(error: grpc.aio.AioRpcError) -> RefusedError:
    """The refusal that a failed call carries: reason and field out of its `google.rpc.Status`."""
    code = error.code()
    message = error.details() or code.name
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS and isinstance(value, bytes):
            found = _from_status(value, message, code in _PASSING_CODES)
            if found is not None:
                return found
    if code in _TRANSPORT_CODES:
        return RefusedError(UNREACHABLE, message, passing=True)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return RefusedError(UNREACHABLE, "no answer in time", passing=True)
    return RefusedError(code.name, message)


def _from_status(encoded: bytes, message: str, passing: bool) -> RefusedError | None:
    status = status_pb2.Status.FromString(encoded)
    reason = field = ""
    retry_after_s = 0.0
    for detail in status.details:
        info = error_details_pb2.ErrorInfo()
        bad = error_details_pb2.BadRequest()
        hint = error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            reason = info.reason
            field = field or info.metadata.get("field", "")
        elif detail.Unpack(bad) and bad.field_violations:
            field = bad.field_violations[0].field
        elif detail.Unpack(hint):
            retry_after_s = hint.retry_delay.ToTimedelta().total_seconds()
    if not reason:
        return None
    return RefusedError(reason, status.message or message, field, passing, retry_after_s)
