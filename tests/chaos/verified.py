"""What must hold of a house's log, whatever happened to the house: the audit's own checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from services.audit.verify.findings import Finding, read
from services.audit.verify.ledger import LedgerWalk
from services.audit.verify.postings import PostingsWalk
from services.audit.verify.shoe import ShoeRecord
from services.audit.verify.table_walk import TableWalk
from services.table.loading import load
from shared.log import EventLog, RecordedEvent, verify_chain
from shared.log.types import MAX_READ_EVENTS
from shared.sealing import Keyring
from shared.table.codec import TableCodec
from tests.logs import whole_partition


async def log_verified(
    log: EventLog, codec: TableCodec, keyring: Keyring, tables: Sequence[str]
) -> list[str]:
    """Everything that is wrong with chain, hands, shoes, postings and ledger."""
    found: list[str] = []
    heads = await log.heads()
    for partition in heads:
        report = await verify_chain(log, partition)
        found += [f"{partition}: {fault}" for fault in report.faults]
    for table_id in tables:
        found += [f"{table_id}: {each}" for each in await _table(log, codec, keyring, table_id)]
    return found + await _ledger(log, codec, tables, list(heads))


async def whole_stream(log: EventLog, stream: str) -> list[RecordedEvent]:
    """All events of a stream."""
    found: list[RecordedEvent] = []
    while page := await log.read_stream(stream, len(found), MAX_READ_EVENTS):
        found += page
    return found


async def _table(
    log: EventLog, codec: TableCodec, keyring: Keyring, table_id: str
) -> Iterator[str]:
    """Every hand and shoe of a table."""
    events = await whole_stream(log, f"table/{table_id}")
    found: list[Finding] = []
    shoes: dict[str, ShoeRecord] = {}
    for event in events:
        if event.type == "ShoeRequested":
            shoe_id = read(event).body.shoe_id
            shoes[shoe_id] = record = ShoeRecord(shoe_id, keyring)
            for each in await whole_stream(log, f"shuffle/{shoe_id}"):
                found += record.step(read(each))
    walk = TableWalk(codec, shoes)
    for event in events:
        found += walk.step(event)
    found += walk.end()
    postings = PostingsWalk()
    for money in walk.money:
        postings.ask(money)
    for event in await whole_stream(log, f"wallet/{table_id}"):
        postings.answer(read(event))
    found += postings.match()
    found += postings.end(events[-1].position)
    return map(_words, found)


async def _ledger(
    log: EventLog, codec: TableCodec, tables: Sequence[str], partitions: Sequence[str]
) -> list[str]:
    """The books balance, and what lies on the tables is what the books say lies there."""
    walk = LedgerWalk()
    found: list[Finding] = []
    for partition in partitions:
        if partition.startswith("wallet."):
            for event in await whole_partition(log, partition):
                found += walk.step(read(event))
    found += walk.end()
    found += walk.compare_chips([await load(log, codec, table_id) for table_id in tables])
    return [_words(each) for each in found]


def _words(finding: Finding) -> str:
    where = f"{finding.stream} {finding.version}" if finding.stream else finding.hand_id
    return f"{finding.check.name}: {finding.message} ({where})"
