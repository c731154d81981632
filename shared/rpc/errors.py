"""Refusals on the wire: a canonical status, a reason of `croupier.type.v1.Reason`, the field.

Rich details follow the google.rpc error model (AIP-193): `ErrorInfo` with the reason and
`domain` = "croupier", `BadRequest` where a field is at fault, `RetryInfo` where the same call may
succeed in a moment, `RequestInfo` with the correlation id.
"""

from __future__ import annotations

from datetime import timedelta

import grpc
import structlog
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from shared.errors import CroupierError

DOMAIN = "croupier"
SORRY = "something went wrong on our side"

_MOST_WORDS_BYTES = 800
_MOST_FIELD_BYTES = 200
"""Of a message and of a field's name, which may repeat what a caller has sent. They travel in
trailers, three times over and escaped; beyond 8 KiB those fail the call in a way of their own."""

_log = structlog.get_logger()

_Code = grpc.StatusCode

_REASONS: dict[grpc.StatusCode, tuple[str, ...]] = {
    # The request is wrong whatever the state of things.
    _Code.INVALID_ARGUMENT: (
        "BAD_SCRIPT",
        "UNKNOWN_CARD",
        "DUPLICATE_CARD",
        "BAD_STAKE",
        "STAKE_BELOW_MINIMUM",
        "STAKE_ABOVE_MAXIMUM",
        "STAKE_NOT_DIVISIBLE",
        "BAD_EXCHANGE",
        "BAD_SETTING",
        "BAD_REQUEST",
        "BAD_PAGE_TOKEN",
        "BAD_AMOUNT",
        "CURRENCY_MISMATCH",
        "CUT_TOO_NEAR_EDGE",
        "SEED_MISMATCH",
    ),
    # The request would be right in another state of the table, the account or the shoe.
    _Code.FAILED_PRECONDITION: (
        "DECK_TOO_SHORT",
        "BOTH_SIDES",
        "TOO_MANY_BETTORS",
        "TOO_MANY_BOXES",
        "BOXES_NOT_ADJACENT",
        "TOO_MANY_OPEN_BOXES",
        "NOT_YOUR_TURN",
        "DECISION_MISSING",
        "DECISION_NOT_DUE",
        "ILLEGAL_DECISION",
        "NOT_ENOUGH_CARDS",
        "INSURANCE_NOT_ALLOWED",
        "INSURANCE_ABOVE_LIMIT",
        "BET_TOO_SMALL",
        "NOT_REOPENED",
        "INSUFFICIENT_CHIPS",
        "TABLE_CLOSED",
        "TABLE_FULL",
        "NOT_SEATED",
        "BETTING_CLOSED",
        "HAND_RUNNING",
        "NO_HAND",
        "CUT_NOT_OFFERED",
        "CHIPS_PENDING",
        "INCIDENT_NOT_ALLOWED",
        "CONSENT_NEEDED",
        "NO_BETS",
        "SEED_REFUSED",
        "SEED_REUSED",
        "POT_WAITING",
        "INSUFFICIENT_FUNDS",
        "ACCOUNT_BLOCKED",
        "SHOE_NOT_SEALED",
        "SHOE_SEALED",
        "SHOE_RETIRED",
        "SHOE_NOT_RETIRED",
        "SHOE_NOT_CUT",
        "SHOE_CUT",
        "STALE_EPOCH",
        "BAD_POSITION",
        "NOT_VERIFIED",
    ),
    _Code.NOT_FOUND: (
        "TABLE_NOT_FOUND",
        "HAND_NOT_FOUND",
        "ACCOUNT_NOT_FOUND",
        "SHOE_NOT_FOUND",
        "NODE_NOT_FOUND",
        "PARTITION_NOT_FOUND",
        "CHECKPOINT_NOT_FOUND",
    ),
    _Code.ALREADY_EXISTS: (
        "TABLE_EXISTS",
        "ALREADY_SEATED",
        "ACCOUNT_EXISTS",
        "SHOE_EXISTS",
        "COMMAND_BODY_DIFFERS",
        "REQUEST_BODY_DIFFERS",
    ),
    _Code.PERMISSION_DENIED: (
        "ROLE_NOT_ALLOWED",
        "NOT_BOX_OWNER",
        "PLAYER_REMOVED",
        "WRONG_TABLE",
        "AUDIENCE_NOT_ALLOWED",
    ),
    _Code.UNAUTHENTICATED: ("UNAUTHENTICATED", "TOKEN_EXPIRED"),
    # The same call again, a little later or elsewhere, may well succeed.
    _Code.UNAVAILABLE: (
        "NOT_OWNER",
        "NO_OWNER",
        "DRAINING",
        "LOG_UNAVAILABLE",
        "SHUFFLE_UNAVAILABLE",
        "NOT_INDEXED_YET",
    ),
    # Start again one level higher: read anew, watch anew.
    _Code.ABORTED: ("LOG_CONFLICT", "SLOW_WATCHER"),
    _Code.OUT_OF_RANGE: ("TOO_OLD",),
    _Code.RESOURCE_EXHAUSTED: ("OVERLOADED",),
    _Code.DATA_LOSS: ("LOG_DIVERGED",),
    _Code.INTERNAL: ("INTERNAL",),
}

