"""The chain of a partition: every event has its hash, every block its head (architecture §3).

What this cannot find: a tail that was cut off together with the head, or a chain that was computed
anew from some block on. Both need a checkpoint that somebody else holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from services.audit.verify.findings import Check, Finding
from shared.log import Block, Head, RecordedEvent, block_head, event_hash, genesis


def check_block(
    previous_head: bytes, block: Block, events: Sequence[RecordedEvent]
) -> Iterator[Finding]:
    """A block against the head before it and the events at its positions.

    An event that contradicts its own hash is named; if all hashes hold and the head does not, the
    block is: then an event was changed together with its hash, or the block itself was.
    """
    wanted = range(block.first_position, block.first_position + block.count)
    if [event.position for event in events] != list(wanted):
        there = {event.position for event in events}
        missing = next((position for position in wanted if position not in there), wanted[0])
        yield _about_block(block, missing, "an event of this block is missing")
        return
    sound = True
    for place, event in enumerate(events):
        for message in _faults(event, events[0], place, block):
            sound = False
            yield Finding(
                Check.CHAIN,
                message,
                event.hand_id or "",
                event.stream,
                event.version,
                event.partition,
                event.position,
            )
    hashes = b"".join(event.hash for event in events)
    head = block_head(
        previous_head, block.partition, block.first_position, block.recorded_at, hashes
    )
    if head != block.head and sound:
        last = wanted[-1]
        yield _about_block(
            block,
            block.first_position,
            f"the block of positions {block.first_position} to {last} contradicts the chain",
        )


def _faults(event: RecordedEvent, first: RecordedEvent, place: int, block: Block) -> Iterator[str]:
    if event_hash(event.stream, event.version, event) != event.hash:
        yield "the event contradicts its own hash"
    if (event.stream, event.version) != (first.stream, first.version + place):
        yield "a block holds one append, this event is not of it"
    if event.recorded_at != block.recorded_at:
        yield "the event was not recorded when its block was"


def _about_block(block: Block, position: int, message: str) -> Finding:
    return Finding(Check.CHAIN, message, partition=block.partition, position=position)


@dataclass(slots=True)
class ChainWalk:
    """A walk over all blocks of a partition, from its first event to its head."""

    partition: str
    position: int = 0
    head: bytes = b""
    recorded_at: datetime | None = None
    versions: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.head = genesis(self.partition)

    def step(self, block: Block, events: Sequence[RecordedEvent]) -> Iterator[Finding]:
        """The next block and the events at its positions."""
        if block.first_position != self.position + 1:
            yield _about_block(
                block,
                self.position + 1,
                f"the next block begins at {block.first_position}, not {self.position + 1}",
            )
        if self.recorded_at is not None and block.recorded_at < self.recorded_at:
            yield _about_block(block, block.first_position, "recorded before the block before it")
        yield from check_block(self.head, block, events)
        for event in events:
            version = self.versions.get(event.stream, 0)
            if event.version != version + 1:
                yield Finding(
                    Check.CHAIN,
                    f"the stream had {version} events before this one",
                    event.hand_id or "",
                    event.stream,
                    event.version,
                    event.partition,
                    event.position,
                )
            self.versions[event.stream] = event.version
        # The chain goes on from what is written, so that one changed block is one finding.
        self.position, self.head = block.last_position, block.head
        self.recorded_at = block.recorded_at

    def end(self, head: Head) -> Iterator[Finding]:
        """The partition's head row, read before the walk began, against where the walk arrived."""
        if (self.position, self.head) != (head.position, head.hash):
            yield Finding(
                Check.CHAIN,
                f"the head says {head.position} events, the chain ends at {self.position}"
                if self.position != head.position
                else "the head's hash is not that of the last block",
                partition=self.partition,
                position=self.position,
            )
