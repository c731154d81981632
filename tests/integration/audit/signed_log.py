"""A log that grows, what is signed of it, and a superuser."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import asyncpg

from services.audit.checkpoint_desk import CheckpointDesk
from services.audit.checkpointer import CONSUMER, Checkpointer
from shared.bus.metrics import CONSUMER_DIVERGED
from shared.checkpoints.signed_note import NoteSigner
from shared.log import Append, Connection, NewEvent, PostgresLog, on_connection, open_pool
from shared.log.patience import Pool
from tests.integration.audit import by_the_book
from tests.servers import Database

SIGNER = NoteSigner("casino.example/one", bytes(range(32)))
"""What the house signs its checkpoints with."""
PARTITION = "audit.0"
KEY = str(SIGNER.verifier)


async def sign(pool: Pool) -> None:
    """What an audit service does that has just been started."""
    await Checkpointer(pool, SIGNER, 60).once()


@dataclass
class SignedLog:
    """A log that grows by events of one stream, and what is signed of it."""

    pool: Pool
    log: PostgresLog
    root: asyncpg.Connection[asyncpg.Record]
    version: int = 0

    def checkpointer(self) -> Checkpointer:
        """One of any number of replicas."""
        return Checkpointer(self.pool, SIGNER, 60)

    async def grow(self, count: int) -> None:
        while count:
            events = tuple(
                NewEvent("X", str(self.version + number).encode(), "test")
                for number in range(min(count, 500))
            )
            await self.log.append([Append(uuid4(), "audit/x", self.version, events)])
            self.version += len(events)
            count -= len(events)

    async def hashes(self) -> list[bytes]:
        rows = await self.root.fetch(
            "SELECT hash FROM log.events WHERE partition = $1 ORDER BY position", PARTITION
        )
        return [row["hash"] for row in rows]

    async def signed(self) -> list[tuple[str, int, bytes]]:
        """All that was ever signed, in order, each with a good signature."""
        rows = await self.root.fetch("SELECT note FROM audit.checkpoints ORDER BY signed_at, size")
        return [by_the_book.opened(row["note"], KEY) for row in rows]

    async def sizes(self) -> list[int]:
        return [size for _, size, _ in await self.signed()]

    async def desk(
        self, ask: Callable[[CheckpointDesk, Connection], Coroutine[Any, Any, Any]]
    ) -> Any:
        return await on_connection(
            self.pool, lambda connection: ask(CheckpointDesk(SIGNER.verifier), connection)
        )

    async def inclusion(self, position: int, size: int) -> Any:
        return await self.desk(lambda desk, on: desk.prove_inclusion(on, PARTITION, position, size))

    async def consistency(self, old: int, size: int) -> Any:
        return await self.desk(lambda desk, on: desk.prove_consistency(on, PARTITION, old, size))

    async def tamper(self, *statements: str) -> None:
        """A superuser who first takes the triggers away."""
        for table in ("log.events", "log.blocks", "log.partitions", "log.streams", *KEPT):
            await self.root.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
        for statement in statements:
            await self.root.execute(statement)


KEPT = ("audit.checkpoint", "audit.checkpoint_line", "audit.subtree")


def cut_off(keep: int) -> tuple[str, ...]:
    """The tail is gone, as after a restore: `keep` ends a block."""
    return (
        f"DELETE FROM log.events WHERE partition = '{PARTITION}' AND position > {keep}",
        f"DELETE FROM log.blocks WHERE partition = '{PARTITION}' AND first_position > {keep}",
        f"UPDATE log.streams SET version = {keep} WHERE stream = 'audit/x'",
        f"UPDATE log.partitions SET position = {keep} WHERE name = '{PARTITION}'",
    )


@asynccontextmanager
async def opened_log(database: Database) -> AsyncIterator[SignedLog]:
    pool = await open_pool(database.dsn("croupier_audit"), 6)
    root = await asyncpg.connect(database.dsn())
    async with PostgresLog(pool) as log:
        yield SignedLog(pool, log, root)
    await root.close()
    await pool.close()


def diverged(partition: str = PARTITION) -> float:
    value = CONSUMER_DIVERGED.labels(CONSUMER, partition)._value.get()
    return float(value)
