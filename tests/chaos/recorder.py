"""Keeps what every client was told, in the order in which it was told."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import BinaryIO

from croupier.table.v1 import table_pb2 as pb

from clients.api.connection import Connection
from clients.api.errors import PASSING_REASONS
from clients.api.stream import PlayStream

CALLS_OF_A_STREAM = 1_000_000
"""More often no stream is cut."""


@dataclass(frozen=True, slots=True)
class Update:
    """One update as it was told; its bytes lie in the spool."""

    client: str
    table_id: str
    version: int
    start: int
    size: int


@dataclass(slots=True)
class Given:
    """A command that a client has given, and what it heard of it. `acknowledged` holds versions
    (first, last); `refused` the last reason that was not a passing one.

    `call` is the stream it was first given on. One that was sent again because its answer was lost
    may be refused in one copy and carried out in the other, which was still on its way: what is
    refused is not remembered (docs/errors.md).
    """

    client: str
    table_id: str
    command: pb.Command
    call: int
    sent: int = 0
    acknowledged: tuple[int, int] | None = None
    refused: str = ""


@dataclass
class Recorder:
    """What all clients of a run were told. `findings` says at once where that contradicts itself.

    The updates themselves go to `spool`, which may be a file where they are many.
    """

    spool: BinaryIO = field(default_factory=io.BytesIO)
    updates: list[Update] = field(default_factory=list)
    commands: dict[tuple[str, str], Given] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    _seen: dict[tuple[str, str], int] = field(default_factory=dict)
    _on_call: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    _end: int = 0
    _streams: int = 0

    def new_stream(self) -> int:
        """The number of the first call of a client's new stream."""
        self._streams += 1
        return self._streams * CALLS_OF_A_STREAM

    def given(self, client: str, call: int, table_id: str, command: pb.Command) -> None:
        """A client gives a command, or gives it again."""
        new = Given(client, table_id, command, call)
        self.commands.setdefault((client, command.command_id), new).sent += 1

    def heard(self, client: str, call: int, response: pb.PlayResponse) -> None:
        """A client was told something on its `call`th stream."""
        match response.WhichOneof("response"):
            case "update":
                self._update(client, call, response.update)
            case "acknowledgement":
                told = response.acknowledgement
                self._acknowledged(client, call, told)
            case "refusal" if response.refusal.command_id:
                refusal = response.refusal
                self._refused(client, call, refusal)
            case "refusal":  # of a watch
                self._on_call.pop((client, response.refusal.table_id), None)

    def read(self, update: Update) -> pb.Update:
        """An update as it was told."""
        self.spool.seek(update.start)
        told = pb.Update.FromString(self.spool.read(update.size))
        self.spool.seek(0, io.SEEK_END)
        return told

    def tables(self) -> Iterator[str]:
        """The tables that anybody was told of."""
        yield from sorted({update.table_id for update in self.updates})

    def _update(self, client: str, call: int, told: pb.Update) -> None:
        key = (client, told.table_id)
        raw = told.SerializeToString()
        self.spool.write(raw)
        self.updates.append(Update(client, told.table_id, told.version, self._end, len(raw)))
        self._end += len(raw)
        seen = self._seen.get(key, 0)
        last_call, last = self._on_call.get(key, (-1, 0))
        if told.previous and last_call == call and told.previous != last:
            self._find(*key, f"version {told.version} follows {told.previous}, told was {last}")
        if told.version < seen:
            self._find(*key, f"version {told.version} after {seen}: back in time")
        numbers = [event.version for event in told.events]
        whole = list(range(told.previous + 1, told.version + 1)) if told.previous else []
        if numbers != whole:
            self._find(*key, f"events {numbers} between {told.previous} and {told.version}")
        self._seen[key] = max(seen, told.version)
        self._on_call[key] = (call, told.version)

    def _refused(self, client: str, call: int, told: pb.Refusal) -> None:
        given = self.commands.get((client, told.command_id))
        once = given is not None and given.sent == 1 and given.call == call
        if given is not None and once and told.reason not in PASSING_REASONS:
            given.refused = told.reason
            if given.acknowledged is not None:
                self._find(client, told.table_id, f"acknowledged, then refused: {told.command_id}")

    def _acknowledged(self, client: str, call: int, told: pb.Acknowledgement) -> None:
        given = self.commands.get((client, told.command_id))
        if given is None:
            self._find(client, told.table_id, f"{told.command_id} was never given")
            return
        versions = (told.first_version, told.version)
        if given.acknowledged not in (None, versions):
            self._find(
                client, told.table_id, f"{told.command_id} is {given.acknowledged} and {versions}"
            )
        if given.refused:
            self._find(
                client, told.table_id, f"{told.command_id} {given.refused}, then acknowledged"
            )
        given.acknowledged = versions
        watched_on, seen = self._on_call.get((client, told.table_id), (-1, 0))
        if watched_on == call and seen < told.version:
            self._find(
                client, told.table_id, f"acknowledged up to {told.version}, told up to {seen}"
            )

    def _find(self, client: str, table_id: str, what: str) -> None:
        self.findings.append(f"{client} at {table_id}: {what}")


class HeardStream(PlayStream):
    """A client's stream that a recorder listens in to."""

    def __init__(
        self, connection: Connection, client: str, recorder: Recorder, random: Random | None = None
    ) -> None:
        super().__init__(connection, random)
        self._client = client
        self._recorder = recorder
        # Two streams of one client, one after the other, are not one call.
        self._first_call = recorder.new_stream()

    async def _ask(self, table_id: str, command: pb.Command) -> pb.Acknowledgement:
        self._recorder.given(self._client, self._call, table_id, command)
        return await super()._ask(table_id, command)

    def _take(self, response: pb.PlayResponse) -> None:
        self._recorder.heard(self._client, self._call, response)
        super()._take(response)

    @property
    def _call(self) -> int:
        return self._first_call + self.reconnects
