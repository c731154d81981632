"""A table on this node: one task that judges, appends, applies and tells, in that order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import structlog

from services.table import metrics
from services.table.watching import Change, GoneError, Viewer
from shared.errors import CroupierError
from shared.log import Append, CommandKey, EventLog, NewEvent, Outcome, RecordedEvent, event_id
from shared.table import events as e
from shared.table.codec import TableCodec
from shared.table.decide import decide
from shared.table.envelope import hand_ids
from shared.table.evolve import evolve
from shared.table.state import TableState, open_deadline

MOST_QUEUED = 512
RESUME_EVENTS = 500
"""A viewer who asks for more past events than this gets a snapshot instead."""
RESUME_TRIES = 5
READ_AT_ONCE = 5_000

_log = structlog.get_logger()

MakeFact = Callable[[int], e.Input]
"""Gives the proposed input for the time (microseconds) at which it reaches the table."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Where the events of a command are in the table's stream."""

    first_version: int
    version: int


@dataclass(slots=True)
class Proposal:
    """An input on its way to the table. `command` is None for the house's own."""

    make: MakeFact
    actor: str
    correlation: UUID
    command: CommandKey | None = None
    causation: UUID | None = None
    done: asyncio.Future[Answer] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


def now_us() -> int:
    """The node's time, microseconds since 1970."""
    return time.time_ns() // 1000


async def load(log: EventLog, codec: TableCodec, table_id: str) -> TableState:
    """The table as its stream says; version 0 where there is none."""
    state = TableState()
    while True:
        recorded = await log.read_stream(f"table/{table_id}", state.version, READ_AT_ONCE)
        state = apply_recorded(state, codec, recorded)
        if len(recorded) < READ_AT_ONCE:
            return state


def apply_recorded(
    state: TableState, codec: TableCodec, recorded: Iterable[RecordedEvent]
) -> TableState:
    """The state after these events of its stream."""
    for event in recorded:
        state = evolve(state, codec.decode(event.type, event.payload, event.hand_id or ""))
    return state


def as_append(
    codec: TableCodec,
    stream: str,
    before: TableState,
    events: Sequence[e.Event],
    proposal: Proposal,
) -> tuple[Append, list[str]]:
    """One append with what `decide` made of the proposal, and the hand id of each event."""
    ids = hand_ids(before, events)
    cause = event_id(stream, before.version + 1)
    envelopes = tuple(
        NewEvent(
            type=type(event).__name__,
            payload=codec.encode(event, hand_id),
            actor=proposal.actor,
            hand_id=hand_id or None,
            causation_id=proposal.causation if number == 0 else cause,
            correlation_id=proposal.correlation,
        )
        for number, (event, hand_id) in enumerate(zip(events, ids, strict=True))
    )
    return Append(uuid4(), stream, before.version, envelopes, proposal.command), ids


