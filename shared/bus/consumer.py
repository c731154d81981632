"""A consumer of one partition: every event is applied once, in order, whatever the bus does.

JetStream carries, Postgres remembers. The position moves in the transaction that applies the
events; what the bus brings twice is skipped, what it does not bring is read from the log.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import structlog
from croupier.event.v1 import event_pb2
from google.protobuf.message import DecodeError
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from shared.bus import metrics
from shared.bus.batch import LAST_HEADER, from_message
from shared.bus.bookmark import Bookmark, Bookmarks, Link
from shared.bus.chain import follows
from shared.bus.parking import ParkingSpace, words_for
from shared.bus.pull import Pull
from shared.bus.tables import ConsumerTables
from shared.log import (
    Connection,
    LogDivergedError,
    OnCommitted,
    Pauses,
    RecordedEvent,
    connect,
    is_infrastructure,
    is_unready,
    read_partition_on,
    read_stream_on,
    take_turn,
    turn_settings,
)
from shared.ops.tasks import end

MAX_BATCH_MESSAGES = 256
MAX_BATCH_EVENTS = 1_000
MAX_PARKED_AT_ONCE = 1_000
MAX_DIGITS = 20
"""Of a position in a header, which anybody may have written."""
LOOK_EVERY_S = 1.0
CALL_TIMEOUT_S = 10.0
_CLOCK_SLACK = timedelta(seconds=60)

_log = structlog.get_logger()

Apply = Callable[[Connection, Sequence[RecordedEvent]], Awaitable[frozenset[str]]]
"""Applies events, in order, inside the transaction of the connection, which the consumer opens and
commits; nothing it does may have an effect outside of that. Returns the partitions it appended to.

