"""The ledger: events against each other, against the books, against the chips on the tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from croupier.wallet.v1 import events_pb2 as pb

from services.audit.verify.findings import Finding, read
from services.audit.verify.ledger import Account, Book, LedgerWalk
from shared.table import events as e
from shared.table.state import TableState
from tests.unit.audit.given import Night, as_read, played, told


async def walked(evening: Night) -> tuple[LedgerWalk, list[Finding]]:
    walk = LedgerWalk()
    found: list[Finding] = []
    for event in await evening.log.read_partition("wallet.0", 0, 10_000):
        found += walk.step(read(event))
    return walk, [*found, *walk.end()]


def books(walk: LedgerWalk, **changes: Any) -> dict[str, Book]:
    """Books that say what the log says, those of ann's escrow changed."""
    kept = {
        name: Book(
            account.currency,
            account.balance,
            account.postings,
            account.balance,
            account.postings,
            account.postings,
        )
        for name, account in walk.accounts.items()
    }
    kept["table/t1/ann"] = replace(kept["table/t1/ann"], **changes)
    return kept


async def test_the_ledger_as_it_was_played_holds() -> None:
    evening = await played(2)
    walk, found = await walked(evening)
    assert found == []
    assert told(walk.compare(books(walk))) == []
    assert told(walk.compare_chips([evening.house.tables["t1"]])) == []


def posted(*legs: pb.Posting, currency: str = "EUR") -> Any:
    return as_read(pb.TransferPosted(currency=currency, postings=legs))


def leg(account: str, amount: int, after: int, sequence: int = 1) -> pb.Posting:
    return pb.Posting(account=account, minor_units=amount, balance_after=after, sequence=sequence)


def test_a_transfer_sums_to_zero() -> None:
    walk = LedgerWalk()
    assert told(walk.step(posted(leg("a", 5, 5), leg("b", -4, -4)))) == [
        "the transfer does not sum to zero"
    ]


def test_an_account_has_one_currency() -> None:
    walk = LedgerWalk()
    assert told(walk.step(posted(leg("a", 5, 5), leg("b", -5, -5)))) == []
    dollars = posted(leg("a", 5, 10, 2), leg("c", -5, -5), currency="USD")
    assert told(walk.step(dollars)) == ["a is in EUR"]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (leg("a", 3, 9, 2), "a: 2 postings make 8, the last one, number 2, says 9"),
        (leg("a", 3, 8, 3), "a: 2 postings make 8, the last one, number 3, says 8"),
        (leg("a", 3, 8, 1), "a: 2 postings make 8, the last one, number 1, says 5"),
    ],
)
def test_the_last_posting_says_what_all_add_up_to(second: pb.Posting, message: str) -> None:
    walk = LedgerWalk()
    list(walk.step(posted(leg("a", 5, 5), leg("b", -5, -5))))
    list(walk.step(posted(second, leg("b", -second.minor_units, -8, 2))))
    assert told(walk.end()) == [message]


def test_other_events_of_the_wallet_move_nothing() -> None:
    walk = LedgerWalk()
    assert list(walk.step(as_read(pb.AccountOpened(player="ann", currency="EUR")))) == []
    assert walk.accounts == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"balance": 1}, "table/t1/ann: the books hold 1 EUR after 2 postings, the log "),
        ({"postings": 9}, " EUR after 9 postings, the log "),
        ({"currency": "USD"}, " USD after 2 postings, the log "),
        ({"posted_sum": 1}, "table/t1/ann: 2 postings in the books make 1, 2 in the log "),
        ({"posted_count": 3}, "table/t1/ann: 3 postings in the books make "),
        ({"posted_last": 3}, "table/t1/ann: 2 postings in the books make "),
    ],
)
async def test_books_that_differ_are_named(changes: dict[str, Any], message: str) -> None:
    walk, _ = await walked(await played(1))
    assert any(message in told_ for told_ in told(walk.compare(books(walk, **changes))))


async def test_sums_other_than_zero_are_named() -> None:
    walk, _ = await walked(await played(1))
    balance = walk.accounts["table/t1/ann"].balance
    messages = told(walk.compare(books(walk, balance=balance + 3)))
    assert messages[-1] == "all accounts in EUR sum to 3, not zero"


async def test_accounts_that_only_one_side_knows_are_named() -> None:
    walk, _ = await walked(await played(1))
    kept = books(walk)
    del kept["house/t1"]
    kept["player/eve"] = Book("EUR", 9, 1, 9, 1, 1)
    messages = told(walk.compare(kept))
    assert "house/t1: in the log, and not in the books" in messages
    assert any(message.startswith("player/eve: the books hold 9") for message in messages)


async def test_escrows_are_the_chips_on_the_table() -> None:
    evening = await played(1)
    walk, _ = await walked(evening)
    table = evening.house.tables["t1"]
    walk.accounts["table/t1/ann"].balance += 5
    held, chips = walk.accounts["table/t1/ann"].balance, table.seats["ann"].chips
    assert told(walk.compare_chips([table])) == [
        f"table/t1/ann: {held} in escrow, {chips} in chips on the table"
    ]
    assert f"table/t1/bob: {table.seats['bob'].chips} in escrow, 0 in chips on the table" in told(
        walk.compare_chips([])
    )


async def test_chips_on_their_way_to_the_table_are_in_escrow_already() -> None:
    evening = await played(1)
    await evening.wallet.open("ann", 700)
    request = e.ChipsRequested("ann", 700, evening.clock.microseconds())
    await evening.house.write("t1", request)
    asked = evening.house.tables["t1"]
    walk, _ = await walked(evening)
    assert told(walk.compare_chips([asked])) == []
    await evening.wallet.follow()
    walk, _ = await walked(evening)
    assert told(walk.compare_chips([asked])) == []
    assert walk.accounts["table/t1/ann"].balance == asked.seats["ann"].chips + 700


async def test_late_chips_of_one_who_has_left_are_in_escrow() -> None:
    evening = await played(1)
    table = evening.house.tables["t1"]
    left = replace(table, late_chips=(("r1", "eve", 30), ("r2", "eve", 5)))
    walk = LedgerWalk(funded={"r1"})
    walk.accounts = {"table/t1/eve": Account("EUR", 30)}
    messages = told(walk.compare_chips([left]))
    assert not any("eve" in message for message in messages)


def test_no_tables_no_chips() -> None:
    assert told(LedgerWalk().compare_chips([])) == []
    assert TableState().seats == {}
