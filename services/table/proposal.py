"""An input on its way to a table, and the append that it becomes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from shared.log import Append, CommandKey, NewEvent, event_id
from shared.table import events as e
from shared.table.codec import TableCodec
from shared.table.envelope import hand_ids
from shared.table.state import TableState

MakeFact = Callable[[int], e.Input]
"""Gives the proposed input for the time (microseconds) at which it reached the table."""


def now_us() -> int:
    """The node's time, microseconds since 1970."""
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class Answer:
    """Where the events of a command are in the table's stream."""

    first_version: int
    version: int


@dataclass(slots=True)
class Proposal:
    """An input on its way to the table. `command` is None for the house's own. `arrived` is when
    it reached the owner: that counts, not when its turn comes (architecture, 5, clocks)."""

    make: MakeFact
    actor: str
    correlation: UUID
    command: CommandKey | None = None
    causation: UUID | None = None
    arrived: int = field(default_factory=now_us)
    done: asyncio.Future[Answer] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def succeed(self, answer: Answer) -> None:
        """Tells whoever proposed it."""
        if not self.done.done():
            self.done.set_result(answer)

    def fail(self, why: Exception) -> None:
        """Tells whoever proposed it."""
        if not self.done.done():
            self.done.set_exception(why)
            # Looked at: whoever proposed it may have given up meanwhile.
            self.done.exception()


def as_append(
    codec: TableCodec,
    stream: str,
    before: TableState,
    events: Sequence[e.Event],
    proposal: Proposal,
) -> tuple[Append, list[str]]:
    """One append with what `decide` made of the proposal, and the hand id of each event."""
    ids = hand_ids(before, events)
    cause = event_id(stream, before.version + 1) if len(events) > 1 else None
    envelopes = tuple(
        NewEvent(
            type=type(event).__name__,
            payload=codec.encode(event, hand_id),
            actor=proposal.actor,
            hand_id=hand_id or None,
            causation_id=proposal.causation if number == 0 else cause,
            correlation_id=proposal.correlation,
        )
        for number, (event, hand_id) in enumerate(zip(events, ids, strict=True))
    )
    return Append(uuid4(), stream, before.version, envelopes, proposal.command), ids
