"""What a check looks at and what it says when something is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from croupier.audit.v1 import audit_pb2

from shared.events import decode
from shared.log import RecordedEvent
from shared.quick import quick


class Check(IntEnum):
    """The checks by their numbers in audit.proto."""

    RULES = audit_pb2.CHECK_RULES
    CARDS_DUE = audit_pb2.CHECK_CARDS_DUE
    PROOFS = audit_pb2.CHECK_PROOFS
    SHOE = audit_pb2.CHECK_SHOE
    CHAIN = audit_pb2.CHECK_CHAIN
    POSTINGS = audit_pb2.CHECK_POSTINGS
    CLOCKS = audit_pb2.CHECK_CLOCKS
    LEDGER = audit_pb2.CHECK_LEDGER
    CHECKPOINT = audit_pb2.CHECK_CHECKPOINT


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not hold: which check found it, where, and in words.

    `hand_id`, `stream` and `partition` are empty, `version` and `position` 0, where they do not
    apply. No finding repeats a card that not everybody has seen.
    """

    check: Check
    message: str
    hand_id: str = ""
    stream: str = ""
    version: int = 0
    partition: str = ""
    position: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Read:
    """An event of the log with its decoded payload."""

    event: RecordedEvent
    body: Any

    def finding(self, check: Check, message: str) -> Finding:
        """A finding about this event."""
        event = self.event
        return Finding(
            check,
            message,
            event.hand_id or "",
            event.stream,
            event.version,
            event.partition,
            event.position,
        )


def read(event: RecordedEvent) -> Read:
    """Decodes. Raises `UnknownEventError` or `UnreadableEventError`."""
    return Read(event, decode(event.type, event.payload))