STATUS: dict[str, grpc.StatusCode] = {
    reason: code for code, reasons in _REASONS.items() for reason in reasons
}
"""The status that each reason comes with."""

RETRY_AFTER_S: dict[str, float] = {
    "NOT_OWNER": 0.1,
    "NO_OWNER": 0.1,
    "DRAINING": 0.1,
    "NOT_INDEXED_YET": 0.5,
    "OVERLOADED": 0.5,
    "LOG_UNAVAILABLE": 1.0,
    "SHUFFLE_UNAVAILABLE": 1.0,
}
"""How many seconds to wait at least before the same call again, for each reason that comes with
UNAVAILABLE or RESOURCE_EXHAUSTED."""


def to_status(error: CroupierError, correlation_id: str) -> grpc.Status:
    """The gRPC status, with its rich details, that tells `error`."""
    code = STATUS[error.reason]
    message = _cut(error.message, _MOST_WORDS_BYTES)
    status = status_pb2.Status(code=code.value[0], message=message)
    info = error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=error.facts)
    status.details.add().Pack(info)
    if error.field:
        fault = error_details_pb2.BadRequest()
        fault.field_violations.add(
            field=_cut(error.field, _MOST_FIELD_BYTES), description=message, reason=error.reason
        )
        status.details.add().Pack(fault)
    delay = retry_after(error.reason)
    if delay is not None:
        status.details.add().Pack(error_details_pb2.RetryInfo(retry_delay=delay))
    status.details.add().Pack(error_details_pb2.RequestInfo(request_id=correlation_id))
    return rpc_status.to_status(status)


def _cut(text: str, most_bytes: int) -> str:
    whole = text.encode(errors="replace")
    kept = whole[:most_bytes].decode(errors="ignore")
    return kept if len(whole) <= most_bytes else f"{kept}…"


def retry_after(reason: str) -> Duration | None:
    """How long to wait at least before the same call again; None where that is of no use."""
    after_s = RETRY_AFTER_S.get(reason)
    if after_s is None:
        return None
    delay = Duration()
    delay.FromTimedelta(timedelta(seconds=after_s))
    return delay


def from_rpc_error(error: grpc.aio.AioRpcError) -> CroupierError:
    """What a failed call says, as the error that was raised on the other side.

    A status without our details (the connection broke, the deadline passed, the other side is no
    Croupier) comes as LOG_UNAVAILABLE when it is worth trying again, else as INTERNAL. Its words,
    which name addresses, are for our own log only.
    """
    try:
        rich = rpc_status.from_call(error)  # type: ignore[arg-type]  # it reads what AioRpcError has
    except ValueError:
        rich = None  # details of another status: gRPC itself has failed the call after that
    reason, field, facts = "", "", {}
    for detail in rich.details if rich is not None else ():
        info = error_details_pb2.ErrorInfo()
        fault = error_details_pb2.BadRequest()
        if detail.Unpack(info) and info.domain == DOMAIN and info.reason in STATUS:
            reason, facts = info.reason, dict(info.metadata)
        elif detail.Unpack(fault) and fault.field_violations:
            field = fault.field_violations[0].field
    if reason:
        return CroupierError(reason, error.details() or "", field, facts)
    if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
        _log.warning("peer_away", code=error.code().name, details=error.details())
        return CroupierError("LOG_UNAVAILABLE", "another service does not answer: try again")
    _log.error("peer_failed", code=error.code().name, details=error.details())
    return CroupierError("INTERNAL", SORRY)
