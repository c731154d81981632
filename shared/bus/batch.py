"""What a message on the bus says: one append of one stream."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from uuid import UUID

from croupier.event.v1 import event_pb2

from shared.log import RecordedEvent
from shared.log.hashing import microseconds

STREAM = "CROUPIER"
SUBJECTS = "croupier.>"

PARTITION_HEADER = "Croupier-Partition"
FIRST_HEADER = "Croupier-First"
LAST_HEADER = "Croupier-Last"
TYPES_HEADER = "Croupier-Types"
_ID_HEADER = "Nats-Msg-Id"


@dataclass(frozen=True, slots=True)
class Batch:
    """One append. `head` is the chain's head after it, 32 bytes; `events` has one at least."""

    partition: str
    first_position: int
    head: bytes
    events: tuple[RecordedEvent, ...]

    @property
    def last_position(self) -> int:
        """The position of its last event."""
        return self.first_position + len(self.events) - 1


def subject_of(batch: Batch) -> str:
    """croupier.<category>.<number>.<stream id>: "croupier.table.0.7" for stream "table/7"."""
    stream_id = batch.events[0].stream.partition("/")[2]
    return f"croupier.{batch.partition}.{stream_id}"


def subjects_of(partition: str) -> str:
    """The subjects of all streams of a partition."""
    return f"croupier.{partition}.*"


def headers_of(batch: Batch) -> dict[str, str]:
    """What can be read without the payload; the id lets JetStream drop a repeated message."""
    types = dict.fromkeys(event.type for event in batch.events)
    return {
        _ID_HEADER: f"{batch.partition}:{batch.first_position}:{batch.head.hex()}",
        PARTITION_HEADER: batch.partition,
        FIRST_HEADER: str(batch.first_position),
        LAST_HEADER: str(batch.last_position),
        TYPES_HEADER: ",".join(types),
    }


def encode(batch: Batch) -> bytes:
    """`croupier.event.v1.Batch` bytes."""
    message = event_pb2.Batch(
        partition=batch.partition, first_position=batch.first_position, head=batch.head
    )
    for event in batch.events:
        write(event, message.events.add())
    return message.SerializeToString()


def decode(payload: bytes) -> Batch:
    """The opposite of `encode`. Raises `google.protobuf.message.DecodeError` or `ValueError`."""
    message = event_pb2.Batch.FromString(payload)
    return Batch(
        message.partition,
        message.first_position,
        message.head,
        tuple(from_message(event) for event in message.events),
    )


def to_message(event: RecordedEvent) -> event_pb2.RecordedEvent:
    """An event as `croupier.event.v1.RecordedEvent`."""
    message = event_pb2.RecordedEvent()
    write(event, message)
    return message


def write(event: RecordedEvent, into: event_pb2.RecordedEvent) -> None:
    """The same into a message that is there already, and empty."""
    into.partition = event.partition
    into.position = event.position
    into.stream = event.stream
    into.version = event.version
    into.type = event.type
    into.schema_version = event.schema_version
    into.payload = event.payload
    into.hash = event.hash
    if event.hand_id is not None:
        into.hand_id = event.hand_id
    if event.causation_id is not None:
        into.causation_id = str(event.causation_id)
    if event.correlation_id is not None:
        into.correlation_id = str(event.correlation_id)
    into.actor = event.actor
    seconds, rest = divmod(microseconds(event.recorded_at), 1_000_000)
    into.recorded_at.seconds = seconds
    into.recorded_at.nanos = rest * 1_000


def from_message(message: event_pb2.RecordedEvent) -> RecordedEvent:
    """The opposite of `to_message`. Raises `ValueError` if an id is no UUID."""
    return RecordedEvent(
        partition=message.partition,
        position=message.position,
        stream=message.stream,
        version=message.version,
        type=message.type,
        schema_version=message.schema_version,
        payload=message.payload,
        hash=message.hash,
        hand_id=message.hand_id or None,
        causation_id=UUID(message.causation_id) if message.causation_id else None,
        correlation_id=UUID(message.correlation_id) if message.correlation_id else None,
        actor=message.actor,
        recorded_at=message.recorded_at.ToDatetime(UTC),
    )
