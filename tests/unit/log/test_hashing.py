"""The hashes of the log, against bytes put together by hand from docs/event-log.md."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import UUID

import pytest

from shared.log import NewEvent, block_head, event_hash, genesis

CAUSE = UUID("00112233-4455-6677-8899-aabbccddeeff")
EVENT = NewEvent("BetPlaced", b"\x08\x01", "player:7", 2, "h1", CAUSE, None)


def field(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content


def test_event_hash_is_made_of_the_documented_bytes() -> None:
    preimage = (
        b"croupier.event.v1"
        + field(b"table/t1")
        + field(struct.pack(">Q", 9))
        + field(b"BetPlaced")
        + field(struct.pack(">I", 2))
        + field(b"h1")
        + field(CAUSE.bytes)
        + field(b"")
        + field(b"player:7")
        + field(sha256(b"\x08\x01").digest())
    )
    assert event_hash("table/t1", 9, EVENT) == sha256(preimage).digest()


def test_event_hash_never_changes() -> None:
    """What is in a log was hashed by the version of the day: this value is for ever."""
    assert event_hash("table/t1", 9, EVENT).hex() == (
        "fba6bd98e29ac3c807f2bb52e786aaa73c2bda4eb6d241d1bde6330b6e1d5e4d"
    )


@pytest.mark.parametrize(
    "other",
    [
        NewEvent("BetPlaced", b"\x08\x02", "player:7", 2, "h1", CAUSE, None),
        NewEvent("BetPlace", b"\x08\x01", "player:7", 2, "h1", CAUSE, None),
        NewEvent("BetPlaced", b"\x08\x01", "player:8", 2, "h1", CAUSE, None),
        NewEvent("BetPlaced", b"\x08\x01", "player:7", 3, "h1", CAUSE, None),
        NewEvent("BetPlaced", b"\x08\x01", "player:7", 2, "h2", CAUSE, None),
        NewEvent("BetPlaced", b"\x08\x01", "player:7", 2, "h1", None, None),
        NewEvent("BetPlaced", b"\x08\x01", "player:7", 2, "h1", None, CAUSE),
    ],
    ids=["payload", "type", "actor", "schema version", "hand", "no cause", "correlation for cause"],
)
def test_event_hash_covers_every_field(other: NewEvent) -> None:
    assert event_hash("table/t1", 9, other) != event_hash("table/t1", 9, EVENT)


def test_event_hash_covers_stream_and_version() -> None:
    hashes = {
        event_hash(stream, version, EVENT)
        for stream in ("table/t1", "table/t2", "wallet/t1")
        for version in (9, 10)
    }
    assert len(hashes) == 6


def test_block_head_is_made_of_the_documented_bytes() -> None:
    recorded_at = datetime(2026, 11, 29, 12, 0, 0, 123457, tzinfo=UTC)
    since_1970_us = (recorded_at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    hashes = bytes(range(32)) + bytes(range(32, 64))
    preimage = (
        bytes(32)
        + field(b"table.0")
        + struct.pack(">Q", 41)
        + struct.pack(">I", 2)
        + struct.pack(">Q", since_1970_us)
        + hashes
    )
    assert block_head(bytes(32), "table.0", 41, recorded_at, hashes) == sha256(preimage).digest()


def test_partitions_begin_with_heads_of_their_own() -> None:
    assert genesis("table.0") == sha256(b"croupier.partition.v1" + field(b"table.0")).digest()
    assert genesis("table.0") != genesis("table.1")
