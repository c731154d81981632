"""What a superuser can do to the record, from clumsy to thorough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shared.events import decode
from shared.log import Block, RecordedEvent, block_head, event_hash, genesis
from tests.integration.audit.conftest import RealHouse

_COLUMNS = """
    partition, position, stream, version, type, schema_version, payload, hash, hand_id,
    causation_id, correlation_id, actor, recorded_at
"""


async def event_of(real: RealHouse, kind: str, hand_id: str | None = None) -> RecordedEvent:
    """The first event of a type (in a hand)."""
    row = await real.root.fetchrow(
        f"SELECT {_COLUMNS} FROM log.events WHERE type = $1 AND ($2::text IS NULL OR hand_id = $2)"
        " ORDER BY partition, position LIMIT 1",
        kind,
        hand_id,
    )
    assert row is not None, f"no {kind}"
    return RecordedEvent(*row)


def payload_with(event: RecordedEvent, change: Callable[[Any], None]) -> bytes:
    """The event's payload with its message changed."""
    body = decode(event.type, event.payload)
    before = body.SerializeToString()
    change(body)
    assert body.SerializeToString() != before
    changed: bytes = body.SerializeToString(deterministic=True)
    return changed


async def scribble(real: RealHouse, event: RecordedEvent, change: Callable[[Any], None]) -> None:
    """Changes a payload and nothing else."""
    await real.tamper(
        "UPDATE log.events SET payload = $3 WHERE partition = $1 AND position = $2",
        event.partition,
        event.position,
        payload_with(event, change),
    )


async def rewrite(real: RealHouse, event: RecordedEvent, change: Callable[[Any], None]) -> None:
    """Changes a payload and the event's hash with it."""
    payload = payload_with(event, change)
    await real.tamper(
        "UPDATE log.events SET payload = $3, hash = $4 WHERE partition = $1 AND position = $2",
        event.partition,
        event.position,
        payload,
        event_hash(event.stream, event.version, _with_payload(event, payload)),
    )


async def forge(real: RealHouse, event: RecordedEvent, change: Callable[[Any], None]) -> None:
    """Changes a payload, its hash, and computes the whole chain anew: no hash gives it away."""
    await rewrite(real, event, change)
    rows = await real.root.fetch(
        "SELECT partition, first_position, count, append_id, recorded_at, head FROM log.blocks"
        " WHERE partition = $1 ORDER BY first_position",
        event.partition,
    )
    head = genesis(event.partition)
    for block in (Block(*row) for row in rows):
        hashes = await real.root.fetch(
            "SELECT hash FROM log.events WHERE partition = $1 AND position BETWEEN $2 AND $3"
            " ORDER BY position",
            event.partition,
            block.first_position,
            block.last_position,
        )
        joined = b"".join(row["hash"] for row in hashes)
        head = block_head(head, event.partition, block.first_position, block.recorded_at, joined)
        if head != block.head:
            await real.tamper(
                "UPDATE log.blocks SET head = $3 WHERE partition = $1 AND first_position = $2",
                event.partition,
                block.first_position,
                head,
            )
    await real.tamper("UPDATE log.partitions SET head = $2 WHERE name = $1", event.partition, head)


def _with_payload(event: RecordedEvent, payload: bytes) -> RecordedEvent:
    return RecordedEvent(
        event.partition,
        event.position,
        event.stream,
        event.version,
        event.type,
        event.schema_version,
        payload,
        event.hash,
        event.hand_id,
        event.causation_id,
        event.correlation_id,
        event.actor,
        event.recorded_at,
    )
