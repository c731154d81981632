"""One walk over a table's stream, all checks of its hands on the way: each event is read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from services.audit.verify.cards import CardsWalk
from services.audit.verify.clocks import check_clock
from services.audit.verify.findings import Check, Finding, Read
from services.audit.verify.postings import MoneyAsked, expected_transfer
from services.audit.verify.rules import LostError, check_rules
from services.audit.verify.shoe import ShoeRecord
from shared.events import UnreadableEventError, decode
from shared.log import RecordedEvent
from shared.log.hashing import microseconds
from shared.table import events as table
from shared.table.codec import INPUT_TYPES, TableCodec
from shared.table.evolve import evolve
from shared.table.next_step import errands_of
from shared.table.state import TableState


@dataclass(slots=True)
class TableWalk:
    """A walk that is given the events of one table in order, from `state` on; with a `hand_id`
    only to check that hand.

    `shoes` is filled by the caller, who reads each shoe that `shoes_in` names after the table's
    events. `money` collects what the wallet must have answered; the caller takes it away.
    `at_mark` is the table as it was at position `mark` of its partition.
    """

    codec: TableCodec
    shoes: Mapping[str, ShoeRecord]
    state: TableState = field(default_factory=TableState)
    hand_id: str = ""
    cards: CardsWalk = field(init=False)
    money: list[MoneyAsked] = field(default_factory=list)
    hands: int = 0
    lost: bool = False
    mark: int = 0
    at_mark: TableState = field(default_factory=TableState)
    _version: int = 0
    _hand_open: bool = False
    _group: list[Read] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cards = CardsWalk(self.shoes, hand_id=self.hand_id)
        self._version = self.state.version
        if self._version:
            self.cards.meet(errands_of(self.state))

    def step(self, event: RecordedEvent) -> Iterator[Finding]:
        """The next event. What is wrong with an append is told when the next one begins."""
        if event.type in INPUT_TYPES:
            yield from self._whole_group()
        if self.lost:
            return
        if event.version != self._version + 1:
            yield Read(event, None).finding(
                Check.CHAIN, f"version {self._version + 1} is missing before this one"
            )
        self._version = event.version
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

    def shoes_in_use(self) -> set[str]:
        """The shoes that events still to come may be about, as far as any event has named them."""
        in_use = {
            shoe.shoe_id for shoe in (self.state.shoe, self.state.next_shoe) if shoe is not None
        }
        begun = {
            read.body.shoe_id for read in self._group if isinstance(read.body, table.ShoeRequested)
        }
        put_away = {shoe_id for shoe_id, _, _ in self.state.putting_away}
        return begun | put_away | in_use

    def _whole_group(self) -> Iterator[Finding]:
        group, self._group = self._group, []
        if not group or self.lost:
            return
        first = group[0]
        before = self.state
        yield from check_clock(self.state, first, microseconds(first.event.recorded_at))
        try:
            self.state, findings = check_rules(self.state, group)
        except LostError as lost:
            yield from lost.findings
            yield first.finding(Check.RULES, str(lost))
            yield from self._lose(first.event, "it cannot be followed past this event")
            return
        yield from findings
        if first.event.position <= self.mark:
            self.at_mark = self._up_to_mark(before, group)
        yield from self.cards.step(group, errands_of(self.state))
        for read in group:
            self._count(read)
            expected = expected_transfer(read)
            if expected is not None:
                self.money.append(MoneyAsked(read, expected, self.state.table.currency))

    def _count(self, read: Read) -> None:
        if isinstance(read.body, table.HandOpened):
            self._hand_open = True
        elif isinstance(read.body, (table.HandSettled, table.HandVoided)):
            self.hands += self._hand_open
            self._hand_open = False

    def _up_to_mark(self, before: TableState, group: Sequence[Read]) -> TableState:
        """The table after as much of an append as lies up to the mark: most often all of it."""
        if group[-1].event.position <= self.mark:
            return self.state
        for read in group:
            if read.event.position <= self.mark:
                before = evolve(before, read.body)
        return before

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
