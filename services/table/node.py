"""One table node: the tables it owns, and how it comes by them and lets them go."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from contextvars import Context

import structlog

from services.table import metrics
from services.table.admission import Admission
from services.table.cashier import Cashier
from services.table.closed import ClosedTables
from services.table.directory import Directory, Look, Peer, Placed, home
from services.table.errands import Errands
from services.table.leaving import Leaving
from services.table.load import LoadMeter
from services.table.loading import NotKnownError, load
from services.table.lobby import Lobby
from services.table.nudges import Nudges
from services.table.owner import TableOwner
from services.table.presence import Presence, under_lease
from services.table.proposal import Proposal, as_append
from services.table.snapshots import Snapshots
from services.table.sweep import Sweep
from services.table.whereabouts import Whereabouts
from shared.errors import CroupierError
from shared.log import EventLog, LogUnavailableError, Outcome
from shared.table.codec import TableCodec
from shared.table.decide import decide
from shared.table.state import Status, TableState

LOOK_AT_ALL_EVERY = 30
"""Heartbeats between looks at the whole directory, and for tables that it lacks. In between only
what nobody has is looked at, unless nodes come or go or operators wish something."""
CLAIMS_AT_ONCE = 32
"""What the log takes at once is bounded, and a claim that it refuses is a table that is let go."""
CLAIM_WAIT_S = 5.0
"""How long a caller waits for a claim that is under way."""
LEASE_END_S = 0.01
"""How long after the end of another node's lease it is looked who takes its tables."""

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
        snapshots: Snapshots,
        nudges: Nudges,
        lease_ttl_s: float,
        heartbeat_s: float,
        hand_over_s: float,
    ) -> None:
        self.name = name
        self.owners: dict[str, TableOwner] = {}
        self.log = log
        self.codec = codec
        self.directory = directory
        self._errands = errands
        self._lobby = lobby
        self._snapshots = snapshots
        self._nudges = nudges
        self._lease_ttl_s = lease_ttl_s
        self._heartbeat_s = heartbeat_s
        self._hand_over_s = hand_over_s
        self._claiming: dict[str, asyncio.Task[TableOwner]] = {}
        self._claims = asyncio.Semaphore(CLAIMS_AT_ONCE)
        # They do not wait behind thousands that are taken up for the first time.
        self._claims_again = asyncio.Semaphore(CLAIMS_AT_ONCE)
        self._fencing: set[str] = set()
        self._closed = ClosedTables(log, codec, self._owner)
        self._in_hand: set[str] = set()
        self._over: set[str] = set()
        self._leaving = Leaving(name, directory, nudges, self._table_left)
        self._admission = Admission()
        self._presence = Presence(self._back, self._lapsed)
        self._meter = LoadMeter()
        self.cashier: Cashier = Cashier(log)
        self.sweep = Sweep(name, log, codec, directory, errands, self.owners)
        self.whereabouts = Whereabouts(directory, name)
        self._beats = 0
        self._seen: object = None
        self._peers: tuple[Peer, ...] = ()
        self._leases = 0
        self._stopping = False
        self._wake = asyncio.Event()

    async def find(self, table_id: str) -> TableOwner:
        """The table on this node; waits for a claim that is under way.

        Raises `TABLE_NOT_FOUND`; `NOT_OWNER` (with `owner`, `address` and `epoch`) where another
        node has it; `NO_OWNER` where the table is open and nobody has it yet;
        `SHUFFLE_UNAVAILABLE` where this node has it, and cannot tell shuffle.
        """
        claiming = self._claiming.get(table_id)
        if claiming is not None:
            return await self._taken_up(table_id, claiming)
        owner = self.owners.get(table_id) or self._closed.get(table_id)
        if owner is not None and not owner.released:
            return owner
        return await self._elsewhere(table_id)

    async def find_current(self, table_id: str) -> TableOwner:
        """`find` for who wants to see how the table stands: without its lease this node cannot
        tell, since another one may have gone on with the table, and this one not heard. Raises
        `LOG_UNAVAILABLE`, too."""
        owner = await self.find(table_id)
        return owner if self.is_current(owner) else await self._elsewhere(table_id)

    def is_current(self, owner: TableOwner) -> bool:
        """Whether what is known of the table here is how it stands."""
        return self._presence.has_lease or self.owners.get(owner.table_id) is not owner

    async def _elsewhere(self, table_id: str) -> TableOwner:
        """A table that is closed; raises where another one is, see `find`."""
        place = await self.directory.place(table_id)
        if place is None:
            if not await self.log.read_stream(f"table/{table_id}", 0, 1):
                raise CroupierError("TABLE_NOT_FOUND", "no such table", "table_id")
            await self.directory.discovered(table_id)
        elif place.closed:
            return await self._closed.show(table_id)
        elif place.owner is not None and place.address is not None and place.owner != self.name:
            facts = {"owner": place.owner, "address": place.address, "epoch": str(place.epoch)}
            raise CroupierError("NOT_OWNER", "another node has the table", "table_id", facts)
        raise CroupierError("NO_OWNER", "the table is being taken up: try again", "table_id")

    async def _taken_up(self, table_id: str, claiming: asyncio.Task[TableOwner]) -> TableOwner:
        """What the claim comes to, if it does not take longer than a caller may be kept waiting:
        it goes on for as long as shuffle is away."""
        await asyncio.wait({claiming}, timeout=CLAIM_WAIT_S)
        if claiming.done() and not claiming.cancelled():
            owner = claiming.result()
            if not owner.released:
                return owner
        if table_id in self._fencing:
            raise CroupierError("SHUFFLE_UNAVAILABLE", "shuffle does not answer", "table_id")
        raise CroupierError("NO_OWNER", "the table is being taken up: try again", "table_id")

    def _owner(self, state: TableState) -> TableOwner:
        return TableOwner(
            state,
            self.log,
            self.codec,
            self._admission,
            self._presence,
            self._changed,
            self._lobby.tell,
        )

    def _back(self) -> None:
        for owner in self.owners.values():
            owner.back()

    def _lapsed(self) -> None:
        _log.warning("lease_over", tables=len(self.owners))
        for owner in self.owners.values():
            owner.send_viewers_on()

    def _changed(self, owner: TableOwner) -> None:
        """A table has changed, or is let go."""
        table_id, state = owner.table_id, owner.state
        self.cashier.keep(owner)
        if owner.released:
            if self.owners.get(table_id) is owner:
                self._forget(table_id)
                # Whose it is now, the directory says: if nobody else's, it is taken up again.
                self._seen = None
            return
        self._errands.act(owner)
        self._snapshots.offer(state)
        if state.hand is not None:
            self._in_hand.add(table_id)
            return
        self._in_hand.discard(table_id)
        if over(state):
            self._over.add(table_id)
            self._wake.set()
        else:
            self._leaving.changed(owner)

    def _table_left(self) -> None:
        self._seen = None
        if self._stopping:
            self.look_now()

    def _forget(self, table_id: str) -> None:
        del self.owners[table_id]
        self._lobby.forget(table_id)
        self._snapshots.forget(table_id)
        self._in_hand.discard(table_id)
        self._over.discard(table_id)
        self._leaving.forget(table_id)

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
        takers = [peer for peer in self._peers if peer.takes_tables]
        place = home(Placed(table_id, None, 0, None), takers)
        if place == self.name and not self._has(table_id):
            with contextlib.suppress(CroupierError):  # it is open all the same
                await self.claim(table_id)
        elif place is not None:
            self._nudges.nudge(place)
        return after

    async def run(self, stopping: asyncio.Event) -> None:
        """Keeps the lease and the tables until `stopping`; then lets them go one by one, each
        between two hands, as long as another node takes them and it does not take too long."""
        helpers = {
            asyncio.create_task(self.sweep.run(), name="sweep"),
            asyncio.create_task(self.whereabouts.run(), name="whereabouts"),
            asyncio.create_task(self._snapshots.run(), name="snapshots"),
            asyncio.create_task(self._presence.run(), name="presence"),
            asyncio.create_task(self._wake_at(stopping), name="stopping"),
        }
        try:
            while not stopping.is_set():
                await self._beat_safely()
                await self._until_next_beat()
            self._stopping = True
            await self._empty_itself()
        finally:
            self._presence.stop()
            for helper in helpers:
                helper.cancel()
            await asyncio.wait(helpers)

    async def _wake_at(self, stopping: asyncio.Event) -> None:
        await stopping.wait()
        self.look_now()

    def look_now(self) -> None:
        """There is something new in the directory."""
        self._wake.set()

    async def _until_next_beat(self) -> None:
        """Until the next heartbeat is due, another node's lease runs out, or there are news."""
        others_s = [peer.left_s + LEASE_END_S for peer in self._peers if peer.node != self.name]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(LEASE_END_S, min([self._heartbeat_s, *others_s]))):
                await self._wake.wait()
        self._wake.clear()

    async def _empty_itself(self) -> None:
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + self._hand_over_s
        while True:
            nobody_comes = await self._beat_safely() and not self._leaving
            if not self.owners or nobody_comes or loop.time() > give_up_at:
                return
            await self._until_next_beat()

    async def hand_over(self) -> None:
        """Lets go of every table, so that another node may take them at once."""
        claims = list(self._claiming.values())
        for claim in claims:
            claim.cancel()
        if claims:
            await asyncio.wait(claims)
        await self._leaving.parted()
        await self._errands.stop()
        why = CroupierError("DRAINING", "this node is stopping: connect again")
        leaving = [*self.owners.values(), *self._closed.kept]
        await asyncio.gather(*(owner.release(why) for owner in leaving))
        with contextlib.suppress(LogUnavailableError):  # the lease ends by itself
            await self.directory.gone()

    async def _beat_safely(self) -> bool:
        try:
            await self._beat()
        except LogUnavailableError as error:
            _log.warning("lease_not_renewed", reason=error.reason)
        except Exception as error:
            _log.error("lease_not_renewed", exc_info=error)
        else:
            return True
        return False

    async def _beat(self) -> None:
        asked_s = asyncio.get_running_loop().time()
        held = await self._renew()
        # A renewal whose answer was lost is held by the directory, and may have come too late.
        if not (held and self._presence.has_lease):
            held = False
            self._leases += 1
            self._presence.returned()
            asked_s = await under_lease(
                self._claim_again(), self._renew, asked_s, self._lease_ttl_s, self._heartbeat_s
            )
        self._presence.leased(asked_s, self._lease_ttl_s)
        whole = self._beats % LOOK_AT_ALL_EVERY == 0
        self._beats += 1
        if whole:
            await self.directory.discover()
        await self._clear_away()
        look = await self.directory.look()
        self._peers = look.peers
        placed: Sequence[Placed] = look.unowned
        if whole or not held or _seen(look) != self._seen:
            placed = await self.directory.census()
            self._leaving.see(placed, look.takers, self.owners)
            self._seen = _seen(look)
        await self._set_right(placed)
        for each in placed:
            if self._is_mine(each, look.takers):
                self.claim(each.table_id)
        metrics.tables.set(len(self.owners))

    async def _renew(self) -> bool:
        figures = self._meter.read(
            len(self.owners), len(self._in_hand), metrics.watching(), self._admission.taken
        )
        return await self.directory.heartbeat(self._lease_ttl_s, self._stopping, figures)

    async def _clear_away(self) -> None:
        for table_id in list(self._over):
            owner = self.owners.get(table_id)
            if owner is not None:
                await self.directory.closed(table_id)
                await owner.release(CroupierError("NO_OWNER", "the table is closed", "table_id"))

    async def _claim_again(self) -> None:
        """Without its lease this node has no table: others may have taken them, or be about to.
        Whose claim is in the log first has the table; nothing is shown before that is known."""
        owners = list(self.owners.values())
        if owners:
            # One that cannot be had is let go.
            await asyncio.gather(*map(self._claim_once_more, owners), return_exceptions=True)
            await self.directory.claimed(
                {owner.table_id: owner.state.epoch for owner in owners if not owner.released}
            )

    async def _claim_once_more(self, owner: TableOwner) -> None:
        async with self._claims_again:
            await owner.claim(self.name)

    async def _set_right(self, placed: Iterable[Placed]) -> None:
        """A table that the directory says is another's by a later claim is lost, and nobody here
        would notice before its next append. One whose claim it has missed is entered. One that it
        says is here, and is not, is nobody's: others wait for as long as this node lives."""
        nobodys: list[str] = []
        missed: dict[str, int] = {}
        for each in placed:
            owner = self.owners.get(each.table_id)
            if owner is None or owner.released:
                if each.owner == self.name and not self._is_on_its_way(each.table_id):
                    nobodys.append(each.table_id)
            elif each.epoch > owner.state.epoch:
                await owner.release(CroupierError("NOT_OWNER", "another node has the table"))
            elif each.owner != self.name or each.epoch < owner.state.epoch:
                missed[each.table_id] = owner.state.epoch
        if missed:
            await self.directory.claimed(missed)
        if nobodys:
            await self.directory.released(nobodys)
            self._nudges.nudge("")

    def _is_on_its_way(self, table_id: str) -> bool:
        return table_id in self._claiming or self._leaving.parts_with(table_id)

    def _is_mine(self, placed: Placed, takers: Sequence[Peer]) -> bool:
        if self._has(placed.table_id):
            return False
        if placed.owner is not None and placed.owner != self.name:
            return False
        return home(placed, takers) == self.name

    def _has(self, table_id: str) -> bool:
        return table_id in self.owners or table_id in self._claiming

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

    async def _loaded(self, table_id: str) -> TableState:
        try:
            return await load(self.log, self.codec, table_id, await self._snapshots.get(table_id))
        except NotKnownError as error:
            _log.error("table_left_to_others", table=table_id, why=error.message)
            await self.directory.not_known(table_id)
            self._nudges.nudge("")
            raise

    async def _claim(self, table_id: str) -> TableOwner:
        async with self._claims:
            state = await self._loaded(table_id)
            if over(state):
                await self.directory.closed(table_id)
                return await self._closed.show(table_id)
            lease = self._leases
            # Who comes back to his lease behind this look claims the table, and this claim fails.
            place = await self.directory.place(table_id)
            if place is not None and place.owner not in (None, self.name):
                raise CroupierError("NOT_OWNER", "another node has the table", "table_id")
            owner = self._owner(state)
            await owner.claim(self.name)
        self._fencing.add(table_id)
        metrics.fencing.set(len(self._fencing))
        try:
            await self._errands.fence(owner)
            # So does this node, and only what is in `owners` was claimed anew by then.
            while lease != self._leases:
                lease = self._leases
                await owner.claim(self.name)
            if owner.released:
                raise CroupierError("NOT_OWNER", "another node has the table", "table_id")
        except BaseException:
            await owner.release(CroupierError("NO_OWNER", "the table is being taken up again"))
            raise
        finally:
            self._fencing.discard(table_id)
            metrics.fencing.set(len(self._fencing))
        self.owners[table_id] = owner
        self._changed(owner)
        self.cashier.look_now()
        self.whereabouts.arrived(table_id)
        _log.info("table_claimed", table=table_id, epoch=owner.state.epoch)
        with contextlib.suppress(LogUnavailableError):  # `_set_right` enters it
            await self.directory.claimed({table_id: owner.state.epoch})
        return owner


def _seen(look: Look) -> object:
    """What has to change for the whole directory to be looked at again."""
    peers = frozenset((peer.node, peer.incarnation, peer.takes_tables) for peer in look.peers)
    return peers, look.revision


def over(state: TableState) -> bool:
    """Whether nothing can happen at the table any more: closed, and nothing is awaited."""
    return state.status is Status.CLOSED and not state.putting_away and not state.late_chips
