"""Reads from the log what the checks look at."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

from grpc import StatusCode

from services.audit.disclosure import Disclose
from services.audit.verify.chain import chain_findings
from services.audit.verify.findings import Check, Finding, Read, read
from services.audit.verify.shoe import ShoeRecord, check_seed
from shared.errors import CroupierError
from shared.events import UnknownEventError, UnreadableEventError
from shared.log import EventLog, RecordedEvent
from shared.log.chain import ChainReport
from shared.rpc.errors import STATUS
from shared.sealing import Keyring
from shared.table.codec import INPUT_TYPES, TableCodec
from shared.table.evolve import evolve
from shared.table.state import TableState

PAGE_EVENTS = 500
MAX_CACHED_STATES = 1_024
_ASK_AGAIN = frozenset({StatusCode.UNAVAILABLE, StatusCode.RESOURCE_EXHAUSTED, StatusCode.ABORTED})
"""Says that shuffle has no time, and nothing about the shoe."""
CACHE_EVERY_VERSIONS = 200


class Shoes(Mapping[str, ShoeRecord]):
    """Shoes as their streams tell them, read and checked as far as they have come; with a
    `hand_id` for that hand alone. The seeds of retired shoes that are not published are asked for
    with `disclose`."""

    def __init__(
        self, log: EventLog, keyring: Keyring, disclose: Disclose, hand_id: str = ""
    ) -> None:
        self._log = log
        self._keyring = keyring
        self._disclose = disclose
        self._hand_id = hand_id
        self._records: dict[str, ShoeRecord] = {}

    async def bring(self, shoe_ids: Iterable[str]) -> list[Finding]:
        """Reads on in each of these shoes, and in those at hand, up to now."""
        findings: list[Finding] = []
        for shoe_id in dict.fromkeys((*self._records, *shoe_ids)):
            record = self._records.setdefault(
                shoe_id, ShoeRecord(shoe_id, self._keyring, self._hand_id)
            )
            if record.retired is None:
                findings.extend(await self._read_on(record))
        return findings

    def drop(self, keep: Iterable[str]) -> None:
        """Forgets all shoes that are retired, but for those in `keep`."""
        kept = set(keep)
        self._records = {
            shoe_id: record
            for shoe_id, record in self._records.items()
            if record.retired is None or shoe_id in kept
        }

    async def _read_on(self, record: ShoeRecord) -> list[Finding]:
        findings: list[Finding] = []
        while True:
            events = await self._log.read_stream(
                f"shuffle/{record.shoe_id}", record.version, PAGE_EVENTS
            )
            reads = decoded(events, Check.SHOE, findings)
            for each in reads:
                findings.extend(record.step(each))
            if events:
                record.version = events[-1].version
            if len(events) < PAGE_EVENTS:
                break
        if record.retired is not None and not record.opened.publish:
            findings.extend(await self._secret_seed(record, record.retired))
        return findings

    async def _secret_seed(self, record: ShoeRecord, retired: Read) -> list[Finding]:
        try:
            server_seed = await self._disclose(record.shoe_id)
        except CroupierError as refused:
            if STATUS[refused.reason] in _ASK_AGAIN:
                raise
            message = f"shuffle does not tell the seed of the shoe: {refused}"
            return [retired.finding(Check.SHOE, message)]
        return list(check_seed(record, retired, server_seed))

    def __getitem__(self, shoe_id: str) -> ShoeRecord:
        return self._records[shoe_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)


class TableStates:
    """Tables as they were at some of their versions, so that a hand can be checked without reading
    all that its table did before. Bounded; a cache, kept in memory only."""

    def __init__(self, log: EventLog, codec: TableCodec) -> None:
        self._log = log
        self._codec = codec
        self._held: dict[str, list[TableState]] = {}

    async def before(self, stream: str, version: int) -> TableState:
        """The table before the append that holds `version` of its stream.

        Raises whatever the table's own functions raise where the stream cannot be followed.
        """
        state = before = self._nearest(stream, version)
        reached = state.version
        while reached < version - 1:
            wanted = min(version - 1 - reached, PAGE_EVENTS)
            for event in await self._log.read_stream(stream, reached, wanted):
                if event.type in INPUT_TYPES:
                    before = state
                    self._hold(stream, state)
                body = self._codec.decode(event.type, event.payload, event.hand_id or "")
                state = evolve(state, body)
            reached += wanted
        events = await self._log.read_stream(stream, version - 1, 1)
        return state if events and events[0].type in INPUT_TYPES else before

    def _nearest(self, stream: str, version: int) -> TableState:
        held = self._held.get(stream, [])
        place = bisect_left(held, version, key=lambda state: state.version)
        return held[place - 1] if place else TableState()

    def _hold(self, stream: str, state: TableState) -> None:
        held = self._held.get(stream, [])
        if state.version < (held[-1].version if held else 0) + CACHE_EVERY_VERSIONS:
            return
        self._held.setdefault(stream, held).append(state)
        if sum(len(states) for states in self._held.values()) > MAX_CACHED_STATES:
            # The table with most of them gives up every second one.
            longest = max(self._held, key=lambda name: len(self._held[name]))
            self._held[longest] = self._held[longest][1::2]


def decoded(events: Iterable[RecordedEvent], check: Check, findings: list[Finding]) -> list[Read]:
    """The events with their messages; what cannot be read is a finding of `check`."""
    reads = []
    for event in events:
        try:
            reads.append(read(event))
        except (UnknownEventError, UnreadableEventError) as error:
            findings.append(Read(event, None).finding(check, str(error)))
    return reads


async def explained(log: EventLog, report: ChainReport) -> list[Finding]:
    """The faults of a chain as findings, with the streams of the events that are at fault."""
    events = {}
    for fault in report.faults:
        found = await log.read_partition(report.partition, fault.position - 1, 1)
        events.update({event.position: event for event in found})
    return list(chain_findings(report, events))
