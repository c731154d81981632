"""A wallet over a real Postgres: its books, its service on the wire, tables that ask for money."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID, uuid4

import asyncpg
import grpc
import pytest
from croupier.table.v1 import events_pb2 as table_events
from croupier.type.v1.money_pb2 import Money
from croupier.wallet.v1 import wallet_pb2 as pb
from croupier.wallet.v1.wallet_pb2_grpc import (
    WalletServiceStub,
    add_WalletServiceServicer_to_server,
)
from google.protobuf.message import Message
from pydantic import SecretStr

from services.wallet.cashier import Cashier
from services.wallet.following import apply
from services.wallet.server import Wallet
from shared.log import Append, NewEvent, PostgresLog, RecordedEvent, event_id, open_pool
from shared.ops.settings import WalletSettings
from shared.rpc.access import Role
from shared.rpc.errors import from_rpc_error
from shared.rpc.server import Server
from tests.ledger import Books, assert_books_hold
from tests.servers import Database
from tests.services import PUBLIC_KEY, bearer

A = TypeVar("A", bound=Message)


@dataclass
class Tables:
    """What tables write into the log. Each method appends one event and gives its id."""

    log: PostgresLog
    versions: dict[str, int] = field(default_factory=dict)

    async def write(self, table: str, *bodies: Message) -> UUID:
        """Appends events; the id of the last."""
        before = self.versions.get(table, 0)
        events = tuple(
            NewEvent(body.DESCRIPTOR.name, body.SerializeToString(), "table") for body in bodies
        )
        [answer] = await self.log.append([Append(uuid4(), f"table/{table}", before, events)])
        self.versions[table] = answer.last_version
        return event_id(f"table/{table}", answer.last_version)

    async def open(self, table: str, currency: str = "EUR", game: str = "baccarat") -> UUID:
        return await self.write(
            table, table_events.TableOpened(table_id=table, currency=currency, game=game)
        )

    async def buy_in(self, table: str, player: str, amount: int) -> UUID:
        return await self.write(table, table_events.ChipsRequested(player=player, amount=amount))

    async def cash_out(self, table: str, player: str, amount: int) -> UUID:
        return await self.write(table, table_events.CashOutRequested(player=player, amount=amount))

    async def settle(
        self,
        table: str,
        hand: str,
        *lines: tuple[str, int, int],
        pot_change: int = 0,
        rake: int = 0,
    ) -> UUID:
        """`lines` are player, stake, returned."""
        return await self.write(table, hand_settled(hand, *lines, pot_change=pot_change, rake=rake))

    async def take_commission(self, table: str, player: str, taken: int) -> UUID:
        return await self.write(table, table_events.CommissionTaken(player=player, taken=taken))


def hand_settled(
    hand: str, *lines: tuple[str, int, int], pot_change: int = 0, rake: int = 0
) -> table_events.HandSettled:
    return table_events.HandSettled(
        hand_id=hand,
        lines=[
            table_events.SettledLine(player=player, wager="player", stake=stake, returned=returned)
            for player, stake, returned in lines
        ],
        pot_change=pot_change,
        rake=rake,
    )


@dataclass
class Ledger:
    """The wallet's books, looked at as superuser; and its consumer's work, done by hand."""

    root: asyncpg.Connection[asyncpg.Record]
    dsn: str

    async def balance(self, account: str) -> int | None:
        """None: there is no such account."""
        row = await self.root.fetchrow(
            "SELECT balance FROM wallet.accounts WHERE account = $1", account
        )
        return None if row is None else int(row["balance"])

    async def check(self) -> Books:
        """The books are what the log says."""
        return await assert_books_hold(self.root)

    async def events_of(self, owner: str) -> list[str]:
        """The types of the events in a wallet stream."""
        rows = await self.root.fetch(
            "SELECT type FROM log.events WHERE stream = $1 ORDER BY version", f"wallet/{owner}"
        )
        return [row["type"] for row in rows]

    async def table_log(self) -> list[RecordedEvent]:
        """All events of tables, in order."""
        rows = await self.root.fetch(
            """
            SELECT partition, position, stream, version, type, schema_version, payload, hash,
                   hand_id, causation_id, correlation_id, actor, recorded_at
              FROM log.events WHERE partition = 'table.0' ORDER BY position
            """
        )
        return [RecordedEvent(*row) for row in rows]

    async def follow(self, events: Sequence[RecordedEvent] | None = None) -> frozenset[str]:
        """Applies events of tables (default: all) as the consumer does, in one transaction of the
        wallet's role."""
        connection = await asyncpg.connect(self.dsn)
        try:
            async with connection.transaction():
                due = await self.table_log() if events is None else events
                return await apply(connection, due)
        finally:
            await connection.close()


