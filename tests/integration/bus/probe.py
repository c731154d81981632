"""A consuming service in small: it keeps a total a stream, as a wallet keeps balances.

`probe.applied` has a row an event, so an event applied twice fails on its key, and what was applied
in which order can be read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import asyncpg

from shared.bus.consumer import Consuming
from shared.log import Connection, EventLog, RecordedEvent
from tests.logs import whole_partition

SCHEMA = "probe"
ROLE = "croupier_wallet"
NAME = "probe"

_TABLES = """
CREATE SCHEMA probe;
GRANT USAGE ON SCHEMA probe TO croupier_wallet;
SELECT log.create_consumer_tables('probe', 'croupier_wallet');
CREATE TABLE probe.totals (stream text PRIMARY KEY, total bigint NOT NULL);
CREATE TABLE probe.applied (
    number bigint GENERATED ALWAYS AS IDENTITY,
    partition text, position bigint, PRIMARY KEY (partition, position));
GRANT SELECT, INSERT, UPDATE ON probe.totals, probe.applied TO croupier_wallet;
"""


async def make_tables(dsn: str) -> None:
    """What the service's migrations would do."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(_TABLES)
    finally:
        await connection.close()


class PoisonError(Exception):
    """This event cannot be applied."""


@dataclass
class Probe:
    """The handler. An event's payload is the number to add, or "poison" to fail on while
    `poisoned`; `moved` is what it says it appended to. At a `gate` it stands, with all done and
    nothing committed, until that is opened."""

    poisoned: bool = True
    moved: frozenset[str] = frozenset()
    calls: list[int] = field(default_factory=list)
    pings: list[frozenset[str]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    gate: asyncio.Event | None = None
    at_gate: bool = False
    types: frozenset[str] | None = None

    def consuming(self) -> Consuming:
        """This handler as the consumer wants it."""
        return Consuming(NAME, SCHEMA, self.apply, self.pings.append, self.types)

    async def apply(
        self, connection: Connection, events: Sequence[RecordedEvent]
    ) -> frozenset[str]:
        self.calls.append(len(events))
        if self.errors:
            raise self.errors.pop()
        for event in events:
            if event.payload == b"poison" and self.poisoned:
                raise PoisonError(f"{event.stream} {event.version}")
            await connection.execute(
                "INSERT INTO probe.totals AS t VALUES ($1, $2) "
                "ON CONFLICT (stream) DO UPDATE SET total = t.total + excluded.total",
                event.stream,
                value_of(event),
            )
            await connection.execute(
                "INSERT INTO probe.applied (partition, position) VALUES ($1, $2)",
                event.partition,
                event.position,
            )
        if self.gate is not None:
            self.at_gate = True
            await self.gate.wait()
        return self.moved


def value_of(event: RecordedEvent) -> int:
    """What an event adds."""
    return int(event.payload) if event.payload.isdigit() else 0


async def totals(root: Connection) -> dict[str, int]:
    """The service's view."""
    rows = await root.fetch("SELECT stream, total FROM probe.totals")
    return {row["stream"]: row["total"] for row in rows}


async def applied(root: Connection, partition: str = "table.0") -> list[int]:
    """The positions that were applied, in the order in which they were."""
    rows = await root.fetch(
        "SELECT position FROM probe.applied WHERE partition = $1 ORDER BY number", partition
    )
    return [row["position"] for row in rows]


async def expected_totals(log: EventLog, partition: str = "table.0") -> dict[str, int]:
    """What the log says the view must be."""
    sums: dict[str, int] = {}
    for event in await whole_partition(log, partition):
        sums[event.stream] = sums.get(event.stream, 0) + value_of(event)
    return sums


async def equal_to_the_log(root: Connection, log: EventLog, partition: str = "table.0") -> bool:
    """Whether every event of a partition is applied, once, in order, and the totals are right."""
    head = (await log.heads())[partition].position
    if await applied(root, partition) != list(range(1, head + 1)):
        return False
    wanted = await expected_totals(log, partition)
    return {
        stream: total for stream, total in (await totals(root)).items() if stream in wanted
    } == (wanted)
