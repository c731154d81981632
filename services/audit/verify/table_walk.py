"""One walk over a table's stream, all checks of its hands on the way: each event is read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from services.audit.verify.cards import CardsWalk
from services.audit.verify.clocks import check_clock
from services.audit.verify.findings import Check, Finding, Read
from services.audit.verify.postings import Expected, expected_transfer
from services.audit.verify.rules import LostError, check_rules
from services.audit.verify.shoe import ShoeRecord
from shared.events import UnreadableEventError, decode
from shared.log import RecordedEvent
from shared.log.hashing import microseconds
from shared.table import events as table
from shared.table.codec import INPUT_TYPES, TableCodec
from shared.table.next_step import next_step
from shared.table.state import TableState


@dataclass(frozen=True, slots=True)
class MoneyAsked:
    """A money event of the table, and the transfer that must answer it."""

    read: Read
    expected: Expected
    currency: str


@dataclass(slots=True)
class TableWalk:
    """A walk that is given the events of one table in order, from `state` on.

    `shoes` is filled by the caller, who reads each shoe that `shoes_in` names after the table's
    events. `money` collects what the wallet must have answered; the caller takes it away.
    """

    codec: TableCodec
    shoes: Mapping[str, ShoeRecord]
    state: TableState = field(default_factory=TableState)
    cards: CardsWalk = field(init=False)
    money: list[MoneyAsked] = field(default_factory=list)
    hands: int = 0
    lost: bool = False
    _group: list[Read] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cards = CardsWalk(self.shoes)

    def step(self, event: RecordedEvent) -> Iterator[Finding]:
        """The next event. What is wrong with an append is told when the next one begins."""
        if self.lost:
            return
        if event.type in INPUT_TYPES:
            yield from self._whole_group()
        try:
            body = self.codec.decode(event.type, event.payload, event.hand_id or "")
        except Exception as fault:
            yield Read(event, None).finding(Check.RULES, f"cannot be read: {type(fault).__name__}")
            yield from self._lose(event, "it cannot be followed past an event that is unreadable")
        else:
            self._group.append(Read(event, body))

    def end(self) -> Iterator[Finding]:
        """There are no more events."""
        last = self._group[-1] if self._group else None
        yield from self._whole_group()
        if last is not None and not self.lost:
            yield from self.cards.end(last)

    def _whole_group(self) -> Iterator[Finding]:
        group, self._group = self._group, []
        if not group or self.lost:
            return
        first = group[0]
        yield from check_clock(self.state, first, microseconds(first.event.recorded_at))
        try:
            self.state, findings = check_rules(self.state, group)
        except LostError as lost:
            yield first.finding(Check.RULES, str(lost))
            yield from self._lose(first.event, "it cannot be followed past this event")
            return
        yield from findings
        yield from self.cards.step(group, next_step(self.state).errands)
        for read in group:
            self.hands += isinstance(read.body, table.HandSettled | table.HandVoided)
            expected = expected_transfer(read)
            if expected is not None:
                self.money.append(MoneyAsked(read, expected, self.state.table.currency))

    def _lose(self, event: RecordedEvent, why: str) -> Iterator[Finding]:
        self.lost = True
        yield Finding(
            Check.RULES,
            f"the rest of this table is unchecked: {why}",
            stream=event.stream,
            version=event.version,
        )


def shoes_in(events: Iterable[RecordedEvent]) -> Iterator[str]:
    """The shoes that begin in these events of a table."""
    for event in events:
        if event.type == "ShoeRequested":
            with suppress(UnreadableEventError):  # The walk will say so.
                yield decode(event.type, event.payload).shoe_id
