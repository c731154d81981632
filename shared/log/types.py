"""What is said to the event log, and what it says back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import NamedTuple, Protocol
from uuid import UUID

from shared.errors import CroupierError
from shared.ids import event_id
from shared.quick import quick

# One append travels as one message on the bus, which carries up to 1 MiB in a standard set-up.
MAX_APPEND_EVENTS = 1_000
MAX_APPEND_BYTES = 512 * 1024
MAX_READ_EVENTS = 10_000

_STREAM = re.compile(r"[a-z]{1,16}/[A-Za-z0-9_-]{1,64}")


class LogUnavailableError(CroupierError):
    """The log could not be reached, or did not answer in time. The appends may be in: repeat them
    with the same ids to learn it."""

    def __init__(self, message: str) -> None:
        super().__init__("LOG_UNAVAILABLE", message)


class LogOverloadedError(CroupierError):
    """Too many appends wait already. This one is not in."""

    def __init__(self, message: str) -> None:
        super().__init__("OVERLOADED", message)


class LogDivergedError(CroupierError):
    """The log says something else at a position than it once said: it lost a tail and went on."""

    def __init__(self, message: str) -> None:
        super().__init__("LOG_DIVERGED", message)


@quick
@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event about to be appended.

    `type` is the short name of a message in croupier.<category>.v1, `payload` its bytes. `hand_id`
    is None outside a hand. `causation_id` is the `event_id` of the event that led to this one.
    """

    type: str
    payload: bytes
    actor: str
    schema_version: int = 1
    hand_id: str | None = None
    causation_id: UUID | None = None
    correlation_id: UUID | None = None


@quick
@dataclass(frozen=True, slots=True)
class CommandKey:
    """A client's command: its id is unique per caller and stream; `body_hash` is 32 bytes."""

    caller: str
    command_id: UUID
    body_hash: bytes


@dataclass(frozen=True, slots=True)
class Append:
    """Events for one stream, all or none. `id` stays the same when the append is repeated.

    `expected_version` is how many events the stream has; 0 begins a new one.
    """

    id: UUID
    stream: str
    expected_version: int
    events: tuple[NewEvent, ...]
    command: CommandKey | None = None

    def __post_init__(self) -> None:
        if not _STREAM.fullmatch(self.stream):
            raise ValueError(f"no stream can be called {self.stream!r}")
        if self.expected_version < 0:
            raise ValueError("a stream cannot have fewer than 0 events")
        if not 1 <= len(self.events) <= MAX_APPEND_EVENTS:
            raise ValueError(f"an append has 1 to {MAX_APPEND_EVENTS} events")
        if self.size_bytes > MAX_APPEND_BYTES:
            raise ValueError(f"an append has at most {MAX_APPEND_BYTES} bytes of payload")
        if self.command is not None and len(self.command.body_hash) != 32:
            raise ValueError("a body hash has 32 bytes")

    @property
    def size_bytes(self) -> int:
        """Bytes of its payloads."""
        return sum(len(event.payload) for event in self.events)


class Outcome(Enum):
    """What became of an append."""

    OK = "ok"
    CONFLICT = "conflict"
    """The stream has another number of events than expected; nothing of this append is in."""
    SAME = "same"
    """This append, or another one with this command, is in already; the answer is that one's."""
    BODY_DIFFERS = "body_differs"
    """The command id is in with another body; the answer is that of the one that is in."""


@quick
@dataclass(frozen=True, slots=True)
class Appended:
    """The answer to an append. Unless it is a CONFLICT it says where the events are: those of the
    first time, when that was earlier. `partition` is "" for a CONFLICT on a stream that has no
    events; a CONFLICT has `last_version` = the events that the stream really has, and `recorded_at`
    None.
    """

    outcome: Outcome
    partition: str
    first_position: int
    first_version: int
    last_version: int
    recorded_at: datetime | None


class RecordedEvent(NamedTuple):
    """An event as the log holds it (docs/event-log.md). A tuple: every row that is read becomes
    one, and a dataclass takes eight times as long to make."""

    partition: str
    position: int
    stream: str
    version: int
    type: str
    schema_version: int
    payload: bytes
    hash: bytes
    hand_id: str | None
    causation_id: UUID | None
    correlation_id: UUID | None
    actor: str
    recorded_at: datetime

    @property
    def id(self) -> UUID:
        """What another event names as its `causation_id`."""
        return event_id(self.stream, self.version)


@dataclass(frozen=True, slots=True)
class Head:
    """How far a partition has come: 0 and the genesis hash before its first event."""

    position: int
    hash: bytes
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Block:
    """One append in its partition's chain; `head` is the chain's hash after it."""

    partition: str
    first_position: int
    count: int
    append_id: UUID
    recorded_at: datetime
    head: bytes

    @property
    def last_position(self) -> int:
        """The position of its last event."""
        return self.first_position + self.count - 1


@dataclass(frozen=True, slots=True)
class CommandRecord:
    """A command that was carried out: its body's hash and the versions of its events."""

    body_hash: bytes
    first_version: int
    last_version: int


class EventLog(Protocol):
    """The log as its users see it. Every limit is at most `MAX_READ_EVENTS`.

    All raise `LogUnavailableError` when the log cannot be reached.
    """

    async def append(self, appends: Sequence[Append]) -> list[Appended]:
        """Appends, each for itself: answers in the order of `appends`, which name each stream once.

        An append of a stream waits for the one that is running on that stream.
        Raises `LogOverloadedError` when too many wait.
        """

    async def read_stream(
        self, stream: str, after_version: int = 0, limit: int = 1_000
    ) -> list[RecordedEvent]:
        """The events of a stream behind `after_version`, in order."""

    async def read_partition(
        self, partition: str, after_position: int, limit: int = 1_000
    ) -> list[RecordedEvent]:
        """The events of a partition behind `after_position`, in order, without gaps."""

    async def read_blocks(
        self, partition: str, after_position: int, limit: int = 1_000
    ) -> list[Block]:
        """The blocks that begin behind `after_position`, in order."""

    async def read_hand(self, hand_id: str) -> list[RecordedEvent]:
        """All events of a hand, of every stream, by time; within a partition by position."""

    async def find_by_causation(self, causes: Iterable[UUID]) -> list[RecordedEvent]:
        """The events that name one of `causes` as their causation."""

    async def heads(self) -> dict[str, Head]:
        """The head of every partition, by name."""

    async def find_command(
        self, stream: str, caller: str, command_id: UUID
    ) -> CommandRecord | None:
        """What the log remembers of a command."""


def category_of(stream: str) -> str:
    """The category of a stream or partition: "table" of "table/7" and of "table.0"."""
    return re.split(r"[/.]", stream, maxsplit=1)[0]
