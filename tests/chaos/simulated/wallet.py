"""The wallet of a simulated house: its own decisions, over accounts in the database in memory."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from services.wallet import domain, records
from services.wallet.books import Books
from services.wallet.following import answers
from services.wallet.records import Cause
from services.wallet.table_events import MONEY_EVENTS, instruction_in, table_of
from shared.errors import CroupierError
from shared.ledger.accounts import player_account, wallet_stream
from shared.log import Append, EventLog, LogUnavailableError, NewEvent, RecordedEvent
from shared.money import Money
from tests.chaos.simulated.bus import Bus
from tests.chaos.simulated.database import Database, Far, FarPool

PARTITION = "table.0"
LOOK_EVERY_S = 1.0
PAGE_EVENTS = 1_000


@dataclass
class Ledger:
    """Schema `wallet`: accounts, and how far the tables' events are applied. Every method is one
    transaction. `parked` holds what the ledger could not follow."""

    database: Database
    accounts: dict[str, domain.Account] = field(default_factory=dict)
    tables: dict[str, domain.Table] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    answered: set[UUID] = field(default_factory=set)
    applied: int = 0
    parked: list[str] = field(default_factory=list)

    def open(self, player: str, amount: int) -> None:
        """An account with so much in it."""
        books = self._books()
        if player_account(player) not in books.accounts:
            books.open(player_account(player), domain.Account("EUR"))
        transfer = domain.deposit(books.accounts, uuid4(), player, Money("EUR", amount))
        books.add(transfer)
        posted = records.transfer_posted(transfer, books.at, Cause("operator", None, None))
        self._write(books, {wallet_stream(player): [posted]})

    def apply(self, events: Sequence[RecordedEvent]) -> None:
        """Events of tables, in order, in one step with the position; those before it are passed
        over."""
        due = [event for event in events if event.position > self.applied]
        if due and due[0].position != self.applied + 1:
            raise ValueError("an event is left out")
        for event in due:
            self.applied = event.position
            if event.type in MONEY_EVENTS and event.id not in self.answered:
                self._apply(event)

    def _apply(self, event: RecordedEvent) -> None:
        books = self._books()
        try:
            told = answers(books, event, instruction_in(event))
        except CroupierError as error:
            self.parked.append(f"{event.stream} {event.version} {event.type}: {error}")
            return
        self._write(books, {wallet_stream(table_of(event)): told} if told else {})
        self.answered.add(event.id)

    def _books(self) -> Books:
        return Books(self.database.now(), dict(self.accounts), dict(self.tables))

    def _write(self, books: Books, told: dict[str, list[NewEvent]]) -> None:
        self.accounts, self.tables = books.accounts, books.tables
        for stream, events in told.items():
            version = self.versions.get(stream, 0)
            self.database.append([Append(uuid4(), stream, version, tuple(events))], None)
            self.versions[stream] = version + len(events)


class Follower:
    """The wallet's process: a consumer of the tables' events."""

    def __init__(self, ledger: Ledger, pool: FarPool, log: EventLog, bus: Bus) -> None:
        self._ledger = ledger
        self._far = Far(pool)
        self._log = log
        self._bus = bus
        self._heard: asyncio.Queue[Any] = asyncio.Queue()

    async def run(self) -> None:
        """Until the process ends."""
        await self._bus.subscribe(f"croupier.{PARTITION}.>", self._heard.put)
        while True:
            batch = None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_S):
                    batch = (await self._heard.get()).data
            with contextlib.suppress(LogUnavailableError):
                applied = await self._ask(lambda: self._ledger.applied)
                if batch is not None and batch.first_position == applied + 1:
                    await self._apply(batch.events)
                elif batch is None or batch.first_position > applied:
                    await self._catch_up(applied)

    async def _catch_up(self, applied: int) -> None:
        while events := await self._log.read_partition(PARTITION, applied, PAGE_EVENTS):
            await self._apply(events)
            applied = events[-1].position

    async def _apply(self, events: Sequence[RecordedEvent]) -> None:
        await self._ask(lambda: self._ledger.apply(events))
        self._bus.ping(frozenset({"wallet.0"}))

    async def _ask(self, work: Callable[[], Any]) -> Any:
        return await self._far.ask(work)