@dataclass(frozen=True)
class Client:
    """A caller of the service."""

    channel: grpc.aio.Channel
    role: Role
    subject: str

    async def call(self, method: str, request: Message, kind: type[A]) -> A:
        """The answer, or the `CroupierError` that the refusal tells."""
        try:
            answer = await getattr(WalletServiceStub(self.channel), method)(
                request, metadata=bearer(self.role, self.subject), timeout=30
            )
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None
        assert isinstance(answer, kind)
        return answer

    async def open(self, currency: str = "EUR", **rest: Any) -> pb.Account:
        request = pb.OpenAccountRequest(**_with_id(rest), currency=currency)
        return (await self.call("OpenAccount", request, pb.OpenAccountResponse)).account

    async def deposit(
        self, player: str, amount: int, currency: str = "EUR", **rest: Any
    ) -> pb.DepositResponse:
        money = Money(currency=currency, minor_units=amount)
        request = pb.DepositRequest(**_with_id(rest), player=player, amount=money)
        return await self.call("Deposit", request, pb.DepositResponse)

    async def withdraw(
        self, amount: int, currency: str = "EUR", **rest: Any
    ) -> pb.WithdrawResponse:
        money = Money(currency=currency, minor_units=amount)
        request = pb.WithdrawRequest(**_with_id(rest), amount=money)
        return await self.call("Withdraw", request, pb.WithdrawResponse)

    async def correct(
        self, player: str, amount: int, table: str = "b1", hand: str = "b1-9", **rest: Any
    ) -> pb.CorrectResponse:
        money = Money(currency="EUR", minor_units=amount)
        request = pb.CorrectRequest(
            **_with_id(rest), player=player, table_id=table, hand_id=hand, amount=money
        )
        return await self.call("Correct", request, pb.CorrectResponse)

    async def account(self, player: str = "") -> pb.Account:
        request = pb.GetAccountRequest(player=player)
        return (await self.call("GetAccount", request, pb.GetAccountResponse)).account

    async def accounts(self, **rest: Any) -> pb.ListAccountsResponse:
        request = pb.ListAccountsRequest(**rest)
        return await self.call("ListAccounts", request, pb.ListAccountsResponse)

    async def transfers(self, **rest: Any) -> pb.ListTransfersResponse:
        request = pb.ListTransfersRequest(**rest)
        return await self.call("ListTransfers", request, pb.ListTransfersResponse)

    async def ledger(self) -> pb.GetLedgerResponse:
        return await self.call("GetLedger", pb.GetLedgerRequest(), pb.GetLedgerResponse)


def _with_id(rest: dict[str, Any]) -> dict[str, Any]:
    return {"command_id": str(uuid4())} | rest


@dataclass(frozen=True)
class Service:
    """The service on the wire."""

    channel: grpc.aio.Channel

    def player(self, player: str) -> Client:
        return Client(self.channel, Role.PLAYER, player)

    @property
    def operator(self) -> Client:
        return Client(self.channel, Role.OPERATOR, "olga")

    @property
    def pit(self) -> Client:
        return Client(self.channel, Role.PIT, "pia")

    @property
    def auditor(self) -> Client:
        return Client(self.channel, Role.AUDITOR, "aud")

    async def player_with(self, player: str, amount: int) -> Client:
        """A player who has an account and money in it."""
        client = self.player(player)
        await client.open()
        await self.operator.deposit(player, amount)
        return client


@pytest.fixture
async def root(database: Database) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """A superuser's connection."""
    connection = await asyncpg.connect(database.dsn())
    yield connection
    await connection.close()


@pytest.fixture
def ledger(database: Database, root: asyncpg.Connection[asyncpg.Record]) -> Ledger:
    return Ledger(root, database.dsn("croupier_wallet"))


@pytest.fixture
async def tables(database: Database) -> AsyncIterator[Tables]:
    pool = await open_pool(database.dsn("croupier_table"))
    async with PostgresLog(pool) as log:
        yield Tables(log)
    await pool.close()


@pytest.fixture
async def service(database: Database) -> AsyncIterator[Service]:
    """The service, over two connections to the database."""
    pool = await open_pool(database.dsn("croupier_wallet"), max_size=2)
    cashier = Cashier(pool, lambda moved: None)
    server = Server(
        WalletSettings(
            node="w1",
            listen="127.0.0.1:0",
            metrics_listen="127.0.0.1:0",
            token_public_key=PUBLIC_KEY,
            database_dsn=SecretStr(database.dsn("croupier_wallet")),
            nats_url=SecretStr("nats://unused"),
        )
    )
    add_WalletServiceServicer_to_server(Wallet(cashier, pool), server.grpc)
    port = await server.start()
    async with grpc.aio.insecure_channel(
        f"127.0.0.1:{port}", options=(("grpc.enable_retries", 0),)
    ) as channel:
        yield Service(channel)
        await server.drain()
    await cashier.close()
    await pool.close()
