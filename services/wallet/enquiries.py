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
_AFTER = "account > $1 AND account < 'player0' ORDER BY account LIMIT $2"
_IS_THERE = "SELECT true FROM wallet.accounts WHERE account = $1"
# One statement sees one moment: between two of them chips are bought or cashed, and the money would
# be shown twice or not at all. OFFSET 0 has the chips looked up player by player, by the index.
_WITH_CHIPS = """
    SELECT a.account, a.currency, a.balance, a.opened_at, e.account, e.balance
      FROM (SELECT account, currency, balance, opened_at FROM wallet.accounts WHERE {}) AS a
      LEFT JOIN LATERAL (
        SELECT account, balance FROM wallet.accounts
         WHERE account ^@ 'table/' AND split_part(account, '/', 3) = split_part(a.account, '/', 2)
           AND balance <> 0 OFFSET 0
      ) AS e ON true
     ORDER BY a.account, e.account
"""
_ACCOUNT_WITH_CHIPS = _WITH_CHIPS.format("account = $1")
_ACCOUNTS_WITH_CHIPS = _WITH_CHIPS.format(_AFTER)
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
    rows = await connection.fetch(_ACCOUNT_WITH_CHIPS, player_account(player))
    accounts = _with_chips(rows)
    return accounts[0] if accounts else None


async def accounts_after(connection: Connection, player: str, limit: int) -> list[PlayerAccount]:
    """Up to `limit` players' accounts that come behind `player` by name."""
    return _with_chips(await connection.fetch(_ACCOUNTS_WITH_CHIPS, player_account(player), limit))


def _with_chips(rows: Sequence[asyncpg.Record]) -> list[PlayerAccount]:
    found: dict[str, PlayerAccount] = {}
    for name, currency, balance, opened_at, escrow, chips in rows:
        player = name.removeprefix(_PLAYER_PREFIX)
        account = found.setdefault(player, PlayerAccount(player, currency, balance, opened_at))
        if escrow is not None:
            account.at_tables[table_and_player(escrow)[0]] = chips
    return list(found.values())


async def statement(
    connection: Connection, account: str, before: int, limit: int
) -> list[StatementLine] | None:
    """Up to `limit` transfers that touched `account`, newest first, with a posting of a number
    below `before`. None: there is no such account."""
    rows = await connection.fetch(_STATEMENT, account, before, limit)
    if not rows and not await connection.fetchval(_IS_THERE, account):
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
