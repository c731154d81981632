"""Everything, checked: each table's stream once, each partition's chain, the whole ledger."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from services.audit.check_hand import CHECKS
from services.audit.disclosure import Disclose
from services.audit.evidence import PAGE_EVENTS, Shoes, decoded, explained
from services.audit.verify.cashier import CashierWalk
from services.audit.verify.chain import streams_finding
from services.audit.verify.checkpoints import CheckpointWalk, Held
from services.audit.verify.findings import Check, Finding, Read
from services.audit.verify.ledger import Book, LedgerWalk
from services.audit.verify.postings import PostingsWalk
from services.audit.verify.table_walk import TableWalk, shoes_in
from shared.ledger.accounts import wallet_stream
from shared.log import EventLog, Head, RecordedEvent, category_of
from shared.log.chain import verify_chain
from shared.proofs.seeds import player_seed_fingerprint
from shared.sealing import Keyring
from shared.table.codec import TableCodec
from shared.table.sealer import KeyringSealer
from shared.table.state import TableState

MAX_FINDINGS = 1_000
ALL_CHECKS = (*CHECKS, Check.LEDGER, Check.CHECKPOINT)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The house at one moment: all of it read in one transaction.

    `tables` are the versions of the tables' streams by stream, `stream_totals` the sums of the
    versions of all streams by partition, `books` the wallet's accounts, `applied` the positions
    of the wallet's consumers by table partition, `parked` the streams that the wallet has parked,
    `shoes` the streams of all shoes.
    """

    heads: Mapping[str, Head]
    tables: Mapping[str, int]
    stream_totals: Mapping[str, int]
    books: Mapping[str, Book]
    applied: Mapping[str, int]
    parked: Sequence[str]
    shoes: Sequence[str]


@dataclass(slots=True)
class Progress:
    """How far the checks have come. `findings` are those since the last report."""

    hands: int = 0
    events: int = 0
    failed: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    found: int = 0
    done: bool = False
    checks: tuple[Check, ...] = ALL_CHECKS

    def add(self, findings: Iterable[Finding]) -> None:
        """More findings; beyond `MAX_FINDINGS` they are only counted."""
        for finding in findings:
            self.found += 1
            if finding.hand_id:
                self.failed.add(finding.hand_id)
            if self.found <= MAX_FINDINGS:
                self.findings.append(finding)


