"""What may happen to money: every decision of the wallet, over the accounts as they are.

Nothing here changes anything. A decision is a `Transfer` (or the reason why there is none); the
caller adds `posted(transfer)` to the accounts it goes on with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from uuid import UUID

from shared.errors import CroupierError
from shared.ledger.accounts import (
    MAY_OWE,
    AccountKind,
    cashier_account,
    commission_account,
    escrow_account,
    house_account,
    kind_of,
    player_account,
    pot_account,
)
from shared.money import LEAST_MINOR, MOST_MINOR, Money

MAX_AMOUNT_MINOR = 10**15
"""The most that one deposit, withdrawal or buy-in may move."""

POOL_GAMES = frozenset({"draw_poker"})
"""Games in which players win from each other: the house's part of a hand is its rake, no more."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOTE = re.compile(r"[A-Za-z0-9_.:/#-]{0,64}")


class TransferKind(IntEnum):
    """Why money moved; the numbers are those of croupier.wallet.v1.TransferKind."""

    DEPOSIT = 1
    WITHDRAWAL = 2
    BUY_IN = 3
    CASH_OUT = 4
    SETTLEMENT = 5
    COMMISSION = 6
    CORRECTION = 7
    FINE = 8


@dataclass(frozen=True, slots=True)
class Account:
    """An account as it is now: minor units, and how many postings made it so."""

    currency: str
    balance: int = 0
    postings: int = 0


Accounts = Mapping[str, Account]
"""Accounts by name: at least all those that a decision names, as far as they exist."""


@dataclass(frozen=True, slots=True)
class Table:
    """What the wallet has to know of a table."""

    table_id: str
    currency: str
    game: str


