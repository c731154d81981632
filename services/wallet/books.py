"""The ledger in Postgres: what a transaction begins with, and the one way to post."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby, zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from services.wallet.domain import Account, Table, Transfer, posted
from shared.ledger.accounts import owner_of, wallet_stream
from shared.log import (
    Append,
    CommandKey,
    CommandRecord,
    LogUnavailableError,
    NewEvent,
    Outcome,
    append_on,
)
from shared.log.types import MAX_APPEND_BYTES, MAX_APPEND_EVENTS

if TYPE_CHECKING:
    from shared.log import Connection

MAX_CALL_APPENDS = 500
_TAKE = """
    SELECT what, at, key, word, other, one, two, three, id, bytes
      FROM wallet.take($1, $2, $3, $4, $5, $6, $7)
"""
_POST = "SELECT wallet.post($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
_REMEMBER_TABLES = """
    INSERT INTO wallet.tables (table_id, currency, game)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) ON CONFLICT (table_id) DO NOTHING
"""


@dataclass(slots=True)
class Books:
    """How things stand for one transaction, which holds the heads of all that is in here, and what
    it has decided so far.

    `accounts` and `tables` are those asked for that exist, kept up to date by `add`; `versions` how
    many events each stream has; `answered` the causes that a wallet event answers already;
    `commands` those that were carried out before, by their place in the question; `at` the time of
    all that happens in the transaction.
    """

    at: datetime
    accounts: dict[str, Account] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    answered: set[UUID] = field(default_factory=set)
    commands: dict[int, CommandRecord] = field(default_factory=dict)
    opened: dict[str, Account] = field(default_factory=dict)
    opened_tables: list[Table] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)

    def open_table(self, table: Table) -> None:
        """A table is to be remembered."""
        self.opened_tables.append(table)
        self.tables[table.table_id] = table

    def open(self, name: str, account: Account) -> None:
        """An account opens."""
        self.opened[name] = account
        self.accounts[name] = account

    def add(self, transfer: Transfer) -> None:
        """A transfer is decided; what is decided next sees the accounts after it."""
        for name, account in posted(transfer).items():
            if name not in self.accounts:
                self.opened[name] = account
            self.accounts[name] = account
        self.transfers.append(transfer)


async def take(
    connection: Connection,
    accounts: Iterable[str],
    *,
    tables: Iterable[str] = (),
    causes: Iterable[UUID] = (),
    commands: Sequence[tuple[str, CommandKey]] = (),
) -> Books:
    """Locks the heads that guard `accounts` until the transaction ends, then reads how things
    stand. One round trip.

    Every account that the transaction may touch must be named, whether it exists or not. Each of
    `commands` is a stream and what the command would be known by there.
    """
    names = sorted(set(accounts))
    rows = await connection.fetch(
        _TAKE,
        sorted({wallet_stream(owner_of(name)) for name in names}),
        names,
        sorted(set(tables)),
        list(causes),
        [stream for stream, _ in commands],
        [key.caller for _, key in commands],
        [key.command_id for _, key in commands],
    )
    books = Books(next(row["at"] for row in rows if row["what"] == "now"))
    for what, _, key, word, other, one, two, three, identifier, digest in rows:
        match what:
            case "account":
                books.accounts[key] = Account(word, one, two)
            case "table":
                books.tables[key] = Table(key, word, other)
            case "stream":
                books.versions[key] = one
            case "cause":
                books.answered.add(identifier)
            case "command":
                books.commands[one - 1] = CommandRecord(digest, two, three)
    return books


async def post(connection: Connection, books: Books) -> None:
    """Writes what was decided: accounts opened, transfers, postings. One round trip, or none, and
    another where tables opened."""
    if books.opened_tables:
        await connection.execute(
            _REMEMBER_TABLES,
            [table.table_id for table in books.opened_tables],
            [table.currency for table in books.opened_tables],
            [table.game for table in books.opened_tables],
        )
    if not books.opened and not books.transfers:
        return
    legs = [(each.id, leg) for each in books.transfers for leg in each.postings]
    await connection.execute(
        _POST,
        books.at,
        list(books.opened),
        [account.currency for account in books.opened.values()],
        [each.id for each in books.transfers],
        [each.kind for each in books.transfers],
        [each.currency for each in books.transfers],
        [each.hand_id for each in books.transfers],
        [each.note for each in books.transfers],
        [identifier for identifier, _ in legs],
        [leg.account for _, leg in legs],
        [leg.minor_units for _, leg in legs],
        [leg.balance_after for _, leg in legs],
        [leg.sequence for _, leg in legs],
    )


async def tell(
    connection: Connection,
    books: Books,
    told: Mapping[str, Sequence[NewEvent]],
    commands: Mapping[str, CommandKey] = MappingProxyType({}),
) -> frozenset[str]:
    """Appends what is told of each stream, with the command that brought it about; returns the
    partitions that moved. One round trip, unless a stream has more to tell than one append holds.

    Raises `LogUnavailableError` where the log had moved in spite of the heads that are held, which
    can only be when a partition was added just now: the transaction is to be tried again.
    """
    pieces = {stream: _pieces(events) for stream, events in told.items() if events}
    versions = dict(books.versions)
    moved: set[str] = set()
    for wave in zip_longest(*pieces.values()):
        appends = []
        for stream, events in zip(pieces, wave, strict=True):
            if events is not None:
                version = versions.get(stream, 0)
                versions[stream] = version + len(events)
                appends.append(Append(uuid4(), stream, version, events, commands.get(stream)))
        answers = []
        for start in range(0, len(appends), MAX_CALL_APPENDS):
            answers += await append_on(connection, appends[start : start + MAX_CALL_APPENDS])
        for answer in answers:
            if answer.outcome is not Outcome.OK:
                raise LogUnavailableError(f"the log moved meanwhile: {answer.outcome.value}")
            moved.add(answer.partition)
    return frozenset(moved)


def _pieces(events: Sequence[NewEvent]) -> list[tuple[NewEvent, ...]]:
    """Cuts events so that each piece fits in one append, and never between those that answer the
    same event: `ChipsFunded` is in the append of its transfer."""
    pieces: list[tuple[NewEvent, ...]] = []
    piece: list[NewEvent] = []
    size_bytes = 0
    for _, together in groupby(events, lambda event: event.causation_id):
        answer = list(together)
        answer_bytes = sum(len(event.payload) for event in answer)
        too_many = len(piece) + len(answer) > MAX_APPEND_EVENTS
        if piece and (too_many or size_bytes + answer_bytes > MAX_APPEND_BYTES):
            pieces.append(tuple(piece))
            piece, size_bytes = [], 0
        piece += answer
        size_bytes += answer_bytes
    return [*pieces, tuple(piece)]
