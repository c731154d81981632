"""The shuffle service over a real Postgres, in this process and in one of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, TypeVar
from uuid import uuid4

import grpc
import pytest
from croupier.shuffle.v1 import events_pb2
from croupier.shuffle.v1 import shuffle_pb2 as pb
from croupier.shuffle.v1.shuffle_pb2_grpc import (
    ShuffleServiceStub,
    add_ShuffleServiceServicer_to_server,
)
from croupier.type.v1.card_pb2 import CardProof
from google.protobuf.message import Message

from services.shuffle.server import Shuffle
from services.shuffle.shoes import Shoes
from services.shuffle.storage import ShoeStore
from shared.cards import parse_card
from shared.errors import CroupierError
from shared.log import PostgresLog, RecordedEvent, open_pool
from shared.proofs.seeds import player_seed_commitment
from shared.proofs.shown_card import ShownCard, shown_card_holds
from shared.rpc.access import Role
from shared.rpc.errors import from_rpc_error
from shared.rpc.server import Server
from shared.sealing import Keyring
from tests.servers import Database
from tests.services import bearer, settings_without_servers

FIELD_KEYS = Keyring("k1", {"k1": bytes(range(32))})
SEED_KEYS = Keyring("s1", {"s1": bytes(range(32, 64))})
TABLE, HAND = "table-1", "hand-1"
DOWN, PLAYER, OPEN = pb.USE_DOWN, pb.USE_PLAYER, pb.USE_OPEN
BURN, BURN_OPEN, EXPOSED = pb.USE_BURN, pb.USE_BURN_OPEN, pb.USE_EXPOSED
Draw = pb.DealRequest.Draw


A = TypeVar("A", bound=Message)


def request_id() -> str:
    return str(uuid4())


@dataclass(frozen=True)
class Desk:
    """A table's end of the line to shuffle, with what most calls have in common."""

    channel: grpc.aio.Channel
    shoe: str
    table_id: str = TABLE
    epoch: int = 1
    role: Role = Role.TABLE_SERVICE
    subject: str = "node-1"

    def at(self, **changes: Any) -> Desk:
        return replace(self, **changes)

    def seed(self, player: str) -> bytes:
        """The player's seed for this test's shoe."""
        return sha256(f"{self.shoe} {player}".encode()).digest()

    async def call(self, method: str, request: Message, kind: type[A]) -> A:
        """The answer, or the `CroupierError` that the refusal tells."""
        try:
            answer = await getattr(ShuffleServiceStub(self.channel), method)(
                request, metadata=bearer(self.role, self.subject), timeout=30
            )
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None
        assert isinstance(answer, kind)
        return answer

    def common(self, again: str | None, shoe_id: str) -> dict[str, Any]:
        return {
            "request_id": again or request_id(),
            "shoe_id": shoe_id or self.shoe,
            "table_id": self.table_id,
            "epoch": self.epoch,
        }

    async def open(
        self, shoe_id: str = "", again: str | None = None, **changes: Any
    ) -> pb.OpenShoeResponse:
        rest = {
            "decks": 8,
            "cut_min_top": 1,
            "cut_min_bottom": 1,
            "behind_cut_card": 7,
            "publish": True,
        }
        request = pb.OpenShoeRequest(**self.common(again, shoe_id), **(rest | changes))
        return await self.call("OpenShoe", request, pb.OpenShoeResponse)

    async def commit(
        self, player: str, seed: bytes, shoe_id: str = "", again: str | None = None
    ) -> pb.CommitSeedResponse:
        commitment = player_seed_commitment(shoe_id or self.shoe, player, seed)
        request = pb.CommitSeedRequest(
            **self.common(again, shoe_id), player=player, commitment=commitment
        )
        return await self.call("CommitSeed", request, pb.CommitSeedResponse)

    async def cut(
        self, player: str = "", at: int = 0, shoe_id: str = "", again: str | None = None
    ) -> int:
        request = pb.CutShoeRequest(**self.common(again, shoe_id), player=player, at=at)
        return (await self.call("CutShoe", request, pb.CutShoeResponse)).at

    async def open_seed(
        self, player: str, seed: bytes, shoe_id: str = "", again: str | None = None
    ) -> pb.OpenSeedResponse:
        request = pb.OpenSeedRequest(**self.common(again, shoe_id), player=player, seed=seed)
        return await self.call("OpenSeed", request, pb.OpenSeedResponse)

    async def seal(self, shoe_id: str = "", again: str | None = None) -> pb.SealShoeResponse:
        request = pb.SealShoeRequest(**self.common(again, shoe_id))
        return await self.call("SealShoe", request, pb.SealShoeResponse)

    async def ready(self, shoe_id: str = "", **changes: Any) -> bytes:
        """Opens a shoe, lets the dealer cut, seals; gives its root."""
        await self.open(shoe_id, **changes)
        await self.cut(shoe_id=shoe_id)
        return (await self.seal(shoe_id)).root

    async def deal(
        self,
        *draws: pb.DealRequest.Draw,
        hand: str = HAND,
        shoe_id: str = "",
        again: str | None = None,
    ) -> pb.DealResponse:
        request = pb.DealRequest(**self.common(again, shoe_id), hand_id=hand, draws=draws)
        return await self.call("Deal", request, pb.DealResponse)

    async def claim(self, shoe_id: str = "") -> pb.Shoe:
        request = pb.ClaimShoeRequest(
            shoe_id=shoe_id or self.shoe, table_id=self.table_id, epoch=self.epoch
        )
        return (await self.call("ClaimShoe", request, pb.ClaimShoeResponse)).shoe

    async def retire(
        self,
        shoe_id: str = "",
        again: str | None = None,
        reason: events_pb2.RetireReason.ValueType = events_pb2.RETIRE_REASON_PLAYED,
    ) -> bytes:
        request = pb.RetireShoeRequest(**self.common(again, shoe_id), retire_reason=reason)
        return (await self.call("RetireShoe", request, pb.RetireShoeResponse)).server_seed

    async def get(self, shoe_id: str = "") -> pb.Shoe:
        request = pb.GetShoeRequest(shoe_id=shoe_id or self.shoe)
        return (await self.call("GetShoe", request, pb.GetShoeResponse)).shoe

    async def disclose(
        self,
        shoe_id: str = "",
        again: str | None = None,
        purpose: events_pb2.DisclosurePurpose.ValueType = events_pb2.DISCLOSURE_PURPOSE_CHECK,
        why: str = "derive it again",
        person: str = "",
    ) -> bytes:
        request = pb.DiscloseShoeRequest(
            request_id=again or request_id(),
            shoe_id=shoe_id or self.shoe,
            purpose=purpose,
            why=why,
            person=person,
        )
        return (await self.call("DiscloseShoe", request, pb.DiscloseShoeResponse)).server_seed


