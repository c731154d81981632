"""Accounts and money."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

from croupier.type.v1.money_pb2 import Money
from croupier.wallet.v1 import wallet_pb2 as pb
from croupier.wallet.v1 import wallet_pb2_grpc

from clients.api.connection import Connection

PAGE_SIZE = 200


class WalletClient:
    """The wallet service; an empty `player` means the caller's own. Raises `RefusedError`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = wallet_pb2_grpc.WalletServiceStub(connection.channel)

    async def open_account(self, currency: str, player: str = "") -> pb.Account:
        """Opens an account. One that is there already is `ACCOUNT_EXISTS`."""
        request = pb.OpenAccountRequest(command_id=_id(), player=player, currency=currency)
        answer = await self._connection.call(self._stub.OpenAccount, request)
        return answer.account

    async def deposit(self, player: str, amount: Money, note: str = "") -> pb.DepositResponse:
        """Money from outside (cashiers and operators)."""
        request = pb.DepositRequest(command_id=_id(), player=player, amount=amount, note=note)
        return await self._connection.call(self._stub.Deposit, request)

    async def withdraw(
        self, amount: Money, player: str = "", note: str = ""
    ) -> pb.WithdrawResponse:
        """Money to the outside."""
        request = pb.WithdrawRequest(command_id=_id(), player=player, amount=amount, note=note)
        return await self._connection.call(self._stub.Withdraw, request)

    async def correct(
        self, player: str, table_id: str, hand_id: str, amount: Money, note: str = ""
    ) -> pb.CorrectResponse:
        """The pit corrects a settled hand by a transfer of its own: what the player gets (below
        zero: gives), from the house's side of the table (TAB-12)."""
        request = pb.CorrectRequest(
            command_id=_id(),
            player=player,
            table_id=table_id,
            hand_id=hand_id,
            amount=amount,
            note=note,
        )
        return await self._connection.call(self._stub.Correct, request)

    async def account(self, player: str = "") -> pb.Account:
        """Balance, and chips at tables."""
        answer = await self._connection.call(
            self._stub.GetAccount, pb.GetAccountRequest(player=player)
        )
        return answer.account

    async def accounts(self) -> AsyncIterator[pb.Account]:
        """All accounts (operators, auditors)."""
        token = ""
        while True:
            answer = await self._connection.call(
                self._stub.ListAccounts,
                pb.ListAccountsRequest(page_size=PAGE_SIZE, page_token=token),
            )
            for account in answer.accounts:
                yield account
            token = answer.next_page_token
            if not token:
                return

    async def transfers(self, player: str = "", limit: int = PAGE_SIZE) -> list[pb.Transfer]:
        """The statement: the newest `limit` transfers of an account, newest first."""
        found: list[pb.Transfer] = []
        token = ""
        while len(found) < limit:
            request = pb.ListTransfersRequest(
                player=player, page_size=min(PAGE_SIZE, limit - len(found)), page_token=token
            )
            answer = await self._connection.call(self._stub.ListTransfers, request)
            found += answer.transfers
            token = answer.next_page_token
            if not token:
                break
        return found

    async def ledger(self) -> pb.GetLedgerResponse:
        """Sums and totals over all accounts, and how far the wallet has got."""
        return await self._connection.call(self._stub.GetLedger, pb.GetLedgerRequest())


def _id() -> str:
    return str(uuid.uuid4())
