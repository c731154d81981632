"""The ledger built once more from the wallet's events alone, and compared with its tables."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import asyncpg
from croupier.wallet.v1 import events_pb2 as wallet_events

_EVENTS = """
    SELECT type, payload FROM log.events WHERE partition LIKE 'wallet.%'
     ORDER BY partition, position
"""
_POSTINGS = """
    SELECT account, sequence, transfer_id::text, amount, balance_after FROM wallet.postings
"""


@dataclass(frozen=True)
class Books:
    """Currency, balance and number of postings by account; postings (account, number, transfer,
    amount, balance after it); transfers by id."""

    accounts: dict[str, tuple[str, int, int]]
    postings: set[tuple[str, int, str, int, int]]
    transfers: set[str]


async def books_by_the_log(root: asyncpg.Connection[asyncpg.Record]) -> Books:
    """What the wallet's events say. Fails where they contradict themselves."""
    accounts: dict[str, tuple[str, int, int]] = {}
    postings: set[tuple[str, int, str, int, int]] = set()
    transfers: set[str] = set()
    for kind, payload in await root.fetch(_EVENTS):
        if kind == "AccountOpened":
            opened = wallet_events.AccountOpened.FromString(payload)
            accounts.setdefault(f"player/{opened.player}", (opened.currency, 0, 0))
        if kind == "TransferPosted":
            posted = wallet_events.TransferPosted.FromString(payload)
            assert posted.transfer_id not in transfers, "a transfer is posted twice"
            transfers.add(posted.transfer_id)
            assert sum(leg.minor_units for leg in posted.postings) == 0
            for leg in posted.postings:
                currency, balance, count = accounts.get(leg.account, (posted.currency, 0, 0))
                assert currency == posted.currency
                accounts[leg.account] = (currency, balance + leg.minor_units, count + 1)
                postings.add(
                    (
                        leg.account,
                        leg.sequence,
                        posted.transfer_id,
                        leg.minor_units,
                        leg.balance_after,
                    )
                )
    running: dict[str, int] = defaultdict(int)
    numbers: dict[str, int] = defaultdict(int)
    for account, number, _, amount, after in sorted(postings):
        running[account] += amount
        numbers[account] += 1
        assert (number, after) == (numbers[account], running[account]), account
    return Books(accounts, postings, transfers)


async def books_as_kept(root: asyncpg.Connection[asyncpg.Record]) -> Books:
    """What the wallet's tables say."""
    accounts = await root.fetch("SELECT account, currency, balance, postings FROM wallet.accounts")
    transfers = await root.fetch("SELECT transfer_id::text FROM wallet.transfers")
    return Books(
        {account: (currency, balance, count) for account, currency, balance, count in accounts},
        {tuple(row) for row in await root.fetch(_POSTINGS)},
        {row["transfer_id"] for row in transfers},
    )


async def assert_books_hold(root: asyncpg.Connection[asyncpg.Record]) -> Books:
    """The ledger is what the log says, and its accounts sum to zero in each currency."""
    async with root.transaction(isolation="repeatable_read", readonly=True):
        kept = await books_as_kept(root)
        assert kept == await books_by_the_log(root)
    sums: dict[str, int] = defaultdict(int)
    for currency, balance, _ in kept.accounts.values():
        sums[currency] += balance
    assert not any(sums.values()), sums
    return kept
