"""After the log has lost its tail (a restored backup, a standby that lacked it): puts it in order.

Cards may have been seen that the log does not know of any more, and the same positions would be
dealt again. So every open hand is void and every open shoe is retired, as events. It may be run
while the services run: whoever wrote meanwhile is written after.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import asyncpg

from services.shuffle.decide import Asker
from services.shuffle.shoe import Phase, RetireReason
from services.shuffle.shoes import Request, Shoes
from services.shuffle.storage import ShoeStore
from services.table.loading import load
from services.table.proposal import Proposal, as_append, now_us
from shared.errors import CroupierError
from shared.log import EventLog, Outcome, PostgresLog
from shared.log.patience import Pool
from shared.sealing import Keyring, UnsealError
from shared.table import events as e
from shared.table.codec import TableCodec
from shared.table.decide import decide
from shared.table.sealer import KeyringSealer
from shared.table.state import Status, TableState

ACTOR = "operator/log-recover"
_TRIES = 10
_MINUTE_US = 60_000_000
_TABLES = "SELECT stream FROM log.streams WHERE stream LIKE 'table/%' ORDER BY stream"
_NEW_LINES = """
    INSERT INTO audit.checkpoint_line (partition, line)
    SELECT p.name, greatest($1, l.last + 1)
      FROM log.partitions AS p
     CROSS JOIN (SELECT coalesce(max(line), 1) AS last FROM audit.checkpoint_line) AS l
"""
_OPEN_SHOES = """
    SELECT s.stream FROM log.streams AS s
     WHERE s.stream LIKE 'shuffle/%'
       AND NOT EXISTS (SELECT FROM log.events AS e
                        WHERE e.stream = s.stream AND e.type = 'ShoeRetired')
     ORDER BY s.stream
"""


@dataclass
class Recovered:
    """What was done: tables that went on, hands that are void, shoes that were retired; and what
    could not be done, in words."""

    tables: int = 0
    hands_voided: int = 0
    shoes: int = 0
    failures: list[str] = field(default_factory=list)


async def recover(dsn: str, field_keys: Keyring, seed_keys: Keyring) -> Recovered:
    """Puts the log of `dsn` (a superuser's) in order. It may be done again: then there is less to
    do."""
    done = Recovered()
    await _begin_checkpoints_anew(dsn)
    epochs: dict[str, int] = {}
    async with _as(dsn, "croupier_table") as pool, PostgresLog(pool) as log:
        codec = TableCodec(KeyringSealer(field_keys))
        for row in await pool.fetch(_TABLES):
            table_id = row["stream"].removeprefix("table/")
            try:
                epochs[table_id] = await _recover_table(log, codec, table_id, done)
            except CroupierError as error:
                done.failures.append(f"table {table_id}: {error.message}")
            except Exception as error:
                # One that cannot be read must not keep the shoes of all others open.
                done.failures.append(f"table {table_id}: {type(error).__name__}: {error}")
    await _have_taken_up_again(dsn)
    async with _as(dsn, "croupier_shuffle") as pool, PostgresLog(pool) as log:
        shoes = Shoes(log, ShoeStore(pool, seed_keys), field_keys)
        for row in await pool.fetch(_OPEN_SHOES):
            shoe_id = row["stream"].removeprefix("shuffle/")
            try:
                await _retire(shoes, shoe_id, epochs, done)
            except (CroupierError, UnsealError, LookupError) as error:
                done.failures.append(f"shoe {shoe_id}: {error}")
            except Exception as error:
                done.failures.append(f"shoe {shoe_id}: {type(error).__name__}: {error}")
    return done


async def _begin_checkpoints_anew(dsn: str) -> None:
    """What was signed before may be of events that are gone: it stays as it is, and what is signed
    from now on has another origin, so that nobody is told two things by one name.

    The line's number is the minute, counted from 1970: the database may have lost what was signed,
    and the lines begun, after the backup it comes from, and would count to the same number again.
    """
    connection: Any = await asyncpg.connect(dsn)
    try:
        await connection.execute(_NEW_LINES, now_us() // _MINUTE_US)
    finally:
        await connection.close()


async def _have_taken_up_again(dsn: str) -> None:
    """Nodes that hold tables in memory let them go at their next heartbeat, as if another one had
    them, and read them again."""
    connection: Any = await asyncpg.connect(dsn)
    try:
        await connection.execute(
            """UPDATE tables.directory SET owner = NULL, incarnation = NULL, epoch = epoch + 1
                WHERE NOT closed"""
        )
    finally:
        await connection.close()


async def _recover_table(log: EventLog, codec: TableCodec, table_id: str, done: Recovered) -> int:
    """Which claim of the table was the last before."""
    for _ in range(_TRIES):
        before = await load(log, codec, table_id)
        if before.status is Status.CLOSED:
            return before.epoch
        events = await _recovered(log, codec, before)
        if events is not None:
            done.tables += 1
            done.hands_voided += sum(isinstance(event, e.HandVoided) for event in events)
            return before.epoch
    raise CroupierError("LOG_CONFLICT", "others write to it all the time: stop its nodes")


async def _recovered(
    log: EventLog, codec: TableCodec, before: TableState
) -> tuple[e.Event, ...] | None:
    """What came of it; None if somebody else was quicker."""
    fact = e.ShoesLost("log_recovered", max(now_us(), before.now))
    events, _ = decide(before, fact)
    proposal = Proposal(lambda at: fact, ACTOR, uuid4())
    stream = f"table/{before.table.table_id}"
    append, _ = as_append(codec, stream, before, events, proposal)
    [appended] = await log.append([append])
    return events if appended.outcome is Outcome.OK else None


async def _retire(shoes: Shoes, shoe_id: str, epochs: Mapping[str, int], done: Recovered) -> None:
    for _ in range(_TRIES):
        shoe = await shoes.get(shoe_id)
        if shoe.phase is Phase.RETIRED:
            return  # Its table has been quicker.
        if shoe.epoch > epochs.get(shoe.table_id, shoe.epoch):
            return  # A new one: a node has the table again, and knows which shoes were lost.
        request = Request(uuid4(), bytes(32), ACTOR, ACTOR, uuid4(), shoe_id)
        asker = Asker(shoe.table_id, shoe.epoch)
        try:
            await shoes.retire(request, asker, RetireReason.LOG_RECOVERED)
        except CroupierError as refused:
            # In an open house its table may have spoken to it meanwhile.
            if refused.reason not in ("SHOE_RETIRED", "STALE_EPOCH"):
                raise
        else:
            done.shoes += 1
            return
    raise CroupierError("LOG_CONFLICT", "others write to it all the time: stop its nodes")


@asynccontextmanager
async def _as(dsn: str, role: str) -> AsyncIterator[Pool]:
    """A pool whose sessions are those of a service's role: the log takes a category's events from
    its own service only."""

    async def become(connection: Any) -> None:
        await connection.execute(f"SET SESSION AUTHORIZATION {role}")

    async def keep(_: object) -> None:
        return None

    async with asyncpg.create_pool(dsn, min_size=1, max_size=2, init=become, reset=keep) as pool:
        yield pool