@dataclass(frozen=True, slots=True)
class Posting:
    """One leg: minor units into (negative: out of) an account, what it holds afterwards, and the
    number of this posting in its account, from 1."""

    account: str
    minor_units: int
    balance_after: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """A balanced transfer: its postings sum to zero, each names another account, none is zero.

    It has no postings only where a hand, a commission or the like moved nothing.
    """

    id: UUID
    kind: TransferKind
    currency: str
    postings: tuple[Posting, ...]
    hand_id: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A buy-in that is not to be; `reason` is a name of croupier.type.v1.Reason."""

    reason: str


def open_account(accounts: Accounts, player: str, currency: str) -> Account:
    """The account of a player, who has one only.

    Raises BAD_AMOUNT (`currency`) and ACCOUNT_EXISTS.
    """
    empty = Money(currency, 0)
    if player_account(player) in accounts:
        raise CroupierError("ACCOUNT_EXISTS", f"{player} has an account already", "player")
    return Account(empty.currency)


def deposit(
    accounts: Accounts, transfer_id: UUID, player: str, amount: Money, note: str = ""
) -> Transfer:
    """Money from outside into a player's account.

    Raises BAD_AMOUNT, BAD_REQUEST (`note`), ACCOUNT_NOT_FOUND and CURRENCY_MISMATCH.
    """
    _check_order(amount, note)
    legs = {
        cashier_account(player): -amount.minor_units,
        player_account(player): amount.minor_units,
    }
    transfer = _transfer(accounts, transfer_id, TransferKind.DEPOSIT, amount.currency, legs)
    return replace(transfer, note=note)


def withdraw(
    accounts: Accounts, transfer_id: UUID, player: str, amount: Money, note: str = ""
) -> Transfer:
    """Money from a player's account to the outside.

    Raises BAD_AMOUNT, BAD_REQUEST (`note`), ACCOUNT_NOT_FOUND, CURRENCY_MISMATCH and
    INSUFFICIENT_FUNDS.
    """
    _check_order(amount, note)
    legs = {
        player_account(player): -amount.minor_units,
        cashier_account(player): amount.minor_units,
    }
    transfer = _transfer(accounts, transfer_id, TransferKind.WITHDRAWAL, amount.currency, legs)
    return replace(transfer, note=note)


def correct(
    accounts: Accounts,
    transfer_id: UUID,
    table: Table,
    player: str,
    hand_id: str,
    amount: Money,
    note: str = "",
) -> Transfer:
    """What a settled hand should have brought a player (below zero: should not have), from the
    house's side of the table, by a ruling of the management (TAB-12).

    Raises BAD_AMOUNT, BAD_REQUEST (`note`, `hand_id`), ACCOUNT_NOT_FOUND, CURRENCY_MISMATCH and
    INSUFFICIENT_FUNDS.
    """
    _check_order(Money(amount.currency, abs(amount.minor_units)), note)
    if not re.fullmatch(rf"{re.escape(table.table_id)}-[1-9][0-9]{{0,18}}", hand_id):
        raise CroupierError("BAD_REQUEST", f"hand_id: no hand of {table.table_id}", "hand_id")
    if amount.currency != table.currency:
        raise CroupierError(
            "CURRENCY_MISMATCH", f"{table.table_id} plays in {table.currency}", "currency"
        )
    legs = {
        house_account(table.table_id): -amount.minor_units,
        player_account(player): amount.minor_units,
    }
    transfer = _transfer(accounts, transfer_id, TransferKind.CORRECTION, amount.currency, legs)
    return replace(transfer, hand_id=hand_id, note=note)


def buy_in(
    accounts: Accounts, transfer_id: UUID, table: Table, player: str, amount: int
) -> Transfer | Refused:
    """Chips for a player at a table, out of his account, or why he gets none (TAB-04)."""
    legs = {
        player_account(player): -amount,
        escrow_account(table.table_id, player): amount,
    }
    try:
        _check_amount(amount)
        return _transfer(accounts, transfer_id, TransferKind.BUY_IN, table.currency, legs)
    except CroupierError as error:
        return Refused(error.reason)


def cash_out(
    accounts: Accounts, transfer_id: UUID, table: Table, player: str, amount: int
) -> Transfer:
    """Chips of a player at a table back into his account.

    Raises BAD_AMOUNT, ACCOUNT_NOT_FOUND and INSUFFICIENT_CHIPS: a table that asks for what its
    player does not have there is wrong about its own chips.
    """
    to = player_account(player)
    return _take(accounts, transfer_id, TransferKind.CASH_OUT, table, player, amount, to)


def settle(
    accounts: Accounts,
    transfer_id: UUID,
    table: Table,
    hand_id: str,
    nets: Mapping[str, int],
    pot_change: int,
    rake: int,
) -> Transfer:
    """One transfer for a whole hand.

    `nets` is returned less staked by player, `pot_change` what the waiting pot gained. The house
    takes the other side, however little it has: against the house all of it, in a game of the
    players' own its rake. Raises BAD_AMOUNT where the hand's sums contradict its game, and
    ACCOUNT_NOT_FOUND or INSUFFICIENT_CHIPS where they contradict the chips at the table.
    """
    house = -(sum(nets.values()) + pot_change)
    if table.game in POOL_GAMES:
        if house != rake or rake < 0:
            raise CroupierError(
                "BAD_AMOUNT", f"players and pot leave {house} for a rake of {rake}", "rake"
            )
    elif pot_change or rake:
        raise CroupierError("BAD_AMOUNT", f"{table.game} knows neither pot nor rake", "pot_change")
    legs = {escrow_account(table.table_id, player): net for player, net in nets.items()}
    legs[pot_account(table.table_id)] = pot_change
    legs[house_account(table.table_id)] = house
    transfer = _transfer(accounts, transfer_id, TransferKind.SETTLEMENT, table.currency, legs)
    return replace(transfer, hand_id=hand_id)


def take_commission(
    accounts: Accounts, transfer_id: UUID, table: Table, player: str, taken: int
) -> Transfer:
    """Commission out of a player's chips (BAC-11).

    Raises BAD_AMOUNT, ACCOUNT_NOT_FOUND and INSUFFICIENT_CHIPS.
    """
    to = commission_account(table.table_id)
    return _take(accounts, transfer_id, TransferKind.COMMISSION, table, player, taken, to)


def take_fine(
    accounts: Accounts, transfer_id: UUID, table: Table, player: str, amount: int
) -> Transfer:
    """A fine out of a player's chips, for the house (DRW-15).

    Raises BAD_AMOUNT, ACCOUNT_NOT_FOUND and INSUFFICIENT_CHIPS.
    """
    to = house_account(table.table_id)
    return _take(accounts, transfer_id, TransferKind.FINE, table, player, amount, to)


def posted(transfer: Transfer) -> dict[str, Account]:
    """The accounts that `transfer` touches, as they are after it."""
    return {
        posting.account: Account(transfer.currency, posting.balance_after, posting.sequence)
        for posting in transfer.postings
    }


def check_player(player: str) -> None:
    """Refuses what cannot be a player's id (BAD_REQUEST)."""
    if not _ID.fullmatch(player):
        raise CroupierError("BAD_REQUEST", "player: 1 to 64 letters, digits, _ and -", "player")


