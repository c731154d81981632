"""The hashes of the log, byte by byte as docs/event-log.md lays them down."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from uuid import UUID

from shared.log.types import NewEvent, RecordedEvent

_EVENT_DOMAIN = b"croupier.event.v1"
_PARTITION_DOMAIN = b"croupier.partition.v1"
_FOUR, _EIGHT, _THIRTY_TWO = [length.to_bytes(4) for length in (4, 8, 32)]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def event_hash(stream: str, version: int, event: NewEvent | RecordedEvent) -> bytes:
    """SHA-256 over domain, length-prefixed envelope and SHA-256 of the payload; 32 bytes."""
    return envelope_hash(
        stream,
        version,
        event.type,
        event.schema_version,
        event.hand_id or "",
        _bytes_of(event.causation_id),
        _bytes_of(event.correlation_id),
        event.actor,
        event.payload,
    )


def envelope_hash(
    stream: str,
    version: int,
    type_name: str,
    schema_version: int,
    hand_id: str,
    causation_id: bytes,
    correlation_id: bytes,
    actor: str,
    payload: bytes,
) -> bytes:
    """The same of an event in parts: ids as 16 bytes, what it does not have empty.

    `OverflowError` for numbers that no event has.
    """
    parts = (
        _EVENT_DOMAIN,
        _prefixed(stream),
        _EIGHT,
        version.to_bytes(8),
        _prefixed(type_name),
        _FOUR,
        schema_version.to_bytes(4),
        _prefixed(hand_id),
        len(causation_id).to_bytes(4),
        causation_id,
        len(correlation_id).to_bytes(4),
        correlation_id,
        _prefixed(actor),
        _THIRTY_TWO,
        sha256(payload).digest(),
    )
    return sha256(b"".join(parts)).digest()


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
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


# Streams, types and actors come again with every event.
@lru_cache(maxsize=4096)
def _prefixed(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(4) + encoded


def _bytes_of(identifier: UUID | None) -> bytes:
    return b"" if identifier is None else identifier.bytes
