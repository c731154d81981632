"""What must hold of a simulated house's log and ledger, whatever happened in the night."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from services.audit.verify.findings import Finding, read
from services.audit.verify.ledger import LedgerWalk
from services.audit.verify.postings import PostingsWalk
from services.audit.verify.shoe import ShoeRecord
from services.audit.verify.table_walk import TableWalk
from services.table.loading import load
from shared.log import RecordedEvent, verify_chain
from tests.chaos.simulated.world import CODEC, World
from tests.playing import FIELD_KEYS

ALL = 10**9


async def verified(world: World, tables: Sequence[str]) -> list[str]:
    """Everything that is wrong."""
    log = world.database.log
    found: list[str] = [f"parked: {each}" for each in world.ledger.parked]
    for partition in await log.heads():
        report = await verify_chain(log, partition)
        found += [f"{partition}: {fault}" for fault in report.faults]
    for table_id in tables:
        found += [f"{table_id}: {each}" for each in await _table(world, table_id)]
    found += _interleaved(world, await log.read_partition("table.0", 0, ALL))
    found += await _ledger(world, tables)
    found += [f"shoe {shoe_id} is still open" for shoe_id in sorted(world.database.open_shoes)]
    return found


async def _table(world: World, table_id: str) -> Iterator[str]:
    """The audit's own checks of every hand and shoe of a table."""
    log = world.database.log
    events = await log.read_stream(f"table/{table_id}", 0, ALL)
    found: list[Finding] = []
    shoes: dict[str, ShoeRecord] = {}
    for event in events:
        if event.type == "ShoeRequested":
            shoe_id = read(event).body.shoe_id
            shoes[shoe_id] = record = ShoeRecord(shoe_id, FIELD_KEYS)
            for each in await log.read_stream(f"shuffle/{shoe_id}", 0, ALL):
                found += record.step(read(each))
    walk = TableWalk(CODEC, shoes)
    for event in events:
        found += walk.step(event)
    found += walk.end()
    postings = PostingsWalk()
    for money in walk.money:
        postings.ask(money)
    for event in await log.read_stream(f"wallet/{table_id}", 0, ALL):
        postings.answer(read(event))
    found += postings.match()
    found += postings.end(events[-1].position)
    return map(_words, found)


def _words(finding: Finding) -> str:
    where = f"{finding.stream} {finding.version}" if finding.stream else finding.hand_id
    return f"{finding.check.name}: {finding.message} ({where})"


def _interleaved(world: World, events: Iterable[RecordedEvent]) -> Iterator[str]:
    """Between one claim and the next only the claiming process may append."""
    owner: dict[str, object] = {}
    epochs: dict[str, int] = defaultdict(int)
    for event in events:
        by = world.database.writers[event.stream, event.version]
        if event.type == "TableClaimed":
            owner[event.stream] = by
            epoch = read(event).body.epoch
            if epoch != epochs[event.stream] + 1:
                yield f"{event.stream} {event.version}: epoch {epoch} after {epochs[event.stream]}"
            epochs[event.stream] = epoch
        elif owner.get(event.stream, by) is not by:
            yield f"{event.stream} {event.version}: by {by}, but {owner[event.stream]} has it"


async def _ledger(world: World, tables: Sequence[str]) -> list[str]:
    """The books are what the wallet's events say, they balance, and no chip is left on a table."""
    walk = LedgerWalk()
    found: list[Finding] = []
    for event in await world.database.log.read_partition("wallet.0", 0, ALL):
        found += walk.step(read(event))
    found += walk.end()
    found += walk.compare_chips([await load(world.database.log, CODEC, each) for each in tables])
    words = [_words(each) for each in found]
    accounts = world.ledger.accounts
    if sum(account.balance for account in accounts.values()):
        words.append("the accounts do not sum to zero")
    for name, account in accounts.items():
        if name.startswith("table") and account.balance:
            words.append(f"{account.balance} is left in {name}")
    return words
