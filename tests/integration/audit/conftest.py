"""A real house in Postgres, indexed, with the audit service over it; a superuser to tamper."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID, uuid4, uuid5

import asyncpg
import grpc
import pytest
from croupier.audit.v1 import audit_pb2 as pb
from croupier.audit.v1.audit_pb2_grpc import (
    AuditServiceStub,
    add_AuditServiceServicer_to_server,
)
from google.protobuf.message import Message

from services.audit.main import apply as index
from services.audit.server import Audit
from services.shuffle import decide as ask
from services.shuffle.shoe import Purpose
from services.shuffle.shoes import Request, Shoes
from services.shuffle.storage import ShoeStore
from services.wallet.cashier import Cashier
from services.wallet.following import apply as follow
from services.wallet.orders import Command, Deposit, OpenAccount
from shared.bus.bookmark import Bookmarks
from shared.bus.tables import ConsumerTables
from shared.errors import CroupierError
from shared.log import (
    CommandKey,
    Connection,
    EventLog,
    PostgresLog,
    RecordedEvent,
    open_pool,
)
from shared.log.patience import Pool
from shared.money import Money
from shared.ops.settings import AuditSettings
from shared.rpc.access import Role
from shared.rpc.errors import from_rpc_error
from shared.rpc.server import Server
from tests.integration.audit.signed_log import SIGNER, SignedLog, opened_log
from tests.playing import FIELD_KEYS, SEED_KEYS, House, same_seeds
from tests.servers import Database
from tests.services import PUBLIC_KEY, bearer

A = TypeVar("A", bound=Message)
Apply = Callable[[Connection, Sequence[RecordedEvent]], Awaitable[object]]


@dataclass
class Follower:
    """A service's consumer without a bus: `catch_up` applies what is new in a partition and moves
    the position in the same transaction."""

    pool: Pool
    name: str
    apply: Apply

    async def catch_up(self, partition: str) -> None:
        marks = Bookmarks(ConsumerTables(self.name), self.name, partition)
        async with self.pool.acquire() as connection, connection.transaction():
            held, _ = await marks.read(connection)
            rows = await connection.fetch(
                """
                SELECT partition, position, stream, version, type, schema_version, payload, hash,
                       hand_id, causation_id, correlation_id, actor, recorded_at
                  FROM log.events WHERE partition = $1 AND position > $2 ORDER BY position
                """,
                partition,
                held.position,
            )
            events = [RecordedEvent(*row) for row in rows]
            if events:
                assert await marks.move(connection, held, events[-1])
                await self.apply(connection, events)


@dataclass
class RealWallet:
    """The wallet's own code over its own tables."""

    pool: Pool
    log: EventLog
    cashier: Cashier

    async def open(self, player: str, amount: int) -> None:
        await self.cashier.execute(_command(player, OpenAccount("EUR")))
        await self.cashier.execute(_command(player, Deposit(Money("EUR", amount), "")))

    async def follow(self) -> None:
        await Follower(self.pool, "wallet", follow).catch_up("table.0")

    async def answer(self, request_id: UUID) -> bool:
        answers = await self.log.find_by_causation([request_id])
        return any(event.type == "ChipsFunded" for event in answers)


def _command(player: str, order: Any) -> Command:
    return Command(CommandKey("operator", uuid4(), bytes(32)), uuid4(), player, order)


@dataclass
class RealHouse:
    """A house over Postgres. `root` is a superuser's connection."""

    house: House
    wallet: RealWallet
    indexer: Follower
    root: asyncpg.Connection[asyncpg.Record]
    disclosed: list[str] = field(default_factory=list)
    instead: bytes | CroupierError | None = None

    async def play(self, hands: int, table_id: str = "t1") -> list[str]:
        """Some hands of ann and bob, settled and indexed; their ids."""
        ids = [
            await self.house.play(table_id, ("ann", 1, "banker", 2_000), ("bob", 2, "player", 500))
            for _ in range(hands)
        ]
        await self.settle()
        return ids

    async def settle(self) -> None:
        """The wallet and the audit come to the end of the log."""
        await self.wallet.follow()
        for partition in ("table.0", "shuffle.0", "wallet.0", "audit.0"):
            await self.indexer.catch_up(partition)

    async def disclose(self, shoe_id: str) -> bytes:
        """What shuffle would answer the audit service, or what a test has it answer."""
        if isinstance(self.instead, CroupierError):
            raise self.instead
        if self.instead is not None:
            return self.instead
        request_id = uuid5(UUID(int=1), shoe_id)
        seed = await self._told(shoe_id, request_id, ask.Disclose(Purpose.CHECK, "a1", "check"))
        self.disclosed.append(shoe_id)
        return seed

    async def disclose_to(self, shoe_id: str, person: str, why: str, request_id: UUID) -> bytes:
        """What shuffle would answer it for a person."""
        return await self._told(shoe_id, request_id, ask.Disclose(Purpose.PERSON, person, why))

    async def _told(self, shoe_id: str, request_id: UUID, command: ask.Disclose) -> bytes:
        who = "audit-service/a1"
        request = Request(request_id, bytes(32), who, who, uuid4(), shoe_id)
        return await self.house.shoes.disclose(request, command)

    async def tamper(self, sql: str, *arguments: Any) -> None:
        """What only a superuser can do, who switches the triggers off; it must hit one row."""
        async with self.root.transaction():
            for table in _GUARDED:
                await self.root.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
            assert (await self.root.execute(sql, *arguments)).split()[-1] == "1"


_GUARDED = (
    "log.events",
    "log.blocks",
    "log.partitions",
    "log.streams",
    "wallet.accounts",
    "wallet.postings",
)


