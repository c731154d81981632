"""What Postgres holds in a simulated house, and the ways to it that may break.

Whatever a process asks of the database is one step there: a transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar, cast
from uuid import UUID

from services.shuffle.storage import SeedGoneError, SeedUsedError
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
