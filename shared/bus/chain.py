"""Whether a message is what the log's chain says: the bus itself is not believed."""

from __future__ import annotations

from datetime import UTC

from croupier.event.v1 import event_pb2

from shared.log import block_head, envelope_hash

ID_BYTES = 16


def follows(batch: event_pb2.Batch, previous: bytes) -> bool:
    """Whether the events of `batch` lead the chain from `previous` to the head that it states.

    That binds every field of every event. A head that the log has too (`Bookmarks.move`) then says
    that all that led to it is in the log, message by message, just so.
    """
    if not batch.events:
        return False
    recorded_at = batch.events[0].recorded_at
    hashes = []
    try:
        for position, event in enumerate(batch.events, batch.first_position):
            if (
                event.position != position
                or event.partition != batch.partition
                or event.recorded_at != recorded_at
                or event.hash != _hash_of(event)
            ):
                return False
            hashes.append(event.hash)
        head = block_head(
            previous,
            batch.partition,
            batch.first_position,
            recorded_at.ToDatetime(UTC),
            b"".join(hashes),
        )
    except (ValueError, OverflowError):
        return False  # no event of the log has such an id, number or time
    return head == batch.head


def _hash_of(event: event_pb2.RecordedEvent) -> bytes:
    return envelope_hash(
        event.stream,
        event.version,
        event.type,
        event.schema_version,
        event.hand_id,
        _id_bytes(event.causation_id),
        _id_bytes(event.correlation_id),
        event.actor,
        event.payload,
    )


def _id_bytes(text: str) -> bytes:
    """As `UUID(text).bytes`, but quicker; `ValueError` wherever that has one."""
    if not text:
        return b""
    digits = text.replace("-", "")
    found = bytes.fromhex(digits)
    if len(digits) != 2 * ID_BYTES or len(found) != ID_BYTES:
        raise ValueError("no id")
    return found
