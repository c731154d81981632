"""What may be asked of the ledger: accounts, statements, totals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from services.wallet.domain import Posting, TransferKind
from shared.ledger.accounts import player_account, table_and_player

if TYPE_CHECKING:
    import asyncpg

    from shared.log import Connection

CONSUMER = "wallet"
"""The name under which the wallet keeps its positions in the table partitions."""

_PLAYER_PREFIX = player_account("")

# In the order of the index "player0" is what comes behind all that begins with "player/".
_ACCOUNTS = """
    SELECT account, currency, balance, opened_at FROM wallet.accounts
     WHERE account > $1 AND account < 'player0' ORDER BY account LIMIT $2
"""
_ACCOUNT = "SELECT account, currency, balance, opened_at FROM wallet.accounts WHERE account = $1"
_ESCROWS = """
    SELECT account, balance FROM wallet.accounts
     WHERE account ^@ 'table/' AND split_part(account, '/', 3) = ANY ($1::text[]) AND balance <> 0
     ORDER BY account
"""
_STATEMENT = """
    SELECT p.sequence, t.transfer_id, t.kind, t.currency, t.at, t.hand_id, t.note
      FROM wallet.postings AS p JOIN wallet.transfers AS t USING (transfer_id)
     WHERE p.account = $1 AND p.sequence < $2 ORDER BY p.sequence DESC LIMIT $3
"""
_LEGS = """
    SELECT transfer_id, account, amount, balance_after, sequence FROM wallet.postings
     WHERE transfer_id = ANY ($1::uuid[]) ORDER BY transfer_id, account
"""
_TOTALS = """
    SELECT split_part(account, '/', 1), currency, sum(balance), count(*)
      FROM wallet.accounts GROUP BY 1, 2 ORDER BY 1, 2
"""
_APPLIED = "SELECT partition, position FROM wallet.consumer_positions WHERE consumer = $1"


@dataclass(frozen=True, slots=True)
class PlayerAccount:
    """A player's free money, and what he has at tables (minor units by table id, none zero)."""

    player: str
    currency: str
    balance: int
    opened_at: datetime
    at_tables: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StatementLine:
    """A transfer as it touched the account that was asked about: `own` is that account's leg."""

    transfer_id: UUID
    kind: TransferKind
    currency: str
    at: datetime
    hand_id: str
    note: str
    own: Posting
    postings: tuple[Posting, ...]


@dataclass(frozen=True, slots=True)
class Total:
    """All accounts of a kind in a currency."""

    kind: str
    currency: str
    amount: int
    accounts: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """The whole at one moment; `applied` is the position by table partition."""

    totals: tuple[Total, ...]
    applied: dict[str, int]


async def account_of(connection: Connection, player: str) -> PlayerAccount | None:
    """The account of a player; None where he has none."""
    rows = await connection.fetch(_ACCOUNT, player_account(player))
    accounts = await _with_chips(connection, rows)
    return accounts[0] if accounts else None


async def accounts_after(connection: Connection, player: str, limit: int) -> list[PlayerAccount]:
    """Up to `limit` players' accounts that come behind `player` by name."""
    rows = await connection.fetch(_ACCOUNTS, player_account(player), limit)
    return await _with_chips(connection, rows)


async def _with_chips(
    connection: Connection, rows: Sequence[asyncpg.Record]
) -> list[PlayerAccount]:
    accounts = {
        name.removeprefix(_PLAYER_PREFIX): (currency, balance, opened_at)
        for name, currency, balance, opened_at in rows
    }
    found = [PlayerAccount(player, *account) for player, account in accounts.items()]
    by_player = {account.player: account for account in found}
    for name, balance in await connection.fetch(_ESCROWS, list(accounts)):
        table, player = table_and_player(name)
        by_player[player].at_tables[table] = balance
    return found


async def statement(
    connection: Connection, account: str, before: int, limit: int
) -> list[StatementLine] | None:
    """Up to `limit` transfers that touched `account`, newest first, with a posting of a number
    below `before`. None: there is no such account."""
    rows = await connection.fetch(_STATEMENT, account, before, limit)
    if not rows and not await connection.fetchrow(_ACCOUNT, account):
        return None
    legs = await _legs(connection, [row["transfer_id"] for row in rows])
    return [
        StatementLine(
            transfer_id,
            TransferKind(kind),
            currency,
            at,
            hand_id,
            note,
            next(leg for leg in legs[transfer_id] if leg.account == account),
            tuple(legs[transfer_id]),
        )
        for _, transfer_id, kind, currency, at, hand_id, note in rows
    ]


async def _legs(connection: Connection, transfers: Iterable[UUID]) -> dict[UUID, list[Posting]]:
    legs: dict[UUID, list[Posting]] = {}
    for transfer_id, account, amount, balance, sequence in await connection.fetch(
        _LEGS, list(transfers)
    ):
        legs.setdefault(transfer_id, []).append(Posting(account, amount, balance, sequence))
    return legs


async def ledger(connection: Connection) -> Ledger:
    """Totals by kind and currency, and how far the tables' events are applied."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        totals = await connection.fetch(_TOTALS)
        applied = await connection.fetch(_APPLIED, CONSUMER)
    return Ledger(
        tuple(
            Total(kind, currency, int(amount), count) for kind, currency, amount, count in totals
        ),
        {row["partition"]: row["position"] for row in applied},
    )