class TableOwner:
    """Owns one table while this node does. `act` is told of every new state, to run errands."""

    def __init__(
        self,
        state: TableState,
        log: EventLog,
        codec: TableCodec,
        act: Callable[[TableOwner], None],
        tell_lobby: Callable[[TableState], None],
    ) -> None:
        self.state = state
        self.table_id = state.table.table_id
        self._log = log
        self._codec = codec
        self._act = act
        self._tell_lobby = tell_lobby
        self._stream = f"table/{self.table_id}"
        self._queue: asyncio.Queue[Proposal | None] = asyncio.Queue(MOST_QUEUED)
        self._viewers: set[Viewer] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_deadline = 0
        self._released: CroupierError | None = None
        self._unsure = False
        self._task: asyncio.Task[None] | None = None
        self._bound = _log.bind(table=self.table_id)

    async def claim(self, node: str) -> None:
        """Begins with the claim: errands and clocks are this node's only once it is in the log.

        Raises `NOT_OWNER` when another node was quicker.
        """
        # Its own context: what the table does is nobody's call, whoever had it opened.
        self._task = asyncio.create_task(
            self._run(), name=f"table {self.table_id}", context=Context()
        )
        epoch = self.state.epoch + 1
        await self.submit(Proposal(lambda at: e.TableClaimed(node, epoch, at), node, uuid4()))

    async def release(self, why: CroupierError) -> None:
        """Lets go of the table: what runs is finished, the rest is refused with `why`."""
        self._let_go(why)
        if self._task is not None and self._task is not asyncio.current_task():
            await asyncio.wait({self._task})

    @property
    def released(self) -> bool:
        """Whether this node has let go of the table."""
        return self._released is not None

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
        if self._released is not None:
            raise self._released
        try:
            self._queue.put_nowait(proposal)
        except asyncio.QueueFull:
            raise CroupierError("OVERLOADED", "too much at once at this table") from None
        return proposal.done

    async def watch(self, viewer: Viewer, after: int) -> None:
        """Tells `viewer` what happened behind version `after`, or a snapshot where that is too
        long ago or 0, and from then on every change.

        Raises `GoneError` when the table has left.
        """
        change, seen = Change((), self.state), 0
        if 0 < after <= self.state.version and self.state.version - after <= RESUME_EVENTS:
            change, seen = await self._since(after), after
        if self._released is not None:
            raise GoneError
        if change.state.version != self.state.version:  # it went on while the log was read
            change, seen = Change((), self.state), 0
        self._viewers.add(viewer)
        metrics.watchers.inc()
        viewer.begin(change, seen)

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
            self._viewers.discard(viewer)
            metrics.watchers.dec()

    # ---- The one task

    async def _run(self) -> None:
        while (proposal := await self._queue.get()) is not None:
            try:
                if self._released is not None:
                    raise self._released
                if self._unsure:
                    await self._look_again()
                answer = await self._carry_out(proposal)
            except CroupierError as refused:
                _fail(proposal, refused)
            except Exception as error:
                self._bound.error("table_failed", exc_info=error)
                _fail(proposal, CroupierError("INTERNAL", "something went wrong on our side"))
                self._let_go(CroupierError("NOT_OWNER", "the table is being taken up again"))
            else:
                if not proposal.done.done():
                    proposal.done.set_result(answer)
        self._finish()

    async def _carry_out(self, proposal: Proposal) -> Answer:
        before = self.state
        fact = proposal.make(max(now_us(), before.now))
        try:
            events, after = decide(before, fact)
        except CroupierError:
            known = await self._known(proposal)
            if known is None:
                raise
            return known
        append, ids = as_append(self._codec, self._stream, before, events, proposal)
        try:
            (appended,) = await self._log.append([append])
        except CroupierError as error:
            # Nobody knows whether it is in: look before the next one.
            self._unsure = error.reason == "LOG_UNAVAILABLE"
            raise
        match appended.outcome:
            case Outcome.OK:
                versions = range(before.version + 1, after.version + 1)
                self._adopt(Change(list(zip(versions, ids, events, strict=True)), after))
            case Outcome.CONFLICT:
                stale = CroupierError("NOT_OWNER", "another node has the table", "table_id")
                self._let_go(stale)
                raise stale
            case Outcome.BODY_DIFFERS:
                raise _other_body()
            case Outcome.SAME:
                metrics.repeated.inc()
        return Answer(appended.first_version, appended.last_version)

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
                self._bound.info("hand_over", hand=hand_id, version=version)
        self._after(change.state)

    def _after(self, state: TableState) -> None:
        self._keep_clock(state)
        self._tell_lobby(state)
        self._act(self)

    async def _look_again(self) -> None:
        """The log was away: see whether the last append is in, then go on, nobody folded by it."""
        before = self.state
        recorded = await self._log.read_stream(self._stream, before.version, READ_AT_ONCE)
        self._unsure = False
        for event in recorded:
            fact = self._codec.decode(event.type, event.payload, event.hand_id or "")
            if isinstance(fact, e.TableClaimed):
                stale = CroupierError("NOT_OWNER", "another node has the table", "table_id")
                self._let_go(stale)
                raise stale
            state = evolve(self.state, fact)
            self._adopt(Change([(event.version, event.hand_id or "", fact)], state))
        if open_deadline(self.state):
            resumed = Proposal(lambda at: e.PlayResumed(at=at), "house", uuid4())
            await self._carry_out(resumed)

    def _let_go(self, why: CroupierError) -> None:
        if self._released is not None:
            return
        self._released = why
        self._bound.info("table_released", reason=why.reason)
        if self._timer is not None:
            self._timer.cancel()
        for viewer in self._viewers:
            viewer.end()
        metrics.watchers.dec(len(self._viewers))
        self._viewers.clear()
        self._act(self)
        while self._queue.full():
            waiting = self._queue.get_nowait()
            if waiting is not None:
                _fail(waiting, why)
        self._queue.put_nowait(None)

    def _finish(self) -> None:
        while not self._queue.empty():
            waiting = self._queue.get_nowait()
            if waiting is not None and self._released is not None:
                _fail(waiting, self._released)

    # ---- The clock

    def _keep_clock(self, state: TableState) -> None:
        deadline = open_deadline(state)
        if deadline == self._timer_deadline and self._timer is not None:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_deadline = deadline
        if deadline:
            delay_s = max(0.0, (deadline - now_us()) / 1_000_000)
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._expire, deadline)

    def _expire(self, deadline: int) -> None:
        self._timer = None
        if self._released is not None or open_deadline(self.state) != deadline:
            return
        if now_us() < deadline:  # the loop's clock and the wall's are two
            self._timer_deadline = 0
            self._keep_clock(self.state)
            return
        proposal = Proposal(lambda at: e.ClockExpired(deadline=deadline, at=at), "house", uuid4())
        proposal.done.add_done_callback(self._expired)
        try:
            self._queue.put_nowait(proposal)
        except asyncio.QueueFull:
            self._retry_clock()

    def _expired(self, done: asyncio.Future[Answer]) -> None:
        # Refused because somebody was quicker: the new state has its own clock. Failed for want of
        # the log: try again.
        if done.exception() is not None and self._released is None:
            self._retry_clock()

    def _retry_clock(self) -> None:
        self._timer_deadline = 0
        if self._timer is None and open_deadline(self.state):
            loop = asyncio.get_running_loop()
            self._timer_deadline = open_deadline(self.state)
            self._timer = loop.call_later(1.0, self._expire, self._timer_deadline)


def _other_body() -> CroupierError:
    return CroupierError(
        "COMMAND_BODY_DIFFERS", "this command id came before with another body", "command_id"
    )


def _fail(proposal: Proposal, why: CroupierError) -> None:
    if not proposal.done.done():
        proposal.done.set_exception(why)
