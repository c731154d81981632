"""A house in memory with its own clock, its log as evidence, and ways to tamper with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, cast
from uuid import UUID, uuid4

from google.protobuf.message import Message

from services.audit.verify.findings import Check, Finding, Read, read
from services.audit.verify.postings import PostingsWalk
from services.audit.verify.shoe import ShoeRecord
from services.audit.verify.table_walk import TableWalk
from services.shuffle.shoes import Shoes
from services.shuffle.storage import ShoeStore
from services.wallet import domain, records
from services.wallet.books import Books
from services.wallet.records import Cause
from services.wallet.table_events import MONEY_EVENTS, BuyIn, decide, instruction_in
from shared.ledger.accounts import player_account, wallet_stream
from shared.log import Append, Appended, MemoryLog, NewEvent, RecordedEvent, event_hash
from shared.money import Money
from shared.proofs.seeds import player_seed_commitment
from shared.table import events as e
from shared.table.codec import TableCodec
from shared.table.sealer import KeyringSealer
from tests.playing import FIELD_KEYS, Bet, House

START = datetime(2026, 1, 1, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CODEC = TableCodec(KeyringSealer(FIELD_KEYS))


@dataclass
class Clock:
    """Goes on by a millisecond each time somebody looks at it."""

    now: datetime = START

    def moment(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def microseconds(self) -> int:
        return (self.moment() - _EPOCH) // timedelta(microseconds=1)


@dataclass
class MemoryStore:
    """Seeds as `ShoeStore` keeps them."""

    log: MemoryLog
    seeds: dict[str, bytes] = field(default_factory=dict)

    async def server_seed(self, shoe_id: str) -> bytes:
        return self.seeds[shoe_id]

    async def append_opening(self, append: Append, shoe_id: str, server_seed: bytes) -> Appended:
        self.seeds[shoe_id] = server_seed
        return (await self.log.append([append]))[0]

    async def append_player_seed(
        self, append: Append, shoe_id: str, fingerprint: bytes
    ) -> Appended:
        return (await self.log.append([append]))[0]

    async def append_retiring(self, append: Append, shoe_id: str, published: bool) -> Appended:
        return (await self.log.append([append]))[0]


@dataclass
class MemoryWallet:
    """The wallet's decisions over accounts in memory."""

    log: MemoryLog
    clock: Clock
    books: Books = field(default_factory=lambda: Books(START))
    versions: dict[str, int] = field(default_factory=dict)
    applied: int = 0
    funded: set[UUID] = field(default_factory=set)

    async def open(self, player: str, amount: int) -> None:
        if player_account(player) not in self.books.accounts:
            self.books.open(player_account(player), domain.Account("EUR"))
        money = Money("EUR", amount)
        transfer = domain.deposit(self.books.accounts, uuid4(), player, money)
        self.books.add(transfer)
        cause = Cause("operator", None, None)
        await self.tell(player, [records.transfer_posted(transfer, self.clock.moment(), cause)])

    async def follow(self) -> None:
        for event in await self.log.read_partition("table.0", self.applied, 10_000):
            self.applied = event.position
            if event.type in MONEY_EVENTS:
                await self._apply(event)

    async def answer(self, request_id: UUID) -> bool:
        return request_id in self.funded

    async def tell(self, owner: str, events: Iterable[NewEvent]) -> None:
        stream, told = wallet_stream(owner), tuple(events)
        version = self.versions.get(stream, 0)
        await self.log.append([Append(uuid4(), stream, version, told)])
        self.versions[stream] = version + len(told)

    async def _apply(self, event: RecordedEvent) -> None:
        instruction = instruction_in(event)
        decision = decide(self.books.accounts, self.books.tables, event.id, instruction)
        if isinstance(decision, domain.Table):
            self.books.open_table(decision)
            return
        cause, told = Cause.of(event), []
        if isinstance(decision, domain.Transfer):
            self.books.add(decision)
            told.append(records.transfer_posted(decision, self.clock.moment(), cause))
        if isinstance(instruction, BuyIn):
            told.append(records.chips_answer(instruction, "EUR", decision, cause))
            if isinstance(decision, domain.Transfer):
                self.funded.add(event.id)
        await self.tell(event.stream.removeprefix("table/"), told)


@dataclass
class Night:
    """A house in memory."""

    house: House
    log: MemoryLog
    wallet: MemoryWallet
    clock: Clock


async def empty_night() -> Night:
    """A house without tables."""
    clock = Clock()
    log = MemoryLog(now=clock.moment)
    store = cast(ShoeStore, MemoryStore(log))
    wallet = MemoryWallet(log, clock)
    shoes = Shoes(log, store, FIELD_KEYS, now=clock.moment)
    return Night(House(log, shoes, wallet, clock.microseconds), log, wallet, clock)


async def night() -> Night:
    """A house with the table "t1", at which "ann" and "bob" have 100,000 in chips each."""
    evening = await empty_night()
    await evening.house.open_table()
    await evening.house.seat("t1", "ann", 100_000)
    await evening.house.seat("t1", "bob", 100_000)
    return evening


