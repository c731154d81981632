"""Checks that a partition is what it says of itself (docs/event-log.md, "The chain")."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from shared.log.hashing import block_head, event_hash, genesis
from shared.log.types import MAX_APPEND_EVENTS, MAX_READ_EVENTS, Block, EventLog, RecordedEvent

MAX_FAULTS = 100
_PAGE_BLOCKS = 200


class FaultKind(Enum):
    """What a part of the chain contradicts."""

    EVENT = "event"
    """The event at this position is not the one that its hash was made of."""
    MISSING = "missing"
    """There is no event at this position."""
    BLOCK = "block"
    """The block that begins at this position does not follow from the one before and its events."""
    HEAD = "head"
    """The partition's head, at this position, is not where its blocks lead."""


@dataclass(frozen=True, slots=True)
class ChainFault:
    """One contradiction."""

    kind: FaultKind
    position: int


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What was looked at, whole blocks, and what is wrong with it (at most `MAX_FAULTS`: then it is
    `broken_off`).

    `head` is the chain's hash at `last_position`. A chain that was cut short or computed anew looks
    like any other, but for a checkpoint that somebody holds (docs/audit.md).
    """

    partition: str
    first_position: int
    last_position: int
    head: bytes
    faults: tuple[ChainFault, ...]
    broken_off: bool = False

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


async def verify_chain(
    log: EventLog,
    partition: str,
    from_position: int = 1,
    to_position: int | None = None,
    tell_hashes: Callable[[Sequence[bytes]], None] = lambda hashes: None,
) -> ChainReport:
    """Checks the blocks that hold `from_position` to `to_position` (None: to the head).

    What lies before is taken as it is. Each fault is named once, as closely as can be: an event
    that contradicts its own hash by its position, else the block by its first. `tell_hashes` gets
    the hashes of each block's events, computed from the events, in order.
    """
    head = (await log.heads()).get(partition)
    if head is None:
        raise ValueError(f"there is no partition {partition!r}")
    last_wanted = head.position if to_position is None else min(to_position, head.position)
    previous, after = await _before(log, partition, from_position)
    first_position = after + 1
    faults: list[ChainFault] = []
    broken_off = False
    async for block, events in _blocks(log, partition, after, last_wanted):
        hashes = [_hash_of(event) for event in events]
        tell_hashes(hashes)
        faults += _faults_of(block, events, hashes, previous, after)
        previous, after = block.head, block.last_position
        if len(faults) >= MAX_FAULTS:
            broken_off = after < last_wanted
            break
    else:
        if to_position is None and (after, previous) != (head.position, head.hash):
            faults.append(ChainFault(FaultKind.HEAD, head.position))
        elif after < last_wanted:
            faults.append(ChainFault(FaultKind.BLOCK, after + 1))
    found = tuple(faults[:MAX_FAULTS])
    return ChainReport(partition, first_position, after, previous, found, broken_off)


async def _before(log: EventLog, partition: str, from_position: int) -> tuple[bytes, int]:
    """The head and last position of the block before the one that holds `from_position`."""
    if from_position <= 1:
        return genesis(partition), 0
    start = max(0, from_position - 1 - 2 * MAX_APPEND_EVENTS)
    blocks = await log.read_blocks(partition, start, 2 * MAX_APPEND_EVENTS + 1)
    earlier = [block for block in blocks if block.last_position < from_position]
    if not earlier:
        return genesis(partition), 0
    return earlier[-1].head, earlier[-1].last_position


async def _blocks(
    log: EventLog, partition: str, after: int, last_wanted: int
) -> AsyncIterator[tuple[Block, list[RecordedEvent]]]:
    """The blocks behind `after` that begin at `last_wanted` or before, each with its events."""
    while after < last_wanted:
        blocks = await log.read_blocks(partition, after, _PAGE_BLOCKS)
        if not blocks or blocks[0].first_position > last_wanted:
            return
        first = blocks[0].first_position
        page = [
            block
            for block in blocks
            if block.first_position <= last_wanted and block.last_position - first < MAX_READ_EVENTS
        ]
        found = await log.read_partition(partition, first - 1, page[-1].last_position - first + 1)
        by_position = {event.position: event for event in found}
        for block in page:
            wanted = range(block.first_position, block.last_position + 1)
            yield block, list(filter(None, map(by_position.get, wanted)))
        after = page[-1].last_position


def _faults_of(
    block: Block,
    events: Sequence[RecordedEvent],
    hashes: Sequence[bytes],
    previous: bytes,
    after: int,
) -> list[ChainFault]:
    faults = [
        ChainFault(FaultKind.EVENT, event.position)
        for event, computed in zip(events, hashes, strict=True)
        if event.hash != computed or event.recorded_at != block.recorded_at
    ]
    if len(events) < block.count:
        there = {event.position for event in events}
        wanted = range(block.first_position, block.last_position + 1)
        faults += [ChainFault(FaultKind.MISSING, at) for at in wanted if at not in there]
        faults.sort(key=lambda fault: fault.position)
    if faults:
        return faults
    if block.first_position != after + 1 or _head_of(block, events, previous) != block.head:
        return [ChainFault(FaultKind.BLOCK, block.first_position)]
    return []


def _hash_of(event: RecordedEvent) -> bytes:
    """Empty where the event has a number that no event has: somebody has taken the checks away."""
    try:
        return event_hash(event.stream, event.version, event)
    except OverflowError:
        return b""


def _head_of(block: Block, events: Sequence[RecordedEvent], previous: bytes) -> bytes | None:
    """None where the block says a time before 1970."""
    hashes = b"".join(event.hash for event in events)
    try:
        return block_head(
            previous, block.partition, block.first_position, block.recorded_at, hashes
        )
    except OverflowError:
        return None