Start = Callable[[], Awaitable["Process"]]


@dataclass(frozen=True)
class Process:
    """One shuffle service: a fresh memory over the database."""

    desk: Desk
    log: PostgresLog
    shoes: Shoes


@pytest.fixture
def shoe() -> str:
    """The shoe of one test; the database is that of the module."""
    return f"shoe-{uuid4().hex}"


@pytest.fixture
async def start(module_database: Database, shoe: str) -> AsyncIterator[Start]:
    """Starts a shuffle service; each has a memory of its own, as after a restart."""
    async with AsyncExitStack() as stack:

        async def started() -> Process:
            pool = await open_pool(module_database.dsn("croupier_shuffle"), 4)
            stack.push_async_callback(pool.close)
            log = await stack.enter_async_context(PostgresLog(pool))
            shoes = Shoes(log, ShoeStore(pool, SEED_KEYS), FIELD_KEYS)
            server = Server(settings_without_servers())
            add_ShuffleServiceServicer_to_server(Shuffle(shoes), server.grpc)
            port = await server.start()
            stack.push_async_callback(server.drain)
            channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
            stack.push_async_callback(channel.close)
            return Process(Desk(channel, shoe), log, shoes)

        yield started


@pytest.fixture
async def process(start: Start) -> Process:
    return await start()


@pytest.fixture
def desk(process: Process) -> Desk:
    return process.desk


async def refusal(call: Awaitable[Any]) -> str:
    """The reason why `call` was refused."""
    with pytest.raises(CroupierError) as caught:
        await call
    return caught.value.reason


async def events(process: Process) -> list[RecordedEvent]:
    return await process.log.read_stream(f"shuffle/{process.desk.shoe}")


async def types(process: Process) -> list[str]:
    return [event.type for event in await events(process)]


def holds(root: bytes, shoe_id: str, proof: CardProof, cards: int = 416) -> bool:
    shown = ShownCard(proof.position, parse_card(proof.card), proof.salt, tuple(proof.path))
    return shown_card_holds(root, shoe_id, cards, shown)
