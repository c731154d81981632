"""What must hold of a simulated house, beyond what its log says of itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from services.audit.verify.findings import read
from shared.log import RecordedEvent
from tests.chaos.simulated.world import CODEC, World
from tests.chaos.verified import log_verified
from tests.logs import whole_partition
from tests.playing import FIELD_KEYS


async def verified(world: World, tables: Sequence[str]) -> list[str]:
    """Everything that is wrong once all tables are closed."""
    log = world.database.log
    return [
        *(f"parked: {each}" for each in world.ledger.parked),
        *await log_verified(log, CODEC, FIELD_KEYS, tables),
        *_interleaved(world, await whole_partition(log, "table.0")),
        *_left(world),
        *(f"shoe {shoe_id} is still open" for shoe_id in sorted(world.database.open_shoes)),
    ]


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


def _left(world: World) -> Iterator[str]:
    """Nothing is left on a table, nothing made, nothing lost."""
    accounts = world.ledger.accounts
    if sum(account.balance for account in accounts.values()):
        yield "the accounts do not sum to zero"
    for name, account in accounts.items():
        if name.startswith("table") and account.balance:
            yield f"{account.balance} is left in {name}"
