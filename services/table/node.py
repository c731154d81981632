"""One table node: the tables it owns, and how it comes by them and lets them go."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextvars import Context

import structlog

from services.table import metrics
from services.table.cashier import Cashier
from services.table.directory import Census, Directory, Placed, preferred_node
from services.table.errands import Errands
from services.table.loading import load
from services.table.lobby import Lobby
from services.table.owner import TableOwner
from services.table.proposal import Proposal, as_append
from services.table.sweep import Sweep
from shared.errors import CroupierError
from shared.log import EventLog, LogUnavailableError, Outcome
from shared.table.codec import TableCodec
from shared.table.decide import decide
from shared.table.state import Status, TableState

DISCOVER_EVERY = 30
"""Heartbeats between looks for tables that the directory lacks."""
CLAIMS_AT_ONCE = 16
MOST_CLOSED = 64
"""Closed tables that are kept at hand for those who still ask about them."""

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
        self._claims = asyncio.Semaphore(CLAIMS_AT_ONCE)
        self._closed: OrderedDict[str, TableOwner] = OrderedDict()
        self.cashier: Cashier = Cashier(log, self.owners)
        self.sweep = Sweep(name, log, codec, directory, errands, self.owners)
        self.on_census: Callable[[Census], None] | None = None
        self._beats = 0

    async def find(self, table_id: str) -> TableOwner:
        """The table on this node; waits for a claim that is under way.

        Raises `TABLE_NOT_FOUND`; `NOT_OWNER` (with `owner`, `address` and `epoch`) where another
        node has it; `NO_OWNER` where the table is open and nobody has it yet.
        """
        claiming = self._claiming.get(table_id)
        if claiming is not None:
            return await asyncio.shield(claiming)
        owner = self.owners.get(table_id) or self._closed.get(table_id)
        if owner is not None and not owner.released:
            return owner
        place = await self.directory.place(table_id)
        if place is None:
            if not await self.log.read_stream(f"table/{table_id}", 0, 1):
                raise CroupierError("TABLE_NOT_FOUND", "no such table", "table_id")
            await self.directory.discovered(table_id)
        elif place.closed:
            return await self._closed_table(table_id)
        elif place.owner is not None and place.address is not None and place.owner != self.name:
            facts = {"owner": place.owner, "address": place.address, "epoch": str(place.epoch)}
            raise CroupierError("NOT_OWNER", "another node has the table", "table_id", facts)
        raise CroupierError("NO_OWNER", "the table is being taken up: try again", "table_id")

    async def _closed_table(self, table_id: str) -> TableOwner:
        """A table where nothing can happen any more needs no owner: any node may show it, and say
        again what became of an old command. Nothing it could append is allowed by the rules."""
        state = await load(self.log, self.codec, table_id)
        shown = self._closed.get(table_id)
        if shown is None:
            shown = self._closed[table_id] = self._owner(state)
            if len(self._closed) > MOST_CLOSED:
                _, oldest = self._closed.popitem(last=False)
                await oldest.release(CroupierError("NO_OWNER", "ask again", "table_id"))
        return shown

    def _owner(self, state: TableState) -> TableOwner:
        return TableOwner(state, self.log, self.codec, self._errands.act, self._lobby.tell)

    async def open_table(self, table_id: str, proposal: Proposal) -> TableState:
        """Opens a table: the first event of its stream. The same command again finds it open.

        Raises `TABLE_EXISTS` for an id that is taken, `BAD_SETTING` for impossible settings.
        """
        stream = f"table/{table_id}"
        before = TableState()
        events, after = decide(before, proposal.make(proposal.arrived))
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
            with contextlib.suppress(CroupierError):  # it is open all the same
                await self.claim(table_id)
        return after

    async def run(self, stopping: asyncio.Event) -> None:
        """Keeps the lease and the tables until `stopping`."""
        sweeping = asyncio.create_task(self.sweep.run(), name="sweep")
        try:
            while not stopping.is_set():
                await self._beat_safely()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._heartbeat_s):
                        await stopping.wait()
        finally:
            sweeping.cancel()
            await asyncio.wait({sweeping})

    async def begin_drain(self) -> None:
        """Says that this node takes no more tables, and keeps those that it has a while longer."""
        with contextlib.suppress(LogUnavailableError):
            await self.directory.heartbeat(self._lease_ttl_s, draining=True)

    async def hand_over(self) -> None:
        """Lets go of every table, so that another node may take them at once."""
        claims = list(self._claiming.values())
        for claim in claims:
            claim.cancel()
        if claims:
            await asyncio.wait(claims)
        await self._errands.stop()
        why = CroupierError("DRAINING", "this node is stopping: connect again")
        leaving = [*self.owners.values(), *self._closed.values()]
        await asyncio.gather(*(owner.release(why) for owner in leaving))
        with contextlib.suppress(LogUnavailableError):  # the lease ends by itself
            await self.directory.gone()

    async def _beat_safely(self) -> None:
        try:
            await self._beat()
        except LogUnavailableError as error:
            _log.warning("lease_not_renewed", reason=error.reason)
        except Exception as error:
            _log.error("lease_not_renewed", exc_info=error)

    async def _beat(self) -> None:
        await self.directory.heartbeat(self._lease_ttl_s, draining=False)
        if self._beats % DISCOVER_EVERY == 0:
            await self.directory.discover()
        self._beats += 1
        await self._clear_away()
        census = await self.directory.census()
        if self.on_census is not None:
            self.on_census(census)
        await self._set_right(census)
        await self._part_with(self._to_move(census.nodes))
        for placed in census.placed:
            if self._is_mine(placed, census.nodes):
                self.claim(placed.table_id)
        metrics.tables.set(len(self.owners))

    async def _clear_away(self) -> None:
        for table_id, owner in list(self.owners.items()):
            if not owner.released and over(owner.state):
                await self.directory.closed(table_id)
                await owner.release(CroupierError("NO_OWNER", "the table is closed", "table_id"))
            if owner.released:
                del self.owners[table_id]
                self._lobby.forget(table_id)

    async def _set_right(self, census: Census) -> None:
        """A table that the directory says is another's by a later claim is lost, and nobody here
        would notice before its next append. One whose claim it has missed is entered."""
        for placed in census.placed:
            owner = self.owners.get(placed.table_id)
            if owner is None or owner.released:
                continue
            if placed.epoch > owner.state.epoch:
                await owner.release(CroupierError("NOT_OWNER", "another node has the table"))
            elif placed.owner != self.name or placed.epoch < owner.state.epoch:
                await self.directory.claimed(placed.table_id, owner.state.epoch)

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
            if not owner.released
            and owner.between_hands
            and preferred_node(table_id, nodes) != self.name
        ]

    async def _part_with(self, leaving: list[TableOwner]) -> None:
        for owner in leaving:
            await owner.release(CroupierError("NO_OWNER", "the table moves to another node"))
        if leaving:
            await self.directory.released([owner.table_id for owner in leaving])

    def claim(self, table_id: str) -> asyncio.Task[TableOwner]:
        """Takes up a table: its stream is loaded, and the claim is its next event."""
        # Its own context: a claim is nobody's call, whoever had the table opened.
        task = asyncio.create_task(
            self._claim(table_id), name=f"claim {table_id}", context=Context()
        )
        self._claiming[table_id] = task
        task.add_done_callback(lambda done: self._claimed(table_id, done))
        return task

    def _claimed(self, table_id: str, done: asyncio.Task[TableOwner]) -> None:
        self._claiming.pop(table_id, None)
        error = None if done.cancelled() else done.exception()
        if isinstance(error, CroupierError):
            _log.warning("table_not_claimed", table=table_id, reason=error.reason)
        elif error is not None:
            _log.error("table_not_claimed", table=table_id, exc_info=error)

    async def _claim(self, table_id: str) -> TableOwner:
        async with self._claims:
            state = await load(self.log, self.codec, table_id)
            if over(state):
                await self.directory.closed(table_id)
                return await self._closed_table(table_id)
            owner = self._owner(state)
            await owner.claim(self.name)
        try:
            await self._errands.fence(owner)
        except BaseException:
            await owner.release(CroupierError("NO_OWNER", "the table is being taken up again"))
            raise
        self.owners[table_id] = owner
        self.cashier.look_now()
        _log.info("table_claimed", table=table_id, epoch=owner.state.epoch)
        with contextlib.suppress(LogUnavailableError):  # `_set_right` enters it
            await self.directory.claimed(table_id, owner.state.epoch)
        return owner


def over(state: TableState) -> bool:
    """Whether nothing can happen at the table any more: closed, and nothing is awaited."""
    return state.status is Status.CLOSED and not state.putting_away and not state.late_chips