An error that is not the infrastructure's makes the consumer try the events one by one and park
those that fail, so `apply` must be right for any cut of the sequence."""


@dataclass(frozen=True, slots=True)
class Consuming:
    """What a service's consumer is: its name, the service's schema, what it does with events.

    `on_committed` is told which partitions `apply` appended to, after the commit. `types` are those
    of the events that `apply` is given (None: all); others only move the position. For `gather_s`
    after a message more of them are waited for: a transaction costs much, an event in it little.
    `planning` are settings of Postgres' planner for what `apply` says to it.
    """

    name: str
    schema: str
    apply: Apply
    on_committed: OnCommitted
    types: frozenset[str] | None = None
    gather_s: float = 0.0
    planning: Mapping[str, str] = field(default_factory=dict)

    def wants(self, type_name: str) -> bool:
        """Whether `apply` is given events of this type."""
        return self.types is None or type_name in self.types


@dataclass(slots=True)
class _Stretch:
    """A piece of the partition, from the position behind the own one to that of `last`: the events
    in it that are to be applied."""

    last: Bookmark
    events: list[RecordedEvent] = field(default_factory=list)


class _FenceLostError(Exception):
    """Another replica has moved the position: begin again."""


class _BusContradictsError(Exception):
    """The bus brought what the log does not have: forged, or left over from a lost tail."""


class Consumer:
    """One replica's consumer of one partition. Many may run; one at a time is active."""

    def __init__(self, consuming: Consuming, partition: str, dsn: str, client: Client) -> None:
        self._consuming = consuming
        self._partition = partition
        self._dsn = dsn
        self._client = client
        tables = ConsumerTables(consuming.schema)
        self._bookmarks = Bookmarks(tables, consuming.name, partition)
        self._parking = ParkingSpace(tables, consuming.name, partition)
        self._labels = (consuming.name, partition)
        self._log = _log.bind(consumer=consuming.name, partition=partition)
        self._held = Bookmark(0, None)
        self._parked: set[str] = set()
        self._head_before = 0

    async def run(self) -> None:
        """Consumes until it is cancelled, at whatever moment: nothing is half done.

        Raises `LogDivergedError`, and nothing else: everything that may pass is tried again.
        """
        pauses = Pauses()
        while True:
            started = asyncio.get_running_loop().time()
            try:
                await self._with_connection()
            except LogDivergedError as error:
                metrics.CONSUMER_DIVERGED.labels(*self._labels).set(1)
                self._log.error("log_diverged", detail=str(error))
                raise
            except _FenceLostError:
                self._log.warning("consumer_fenced_off")
            except Exception as error:
                metrics.CONSUMER_FAILURES.labels(*self._labels).inc()
                if is_infrastructure(error):
                    self._log.warning("consumer_interrupted", error=words_for(error))
                else:
                    self._log.error("consumer_failed", exc_info=error)
            finally:
                metrics.CONSUMER_ACTIVE.labels(*self._labels).set(0)
            await pauses.after(started)

    async def _with_connection(self) -> None:
        connection = await connect(
            self._dsn,
            command_timeout=CALL_TIMEOUT_S,
            server_settings={
                **turn_settings(f"consumer {self._consuming.name}"),
                **self._consuming.planning,
            },
        )
        try:
            await self._become_active(connection)
            held, since = await self._bookmarks.read(connection)
            self._held = held
            self._parked = set(await self._parking.streams(connection))
            pull = Pull(
                self._client,
                self._consuming.name,
                self._partition,
                # The clock of the bus may be another one.
                None if since is None else since - _CLOCK_SLACK,
            )
            pulling = asyncio.create_task(pull.run(), name=f"pull {self._labels}")
            try:
                await self._consume(connection, pull)
            finally:
                await end([pulling])
        finally:
            # Not a polite farewell: the server may be gone, and the lock goes with the connection.
            connection.terminate()

    async def _become_active(self, connection: Connection) -> None:
        await take_turn(connection, f"consumer {self._consuming.name} {self._partition}")
        metrics.CONSUMER_ACTIVE.labels(*self._labels).set(1)
        self._log.info("consumer_active")

    async def _consume(self, connection: Connection, pull: Pull) -> None:
        loop = asyncio.get_running_loop()
        self._head_before = await self._look(connection)
        await self._read_up_to(connection, self._head_before)
        look_at = loop.time() + LOOK_EVERY_S
        while True:
            messages = await pull.take(
                MAX_BATCH_MESSAGES, max(0.0, look_at - loop.time()), self._consuming.gather_s
            )
            if messages:
                try:
                    await self._apply_messages(connection, messages)
                except _BusContradictsError:
                    await self._contradicted(connection)
                await self._acknowledge(messages)
            if loop.time() >= look_at:
                look_at = loop.time() + LOOK_EVERY_S
                await self._tick(connection)

    async def _tick(self, connection: Connection) -> None:
        head = await self._look(connection)
        # What was committed at the last look has had time to come by the bus.
        await self._read_up_to(connection, self._head_before)
        self._head_before = head
        parked = await self._parking.streams(connection)
        for stream, retry_requested in parked.items():
            if retry_requested:
                await self._retry(connection, stream)

    async def _contradicted(self, connection: Connection) -> None:
        """Goes on from the log, which is right, as long as all that was applied is in it."""
        metrics.CONSUMER_CONTRADICTIONS.labels(*self._labels).inc()
        head = await self._look(connection)
        self._log.error("bus_contradicts_log", position=self._held.position, head=head)
        await self._read_up_to(connection, head)

    async def _look(self, connection: Connection) -> int:
        head = await self._bookmarks.look(connection, self._held)
        metrics.CONSUMER_POSITION.labels(*self._labels).set(self._held.position)
        metrics.CONSUMER_LAG.labels(*self._labels).set(head - self._held.position)
        metrics.PARKED_STREAMS.labels(*self._labels).set(len(self._parked))
        return head

    async def _apply_messages(self, connection: Connection, messages: Sequence[Msg]) -> None:
        """Applies what is new in messages, in the order of positions, without leaving any out.

        Each has to follow from the one before, the first from the log; the last head is compared
        with the log by `_move`. What lies between is then what the log has.
        """
        ready = await self._here(connection)
        for message in messages:
            batch = self._new_in(message, ready.last.position)
            if batch is None:
                continue
            link = ready.last.link
            if link is None or batch.first_position != ready.last.position + 1:
                await self._apply(connection, ready)
                await self._read_up_to(connection, batch.events[-1].position)
                ready = await self._here(connection)
                continue
            if not follows(batch, link.head):
                await self._apply(connection, ready)
                raise _BusContradictsError
            # Most events of a table are nothing to the wallet: they are not even taken apart.
            ready.events += [from_message(event) for event in batch.events if self._is_due(event)]
            last = batch.events[-1]
            ready.last = Bookmark(last.position, last.hash, Link(batch.first_position, batch.head))
            if len(ready.events) >= MAX_BATCH_EVENTS:
                await self._apply(connection, ready)
                ready = await self._here(connection)
        await self._apply(connection, ready)

    async def _here(self, connection: Connection) -> _Stretch:
        """Nothing yet, from the own position on, with the chain's head there."""
        if self._held.link is None:
            link = await self._bookmarks.link(connection, self._held)
            self._held = replace(self._held, link=link)
        return _Stretch(self._held)

    def _is_due(self, event: RecordedEvent | event_pb2.RecordedEvent) -> bool:
        """Whether an event is to be applied, or parked behind one that could not be."""
        return self._consuming.wants(event.type) or event.stream in self._parked

    def _new_in(self, message: Msg, last: int) -> event_pb2.Batch | None:
        """What a message brings, if any of it lies behind position `last`."""
        # Most repetitions are known by the header alone.
        stated = (message.headers or {}).get(LAST_HEADER, "")
        if stated.isdecimal() and len(stated) < MAX_DIGITS and int(stated) <= last:
            return None
        try:
            batch = event_pb2.Batch.FromString(message.data)
        except DecodeError:
            # The log has what this was meant to be; the next look fetches it.
            self._log.error("message_unreadable", subject=message.subject)
            return None
        if batch.partition != self._partition:
            self._log.error("message_of_other_partition", subject=message.subject)
            return None
        if not batch.events or batch.events[-1].position <= last:
            return None
        return batch

    async def _acknowledge(self, messages: Sequence[Msg]) -> None:
        """Tells JetStream that messages are done with. If that gets lost they come again."""
        with contextlib.suppress(NatsError, OSError):
            # The durable is one that takes this as said of all before it.
            await messages[-1].ack()

    async def _read_up_to(self, connection: Connection, position: int) -> None:
        """Applies from the log what lies between the own position and `position`."""
        while self._held.position < position:
            events = await read_partition_on(
                connection, self._partition, self._held.position, MAX_BATCH_EVENTS
            )
            if not events:
                raise _BusContradictsError
            metrics.CONSUMER_FROM_LOG.labels(*self._labels).inc(len(events))
            last = Bookmark(events[-1].position, events[-1].hash)
            await self._apply(connection, _Stretch(last, list(filter(self._is_due, events))))

    async def _apply(self, connection: Connection, stretch: _Stretch) -> None:
        """Applies what follows the own position, and moves it, in one transaction."""
        last, events = stretch.last, stretch.events
        if last.position == self._held.position:
            return
        metrics.CONSUMER_BATCH.labels(*self._labels).observe(len(events))
        try:
            moved = await self._apply_together(connection, last, events)
        except (_FenceLostError, _BusContradictsError):
            raise
        except Exception as error:
            if _may_pass(error):
                raise
            moved = await self._apply_one_by_one(connection, last, events)
        self._held = last
        metrics.CONSUMER_POSITION.labels(*self._labels).set(self._held.position)
        if moved:
            self._consuming.on_committed(moved)

    async def _apply_together(
        self, connection: Connection, last: Bookmark, events: Sequence[RecordedEvent]
    ) -> frozenset[str]:
        if not events:
            await self._move(connection, last)  # one statement is a transaction of its own
            return frozenset()
        async with connection.transaction():
            await self._move(connection, last)
            due = [event for event in events if event.stream not in self._parked]
            if len(due) < len(events):
                await self._parking.park(
                    connection,
                    [(event, _BEHIND) for event in events if event.stream in self._parked],
                )
            return await self._consuming.apply(connection, due) if due else frozenset()

    async def _apply_one_by_one(
        self, connection: Connection, last: Bookmark, events: Sequence[RecordedEvent]
    ) -> frozenset[str]:
        """The same, each event in a transaction of its own: those that fail are parked.

        One transaction for all of them would hold what the first has locked while it waits for what
        the next one needs, and others wait for the two the other way round. That the log has all of
        it was seen when they were tried together.
        """
        moved: frozenset[str] = frozenset()
        for event in events:
            at_end = event.position == last.position
            moved |= await self._apply_alone(
                connection, last if at_end else Bookmark(event.position, event.hash), event
            )
        if self._held.position < last.position:
            await self._move(connection, last)
        metrics.PARKED_STREAMS.labels(*self._labels).set(len(self._parked))
        return moved

    async def _apply_alone(
        self, connection: Connection, here: Bookmark, event: RecordedEvent
    ) -> frozenset[str]:
        moved: frozenset[str] = frozenset()
        reason = _BEHIND if event.stream in self._parked else ""
        if not reason:
            try:
                async with connection.transaction():
                    await self._move(connection, here)
                    moved = await self._consuming.apply(connection, [event])
            except (_FenceLostError, _BusContradictsError):
                raise
            except Exception as error:
                if _may_pass(error):
                    raise
                reason = words_for(error)
        if reason:
            async with connection.transaction():
                await self._move(connection, here)
                await self._parking.park(connection, [(event, reason)])
            self._parked.add(event.stream)
            self._log.error(
                "event_parked",
                stream=event.stream,
                version=event.version,
                type=event.type,
                position=event.position,
                error=reason,
            )
        self._held = here
        return moved

    async def _move(self, connection: Connection, last: Bookmark) -> None:
        if await self._bookmarks.move(connection, self._held, last):
            return
        if not await self._bookmarks.hold(connection, self._held):
            raise _FenceLostError
        raise _BusContradictsError

    async def _retry(self, connection: Connection, stream: str) -> None:
        """Tries the parked events of a stream in order, as far as they go, each in a transaction of
        its own, as `_apply_one_by_one` does."""
        moved: frozenset[str] = frozenset()
        versions = await self._parking.versions(connection, stream, MAX_PARKED_AT_ONCE)
        events = await read_stream_on(connection, stream, versions[0] - 1, len(versions))
        for event in events:
            try:
                async with connection.transaction():
                    await self._hold(connection)
                    if self._consuming.wants(event.type):
                        moved |= await self._consuming.apply(connection, [event])
                    await self._parking.unpark(connection, event)
            except _FenceLostError:
                raise
            except Exception as error:
                if _may_pass(error):
                    raise
                async with connection.transaction():
                    await self._hold(connection)
                    await self._parking.failed_again(connection, event, words_for(error))
                self._log.error("event_parked_again", stream=stream, version=event.version)
                break
        self._parked = set(await self._parking.streams(connection))
        metrics.PARKED_STREAMS.labels(*self._labels).set(len(self._parked))
        if moved:
            self._consuming.on_committed(moved)
        if stream not in self._parked:
            self._log.info("stream_unparked", stream=stream)

    async def _hold(self, connection: Connection) -> None:
        if not await self._bookmarks.hold(connection, self._held):
            raise _FenceLostError


def _may_pass(error: Exception) -> bool:
    """Whether the same event may well be applied later: then it is waited for, not parked."""
    return is_infrastructure(error) or is_unready(error)


_BEHIND = "behind a parked event of its stream"
