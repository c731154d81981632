"""Events that a consumer could not apply: put aside with their error, told, and tried again.

The consumer parks; an operator looks (`list_parked`), mends what is wrong and asks
(`request_retry`); the active consumer tries again within about a second. The handler is the
service's, so only its own process can.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from shared.bus.tables import ConsumerTables
from shared.log import Connection, RecordedEvent

MAX_LISTED = 1_000
_MAX_ERROR_CHARS = 500


@dataclass(frozen=True, slots=True)
class ParkedEvent:
    """An event that could not be applied, or one that came behind it in its stream."""

    consumer: str
    stream: str
    version: int
    partition: str
    position: int
    type: str
    error: str
    attempts: int
    parked_at: datetime
    retry_requested: bool


async def list_parked(
    connection: Connection, schema: str, limit: int = MAX_LISTED
) -> list[ParkedEvent]:
    """What is parked in the schema of a service, by consumer, partition and position."""
    rows = await connection.fetch(ConsumerTables(schema).list_parked, min(limit, MAX_LISTED))
    return [ParkedEvent(*row) for row in rows]


async def request_retry(
    connection: Connection, schema: str, stream: str | None, consumer: str | None = None
) -> int:
    """Asks the consumer (None: every one of the service) to try a parked stream (None: all that it
    has parked) again.

    Returns how many parked events that concerns.
    """
    answer = await connection.execute(ConsumerTables(schema).request_retry, stream, consumer)
    return int(answer.split()[-1])


@dataclass(frozen=True, slots=True)
class ParkingSpace:
    """What one consumer has parked of one partition."""

    tables: ConsumerTables
    consumer: str
    partition: str

    async def streams(self, connection: Connection) -> dict[str, bool]:
        """The parked streams, those that wait longest first, and whether a retry is asked for."""
        rows = await connection.fetch(self.tables.parked_streams, self.consumer, self.partition)
        return {row["stream"]: row["retry_requested"] for row in rows}

    async def park(
        self, connection: Connection, parked: Iterable[tuple[RecordedEvent, str]]
    ) -> None:
        """Puts events aside, each with what went wrong."""
        await connection.executemany(
            self.tables.park,
            [
                (
                    self.consumer,
                    event.stream,
                    event.version,
                    event.partition,
                    event.position,
                    event.type,
                    error,
                )
                for event, error in parked
            ],
        )

    async def versions(self, connection: Connection, stream: str, limit: int) -> list[int]:
        """The versions of a stream's parked events, in order."""
        rows = await connection.fetch(self.tables.parked_of_stream, self.consumer, stream, limit)
        return [row["version"] for row in rows]

    async def unpark(self, connection: Connection, event: RecordedEvent) -> None:
        """Forgets an event that has been applied."""
        await connection.execute(self.tables.unpark, self.consumer, event.stream, event.version)

    async def failed_again(self, connection: Connection, event: RecordedEvent, error: str) -> None:
        """Notes that the first of a stream's parked events failed once more."""
        await connection.execute(
            self.tables.failed_again, self.consumer, event.stream, event.version, error
        )


def words_for(error: Exception) -> str:
    """An error in few words, such as Postgres takes: it may repeat what the event says."""
    words = f"{type(error).__name__}: {error}"[:_MAX_ERROR_CHARS].replace("\0", "\ufffd")
    return words.encode(errors="replace").decode()
