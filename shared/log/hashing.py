"""The hashes of the log, byte by byte as docs/event-log.md lays them down."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import UUID

from shared.log.types import NewEvent, RecordedEvent

_EVENT_DOMAIN = b"croupier.event.v1"
_PARTITION_DOMAIN = b"croupier.partition.v1"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def event_hash(stream: str, version: int, event: NewEvent | RecordedEvent) -> bytes:
    """SHA-256 over domain, length-prefixed envelope and SHA-256 of the payload; 32 bytes."""
    fields = (
        stream.encode(),
        version.to_bytes(8),
        event.type.encode(),
        event.schema_version.to_bytes(4),
        (event.hand_id or "").encode(),
        _bytes_of(event.causation_id),
        _bytes_of(event.correlation_id),
        event.actor.encode(),
        sha256(event.payload).digest(),
    )
    envelope = b"".join([b"%b%b" % (len(field).to_bytes(4), field) for field in fields])
    return sha256(_EVENT_DOMAIN + envelope).digest()


def genesis(partition: str) -> bytes:
    """The head of a partition before its first block; 32 bytes."""
    return sha256(_PARTITION_DOMAIN + _prefixed(partition)).digest()


def block_head(
    previous: bytes,
    partition: str,
    first_position: int,
    recorded_at: datetime,
    event_hashes: bytes,
) -> bytes:
    """The chain's head after a block whose events have `event_hashes` (32 bytes each, joined)."""
    return sha256(
        previous
        + _prefixed(partition)
        + first_position.to_bytes(8)
        + (len(event_hashes) // 32).to_bytes(4)
        + microseconds(recorded_at).to_bytes(8)
        + event_hashes
    ).digest()


def microseconds(moment: datetime) -> int:
    """Whole microseconds since 1970-01-01 UTC, without a float in between."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _prefixed(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(4) + encoded


def _bytes_of(identifier: UUID | None) -> bytes:
    return b"" if identifier is None else identifier.bytes
