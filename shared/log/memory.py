"""The event log in memory, for tests and for running the rules again without a database."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from uuid import UUID

from shared.log.hashing import block_head, event_hash, genesis
from shared.log.postgres import OnCommitted
from shared.log.statements import check_streams_once
from shared.log.types import (
    MAX_READ_EVENTS,
    Append,
    Appended,
    Block,
    CommandRecord,
    Head,
    Outcome,
    RecordedEvent,
    category_of,
)

_ONE_EACH = {"table": 1, "shuffle": 1, "wallet": 1, "audit": 1}


def _now() -> datetime:
    return datetime.now(UTC)


class MemoryLog:
    """An `EventLog` that forgets. It answers, hashes and chains as the one in Postgres does.

    `partitions` says how many each category has; `now` is the clock behind `recorded_at`.
    """

    def __init__(
        self,
        partitions: Mapping[str, int] = _ONE_EACH,
        now: Callable[[], datetime] = _now,
        on_committed: OnCommitted | None = None,
    ) -> None:
        self._now = now
        self._on_committed = on_committed
        self._names = {
            category: [f"{category}.{number}" for number in range(count)]
            for category, count in partitions.items()
        }
        started = now()
        self._heads = {
            name: Head(0, genesis(name), started)
            for names in self._names.values()
            for name in names
        }
        self._events: dict[str, list[RecordedEvent]] = {name: [] for name in self._heads}
        self._blocks: dict[str, list[Block]] = {name: [] for name in self._heads}
        self._streams: dict[str, list[RecordedEvent]] = {}
        self._by_cause: dict[UUID, list[RecordedEvent]] = {}
        self._appends: dict[UUID, Appended] = {}
        self._commands: dict[tuple[str, str, UUID], CommandRecord] = {}

    async def append(self, appends: Sequence[Append]) -> list[Appended]:
        """See `EventLog.append`."""
        # Whoever waits for a log must be ready for others to run meanwhile.
        await asyncio.sleep(0)
        return self.append_now(appends)

    def append_now(self, appends: Sequence[Append]) -> list[Appended]:
        """The same in one step with whatever else the caller does: what `append_on` is to the log
        in Postgres."""
        check_streams_once(appends)
        for append in appends:
            if category_of(append.stream) not in self._names:
                raise ValueError(f"no partition for stream {append.stream}")
        answers = [self._append(append) for append in appends]
        moved = frozenset(each.partition for each in answers if each.outcome is Outcome.OK)
        if moved and self._on_committed is not None:
            self._on_committed(moved)
        return answers

    def answer_of(self, append: Append) -> Appended | None:
        """What this append would be answered without being written; None: it would go in."""
        known = self._appends.get(append.id)
        if known is not None:
            return replace(known, outcome=Outcome.SAME)
        stream = self._streams.get(append.stream, [])
        command = append.command
        if command is not None:
            record = self._commands.get((append.stream, command.caller, command.command_id))
            if record is not None:
                first = stream[record.first_version - 1]
                return Appended(
                    Outcome.SAME if record.body_hash == command.body_hash else Outcome.BODY_DIFFERS,
                    first.partition,
                    first.position,
                    record.first_version,
                    record.last_version,
                    first.recorded_at,
                )
        if len(stream) != append.expected_version:
            partition = stream[0].partition if stream else ""
            return Appended(Outcome.CONFLICT, partition, 0, 0, len(stream), None)
        return None

    def _append(self, append: Append) -> Appended:
        known = self.answer_of(append)
        if known is not None:
            return known
        answer = self._write(append)
        self._appends[append.id] = answer
        command = append.command
        if command is not None:
            self._commands[append.stream, command.caller, command.command_id] = CommandRecord(
                command.body_hash, answer.first_version, answer.last_version
            )
        return answer

    def _write(self, append: Append) -> Appended:
        stream = self._streams.setdefault(append.stream, [])
        partition = stream[0].partition if stream else self._partition_of(append.stream)
        head = self._heads[partition]
        recorded_at = max(self._now(), head.recorded_at)
        recorded = [
            RecordedEvent(
                partition=partition,
                position=head.position + number,
                stream=append.stream,
                version=append.expected_version + number,
                type=event.type,
                schema_version=event.schema_version,
                payload=event.payload,
                hash=event_hash(append.stream, append.expected_version + number, event),
                hand_id=event.hand_id,
                causation_id=event.causation_id,
                correlation_id=event.correlation_id,
                actor=event.actor,
                recorded_at=recorded_at,
            )
            for number, event in enumerate(append.events, 1)
        ]
        hashes = b"".join(event.hash for event in recorded)
        block = Block(
            partition,
            head.position + 1,
            len(recorded),
            append.id,
            recorded_at,
            block_head(head.hash, partition, head.position + 1, recorded_at, hashes),
        )
        stream += recorded
        self._events[partition] += recorded
        for each in recorded:
            if each.causation_id is not None:
                self._by_cause.setdefault(each.causation_id, []).append(each)
        self._blocks[partition].append(block)
        self._heads[partition] = Head(block.last_position, block.head, recorded_at)
        return Appended(
            Outcome.OK,
            partition,
            block.first_position,
            append.expected_version + 1,
            append.expected_version + len(recorded),
            recorded_at,
        )

    def _partition_of(self, stream: str) -> str:
        names = self._names[category_of(stream)]
        return names[int.from_bytes(sha256(stream.encode()).digest()[:4]) % len(names)]

    async def read_stream(
        self, stream: str, after_version: int = 0, limit: int = 1_000
    ) -> list[RecordedEvent]:
        """See `EventLog.read_stream`."""
        return self._streams.get(stream, [])[after_version : after_version + limit]

    async def read_partition(
        self, partition: str, after_position: int, limit: int = 1_000
    ) -> list[RecordedEvent]:
        """See `EventLog.read_partition`."""
        return self._events.get(partition, [])[after_position : after_position + limit]

    async def read_blocks(
        self, partition: str, after_position: int, limit: int = 1_000
    ) -> list[Block]:
        """See `EventLog.read_blocks`."""
        blocks = self._blocks.get(partition, [])
        first = bisect_right(blocks, after_position, key=lambda block: block.first_position)
        return blocks[first : first + limit]

    async def read_hand(self, hand_id: str) -> list[RecordedEvent]:
        """See `EventLog.read_hand`."""
        found = [event for event in self._all() if event.hand_id == hand_id]
        found.sort(key=lambda event: (event.recorded_at, event.partition, event.position))
        return found[:MAX_READ_EVENTS]

    async def find_by_causation(self, causes: Iterable[UUID]) -> list[RecordedEvent]:
        """See `EventLog.find_by_causation`."""
        wanted = set(causes)
        found = [event for cause in wanted for event in self._by_cause.get(cause, ())]
        found.sort(key=lambda event: (event.partition, event.position))
        return found[:MAX_READ_EVENTS]

    async def heads(self) -> dict[str, Head]:
        """See `EventLog.heads`."""
        return dict(sorted(self._heads.items()))

    async def find_command(
        self, stream: str, caller: str, command_id: UUID
    ) -> CommandRecord | None:
        """See `EventLog.find_command`."""
        return self._commands.get((stream, caller, command_id))

    def _all(self) -> Iterable[RecordedEvent]:
        return (event for events in self._events.values() for event in events)
