"""The ledger: the wallet's events added up, against its books and the chips on the tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from croupier.wallet.v1 import events_pb2 as wallet

from services.audit.verify.findings import Check, Finding, Read
from shared.ledger.accounts import AccountKind, escrow_account
from shared.table.state import TableState


@dataclass(frozen=True, slots=True)
class Book:
    """An account as the wallet's tables have it: `posted_*` is the sum, the number and the highest
    sequence of its rows in the table of postings. Minor units."""

    currency: str
    balance: int
    postings: int
    posted_sum: int
    posted_count: int
    posted_last: int


@dataclass(slots=True)
class Account:
    """An account as the log makes it. `last` is the event with its highest sequence."""

    currency: str
    balance: int = 0
    postings: int = 0
    sequence: int = 0
    balance_after: int = 0
    last: Read | None = None


@dataclass(slots=True)
class LedgerWalk:
    """A walk over all wallet partitions, in any order of partitions."""

    accounts: dict[str, Account] = field(default_factory=dict)
    funded: set[str] = field(default_factory=set)
    """Request ids of the buy-ins that are in their escrows."""

    def step(self, read: Read) -> Iterator[Finding]:
        """The next event of a wallet partition."""
        if read.event.type == "ChipsFunded":
            self.funded.add(read.body.request_id)
        elif read.event.type == "TransferPosted":
            yield from self._transfer(read, read.body)

    def _transfer(self, read: Read, body: wallet.TransferPosted) -> Iterator[Finding]:
        if sum(posting.minor_units for posting in body.postings):
            yield read.finding(Check.LEDGER, "the transfer does not sum to zero")
        for posting in body.postings:
            account = self.accounts.setdefault(posting.account, Account(body.currency))
            if account.currency != body.currency:
                yield read.finding(Check.LEDGER, f"{posting.account} is in {account.currency}")
            account.balance += posting.minor_units
            account.postings += 1
            if posting.sequence > account.sequence:
                account.sequence = posting.sequence
                account.balance_after = posting.balance_after
                account.last = read

    def end(self) -> Iterator[Finding]:
        """All wallet events are in: each account's last posting says what they add up to."""
        for name, account in sorted(self.accounts.items()):
            if (account.sequence, account.balance_after) != (account.postings, account.balance):
                message = (
                    f"{name}: {account.postings} postings make {account.balance}, the last one, "
                    f"number {account.sequence}, says {account.balance_after}"
                )
                assert account.last is not None
                yield account.last.finding(Check.LEDGER, message)

    def compare(self, books: Mapping[str, Book]) -> Iterator[Finding]:
        """The wallet's tables, as they were at the heads that the walk went to."""
        sums: dict[str, int] = defaultdict(int)
        for name in sorted(books.keys() | self.accounts.keys()):
            book = books.get(name)
            if book is None:
                yield Finding(Check.LEDGER, f"{name}: in the log, and not in the books")
                continue
            sums[book.currency] += book.balance
            logged = self.accounts.get(name, Account(book.currency))
            if (book.currency, book.balance, book.postings) != (
                logged.currency,
                logged.balance,
                logged.postings,
            ):
                yield Finding(
                    Check.LEDGER,
                    f"{name}: the books hold {book.balance} {book.currency} after {book.postings} "
                    f"postings, the log {logged.balance} {logged.currency} after {logged.postings}",
                )
            if (book.posted_sum, book.posted_count, book.posted_last) != (
                logged.balance,
                logged.postings,
                logged.postings,
            ):
                yield Finding(
                    Check.LEDGER,
                    f"{name}: {book.posted_count} postings in the books make {book.posted_sum}, "
                    f"{logged.postings} in the log {logged.balance}",
                )
        for currency, amount in sorted(sums.items()):
            if amount:
                yield Finding(Check.LEDGER, f"all accounts in {currency} sum to {amount}, not zero")

    def compare_chips(self, tables: Sequence[TableState]) -> Iterator[Finding]:
        """Escrows against the chips on the tables, each table as it was at the position that the
        wallet had applied."""
        chips: dict[str, int] = defaultdict(int)
        for state in tables:
            table_id = state.table.table_id
            for seat in state.seats.values():
                chips[escrow_account(table_id, seat.player)] += seat.chips
                for request_id, amount in seat.requests:
                    self._add_funded(chips, table_id, request_id, seat.player, amount)
            for request_id, player, amount in state.late_chips:
                self._add_funded(chips, table_id, request_id, player, amount)
        escrows = {
            name: account.balance
            for name, account in self.accounts.items()
            if name.startswith(f"{AccountKind.ESCROW}/")
        }
        for name in sorted(escrows.keys() | chips.keys()):
            held, there = escrows.get(name, 0), chips.get(name, 0)
            if held != there:
                yield Finding(
                    Check.LEDGER, f"{name}: {held} in escrow, {there} in chips on the table"
                )

    def _add_funded(
        self, chips: dict[str, int], table_id: str, request_id: str, player: str, amount: int
    ) -> None:
        """Chips that are in the escrow already and have yet to arrive at the table."""
        if request_id in self.funded:
            chips[escrow_account(table_id, player)] += amount
