"""What the tables' events ask of the wallet, and what it decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from croupier.table.v1 import events_pb2 as table_events

from services.wallet import domain
from services.wallet.domain import Accounts, Refused, Table, Transfer
from shared.errors import CroupierError
from shared.events import UnreadableEventError
from shared.events import decode as decode_event
from shared.ledger.accounts import (
    commission_account,
    escrow_account,
    house_account,
    player_account,
    pot_account,
)
from shared.log import RecordedEvent
from shared.money import Money

MONEY_EVENTS = frozenset(
    {
        "TableOpened",
        "ChipsRequested",
        "CashOutRequested",
        "HandSettled",
        "PotPaid",
        "CommissionTaken",
        "FineTaken",
    }
)
"""The types of table events that the wallet acts on; it passes over all others."""


@dataclass(frozen=True, slots=True)
class TableOpening:
    """A table to remember."""

    table: Table


@dataclass(frozen=True, slots=True)
class BuyIn:
    """Chips are asked for."""

    table_id: str
    player: str
    amount: int


@dataclass(frozen=True, slots=True)
class CashOut:
    """Chips come back."""

    table_id: str
    player: str
    amount: int


@dataclass(frozen=True, slots=True)
class Settlement:
    """A hand is over; `nets` is returned less staked, by player."""

    table_id: str
    hand_id: str
    nets: Mapping[str, int]
    pot_change: int
    rake: int


@dataclass(frozen=True, slots=True)
class Commission:
    """Owed commission was taken from a player's chips."""

    table_id: str
    player: str
    taken: int


@dataclass(frozen=True, slots=True)
class Fine:
    """The pit took chips from a player for the house (DRW-15)."""

    table_id: str
    player: str
    amount: int


Instruction = TableOpening | BuyIn | CashOut | Settlement | Commission | Fine


def table_of(event: RecordedEvent) -> str:
    """The id of the table that an event is of."""
    return event.stream.removeprefix("table/")


def instruction_in(event: RecordedEvent) -> Instruction:
    """What an event (one of `MONEY_EVENTS`) asks for.

    Raises BAD_REQUEST, or BAD_AMOUNT, where it is not what a table may say.
    """
    try:
        body = decode_event(event.type, event.payload)
    except UnreadableEventError as error:
        raise CroupierError("BAD_REQUEST", str(error)) from error
    return _instruction(table_of(event), body)


def accounts_in(instruction: Instruction) -> tuple[str, ...]:
    """The accounts that must be known before it can be decided."""
    match instruction:
        case BuyIn(table, player) | CashOut(table, player):
            return (player_account(player), escrow_account(table, player))
        case Settlement(table, _, nets):
            escrows = (escrow_account(table, player) for player in nets)
            return (*escrows, pot_account(table), house_account(table))
        case Commission(table, player):
            return (escrow_account(table, player), commission_account(table))
        case Fine(table, player):
            return (escrow_account(table, player), house_account(table))
        case _:
            return ()


def decide(
    accounts: Accounts, tables: Mapping[str, Table], transfer_id: UUID, instruction: Instruction
) -> Transfer | Refused | Table:
    """The transfer that answers an instruction, or why a buy-in is refused; a table to remember.

    Raises `CroupierError` where the ledger cannot follow the table: then one of them is wrong, and
    a person must look (TABLE_NOT_FOUND, BAD_AMOUNT, ACCOUNT_NOT_FOUND, INSUFFICIENT_CHIPS, …).
    """
    if isinstance(instruction, TableOpening):
        return instruction.table
    table = tables.get(instruction.table_id)
    if table is None:
        raise CroupierError("TABLE_NOT_FOUND", f"table {instruction.table_id} was never opened")
    match instruction:
        case BuyIn(_, player, amount):
            return domain.buy_in(accounts, transfer_id, table, player, amount)
        case CashOut(_, player, amount):
            return domain.cash_out(accounts, transfer_id, table, player, amount)
        case Settlement(_, hand_id, nets, pot_change, rake):
            return domain.settle(accounts, transfer_id, table, hand_id, nets, pot_change, rake)
        case Fine(_, player, amount):
            return domain.take_fine(accounts, transfer_id, table, player, amount)
        case _:
            return domain.take_commission(
                accounts, transfer_id, table, instruction.player, instruction.taken
            )


def _instruction(table_id: str, body: Any) -> Instruction:
    match body:
        case table_events.TableOpened():
            return _opening(table_id, body)
        case table_events.HandSettled():
            return Settlement(table_id, body.hand_id, _nets(body), body.pot_change, body.rake)
        case table_events.PotPaid():
            shares = _shares(body)
            return Settlement(table_id, "", shares, -sum(shares.values()), 0)
    domain.check_player(body.player)
    match body:
        case table_events.ChipsRequested():
            return BuyIn(table_id, body.player, body.amount)
        case table_events.CashOutRequested():
            return CashOut(table_id, body.player, body.amount)
        case table_events.FineTaken():
            return Fine(table_id, body.player, body.amount)
        case _:
            return Commission(table_id, body.player, body.taken)


def _opening(table_id: str, body: table_events.TableOpened) -> TableOpening:
    if not body.game:
        raise CroupierError("BAD_REQUEST", "the table has no game", "game")
    return TableOpening(Table(table_id, Money(body.currency, 0).currency, body.game))


def _shares(paid: table_events.PotPaid) -> dict[str, int]:
    shares: dict[str, int] = {}
    for share in paid.shares:
        domain.check_player(share.player)
        if share.amount < 0:
            raise CroupierError("BAD_AMOUNT", f"{share.player}'s share is negative", "shares")
        shares[share.player] = shares.get(share.player, 0) + share.amount
    return shares


def _nets(hand: table_events.HandSettled) -> dict[str, int]:
    nets: dict[str, int] = {}
    for line in hand.lines:
        domain.check_player(line.player)
        if line.stake < 0 or line.returned < 0:
            raise CroupierError("BAD_AMOUNT", f"{line.player}'s {line.wager} is negative", "lines")
        nets[line.player] = nets.get(line.player, 0) + line.returned - line.stake
    return nets
