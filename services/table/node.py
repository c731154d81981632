"""One table node: the tables it owns, and how it comes by them and lets them go."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import structlog

from services.table import metrics
from services.table.cashier import Cashier
from services.table.directory import Directory, Placed, preferred_node
from services.table.errands import Errands
from services.table.lobby import Lobby
from services.table.owner import Proposal, TableOwner, as_append, load, now_us
from shared.errors import CroupierError
from shared.games.registry import GAMES
from shared.log import EventLog, Outcome
from shared.rpc.errors import OUTAGES
from shared.table.codec import TableCodec
from shared.table.decide import decide
from shared.table.state import Status, TableState

DISCOVER_EVERY = 30
"""Heartbeats between looks for tables that the directory lacks."""

_log = structlog.get_logger()


class Node:
    """Keeps this node's lease, claims the tables that are its own and serves them."""

    def __init__(
        self,
        name: str,
        log: EventLog,
        codec: TableCodec,
        directory: Directory,
        errands: Errands,
        lobby: Lobby,
        lease_ttl_s: float,
        heartbeat_s: float,
    ) -> None:
        self.name = name
        self.owners: dict[str, TableOwner] = {}
        self.log = log
        self.codec = codec
        self.directory = directory
        self._errands = errands
        self._lobby = lobby
        self._lease_ttl_s = lease_ttl_s
        self._heartbeat_s = heartbeat_s
        self._claiming: dict[str, asyncio.Task[TableOwner]] = {}
        self.cashier: Cashier = Cashier(log, self.owners)
        self._beats = 0

    async def find(self, table_id: str) -> TableOwner:
        """The table on this node; waits for a claim that is under way.

        Raises `TABLE_NOT_FOUND`, or `NO_OWNER` where the table is open and nobody has it yet.
        """
        claiming = self._claiming.get(table_id)
        if claiming is not None:
            return await asyncio.shield(claiming)
        owner = self.owners.get(table_id)
        if owner is not None and not owner.released:
            return owner
        if not await self.log.read_stream(f"table/{table_id}", 0, 1):
            raise CroupierError("TABLE_NOT_FOUND", "no such table", "table_id")
        raise CroupierError("NO_OWNER", "the table is being taken up: try again", "table_id")

    async def open_table(self, table_id: str, proposal: Proposal) -> TableState:
        """Opens a table: the first event of its stream. The same command again finds it open.

        Raises `TABLE_EXISTS` for an id that is taken, `BAD_SETTING` for impossible settings.
        """
        stream = f"table/{table_id}"
        before = TableState()
        events, after = decide(before, proposal.make(now_us()))
        append, _ = as_append(self.codec, stream, before, events, proposal)
        (appended,) = await self.log.append([append])
        match appended.outcome:
            case Outcome.CONFLICT:
                raise CroupierError("TABLE_EXISTS", "there is a table of this name", "table_id")
            case Outcome.BODY_DIFFERS:
                raise CroupierError(
                    "COMMAND_BODY_DIFFERS", "this command id came before", "command_id"
                )
            case Outcome.SAME | Outcome.OK:
                await self.directory.discovered(table_id)
        census = await self.directory.census()
        if preferred_node(table_id, census.nodes) == self.name and not self._has(table_id):
            owner = await self.claim(table_id)
            return owner.state
        return after

    async def run(self, stopping: asyncio.Event) -> None:
        """Keeps the lease and the tables until `stopping`; then hands everything over."""
        while not stopping.is_set():
            try:
                await self._beat()
            except OUTAGES as error:
                _log.warning("lease_not_renewed", error=type(error).__name__)
            except CroupierError as error:
                _log.warning("lease_not_renewed", reason=error.reason)
            try:
                async with asyncio.timeout(self._heartbeat_s):
                    await stopping.wait()
            except TimeoutError:
                continue

    async def hand_over(self) -> None:
        """Lets go of every table, so that another node may take them at once."""
        await self._errands.stop()
        why = CroupierError("DRAINING", "this node is stopping: connect again")
        await asyncio.gather(*(owner.release(why) for owner in self.owners.values()))
        await self.directory.gone()

    async def _beat(self) -> None:
        await self.directory.heartbeat(self._lease_ttl_s, draining=False)
        if self._beats % DISCOVER_EVERY == 0:
            await self.directory.discover()
        self._beats += 1
        await self._clear_away()
        census = await self.directory.census()
        metrics.tables.set(len(self.owners))
        await self._part_with(self._to_move(census.nodes))
        for placed in census.placed:
            if self._is_mine(placed, census.nodes):
                self.claim(placed.table_id)

    async def _clear_away(self) -> None:
        for table_id, owner in list(self.owners.items()):
            if not owner.released and over(owner.state):
                await owner.release(CroupierError("TABLE_CLOSED", "the table is closed"))
                await self.directory.closed(table_id)
            if owner.released:
                del self.owners[table_id]
                self._lobby.forget(table_id)

    def _is_mine(self, placed: Placed, nodes: Iterable[str]) -> bool:
        if self._has(placed.table_id):
            return False
        if placed.owner is not None and placed.owner != self.name:
            return False
        return preferred_node(placed.table_id, nodes) == self.name

    def _has(self, table_id: str) -> bool:
        return table_id in self.owners or table_id in self._claiming

    def _to_move(self, nodes: Iterable[str]) -> list[TableOwner]:
        """Tables that belong to another live node now and are between hands."""
        return [
            owner
            for table_id, owner in self.owners.items()
            if preferred_node(table_id, nodes) != self.name and owner.between_hands
        ]

    async def _part_with(self, leaving: list[TableOwner]) -> None:
        for owner in leaving:
            await owner.release(CroupierError("NOT_OWNER", "the table moves to another node"))
        if leaving:
            await self.directory.released([owner.table_id for owner in leaving])

    def claim(self, table_id: str) -> asyncio.Task[TableOwner]:
        """Takes up a table: its stream is loaded, and the claim is its next event."""
        task = asyncio.create_task(self._claim(table_id), name=f"claim {table_id}")
        self._claiming[table_id] = task
        task.add_done_callback(lambda done: self._claimed(table_id, done))
        return task

    def _claimed(self, table_id: str, done: asyncio.Task[TableOwner]) -> None:
        self._claiming.pop(table_id, None)
        if not done.cancelled() and done.exception() is not None:
            _log.warning("table_not_claimed", table=table_id, exc_info=done.exception())

    async def _claim(self, table_id: str) -> TableOwner:
        state = await load(self.log, self.codec, table_id)
        if state.config is None or state.table.game.NAME not in GAMES:
            raise CroupierError("TABLE_NOT_FOUND", "a table that this node does not know")
        if over(state):
            await self.directory.closed(table_id)
            raise CroupierError("TABLE_CLOSED", "the table is closed", "table_id")
        owner = TableOwner(state, self.log, self.codec, self._errands.act, self._lobby.tell)
        await owner.claim(self.name)
        await self.directory.claimed(table_id, owner.state.epoch)
        self.owners[table_id] = owner
        self.cashier.look_now()
        _log.info("table_claimed", table=table_id, epoch=owner.state.epoch)
        return owner


def over(state: TableState) -> bool:
    """Whether nothing can happen at the table any more: closed, and nothing is awaited."""
    return state.status is Status.CLOSED and not state.putting_away and not state.late_chips
