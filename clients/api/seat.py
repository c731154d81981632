"""One table as this caller sees it, kept up to date by the stream."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from croupier.table.v1 import table_pb2 as pb

from clients.api.errors import RefusedError, UnansweredError
from clients.api.seeds import SeedKeeper
from clients.api.sight import Sight
from clients.api.stream import COMMAND_TIMEOUT_S, PlayStream, Watcher

MOST_UNREAD_UPDATES = 256


class Seat:
    """The present view of a table, its updates in order, and commands to it.

    `table` is what everybody sees, `you` what only this caller does. Where `seeds` is true, seeds
    for the shoes are pledged and opened by themselves.
    """

    def __init__(self, stream: PlayStream, table_id: str, player: str, seeds: bool = True) -> None:
        self.table_id = table_id
        self.player = player
        self.table = pb.TableView()
        self.you = pb.PlayerView()
        self.version = 0
        """The last version of the table's stream that was seen; 0: nothing yet."""
        self.skipped = 0
        """Updates that were dropped unread. The views are the newest all the same."""
        self._stream = stream
        self._unread: deque[pb.Update] = deque()
        self._changed = asyncio.Event()
        self._failure: RefusedError | None = None
        self._clock_ahead_s = 0.0
        self._seeds = SeedKeeper(player) if seeds else None
        self._chores: set[asyncio.Task[None]] = set()
        stream.watch(table_id, Watcher(lambda: self.version, self._take, self._fail))

    # ---- Looking

    @property
    def connected(self) -> bool:
        """Whether the stream is up."""
        return self._stream.connected

    @property
    def seated(self) -> bool:
        """Whether this player has a seat at the table."""
        return self.sight().seat is not None

    @property
    def complaints(self) -> Mapping[str, str]:
        """By shoe: what this client holds against the house. Its seed is then opened no more."""
        return self._seeds.complaints if self._seeds else {}

    def sight(self) -> Sight:
        """What this player sees now."""
        return Sight(self.player, self.table, self.you)

    def now(self) -> datetime:
        """The house's time, as far as can be told from here: deadlines are by this clock."""
        return datetime.now(UTC) + timedelta(seconds=self._clock_ahead_s)

    async def changed(self) -> None:
        """Waits until there is an unread update.

        Raises `RefusedError` when the table may no longer be watched.
        """
        while not self._unread:
            if self._failure is not None:
                raise self._failure
            self._changed.clear()
            await self._changed.wait()

    async def next_update(self) -> pb.Update:
        """The next update, waiting for it as `changed` does.

        Where more than 256 are unread the oldest are dropped (`skipped`); each carries whole views.
        """
        await self.changed()
        return self._unread.popleft()

    def unread(self) -> list[pb.Update]:
        """All updates since the last one taken; afterwards none is unread."""
        updates = list(self._unread)
        self._unread.clear()
        return updates

    # ---- Doing

    async def execute(
        self, command: pb.Command, timeout_s: float = COMMAND_TIMEOUT_S
    ) -> pb.Acknowledgement:
        """Sends a command. When it returns, the updates that the command caused have been taken.

        Raises `RefusedError` or `UnansweredError`.
        """
        return await self._stream.execute(self.table_id, command, timeout_s)

    async def close(self) -> None:
        """Stops watching the table. A seat stays taken until `leave`."""
        self._stream.stop_watching(self.table_id)
        for chore in self._chores:
            chore.cancel()

    # ---- What the stream brings

    def _take(self, update: pb.Update) -> None:
        if update.previous and update.version <= self.version:
            return  # Seen before the stream was cut.
        if update.previous and update.previous != self.version:
            # A gap: what lies between is asked for, and this comes again after it.
            self._stream.watch(self.table_id, Watcher(lambda: self.version, self._take, self._fail))
            return
        self.version = update.version
        if update.HasField("table"):
            self.table = update.table
        if update.HasField("you"):
            self.you = update.you
        if update.HasField("server_time"):
            server_time = update.server_time.ToDatetime(UTC)
            self._clock_ahead_s = (server_time - datetime.now(UTC)).total_seconds()
        if len(self._unread) >= MOST_UNREAD_UPDATES:
            self._unread.popleft()
            self.skipped += 1
        self._unread.append(update)
        self._changed.set()
        self._add_seed(update)

    def _fail(self, refusal: RefusedError) -> None:
        self._failure = refusal
        self._changed.set()

    def _add_seed(self, update: pb.Update) -> None:
        if self._seeds is None:
            return
        for event in update.events:
            if event.HasField("shoe_ready"):
                self._seeds.sealed(event.shoe_ready)
        command = self._seeds.next_command(self.table, self.you)
        if command is not None:
            chore = asyncio.create_task(self._say(command), name="add-seed")
            self._chores.add(chore)
            chore.add_done_callback(self._chores.discard)

    async def _say(self, command: pb.Command) -> None:
        # A seed that comes too late is left out of the shoe, which is no harm to anybody.
        with contextlib.suppress(RefusedError, UnansweredError):
            await self.execute(command)
