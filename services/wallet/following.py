"""The tables' money events, applied: many of them in one transaction of a few round trips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from prometheus_client import Counter, Histogram

from services.wallet import records
from services.wallet.books import Books, post, take, tell
from services.wallet.domain import Table, Transfer
from services.wallet.records import Cause
from services.wallet.table_events import (
    MONEY_EVENTS,
    BuyIn,
    Instruction,
    accounts_in,
    decide,
    instruction_in,
    table_of,
)
from shared.ledger.accounts import wallet_stream
from shared.log import NewEvent, RecordedEvent

if TYPE_CHECKING:
    from shared.log import Connection

_decided = Counter(
    "croupier_wallet_table_events_total",
    "Money events of tables that were decided (again after a rollback)",
    ["type"],
)
_together = Histogram(
    "croupier_wallet_together_events",
    "Money events of tables that were decided together",
    buckets=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000),
)


async def apply(connection: Connection, events: Sequence[RecordedEvent]) -> frozenset[str]:
    """Applies the money events among `events`, in order, inside the caller's transaction (a
    `shared.bus.consumer.Apply`). Returns the wallet partitions that moved.

    All heads are taken before anything is read. An event that has its answer is passed over.
    Raises `CroupierError`, and nothing is done, where the ledger cannot follow a table.
    """
    ours = [event for event in events if event.type in MONEY_EVENTS]
    if not ours:
        return frozenset()
    _together.observe(len(ours))
    instructions = [instruction_in(event) for event in ours]
    books = await take(
        connection,
        [name for instruction in instructions for name in accounts_in(instruction)],
        tables=[table_of(event) for event in ours],
        causes=[event.id for event in ours],
    )
    told: dict[str, list[NewEvent]] = {}
    for event, instruction in zip(ours, instructions, strict=True):
        if event.id not in books.answered:
            told.setdefault(wallet_stream(table_of(event)), []).extend(
                answers(books, event, instruction)
            )
            _decided.labels(event.type).inc()
    await post(connection, books)
    return await tell(connection, books, told)


def answers(books: Books, event: RecordedEvent, instruction: Instruction) -> list[NewEvent]:
    """Decides one event and says so; `books` goes on with what was decided."""
    decision = decide(books.accounts, books.tables, event.id, instruction)
    if isinstance(decision, Table):
        books.open_table(decision)
        return []
    cause = Cause.of(event)
    told = []
    if isinstance(decision, Transfer):
        books.add(decision)
        told.append(records.transfer_posted(decision, books.at, cause))
    if isinstance(instruction, BuyIn):
        currency = books.tables[instruction.table_id].currency
        told.append(records.chips_answer(instruction, currency, decision, cause))
    return told
