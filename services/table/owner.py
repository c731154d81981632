"""A table on this node: one task that judges, appends, applies and tells, in that order."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from contextvars import Context
from dataclasses import replace
from uuid import uuid4

import structlog

from services.table import metrics
from services.table.admission import Admission
from services.table.clock import Clock
from services.table.presence import OUTAGE_S, Presence
from services.table.proposal import Answer, Proposal, as_append
from services.table.watching import Change, GoneError, Viewer
from shared.errors import CroupierError
from shared.log import Append, Appended, EventLog, LogOverloadedError, Outcome
from shared.table import events as e
from shared.table.codec import TableCodec
from shared.table.decide import decide
from shared.table.evolve import evolve
from shared.table.next_step import Waiting, next_step
from shared.table.state import TableState, next_clock, open_deadline

MOST_QUEUED = 512
RESUME_EVENTS = 500
"""A viewer who asks for more past events than this gets a snapshot instead."""
RESUME_TRIES = 5
MOST_IN_DOUBT = 5_000
LOOK_AGAIN_AFTER_S = 1.0

_log = structlog.get_logger()


class TableOwner:
    """Owns one table while this node does. `act` is told of every new state, to run errands, and
    of the end."""

    def __init__(
        self,
        state: TableState,
        log: EventLog,
        codec: TableCodec,
        admission: Admission,
        presence: Presence,
        act: Callable[[TableOwner], None],
        tell_lobby: Callable[[TableState], None],
    ) -> None:
        self.state = state
        self.table_id = state.table.table_id
        self._log = log
        self._codec = codec
        self._admission = admission
        self._presence = presence
        self._outage = presence.outage()
        self._act = act
        self._tell_lobby = tell_lobby
        self._stream = f"table/{self.table_id}"
        # None only wakes the task.
        self._queue: asyncio.Queue[Proposal | None] = asyncio.Queue(MOST_QUEUED)
        # In the order in which they came, so that what happens once happens so again.
        self._viewers: dict[Viewer, None] = {}
        self._clock = Clock(self._expire)
        self._why_released: CroupierError | None = None
        self._in_doubt = False
        # Since when this node has the table and is there; 0 before its claim is in the log.
        self._there_us = 0
        # The one that is under way.
        self._claim: Proposal | None = None
        self._nudge: asyncio.TimerHandle | None = None
        self._waiting: tuple[TableState, Waiting] | None = None
        # Its own context: what the table does is nobody's call, whoever had it opened.
        self._task = asyncio.create_task(
            self._run(), name=f"table {self.table_id}", context=Context()
        )
        self._bound = _log.bind(table=self.table_id)

    async def claim(self, node: str) -> None:
        """Begins with the claim: errands and clocks are this node's only once it is in the log. A
        node that had no lease for a while goes on with one.

        Raises `NOT_OWNER` when another node was quicker; the table is let go if it cannot be had.
        """
        epoch = self.state.epoch + 1
        self._claim = Proposal(lambda at: e.TableClaimed(node, epoch, at), node, uuid4())
        try:
            await self.submit(self._claim)
        except BaseException:
            self.let_go(_stale())
            raise
        finally:
            self._claim = None
        self._there_us = self.state.now

    async def release(self, why: CroupierError) -> None:
        """Lets go of the table: what runs is finished, the rest is refused with `why`."""
        self.let_go(why)
        await self.ended()

    async def ended(self) -> None:
        """Waits until what ran as the table was let go is finished."""
        await asyncio.wait({self._task})

    @property
    def released(self) -> bool:
        """Whether this node has let go of the table."""
        return self._why_released is not None

    @property
    def waiting(self) -> Waiting:
        """What the table waits for, worked out once for each state."""
        if self._waiting is None or self._waiting[0] is not self.state:
            self._waiting = (self.state, next_step(self.state))
        return self._waiting[1]

    @property
    def between_hands(self) -> bool:
        """Whether the table may be moved now without anybody noticing."""
        betting = self.state.betting
        return self.state.hand is None and (betting is None or not betting.bets)

    async def submit(self, proposal: Proposal) -> Answer:
        """Carries out one input; the answer comes when it is committed and told to all viewers.

        Raises `CroupierError`: the refusal of the rules, `OVERLOADED` when too many wait,
        `LOG_UNAVAILABLE` when nobody knows (repeat the same command), `NOT_OWNER` when let go.
        """
        # A caller that gives up does not undo what is under way.
        return await asyncio.shield(self.propose(proposal))

    def propose(self, proposal: Proposal) -> asyncio.Future[Answer]:
        """Queues one input, in the order of the calls; see `submit` for what its future raises."""
        self._check_not_released()
        if self._queue.full():
            raise CroupierError("OVERLOADED", "too much at once at this table")
        self._admission.enter(proposal, self.state)
        self._queue.put_nowait(proposal)
        return proposal.done

    async def watch(self, viewer: Viewer, after: int) -> None:
        """Tells `viewer` what happened behind version `after`, or a snapshot where that is too
        long ago or 0, and from then on every change.

        Raises `GoneError` when the table has left.
        """
        if after > self.state.version:
            await self._look_for_successor()
        change, seen = Change((), self.state), 0
        if 0 < after <= self.state.version and self.state.version - after <= RESUME_EVENTS:
            change, seen = await self._since(after), after
        if self.released:
            raise GoneError
        if change.state.version != self.state.version:  # it went on while the log was read
            change, seen = Change((), self.state), 0
        if viewer.begin(change, seen):
            self._viewers[viewer] = None
            metrics.watchers.inc()

    async def _look_for_successor(self) -> None:
        """A viewer has seen more of the table than there is here: another node may have it since,
        and this one, which was held up, would show what is past as if it were now."""
        behind = await self._log.read_stream(self._stream, self.state.version, MOST_IN_DOUBT)
        if any(event.type == e.TableClaimed.__name__ for event in behind):
            self.let_go(_stale())

    async def _since(self, after: int) -> Change:
        for _ in range(RESUME_TRIES):
            state = self.state
            if state.version == after:
                return Change((), state)
            recorded = await self._log.read_stream(self._stream, after, state.version - after)
            if state is self.state:
                break
        events = [
            (
                event.version,
                event.hand_id or "",
                self._codec.decode(event.type, event.payload, event.hand_id or ""),
            )
            for event in recorded
        ]
        return Change(events, state)

    def unwatch(self, viewer: Viewer) -> None:
        """Forgets a viewer."""
        if viewer in self._viewers:
            del self._viewers[viewer]
            metrics.watchers.dec()

    def send_viewers_on(self) -> None:
        """All viewers are to look for the table again."""
        for viewer in self._viewers:
            viewer.end()
        metrics.watchers.dec(len(self._viewers))
        self._viewers.clear()

    # ---- The one task

    async def _run(self) -> None:
        while not self.released or not self._queue.empty():
            proposal = await self._queue.get()
            try:
                self._check_not_released()
                if self._in_doubt:
                    await self._look_again()
                await self._go_on_after_outage(proposal)
                if proposal is not None:
                    proposal.succeed(await self._carry_out(proposal))
            except CroupierError as refused:
                if proposal is not None:
                    proposal.fail(refused)
                if refused.reason == "LOG_UNAVAILABLE":
                    self._fail_waiting(refused)
            except Exception as error:
                self._bound.error("table_failed", exc_info=error)
                if proposal is not None:
                    proposal.fail(_our_fault())
                self.let_go(CroupierError("NO_OWNER", "the table is being taken up again"))
            if self._in_doubt and not self.released:
                self._look_again_soon()

    async def _carry_out(self, proposal: Proposal) -> Answer:
        before = self.state
        try:
            fact = self._witnessed(proposal.make(max(proposal.arrived, before.now)))
            events, after = decide(before, fact)
            append, ids = as_append(self._codec, self._stream, before, events, proposal)
        except CroupierError:
            known = await self._known(proposal)
            if known is None:
                raise
            return known
        except Exception as error:  # a fault of ours; nothing has changed
            self._bound.error("table_failed", exc_info=error)
            raise _our_fault() from None
        appended, took_s = await self._append(append)
        match appended.outcome:
            case Outcome.OK:
                versions = range(before.version + 1, after.version + 1)
                self._adopt(Change(list(zip(versions, ids, events, strict=True)), after))
                if took_s > OUTAGE_S and not isinstance(events[0], e.PlayResumed):
                    # Whatever comes of that, the command has been carried out.
                    with contextlib.suppress(CroupierError):
                        await self._resume()
            case Outcome.CONFLICT:
                self.let_go(_stale())
                raise _stale()
            case Outcome.BODY_DIFFERS:
                raise _other_body()
            case Outcome.SAME:
                metrics.repeated.inc()
        return Answer(appended.first_version, appended.last_version)

    def _witnessed(self, fact: e.Input) -> e.Input:
        """A decision for somebody else's box, with what only this node knows: whether the box's
        owner is away, for then its next bettor may decide (TAB-06). Who watches the table is there,
        and so is everybody until he has had the time to come back from our own outage."""
        deciding = self.state.deciding
        if not isinstance(fact, e.DecisionMade) or deciding is None:
            return fact
        if fact.at < self._there_us + self.state.table.clocks.grace_ms * 1000:
            return fact
        owner = deciding.players.get(fact.box, fact.player)
        if owner == fact.player or any(viewer.name == owner for viewer in self._viewers):
            return fact
        return replace(fact, owner_away=True)

    async def _append(self, append: Append) -> tuple[Appended, float]:
        """The log's answer, and how many seconds it took."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            (appended,) = await self._log.append([append])
        except CroupierError as error:
            # Nobody knows whether it is in: look before the next one.
            self._in_doubt = error.reason == "LOG_UNAVAILABLE"
            raise
        return appended, loop.time() - started

    async def _known(self, proposal: Proposal) -> Answer | None:
        """A command that is refused now may be one that was carried out before."""
        command = proposal.command
        if command is None:
            return None
        record = await self._log.find_command(self._stream, command.caller, command.command_id)
        if record is None:
            return None
        if record.body_hash != command.body_hash:
            raise _other_body()
        metrics.repeated.inc()
        return Answer(record.first_version, record.last_version)

    def _adopt(self, change: Change) -> None:
        self.state = change.state
        for viewer in [viewer for viewer in self._viewers if not viewer.tell(change)]:
            self.unwatch(viewer)
        for version, hand_id, event in change.events:
            if isinstance(event, e.HandSettled | e.HandVoided):
                metrics.hands.labels(self.state.table.game.NAME, type(event).__name__).inc()
                self._bound.debug("hand_over", hand=hand_id, version=version)
        self._clock.keep(self.waiting.deadline, self.waiting.clock)
        self._tell_lobby(change.state)
        self._act(self)

    async def _look_again(self) -> None:
        """The log was away: see whether the last append is in, then go on, nobody folded by it."""
        recorded = await self._log.read_stream(self._stream, self.state.version, MOST_IN_DOUBT)
        self._in_doubt = False
        state, events = self.state, []
        for event in recorded:
            fact = self._codec.decode(event.type, event.payload, event.hand_id or "")
            if isinstance(fact, e.TableClaimed):
                self.let_go(_stale())
                raise _stale()
            state = evolve(state, fact)
            events.append((event.version, event.hand_id or "", fact))
        if events:
            self._adopt(Change(events, state))
        await self._resume()

    def back(self) -> None:
        """This node was away: looks whether a running clock needs its grace."""
        if open_deadline(self.state):
            self._wake()

    async def _go_on_after_outage(self, proposal: Proposal | None) -> None:
        """This node may have been away, with no append under way that would tell. What reached the
        table before is judged as it came; then the players get the time to come back. A claim
        gives it too, to what comes behind it."""
        outage = self._presence.outage()
        claim = self._claim
        if claim is not None and proposal is claim:
            self._outage = outage
            if self._there_us:
                self._there_us = max(self._there_us, outage.until)
            return
        if outage is self._outage or not self._there_us or (proposal is None and claim is not None):
            return
        if proposal is not None and proposal.arrived <= outage.since:
            return
        self._outage = outage
        self._there_us = max(self._there_us, outage.until)
        grace_us = self.state.table.clocks.grace_ms * 1000
        if open_deadline(self.state) < outage.until + grace_us:
            await self._resume()

    async def _resume(self) -> None:
        """After an outage: a running clock gets the grace."""
        self._outage = self._presence.outage()
        if open_deadline(self.state):
            try:
                await self._carry_out(Proposal(lambda at: e.PlayResumed(at=at), "house", uuid4()))
            except LogOverloadedError:
                self._in_doubt = True  # Nothing else happens before that is in.
                raise

    def _look_again_soon(self) -> None:
        if self._nudge is not None:
            self._nudge.cancel()
        self._nudge = asyncio.get_running_loop().call_later(LOOK_AGAIN_AFTER_S, self._wake)

    def _wake(self) -> None:
        if not self._queue.full():
            self._queue.put_nowait(None)

    def _fail_waiting(self, why: CroupierError) -> None:
        """None of those who wait has been tried: they are told at once what the first found out."""
        while not self._queue.empty():
            waiting = self._queue.get_nowait()
            if waiting is not None:
                waiting.fail(why)

    def _check_not_released(self) -> None:
        why = self._why_released
        if why is not None:
            raise CroupierError(why.reason, why.message, why.field, why.facts)

    def let_go(self, why: CroupierError) -> None:
        """Begins to let go of the table: from now on everything is refused with `why`."""
        if self.released:
            return
        self._why_released = why
        self._bound.info("table_released", reason=why.reason)
        self._clock.stop()
        if self._nudge is not None:
            self._nudge.cancel()
        self.send_viewers_on()
        self._wake()
        self._act(self)

    # ---- The clock

    def _expire(self, deadline: int) -> None:
        if self.released or open_deadline(self.state) != deadline:
            return
        clock = next_clock(self.state)[0]
        proposal = Proposal(lambda at: e.ClockExpired(deadline, at, clock), "house", uuid4())
        proposal.done.add_done_callback(self._expired)
        try:
            self._queue.put_nowait(proposal)
        except asyncio.QueueFull:
            proposal.done.cancel()

    def _expired(self, done: asyncio.Future[Answer]) -> None:
        # Refused because somebody was quicker: the new state has its own clock, which runs. Failed
        # for want of the log or of room in the queue: try again.
        if not self.released and (done.cancelled() or done.exception() is not None):
            self._clock.again(open_deadline(self.state))


def _stale() -> CroupierError:
    return CroupierError("NOT_OWNER", "another node has the table", "table_id")


def _our_fault() -> CroupierError:
    return CroupierError("INTERNAL", "something went wrong on our side")


def _other_body() -> CroupierError:
    return CroupierError(
        "COMMAND_BODY_DIFFERS", "this command id came before with another body", "command_id"
    )