BETS: tuple[Bet, ...] = (("ann", 1, "banker", 2_000), ("bob", 2, "player", 500))


async def played(hands: int = 2, *, bets: Iterable[Bet] = BETS) -> Night:
    """The same after some hands, all of them settled in the wallet too."""
    evening = await night()
    for _ in range(hands):
        await evening.house.play("t1", *bets)
    await evening.wallet.follow()
    return evening


@dataclass
class Evidence:
    """The log of a table and all about it, to be changed by whoever wants to see it found."""

    table: list[RecordedEvent]
    shoes: dict[str, list[RecordedEvent]]
    wallet: list[RecordedEvent]

    @classmethod
    async def of(cls, evening: Night) -> Evidence:
        table = await evening.log.read_stream("table/t1", 0, 10_000)
        named = [read(event).body.shoe_id for event in table if event.type == "ShoeRequested"]
        shoes = {
            shoe_id: await evening.log.read_stream(f"shuffle/{shoe_id}", 0, 10_000)
            for shoe_id in named
        }
        return cls(table, shoes, await evening.log.read_stream("wallet/t1", 0, 10_000))

    def findings(self) -> list[Finding]:
        """What a whole walk finds."""
        found: list[Finding] = []
        records_ = {}
        for shoe_id, events in self.shoes.items():
            record = records_[shoe_id] = ShoeRecord(shoe_id, FIELD_KEYS)
            for event in events:
                found += record.step(read(event))
        walk = TableWalk(CODEC, records_)
        for event in self.table:
            found += walk.step(event)
        found += walk.end()
        postings = PostingsWalk()
        for money in walk.money:
            postings.ask(money)
        for event in self.wallet:
            postings.answer(read(event))
        found += postings.match()
        found += postings.end(self.table[-1].position if self.table else 0)
        return found

    def change(
        self,
        events: list[RecordedEvent],
        kind: str,
        change: Callable[[Any], None],
        number: int = 0,
    ) -> RecordedEvent:
        """Changes the payload of the `number`th event of a type in place; its hash follows, as a
        superuser would see to. Gives the changed event."""
        place = [at for at, event in enumerate(events) if event.type == kind][number]
        events[place] = with_body(events[place], change)
        return events[place]

    @property
    def shoe(self) -> list[RecordedEvent]:
        """The events of the first shoe."""
        return next(iter(self.shoes.values()))


def with_body(event: RecordedEvent, change: Callable[[Any], None]) -> RecordedEvent:
    """The event with its message changed, and a hash that fits."""
    body: Message = read(event).body
    change(body)
    return rehashed(event._replace(payload=body.SerializeToString(deterministic=True)))


def rehashed(event: RecordedEvent) -> RecordedEvent:
    """The event with the hash of what it says now."""
    return event._replace(hash=event_hash(event.stream, event.version, event))


def told(findings: Iterable[Finding], check: Check | None = None) -> list[str]:
    """Findings in words (of one check)."""
    return [each.message for each in findings if check in (None, each.check)]


def as_read(body: Message, stream: str = "wallet/t1", version: int = 1, **envelope: Any) -> Read:
    """A message as an event of a log that holds nothing else."""
    event = RecordedEvent(
        partition=f"{stream.partition('/')[0]}.0",
        position=version,
        stream=stream,
        version=version,
        type=body.DESCRIPTOR.name,
        schema_version=1,
        payload=body.SerializeToString(),
        hash=bytes(32),
        hand_id=None,
        causation_id=None,
        correlation_id=None,
        actor="test",
        recorded_at=START,
    )
    return Read(event._replace(**envelope), body)


SEED = bytes(range(32))
later = partial(timedelta, seconds=1)


async def with_seed() -> Night:
    """A hand before which ann pledges and reveals a seed and cuts, then the table closes."""
    evening = await night()
    give = evening.house.give
    shoe = evening.house.tables["t1"].shoe
    assert shoe is not None
    commitment = player_seed_commitment(shoe.shoe_id, "ann", SEED)
    await give("t1", e.SeedPledged("ann", commitment, shoe_id=shoe.shoe_id))
    await evening.house.play("t1", *BETS, cut=77)
    await give("t1", e.SeedRevealed("ann", SEED))
    await evening.house.play("t1", *BETS)
    for player in ("ann", "bob"):
        await give("t1", e.LeaveRequested(player))
    await give("t1", e.TableClosing("pit", "late"))
    await evening.wallet.follow()
    return evening


async def evidence(hands: int = 1) -> Evidence:
    return await Evidence.of(await played(hands))


def index_of(events: list[RecordedEvent], kind: str) -> int:
    return next(place for place, event in enumerate(events) if event.type == kind)


def set_fields(body: Any, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(body, name, value)


def without(events: list[RecordedEvent], kind: str) -> None:
    del events[index_of(events, kind)]


def shift(events: list[RecordedEvent], kind: str, **by: float) -> None:
    """Records the first event of a type earlier or later than it was."""
    place = index_of(events, kind)
    moved = events[place].recorded_at + timedelta(**by)
    events[place] = events[place]._replace(recorded_at=moved)
