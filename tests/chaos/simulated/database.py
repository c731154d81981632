"""What Postgres holds in a simulated house, and the ways to it that may break.

Whatever a process asks of the database is one step there: a transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast
from uuid import UUID

from services.shuffle.storage import SeedGoneError, SeedUsedError
from services.table.directory import CALL_TIMEOUT_S as DIRECTORY_TIMEOUT_S
from services.table.directory import GIVE_UP_AFTER_S as DIRECTORY_GIVES_UP_AFTER_S
from services.table.directory import Look, Peer, Place, Placed
from services.table.load import Load
from shared.log import Append, Appended, CommandRecord, MemoryLog, Outcome, RecordedEvent
from shared.log.group import GroupCommit
from shared.log.patience import CALL_TIMEOUT_S, GIVE_UP_AFTER_S, Pool, on_connection
from shared.log.postgres import OnCommitted
from shared.log.types import Block, Head
from tests.chaos.simulated.loop import Process, here
from tests.chaos.simulated.wires import Wires

T = TypeVar("T")


@dataclass
class Lease:
    """A row of `tables.nodes`."""

    incarnation: UUID
    address: str
    until: datetime
    draining: bool


@dataclass
class Entry:
    """A row of `tables.directory`."""

    owner: str | None = None
    incarnation: UUID | None = None
    epoch: int = 0
    closed: bool = False
    wanted: str | None = None
    unknown_to: tuple[UUID, ...] = ()


@dataclass
class Database:
    """All that is kept. `writers` tells which process appended each event of a stream."""

    log: MemoryLog
    now: Callable[[], datetime]
    writers: dict[tuple[str, int], Process | None] = field(default_factory=dict)
    appended: set[UUID] = field(default_factory=set)
    nodes: dict[str, Lease] = field(default_factory=dict)
    directory: dict[str, Entry] = field(default_factory=dict)
    drained: set[str] = field(default_factory=set)
    wishes: int = 0
    snapshots: dict[str, dict[str, Any]] = field(default_factory=dict)
    seeds: dict[str, bytes] = field(default_factory=dict)
    open_shoes: set[str] = field(default_factory=set)
    player_seeds: set[bytes] = field(default_factory=set)
    relayed: dict[str, int] = field(default_factory=dict)

    def append(self, appends: Sequence[Append], by: Process | None) -> list[Appended]:
        """Appends, and remembers who did."""
        answers = self.log.append_now(appends)
        for append, answer in zip(appends, answers, strict=True):
            if answer.outcome is Outcome.OK:
                self.appended.add(append.id)
                for version in range(answer.first_version, answer.last_version + 1):
                    self.writers[append.stream, version] = by
        return answers


@dataclass(frozen=True)
class _Connection:
    process: Process
    wires: Wires

    async def ask(self, work: Callable[[], Awaitable[T]], timeout_s: float) -> T:
        """The answer of the database, or what a broken connection raises."""
        async with asyncio.timeout(timeout_s):
            return await self.wires.ask(self.process, work)


@dataclass(frozen=True)
class FarPool:
    """Connections to the database's process, as many as are wanted. `process` tells which that is
    now: the database may have been started again."""

    process: Callable[[], Process]
    wires: Wires

    @asynccontextmanager
    async def acquire(self, timeout: float) -> AsyncIterator[_Connection]:
        yield _Connection(self.process(), self.wires)


@dataclass(frozen=True)
class Far:
    """How a process asks the database: as patient as the real thing."""

    pool: FarPool
    give_up_after_s: float = GIVE_UP_AFTER_S
    timeout_s: float = CALL_TIMEOUT_S

    async def ask(self, work: Callable[[], T]) -> T:
        """What `work` gives there, once at least; `LogUnavailableError` if nobody says so."""

        async def there() -> T:
            return work()

        async def call(connection: Any) -> T:
            answer: T = await connection.ask(there, self.timeout_s)
            return answer

        return await on_connection(
            cast("Pool", self.pool), call, self.give_up_after_s, self.timeout_s
        )


class FarLog:
    """The `EventLog` of a process that is not the database: group commit, repeated appends."""

    def __init__(
        self, database: Database, pool: FarPool, on_committed: OnCommitted | None = None
    ) -> None:
        self._database = database
        self._far = Far(pool)
        self._on_committed = on_committed
        self._group = GroupCommit(self._commit)

    async def append(self, appends: Sequence[Append]) -> list[Appended]:
        """See `EventLog.append`."""
        return await self._group.append(appends)

    async def _commit(self, appends: Sequence[Append]) -> list[Appended]:
        by, tries = here(), 0

        def there() -> list[Appended]:
            nonlocal tries
            tries += 1
            own = [append.id in self._database.appended for append in appends]
            answers = self._database.append(appends, by)
            if tries == 1:
                return answers
            # The answer to an earlier try was lost, its commit was not (see `PostgresLog`).
            return [
                replace(answer, outcome=Outcome.OK) if mine else answer
                for answer, mine in zip(answers, own, strict=True)
            ]

        answers = await self._far.ask(there)
        moved = frozenset(each.partition for each in answers if each.outcome is Outcome.OK)
        if moved and self._on_committed is not None:
            self._on_committed(moved)
        return answers

    async def read_stream(
        self, stream: str, after_version: int = 0, limit: int = 1_000
    ) -> list[RecordedEvent]:
        """See `EventLog.read_stream`."""
        found: list[RecordedEvent] = await self._read("read_stream", stream, after_version, limit)
        return found

    async def read_partition(
        self, partition: str, after_position: int, limit: int = 1_000
    ) -> list[RecordedEvent]:
        """See `EventLog.read_partition`."""
        found: list[RecordedEvent] = await self._read(
            "read_partition", partition, after_position, limit
        )
        return found

    async def read_blocks(
        self, partition: str, after_position: int, limit: int = 1_000
    ) -> list[Block]:
        """See `EventLog.read_blocks`."""
        found: list[Block] = await self._read("read_blocks", partition, after_position, limit)
        return found

    async def read_hand(self, hand_id: str) -> list[RecordedEvent]:
        """See `EventLog.read_hand`."""
        found: list[RecordedEvent] = await self._read("read_hand", hand_id)
        return found

    async def find_by_causation(self, causes: Iterable[UUID]) -> list[RecordedEvent]:
        """See `EventLog.find_by_causation`."""
        found: list[RecordedEvent] = await self._read("find_by_causation", list(causes))
        return found

    async def heads(self) -> dict[str, Head]:
        """See `EventLog.heads`."""
        found: dict[str, Head] = await self._read("heads")
        return found

    async def find_command(
        self, stream: str, caller: str, command_id: UUID
    ) -> CommandRecord | None:
        """See `EventLog.find_command`."""
        found: CommandRecord | None = await self._read("find_command", stream, caller, command_id)
        return found

    async def _read(self, method: str, *arguments: Any) -> Any:
        # What the log in memory gives does not change any more: it may be handed over as it is.
        work = getattr(self._database.log, method)

        async def there() -> Any:
            return await work(*arguments)

        async def call(connection: Any) -> Any:
            return await connection.ask(there, CALL_TIMEOUT_S)

        return await on_connection(cast("Pool", self._far.pool), call)


class FarStore:
    """`services.shuffle.storage.ShoeStore` over the database in memory."""

    def __init__(self, database: Database, pool: FarPool) -> None:
        self._database = database
        self._far = Far(pool)

    async def server_seed(self, shoe_id: str) -> bytes:
        """See `ShoeStore`."""
        seed = await self._far.ask(lambda: self._database.seeds.get(shoe_id))
        if seed is None:
            raise SeedGoneError(f"no seed is stored for shoe {shoe_id}")
        return seed

    async def append_opening(self, append: Append, shoe_id: str, server_seed: bytes) -> Appended:
        """See `ShoeStore`."""

        def put() -> None:
            self._database.seeds[shoe_id] = server_seed
            self._database.open_shoes.add(shoe_id)

        return await self._both(append, put)

    async def append_player_seed(
        self, append: Append, shoe_id: str, fingerprint: bytes
    ) -> Appended:
        """See `ShoeStore`."""

        def use() -> None:
            if fingerprint in self._database.player_seeds:
                raise SeedUsedError
            self._database.player_seeds.add(fingerprint)

        return await self._both(append, use)

    async def append_retiring(self, append: Append, shoe_id: str, published: bool) -> Appended:
        """See `ShoeStore`."""

        def retire() -> None:
            self._database.open_shoes.discard(shoe_id)
            if published:
                self._database.seeds.pop(shoe_id, None)

        return await self._both(append, retire)

    async def open_shoes(self, after: str, most: int) -> list[str]:
        """See `ShoeStore`."""
        return await self._far.ask(
            lambda: sorted(each for each in self._database.open_shoes if each > after)[:most]
        )

    async def _both(self, append: Append, change: Callable[[], object]) -> Appended:
        by = here()

        def there() -> Appended:
            answer = self._database.log.answer_of(append)
            if answer is None:
                change()
                [answer] = self._database.append([append], by)
            return answer

        return await self._far.ask(there)


class FarDirectory:
    """`services.table.directory.Directory` over the database in memory."""

    def __init__(
        self, database: Database, pool: FarPool, node: str, incarnation: UUID, address: str
    ) -> None:
        self._database = database
        self._far = Far(pool, DIRECTORY_GIVES_UP_AFTER_S, DIRECTORY_TIMEOUT_S)
        self._node = node
        self._incarnation = incarnation
        self._address = address

    async def heartbeat(self, lease_ttl_s: float, draining: bool, load: Load) -> bool:
        """See `Directory`."""

        def there() -> bool:
            before = self._live().get(self._node)
            until = self._database.now() + timedelta(seconds=lease_ttl_s)
            self._database.nodes[self._node] = Lease(
                self._incarnation, self._address, until, draining
            )
            return before is not None and before.incarnation == self._incarnation

        return await self._far.ask(there)

    async def discover(self) -> None:
        """See `Directory`."""

        def there() -> None:
            for stream, version in self._database.writers:
                if version == 1 and stream.startswith("table/"):
                    self._entry(stream.partition("/")[2])

        await self._far.ask(there)

    async def discovered(self, table_id: str) -> None:
        """See `Directory`."""
        await self._far.ask(lambda: self._entry(table_id))

    async def look(self) -> Look:
        """See `Directory`."""

        def there() -> Look:
            unowned = tuple(
                Placed(table_id, None, entry.epoch, entry.wanted, entry.unknown_to)
                for table_id, entry in sorted(self._database.directory.items())
                if entry.owner is None and not entry.closed
            )
            return Look(self._peers(), self._database.wishes, unowned)

        return await self._far.ask(there)

    async def peers(self) -> tuple[Peer, ...]:
        """See `Directory`."""
        return await self._far.ask(self._peers)

    async def others(self) -> list[str]:
        """See `Directory`."""
        return [peer.address for peer in await self.peers() if peer.node != self._node]

    async def census(self) -> tuple[Placed, ...]:
        """See `Directory`."""

        def there() -> tuple[Placed, ...]:
            return tuple(
                Placed(
                    table_id,
                    None if self._lease_of(entry) is None else entry.owner,
                    entry.epoch,
                    entry.wanted,
                    entry.unknown_to,
                )
                for table_id, entry in self._database.directory.items()
                if not entry.closed
            )

        return await self._far.ask(there)

    async def place(self, table_id: str) -> Place | None:
        """See `Directory`."""
        return (await self.places([table_id])).get(table_id)

    async def places(self, table_ids: Sequence[str]) -> dict[str, Place]:
        """See `Directory`."""

        def there() -> dict[str, Place]:
            found = {}
            for table_id in table_ids:
                entry = self._database.directory.get(table_id)
                if entry is not None:
                    lease = self._lease_of(entry)
                    owner = entry.owner if lease is not None else None
                    address = lease.address if lease is not None else None
                    found[table_id] = Place(owner, address, entry.epoch, entry.closed)
            return found

        return await self._far.ask(there)

    async def claimed(self, table_id: str, epoch: int) -> None:
        """See `Directory`."""

        def there() -> None:
            entry = self._entry(table_id)
            if entry.epoch <= epoch:
                entry.owner, entry.incarnation, entry.epoch = self._node, self._incarnation, epoch

        await self._far.ask(there)

    async def released(self, table_ids: Sequence[str]) -> None:
        """See `Directory`."""

        def there() -> None:
            for table_id in table_ids:
                entry = self._database.directory.get(table_id)
                if entry is not None and entry.incarnation == self._incarnation:
                    entry.owner = entry.incarnation = None

        await self._far.ask(there)

    async def not_known(self, table_id: str) -> None:
        """See `Directory`."""

        def there() -> None:
            entry = self._entry(table_id)
            live = {lease.incarnation for lease in self._live().values()}
            still = tuple(each for each in entry.unknown_to if each in live)
            entry.unknown_to = (*still, self._incarnation)
            self._database.wishes += 1

        await self._far.ask(there)

    async def closed(self, table_id: str) -> None:
        """See `Directory`."""

        def there() -> None:
            self._database.directory[table_id].closed = True

        await self._far.ask(there)

    async def gone(self) -> None:
        """See `Directory`."""

        def there() -> None:
            lease = self._database.nodes.get(self._node)
            if lease is not None and lease.incarnation == self._incarnation:
                del self._database.nodes[self._node]

        await self._far.ask(there)

    def _live(self) -> dict[str, Lease]:
        now = self._database.now()
        return {node: lease for node, lease in self._database.nodes.items() if lease.until > now}

    def _peers(self) -> tuple[Peer, ...]:
        now = self._database.now()
        return tuple(
            Peer(
                node,
                lease.incarnation,
                lease.address,
                not lease.draining and node not in self._database.drained,
                (lease.until - now).total_seconds(),
            )
            for node, lease in sorted(self._live().items())
        )

    def _lease_of(self, entry: Entry) -> Lease | None:
        lease = self._live().get(entry.owner or "")
        return lease if lease is not None and lease.incarnation == entry.incarnation else None

    def _entry(self, table_id: str) -> Entry:
        return self._database.directory.setdefault(table_id, Entry())


@dataclass(frozen=True)
class SnapshotPool:
    """Connections that know the two statements of `services.table.snapshots.Snapshots`."""

    database: Database
    pool: FarPool

    @asynccontextmanager
    async def acquire(self, timeout: float) -> AsyncIterator[SnapshotConnection]:
        async with self.pool.acquire(timeout) as connection:
            yield SnapshotConnection(self.database, connection)


@dataclass(frozen=True)
class SnapshotConnection:
    """See `SnapshotPool`."""

    database: Database
    connection: _Connection

    async def fetchrow(self, sql: str, table_id: str, writer: bytes) -> dict[str, Any] | None:
        """The snapshot of a table, if the log still has the event that it was taken at."""

        async def there() -> dict[str, Any] | None:
            found = self.database.snapshots.get(table_id)
            if found is None or found["written_by"] != writer:
                return None
            at = found["version"]
            [event] = await self.database.log.read_stream(f"table/{table_id}", at - 1, 1)
            return found if event.hash == found["hash"] else None

        return await self.connection.ask(there, CALL_TIMEOUT_S)

    async def executemany(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Puts snapshots in place of those of before."""

        async def there() -> None:
            for table_id, version, writer, key_id, nonce, ciphertext in rows:
                [event] = await self.database.log.read_stream(f"table/{table_id}", version - 1, 1)
                self.database.snapshots[table_id] = {
                    "version": version,
                    "hash": event.hash,
                    "written_by": writer,
                    "key_id": key_id,
                    "nonce": nonce,
                    "ciphertext": ciphertext,
                }

        await self.connection.ask(there, CALL_TIMEOUT_S)
