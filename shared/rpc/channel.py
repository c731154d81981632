"""Calls from one service to another: channels that reconnect and retry, and who is calling."""

from __future__ import annotations

import json

import grpc

from shared.rpc.caller import correlation_id
from shared.rpc.guard import CORRELATION_KEY
from shared.rpc.server import MAX_MESSAGE_BYTES

# Every command carries its own id and every request to shuffle too, so that to repeat one is safe.
_SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [{}],
            "retryPolicy": {
                "maxAttempts": 5,
                "initialBackoff": "0.05s",
                "maxBackoff": "1s",
                "backoffMultiplier": 3,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ]
}

_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    # A channel is a connection: those to one address would share one, and its bound on calls.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.service_config", json.dumps(_SERVICE_CONFIG)),
    # The other side is restarted within a second or two: do not wait up to two minutes to see it.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # A link that drops everything is noticed within a table node's lease; gRPC would send two pings
    # on a quiet one, and then no more.
    ("grpc.keepalive_time_ms", 1_000),
    ("grpc.keepalive_timeout_ms", 2_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)


def connect(address: str, retries: bool = True) -> grpc.aio.Channel:
    """A channel to `host:port`. It connects when it is used and reconnects by itself; calls that
    fail with UNAVAILABLE are tried up to five times within about two seconds, unless the caller
    would rather try elsewhere (`retries` false)."""
    return grpc.aio.insecure_channel(
        address, options=(*_OPTIONS, ("grpc.enable_retries", int(retries)))
    )


def call_metadata(token: str) -> tuple[tuple[str, str], ...]:
    """What to send with a call: the caller's token and the running call's correlation id."""
    return (("authorization", f"Bearer {token}"), (CORRELATION_KEY, str(correlation_id())))
