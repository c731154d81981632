"""What people ask of the cashier, what becomes of it, and the answer as the log gives it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid5

from croupier.wallet.v1 import events_pb2 as wallet_events

from services.wallet import domain
from services.wallet.domain import Account, Accounts, Table, Transfer
from shared.errors import CroupierError
from shared.events import decode
from shared.ids import NAMESPACE_CROUPIER
from shared.ledger.accounts import (
    cashier_account,
    house_account,
    player_account,
    wallet_stream,
)
from shared.log import CommandKey
from shared.money import Money


@dataclass(frozen=True, slots=True)
class OpenAccount:
    """An account for the player, in this currency."""

    currency: str


@dataclass(frozen=True, slots=True)
class Deposit:
    """Money from outside."""

    amount: Money
    note: str


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Money to the outside."""

    amount: Money
    note: str


@dataclass(frozen=True, slots=True)
class Correct:
    """Money between the house's side of a table and the player, for a hand settled wrongly."""

    table_id: str
    hand_id: str
    amount: Money
    note: str


Order = OpenAccount | Deposit | Withdraw | Correct


@dataclass(frozen=True, slots=True)
class Command:
    """What somebody (`key.caller`) asks for `player`."""

    key: CommandKey
    correlation_id: UUID
    player: str
    order: Order

    @property
    def stream(self) -> str:
        """The stream that tells of it."""
        return wallet_stream(self.player)

    @property
    def transfer_id(self) -> UUID:
        """The id of the transfer that it brings about: the same whenever it is asked again."""
        name = f"{self.stream}:{self.key.caller}:{self.key.command_id}"
        return uuid5(NAMESPACE_CROUPIER, name)

    @property
    def accounts(self) -> tuple[str, ...]:
        """The accounts that must be known before it can be decided."""
        if isinstance(self.order, Correct):
            return (player_account(self.player), house_account(self.order.table_id))
        return (player_account(self.player), cashier_account(self.player))

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that must be known."""
        return (self.order.table_id,) if isinstance(self.order, Correct) else ()


@dataclass(frozen=True, slots=True)
class AccountAnswer:
    """An account was opened."""

    currency: str
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class TransferAnswer:
    """Money has moved; `balance_after` is what the player held right after it."""

    transfer_id: UUID
    balance_after: Money


def carry_out(
    accounts: Accounts,
    tables: Mapping[str, Table],
    command: Command,
    settled: Collection[str] = (),
) -> Account | Transfer:
    """The account or the transfer that a command brings about; `tables` are those it names, as far
    as they exist, `settled` the hands that it names, as far as they were settled.

    Raises `CroupierError` where it is refused: ACCOUNT_EXISTS, ACCOUNT_NOT_FOUND, BAD_AMOUNT,
    BAD_REQUEST, CURRENCY_MISMATCH, HAND_NOT_FOUND, INSUFFICIENT_FUNDS, TABLE_NOT_FOUND.
    """
    order = command.order
    if isinstance(order, OpenAccount):
        return domain.open_account(accounts, command.player, order.currency)
    if isinstance(order, Correct):
        table = tables.get(order.table_id)
        if table is None:
            raise CroupierError("TABLE_NOT_FOUND", "no money was ever at this table", "table_id")
        transfer = domain.correct(
            accounts,
            command.transfer_id,
            table,
            command.player,
            order.hand_id,
            order.amount,
            order.note,
        )
        if order.hand_id not in settled:
            raise CroupierError("HAND_NOT_FOUND", "no such hand was settled", "hand_id")
        return transfer
    carry = domain.deposit if isinstance(order, Deposit) else domain.withdraw
    return carry(accounts, command.transfer_id, command.player, order.amount, order.note)


def answer_in(player: str, event_type: str, payload: bytes) -> AccountAnswer | TransferAnswer:
    """The answer to the command that brought this event about, however often it is asked."""
    body = decode(event_type, payload)
    if isinstance(body, wallet_events.AccountOpened):
        return AccountAnswer(body.currency, body.at.ToDatetime(UTC))
    account = player_account(player)
    balance = next(leg.balance_after for leg in body.postings if leg.account == account)
    return TransferAnswer(UUID(body.transfer_id), Money(body.currency, balance))