def _check_order(amount: Money, note: str) -> None:
    _check_amount(amount.minor_units)
    # A reference, not prose: whatever is in the log stays for ever and is no place for names.
    if not _NOTE.fullmatch(note):
        raise CroupierError(
            "BAD_REQUEST", "note: a reference of up to 64 letters, digits and _.:/#-", "note"
        )


def _check_amount(amount: int) -> None:
    if not 1 <= amount <= MAX_AMOUNT_MINOR:
        raise CroupierError(
            "BAD_AMOUNT", f"an amount is 1 to {MAX_AMOUNT_MINOR} minor units", "amount"
        )


def _take(
    accounts: Accounts,
    transfer_id: UUID,
    kind: TransferKind,
    table: Table,
    player: str,
    amount: int,
    to: str,
) -> Transfer:
    """Chips of a player at a table, to another account."""
    if amount < 0:
        raise CroupierError("BAD_AMOUNT", f"cannot take {amount}", "amount")
    legs = {escrow_account(table.table_id, player): -amount, to: amount}
    return _transfer(accounts, transfer_id, kind, table.currency, legs)


def _transfer(
    accounts: Accounts,
    transfer_id: UUID,
    kind: TransferKind,
    currency: str,
    legs: Mapping[str, int],
) -> Transfer:
    assert sum(legs.values()) == 0, "a transfer balances"
    postings = tuple(
        _posting(_account(accounts, name, kind, currency), name, minor_units)
        for name, minor_units in legs.items()
        if minor_units
    )
    return Transfer(transfer_id, kind, currency, postings)


def _account(accounts: Accounts, name: str, kind: TransferKind, currency: str) -> Account:
    account = accounts.get(name)
    if account is None:
        account_kind = kind_of(name)
        # A player opens his account himself, a buy-in opens an escrow, all others open at need.
        if account_kind is AccountKind.PLAYER or (
            account_kind is AccountKind.ESCROW and kind is not TransferKind.BUY_IN
        ):
            raise CroupierError("ACCOUNT_NOT_FOUND", f"there is no account {name}", "player")
        return Account(currency)
    if account.currency != currency:
        raise CroupierError(
            "CURRENCY_MISMATCH", f"{name} is in {account.currency}, not {currency}", "currency"
        )
    return account


def _posting(account: Account, name: str, minor_units: int) -> Posting:
    balance = account.balance + minor_units
    kind = kind_of(name)
    if balance < 0 and kind not in MAY_OWE:
        reason = "INSUFFICIENT_FUNDS" if kind is AccountKind.PLAYER else "INSUFFICIENT_CHIPS"
        raise CroupierError(
            reason, f"{name} holds {account.balance}, {-minor_units} are asked", "amount"
        )
    if not (LEAST_MINOR <= minor_units <= MOST_MINOR and LEAST_MINOR <= balance <= MOST_MINOR):
        raise CroupierError("BAD_AMOUNT", f"{name} cannot hold that much", "amount")
    return Posting(name, minor_units, balance, account.postings + 1)