@dataclass(frozen=True)
class Client:
    """A caller of the service."""

    channel: grpc.aio.Channel
    role: Role = Role.AUDITOR
    subject: str = "ina"
    address: str = ""

    async def call(self, method: str, request: Message, kind: type[A]) -> A:
        """The answer, or the `CroupierError` that the refusal tells."""
        try:
            answer = await getattr(AuditServiceStub(self.channel), method)(
                request, metadata=bearer(self.role, self.subject), timeout=30
            )
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None
        assert isinstance(answer, kind)
        return answer

    async def hands(self, **wanted: Any) -> pb.ListHandsResponse:
        return await self.call("ListHands", pb.ListHandsRequest(**wanted), pb.ListHandsResponse)

    async def replay(self, hand_id: str) -> pb.ReplayHandResponse:
        request = pb.ReplayHandRequest(hand_id=hand_id)
        return await self.call("ReplayHand", request, pb.ReplayHandResponse)

    async def verify(self, hand_id: str) -> pb.VerifyHandResponse:
        request = pb.VerifyHandRequest(hand_id=hand_id)
        return await self.call("VerifyHand", request, pb.VerifyHandResponse)

    async def verify_all(
        self, table_id: str = "", against: Sequence[str] = ()
    ) -> list[pb.VerifyAllResponse]:
        """All reports; the last is the whole one."""
        try:
            return [
                report
                async for report in AuditServiceStub(self.channel).VerifyAll(
                    pb.VerifyAllRequest(table_id=table_id, against=against),
                    metadata=bearer(self.role),
                )
            ]
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None

    async def findings(self, against: Sequence[str] = ()) -> list[pb.Finding]:
        """All that a check of everything finds."""
        reports = await self.verify_all(against=against)
        return [finding for report in reports for finding in report.findings]

    async def notes(self) -> dict[str, str]:
        """The newest checkpoint of each partition."""
        request = pb.ListCheckpointsRequest()
        answer = await self.call("ListCheckpoints", request, pb.ListCheckpointsResponse)
        return {each.partition: each.note for each in answer.checkpoints}

    async def events(self, **wanted: Any) -> pb.ListEventsResponse:
        return await self.call("ListEvents", pb.ListEventsRequest(**wanted), pb.ListEventsResponse)


def refused(error: pytest.ExceptionInfo[CroupierError]) -> tuple[str, str]:
    """Reason and field of a refusal."""
    return error.value.reason, error.value.field


@pytest.fixture
async def real(database: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RealHouse]:
    """A fresh house with table "t1" and "ann" and "bob" at it, 100,000 in chips each."""
    same_seeds(monkeypatch)
    async with AsyncExitStack() as stack:
        pools = {}
        for role in ("table", "shuffle", "wallet", "audit"):
            pools[role] = await open_pool(database.dsn(f"croupier_{role}"), 2)
            stack.push_async_callback(pools[role].close)
        log = await stack.enter_async_context(PostgresLog(pools["table"]))
        shuffle_log = await stack.enter_async_context(PostgresLog(pools["shuffle"]))
        shoes = Shoes(shuffle_log, ShoeStore(pools["shuffle"], SEED_KEYS), FIELD_KEYS)
        cashier = Cashier(pools["wallet"], lambda moved: None)
        stack.push_async_callback(cashier.close)
        wallet = RealWallet(pools["wallet"], log, cashier)
        root = await asyncpg.connect(database.dsn())
        stack.push_async_callback(root.close)
        house = House(log, shoes, wallet, lambda: time.time_ns() // 1000)
        await house.open_table()
        await house.seat("t1", "ann", 100_000)
        await house.seat("t1", "bob", 100_000)
        yield RealHouse(house, wallet, Follower(pools["audit"], "audit", index), root)


@pytest.fixture
async def pool(database: Database) -> AsyncIterator[Pool]:
    """Connections of the audit service's role."""
    opened = await open_pool(database.dsn("croupier_audit"), 2)
    yield opened
    await opened.close()


@pytest.fixture
async def client(real: RealHouse, database: Database) -> AsyncIterator[Client]:
    """The audit service over that house, and an auditor who calls it."""
    async with AsyncExitStack() as stack:
        pool = await open_pool(database.dsn("croupier_audit"), 4)
        stack.push_async_callback(pool.close)
        log = await stack.enter_async_context(PostgresLog(pool))
        server = Server(
            AuditSettings(
                node="a1",
                listen="127.0.0.1:0",
                metrics_listen="127.0.0.1:0",
                token_public_key=PUBLIC_KEY,
                database_dsn="postgresql://unused",  # type: ignore[arg-type]
                nats_url="nats://unused",  # type: ignore[arg-type]
                deployment_key="A" * 43 + "=",  # type: ignore[arg-type]
                shuffle_address="127.0.0.1:1",
                service_token="unused",  # type: ignore[arg-type]
                log_id=SIGNER.name,
                checkpoint_key=b64encode(SIGNER.private_key).decode(),  # type: ignore[arg-type]
            )
        )
        audit = Audit(log, pool, FIELD_KEYS, real.disclose, real.disclose_to, SIGNER.verifier)
        add_AuditServiceServicer_to_server(audit, server.grpc)
        port = await server.start()
        stack.push_async_callback(server.drain)
        channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        stack.push_async_callback(channel.close)
        yield Client(channel, address=f"127.0.0.1:{port}")


@pytest.fixture
async def signed_log(database: Database) -> AsyncIterator[SignedLog]:
    async with opened_log(database) as opened:
        yield opened