class FullCheck:
    """One run over all that a snapshot covers. `checkpoints`, by partition, are those with which
    the log is compared."""

    def __init__(
        self,
        log: EventLog,
        keyring: Keyring,
        snapshot: Snapshot,
        disclose: Disclose,
        checkpoints: Mapping[str, Sequence[Held]] | None = None,
    ) -> None:
        self._checkpoints = checkpoints or {}
        self._log = log
        self._keyring = keyring
        self._disclose = disclose
        self._codec = TableCodec(KeyringSealer(keyring))
        self._snapshot = snapshot
        self._progress = Progress()
        self._ledger = LedgerWalk()
        self._cashier = CashierWalk(snapshot.tables)
        self._at_applied: list[TableState] = []
        self._requested: set[str] = set()
        self._reused: dict[bytes, list[Read]] = {}

    def add(self, findings: Iterable[Finding]) -> None:
        """What has been found already."""
        self._progress.add(findings)

    async def run(self, table_id: str = "") -> AsyncIterator[Progress]:
        """Reports as it goes, the last time with `done`. The same object each time: take
        `findings` out of it before asking on.

        With a `table_id` only that table's hands; the chain and the ledger are everybody's.
        """
        progress = self._progress
        if table_id:
            progress.checks = tuple(check for check in CHECKS if check is not Check.CHAIN)
            async for _ in self._table(f"table/{table_id}"):
                yield progress
        else:
            async for _ in self._chains():
                yield progress
            async for _ in self._ledger_pages():
                yield progress
            for stream in sorted(self._snapshot.tables):
                async for _ in self._table(stream):
                    yield progress
            async for _ in self._reused_seeds():
                yield progress
            progress.add(self._cashier.end())
            progress.add(_not_requested(self._snapshot.shoes, self._requested))
            progress.add(_parked_findings(self._snapshot.parked))
            progress.add(self._ledger.compare(self._snapshot.books))
            progress.add(self._ledger.compare_chips(self._at_applied))
        progress.done = True
        yield progress

    async def _chains(self) -> AsyncIterator[None]:
        for partition, head in self._snapshot.heads.items():
            walk = CheckpointWalk(partition, self._checkpoints.get(partition, ()))
            report = await verify_chain(self._log, partition, tell_hashes=walk.step)
            self._progress.add(await explained(self._log, report))
            self._progress.add(walk.end(broken_off=report.broken_off))
            self._progress.events += report.last_position
            total = self._snapshot.stream_totals.get(partition, 0)
            self._progress.add(streams_finding(partition, head.position, total))
            yield

    async def _ledger_pages(self) -> AsyncIterator[None]:
        """All wallet partitions up to the snapshot."""
        for partition, head in self._snapshot.heads.items():
            if category_of(partition) != "wallet":
                continue
            position = 0
            while position < head.position:
                limit = min(PAGE_EVENTS, head.position - position)
                events = await self._log.read_partition(partition, position, limit)
                if not events:
                    break  # The chain's check has told it.
                findings: list[Finding] = []
                for read in decoded(events, Check.LEDGER, findings):
                    findings.extend(self._ledger.step(read))
                    findings.extend(self._cashier.step(read))
                self._progress.add(findings)
                position = events[-1].position
                yield
        self._progress.add(self._ledger.end())

    async def _reused_seeds(self) -> AsyncIterator[None]:
        """Seeds that were left out as used before, in the shoes that may have had them. A house
        that could say so of any seed would deal without the one that it does not know."""
        for stream in self._snapshot.shoes:
            if not self._reused:
                return
            # Seeds are opened before the seal, which is among the first events of a shoe.
            events = await self._log.read_stream(stream, 0, PAGE_EVENTS)
            for read in decoded(events, Check.SHOE, []):
                if read.event.type == "SeedOpened":
                    told = player_seed_fingerprint(read.body.player, read.body.seed)
                    self._reused.pop(told, None)
            yield
        for seals in self._reused.values():
            self._progress.add(
                seal.finding(Check.SHOE, "a seed was left out as used before, and no shoe had it")
                for seal in seals
            )

    async def _table(self, stream: str) -> AsyncIterator[None]:
        """A table from its first event to the snapshot, its shoes and the wallet's answers beside
        it."""
        shoes = Shoes(self._log, self._keyring, self._disclose)
        walk = TableWalk(self._codec, shoes)
        postings = PostingsWalk()
        answers = _Answers(self._log, stream, self._snapshot.heads)
        last_version = self._snapshot.tables.get(stream, 0)
        version = applied = 0
        while version < last_version:
            limit = min(PAGE_EVENTS, last_version - version)
            events = await self._log.read_stream(stream, version, limit)
            if not events:
                break  # The chain's check has told it.
            version = events[-1].version
            applied = walk.mark = self._snapshot.applied.get(events[-1].partition, 0)
            begun = list(shoes_in(events))
            self._requested.update(begun)
            findings = await shoes.bring(begun)
            for event in events:
                findings.extend(walk.step(event))
                if event.type == "HandSettled":
                    self._cashier.settled(event)
            await self._match(walk, postings, answers, events[-1].recorded_at, findings)
            shoes.drop(keep=walk.shoes_in_use())
            self._tell(walk, findings)
            yield
        findings = list(walk.end())
        await self._match(walk, postings, answers, None, findings)
        findings.extend(postings.end(applied))
        for told, seal in walk.cards.reused:
            # One that was sealed only just now may tell of a shoe that is newer than the snapshot.
            if seal.event.position <= self._snapshot.heads[seal.event.partition].position:
                self._reused.setdefault(told, []).append(seal)
        if walk.at_mark.config is not None and not walk.lost:
            self._at_applied.append(walk.at_mark)
        self._tell(walk, findings)
        yield

    async def _match(
        self,
        walk: TableWalk,
        postings: PostingsWalk,
        answers: _Answers,
        until: datetime | None,
        findings: list[Finding],
    ) -> None:
        for money in walk.money:
            postings.ask(money)
        walk.money.clear()
        for read in decoded(await answers.read(until), Check.POSTINGS, findings):
            postings.answer(read)
        findings.extend(postings.match())

    def _tell(self, walk: TableWalk, findings: Iterable[Finding]) -> None:
        self._progress.hands += walk.hands
        walk.hands = 0
        self._progress.add(findings)


def _not_requested(streams: Iterable[str], requested: set[str]) -> Iterator[Finding]:
    """A house that opens more shoes than it deals from could choose among them."""
    for stream in streams:
        if stream.removeprefix("shuffle/") not in requested:
            yield Finding(Check.SHOE, "no table asked for this shoe", stream=stream)


def _parked_findings(parked: Iterable[str]) -> Iterator[Finding]:
    for stream in parked:
        yield Finding(Check.POSTINGS, "the wallet has parked events of this table", stream=stream)


class _Answers:
    """The wallet's stream of a table, up to the snapshot."""

    def __init__(self, log: EventLog, table: str, heads: Mapping[str, Head]) -> None:
        self._log = log
        self._stream = wallet_stream(table.removeprefix("table/"))
        self._heads = heads
        self._version = 0
        self._over = False

    async def read(self, until: datetime | None) -> list[RecordedEvent]:
        """What is left of it up to a time, and a little more (None: all)."""
        found: list[RecordedEvent] = []
        while not self._over:
            events = await self._log.read_stream(self._stream, self._version, PAGE_EVENTS)
            covered = [
                event for event in events if event.position <= self._heads[event.partition].position
            ]
            found.extend(covered)
            self._over = len(covered) < PAGE_EVENTS
            if covered:
                self._version = covered[-1].version
                if until is not None and covered[-1].recorded_at > until:
                    break
        return found
