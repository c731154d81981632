"""`croupier.wallet.v1.WalletService` on the wire: who asks, for whom, and what is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from croupier.type.v1.money_pb2 import Money as MoneyMessage
from croupier.wallet.v1 import wallet_pb2 as pb
from croupier.wallet.v1.events_pb2 import TransferKind as TransferKindMessage
from croupier.wallet.v1.wallet_pb2_grpc import WalletServiceServicer

from services.wallet import enquiries
from services.wallet.cashier import Cashier
from services.wallet.domain import check_player
from services.wallet.enquiries import PlayerAccount, StatementLine
from services.wallet.orders import (
    AccountAnswer,
    Command,
    Correct,
    Deposit,
    OpenAccount,
    Order,
    Withdraw,
)
from services.wallet.records import money_message, posting_message, timestamp
from shared.errors import CroupierError
from shared.ledger.accounts import AccountKind, player_account
from shared.log import CommandKey, on_connection
from shared.money import MOST_MINOR, Money
from shared.rpc import pages
from shared.rpc.access import Role
from shared.rpc.caller import caller, correlation_id

if TYPE_CHECKING:
    from shared.log.patience import Pool, PooledConnection

_OF_PLAYERS = frozenset({AccountKind.PLAYER, AccountKind.ESCROW, AccountKind.CASHIER})

_Context = Any
_T = TypeVar("_T")


class Wallet(WalletServiceServicer):
    """The service; see wallet.proto for what each method does and refuses."""

    def __init__(self, cashier: Cashier, pool: Pool) -> None:
        self._cashier = cashier
        self._pool = pool

    async def OpenAccount(  # noqa: N802
        self, request: pb.OpenAccountRequest, context: _Context
    ) -> pb.OpenAccountResponse:
        command = _command(request, OpenAccount(request.currency))
        answer = await self._cashier.execute(command)
        assert isinstance(answer, AccountAnswer)
        opened = PlayerAccount(command.player, answer.currency, 0, answer.opened_at)
        return pb.OpenAccountResponse(account=_account(opened))

    async def Deposit(  # noqa: N802
        self, request: pb.DepositRequest, context: _Context
    ) -> pb.DepositResponse:
        order = Deposit(_money(request.amount), request.note)
        return await self._transferred(request, order, pb.DepositResponse)

    async def Withdraw(  # noqa: N802
        self, request: pb.WithdrawRequest, context: _Context
    ) -> pb.WithdrawResponse:
        order = Withdraw(_money(request.amount), request.note)
        return await self._transferred(request, order, pb.WithdrawResponse)

    async def Correct(  # noqa: N802
        self, request: pb.CorrectRequest, context: _Context
    ) -> pb.CorrectResponse:
        order = Correct(request.table_id, request.hand_id, _money(request.amount), request.note)
        return await self._transferred(request, order, pb.CorrectResponse)

    async def _transferred(self, request: Any, order: Order, response: Callable[..., _T]) -> _T:
        answer = await self._cashier.execute(_command(request, order))
        assert not isinstance(answer, AccountAnswer)
        return response(
            transfer_id=str(answer.transfer_id),
            balance_after=money_message(answer.balance_after),
        )

    async def GetAccount(  # noqa: N802
        self, request: pb.GetAccountRequest, context: _Context
    ) -> pb.GetAccountResponse:
        player = _player(request.player)
        account = await self._ask(lambda connection: enquiries.account_of(connection, player))
        if account is None:
            raise CroupierError("ACCOUNT_NOT_FOUND", f"{player} has no account", "player")
        return pb.GetAccountResponse(account=_account(account))

    async def ListAccounts(  # noqa: N802
        self, request: pb.ListAccountsRequest, context: _Context
    ) -> pb.ListAccountsResponse:
        size = pages.size(request.page_size)
        after = pages.last_of(request.page_token)
        found = await self._ask(
            lambda connection: enquiries.accounts_after(connection, after, size + 1)
        )
        return pb.ListAccountsResponse(
            accounts=[_account(account) for account in found[:size]],
            next_page_token=pages.token(found[size - 1].player) if len(found) > size else "",
        )

    async def ListTransfers(  # noqa: N802
        self, request: pb.ListTransfersRequest, context: _Context
    ) -> pb.ListTransfersResponse:
        account = _asked_account(request)
        size = pages.size(request.page_size)
        before = pages.last_number(request.page_token, MOST_MINOR)
        found = await self._ask(
            lambda connection: enquiries.statement(connection, account, before, size + 1)
        )
        if found is None:
            raise CroupierError("ACCOUNT_NOT_FOUND", f"there is no account {account}", "player")
        more = len(found) > size
        return pb.ListTransfersResponse(
            transfers=[_transfer(line) for line in found[:size]],
            next_page_token=pages.token(str(found[size - 1].own.sequence)) if more else "",
        )

    async def GetLedger(  # noqa: N802
        self, request: pb.GetLedgerRequest, context: _Context
    ) -> pb.GetLedgerResponse:
        ledger = await self._ask(enquiries.ledger)
        sums: dict[str, int] = {}
        for total in ledger.totals:
            sums[total.currency] = sums.get(total.currency, 0) + total.amount
        return pb.GetLedgerResponse(
            totals=[
                pb.GetLedgerResponse.Total(
                    account_kind=total.kind,
                    amount=MoneyMessage(currency=total.currency, minor_units=total.amount),
                    accounts=total.accounts,
                )
                for total in ledger.totals
            ],
            sums=[
                MoneyMessage(currency=currency, minor_units=amount)
                for currency, amount in sums.items()
            ],
            applied=ledger.applied,
        )

    async def _ask(self, question: Callable[[PooledConnection], Awaitable[_T]]) -> _T:
        return await on_connection(self._pool, question)


def _command(request: Any, order: Order) -> Command:
    who = caller()
    player = _player(request.player)
    try:
        command_id = UUID(request.command_id)
    except ValueError:
        raise CroupierError("BAD_REQUEST", "a command id is a UUID", "command_id") from None
    # Whether a player named himself or left it out, he asks for the same.
    body = type(request)()
    body.CopyFrom(request)
    body.player = player
    body.command_id = ""
    name = body.DESCRIPTOR.name.encode()
    body_hash = sha256(name + b"\0" + body.SerializeToString(deterministic=True)).digest()
    key = CommandKey(f"{who.role}:{who.id}", command_id, body_hash)
    return Command(key, correlation_id(), player, order)


def _player(asked: str) -> str:
    """For whom: a player for himself, others for whom they name."""
    who = caller()
    if who.role is Role.PLAYER:
        if asked not in ("", who.id):
            raise CroupierError("ROLE_NOT_ALLOWED", "a player has his own account only", "player")
        return who.id
    check_player(asked)
    return asked


def _asked_account(request: pb.ListTransfersRequest) -> str:
    if not request.account:
        return player_account(_player(request.player))
    if not _sees(request.account):
        raise CroupierError("ROLE_NOT_ALLOWED", "that account is not the caller's", "account")
    return request.account


def _sees(account: str) -> bool:
    """Whether the caller may see an account: players see theirs, on the table and off it."""
    who = caller()
    kind, _, rest = account.partition("/")
    owner = rest.rpartition("/")[2]
    return who.role is not Role.PLAYER or (kind in _OF_PLAYERS and owner == who.id)


def _money(message: MoneyMessage) -> Money:
    return Money(message.currency, message.minor_units)


def _account(account: PlayerAccount) -> pb.Account:
    return pb.Account(
        player=account.player,
        balance=MoneyMessage(currency=account.currency, minor_units=account.balance),
        at_tables=[
            pb.TableChips(
                table_id=table,
                amount=MoneyMessage(currency=account.currency, minor_units=chips),
            )
            for table, chips in account.at_tables.items()
        ],
        opened_at=timestamp(account.opened_at),
    )


def _transfer(line: StatementLine) -> pb.Transfer:
    return pb.Transfer(
        transfer_id=str(line.transfer_id),
        transfer_kind=TransferKindMessage.ValueType(line.kind),
        postings=[posting_message(leg) for leg in line.postings if _sees(leg.account)],
        at=timestamp(line.at),
        hand_id=line.hand_id,
        note=line.note,
        change=MoneyMessage(currency=line.currency, minor_units=line.own.minor_units),
        balance_after=MoneyMessage(currency=line.currency, minor_units=line.own.balance_after),
    )
