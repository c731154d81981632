"""The one task that owns a table, over a log that fails when it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest

from services.table import clock, owner
from services.table.admission import Admission
from services.table.loading import load
from services.table.owner import TableOwner
from services.table.presence import Presence
from services.table.proposal import Proposal, as_append, now_us
from services.table.watching import GoneError, Lost, Mailbox, Told, Viewer
from shared.errors import CroupierError
from shared.log import (
    Append,
    Appended,
    CommandKey,
    LogOverloadedError,
    LogUnavailableError,
    MemoryLog,
)
from shared.sealing import Keyring
from shared.table import events as e
from shared.table.codec import TableCodec
from shared.table.decide import decide
from shared.table.sealer import KeyringSealer
from shared.table.state import TableState
from tests.polling import eventually

HOUR_MS = 3_600_000
CODEC = TableCodec(KeyringSealer(Keyring("k1", {"k1": bytes(32)})))


class FailingLog(MemoryLog):
    """Fails its next appends as told: before it has appended, or after, or not (None)."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[tuple[str, Exception | None]] = []
        self.may_append = asyncio.Event()
        self.may_append.set()
        self.may_read = True

    async def append(self, appends: Sequence[Append]) -> list[Appended]:
        await self.may_append.wait()
        when, failure = self.failures.pop(0) if self.failures else ("", None)
        if failure is not None and when == "before":
            raise failure
        answers = await super().append(appends)
        if failure is not None:
            raise failure
        return answers

    async def read_stream(self, stream: str, after_version: int = 0, limit: int = 1_000) -> Any:
        if not self.may_read:
            raise LogUnavailableError("away")
        return await super().read_stream(stream, after_version, limit)

    async def types(self) -> list[str]:
        return [event.type for event in await super().read_stream("table/t1", 0, 10_000)]


class Table:
    """A table with ann at it, and what its owner told."""

    def __init__(self, log: FailingLog) -> None:
        self.log = log
        self.acted = 0
        self.lobby: list[TableState] = []
        self.mailbox = Mailbox()
        self.presence = Presence(lambda: self.owner.back())

    async def open(self, **clocks_ms: int) -> TableOwner:
        clocks = e.Clocks(**dict.fromkeys(e.Clocks.__slots__, HOUR_MS) | clocks_ms)
        opened = e.TableOpened("t1", "One", "baccarat", 1, "{}", "EUR", clocks, 7, now_us())
        events, _ = decide(TableState(), opened)
        append, _ = as_append(CODEC, "table/t1", TableState(), events, proposal(opened))
        await self.log.append([append])
        self.owner = await self.take()
        await self.owner.claim("n1")
        await self.owner.submit(proposal(e.JoinAsked("ann")))
        return self.owner

    async def take(self) -> TableOwner:
        state = await load(self.log, CODEC, "t1")
        return TableOwner(
            state, self.log, CODEC, Admission(), self.presence, self.act, self.lobby.append
        )

    def act(self, owner: TableOwner) -> None:
        self.acted += 1

    async def watch(self) -> None:
        await self.owner.watch(Viewer("ann", "t1", self.mailbox), 0)
        await self.mailbox.get()

    async def told(self) -> list[str]:
        """The types of the events of the next change."""
        async with asyncio.timeout(5):
            item = await self.mailbox.get()
        assert isinstance(item, Told), item
        return [type(event).__name__ for _, _, event in item.change.events]


def proposal(fact: Any, command: CommandKey | None = None, arrived: int | None = None) -> Proposal:
    values = {name: getattr(fact, name) for name in type(fact).__slots__}

    def make(at: int) -> Any:
        return type(fact)(**(values | {"at": at}))

    made = Proposal(make, "player:ann", uuid4(), command)
    if arrived is not None:
        made.arrived = arrived
    return made


def sit_out(sitting_out: bool = True, command: CommandKey | None = None) -> Proposal:
    return proposal(e.SitOutChanged("ann", sitting_out), command)


@pytest.fixture
async def table() -> AsyncIterator[Table]:
    made = Table(FailingLog())
    yield made
    if not made.owner.released:
        await made.owner.release(CroupierError("DRAINING", "over"))


async def refusal(waiting: Any) -> str:
    with pytest.raises(CroupierError) as refused:
        async with asyncio.timeout(5):
            await waiting
    return refused.value.reason


async def test_what_is_told_is_in_the_log_and_in_order(table: Table) -> None:
    held = await table.open()
    await table.watch()
    table.log.may_append.clear()
    waiting = [held.propose(sit_out(bool(n % 2))) for n in range(5)]
    version, acted = held.state.version, table.acted
    await asyncio.sleep(0)
    assert not any(each.done() for each in waiting)
    assert held.state.version == version
    table.log.may_append.set()
    answers = await asyncio.gather(*waiting)
    assert [each.version for each in answers] == list(range(version + 1, version + 6))
    for _ in range(5):
        assert await table.told() == ["SitOutChanged"]
    assert table.acted == acted + 5
    assert table.lobby[-1] is held.state


async def test_what_reached_the_table_in_time_is_judged_by_that_time(table: Table) -> None:
    held = await table.open()
    before = held.state.now
    early = before + 5
    await held.submit(proposal(e.SitOutChanged("ann", True), arrived=early))
    assert held.state.now == early
    # But time never runs backwards in a stream.
    await held.submit(proposal(e.SitOutChanged("ann", False), arrived=before - 10**9))
    assert held.state.now == early


async def test_only_so_many_wait(table: Table) -> None:
    held = await table.open()
    table.log.may_append.clear()
    waiting = [held.propose(sit_out()) for _ in range(owner.MOST_QUEUED)]
    assert await refusal(held.submit(sit_out())) == "OVERLOADED"
    table.log.may_append.set()
    await asyncio.gather(*waiting)
    await held.submit(sit_out())


async def test_a_fault_of_ours_is_told_and_harms_nobody_else(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = await table.open()

    def broken(state: TableState, fact: Any) -> Any:
        if getattr(fact, "sitting_out", False):
            raise ZeroDivisionError
        return decide(state, fact)

    monkeypatch.setattr(owner, "decide", broken)
    assert await refusal(held.submit(sit_out(True))) == "INTERNAL"
    await held.submit(sit_out(False))
    assert not held.released


async def test_an_error_of_the_log_s_own_gives_the_table_up(table: Table) -> None:
    held = await table.open()
    await table.watch()
    table.log.failures = [("after", RuntimeError("what was that"))]
    waiting = [held.propose(sit_out()) for _ in range(2)]
    assert [await refusal(each) for each in waiting] == ["INTERNAL", "NO_OWNER"]
    assert held.released
    assert isinstance(await table.mailbox.get(), Lost)
    again = table.owner = await table.take()
    await again.claim("n1")
    assert (await table.log.types())[-2:] == ["SitOutChanged", "TableClaimed"]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_after_doubt_it_looks_before_anything_else(table: Table, when: str) -> None:
    held = await table.open()
    await table.watch()
    key = CommandKey("ann", uuid4(), bytes(32))
    table.log.failures = [(when, LogUnavailableError("no answer"))]
    doubtful, waiting = held.propose(sit_out(True, key)), held.propose(sit_out(False))
    assert [await refusal(each) for each in (doubtful, waiting)] == ["LOG_UNAVAILABLE"] * 2
    answer = await held.submit(sit_out(True, key))
    assert answer.version == held.state.version
    assert (await table.log.types()).count("SitOutChanged") == 1
    assert await table.told() == ["SitOutChanged"]


async def test_it_looks_by_itself_and_until_it_knows(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "LOOK_AGAIN_AFTER_S", 0.01)
    held = await table.open()
    await table.watch()
    table.log.failures = [("after", LogUnavailableError("no answer"))]
    table.log.may_read = False
    assert await refusal(held.submit(sit_out())) == "LOG_UNAVAILABLE"
    # Nobody is kept waiting meanwhile.
    assert await refusal(held.submit(sit_out())) == "LOG_UNAVAILABLE"
    table.log.may_read = True
    assert await table.told() == ["SitOutChanged"]
    assert not held.released


async def test_after_doubt_it_finds_that_another_has_the_table(table: Table) -> None:
    held = await table.open()
    other = await table.take()
    table.log.failures = [("before", LogUnavailableError("no answer"))]
    assert await refusal(held.submit(sit_out())) == "LOG_UNAVAILABLE"
    await other.claim("n2")
    waiting = [held.propose(sit_out()) for _ in range(2)]
    assert [await refusal(each) for each in waiting] == ["NOT_OWNER", "NOT_OWNER"]
    assert held.released
    await other.release(CroupierError("DRAINING", "over"))


async def test_a_claim_that_fails_leaves_nothing_behind(table: Table) -> None:
    held = await table.open()
    late = await table.take()
    table.log.failures = [("before", LogUnavailableError("no answer"))]
    assert await refusal(late.claim("n2")) == "LOG_UNAVAILABLE"
    assert late.released
    await held.submit(sit_out())
    assert (await table.log.types()).count("TableClaimed") == 1


async def test_a_caller_that_gives_up_changes_nothing(table: Table) -> None:
    held = await table.open()
    table.log.may_append.clear()
    calling = asyncio.create_task(held.submit(sit_out()))
    await asyncio.sleep(0)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    table.log.may_append.set()
    await held.submit(sit_out(False))
    assert (await table.log.types()).count("SitOutChanged") == 2


async def test_what_is_refused_after_its_caller_gave_up_is_nobodys_loss(table: Table) -> None:
    held = await table.open()
    table.log.may_append.clear()
    running = held.propose(sit_out())
    calling = asyncio.create_task(held.submit(sit_out(False)))
    await asyncio.sleep(0)
    calling.cancel()
    held.let_go(CroupierError("DRAINING", "this node stops"))
    table.log.may_append.set()
    await running
    await held.ended()


async def test_let_go_it_finishes_what_runs_and_refuses_the_rest(table: Table) -> None:
    held = await table.open()
    table.log.may_append.clear()
    running, waiting = held.propose(sit_out()), held.propose(sit_out())
    await asyncio.sleep(0)
    letting_go = asyncio.create_task(held.release(CroupierError("NO_OWNER", "it moves")))
    await asyncio.sleep(0)
    assert not letting_go.done()
    table.log.may_append.set()
    await letting_go
    assert (await running).version
    assert await refusal(waiting) == "NO_OWNER"
    with pytest.raises(CroupierError):
        held.propose(sit_out())
    await held.release(CroupierError("DRAINING", "again"))


async def bets(held: TableOwner) -> None:
    """Ann has chips and a bet: the betting clock runs."""
    await held.submit(proposal(e.ChipsRequested("ann", 100)))
    [(request, amount)] = held.state.seats["ann"].requests
    await held.submit(proposal(e.ChipsArrived("ann", amount, request)))
    await held.submit(proposal(e.BetPlaced("ann", 1, "player", 10)))


async def test_the_clock_runs_out_though_the_log_was_away_or_the_queue_full(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "AGAIN_AFTER_S", 0.01)
    held = await table.open(betting_ms=1_000, grace_ms=10)
    await bets(held)
    table.log.may_append.clear()
    waiting = [held.propose(sit_out(False)) for _ in range(owner.MOST_QUEUED)]
    deadline = held.state.betting.deadline if held.state.betting else 0
    await eventually(lambda: now_us() > deadline + 50_000)
    # The first to go is lost, and so are all that wait; the clock asks again.
    table.log.failures = [("before", LogUnavailableError("no answer"))]
    table.log.may_append.set()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(each, LogUnavailableError) for each in results)

    async def expired() -> bool:
        return "ClockExpired" in await table.log.types()

    await eventually(expired)


async def test_an_outage_gives_a_running_clock_its_grace(table: Table) -> None:
    held = await table.open(betting_ms=60_000)
    await bets(held)
    await table.watch()
    before = held.state.betting
    table.log.failures = [("before", LogUnavailableError("no answer"))]
    assert await refusal(held.submit(sit_out())) == "LOG_UNAVAILABLE"
    await held.submit(sit_out(False))
    assert (await table.log.types())[-3:] == ["PlayResumed", "DeadlineMoved", "SitOutChanged"]
    after = held.state.betting
    assert before is not None
    assert after is not None
    assert after.deadline > before.deadline


async def test_a_command_that_is_in_is_not_refused_for_the_grace_behind_it(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = await table.open(betting_ms=HOUR_MS)
    await bets(held)
    monkeypatch.setattr(owner, "OUTAGE_S", -1.0)
    table.log.failures = [("", None), ("before", LogOverloadedError("so many wait"))]
    await held.submit(proposal(e.BetPlaced("ann", 1, "player", 10)))
    monkeypatch.undo()
    await held.submit(proposal(e.BetPlaced("ann", 1, "player", 10)))
    assert (await table.log.types())[-4:] == [
        "BetPlaced",
        "PlayResumed",
        "DeadlineMoved",
        "BetPlaced",
    ]


async def test_a_viewer_resumes_from_the_log_while_the_table_goes_on(table: Table) -> None:
    held = await table.open()
    start = held.state.version
    for n in range(20):
        await held.submit(sit_out(bool(n % 2)))
    mailbox = Mailbox()
    viewer = Viewer("ann", "t1", mailbox)
    await held.watch(viewer, start)
    told = await mailbox.get()
    assert [version for version, _, _ in told.change.events] == list(range(start + 1, start + 21))
    held.unwatch(viewer)
    held.unwatch(viewer)


async def test_what_a_viewer_has_seen_beyond_it_tells_that_another_has_the_table(
    table: Table,
) -> None:
    """A node that was held up shows nothing that is past as if it were now."""
    held = await table.open()
    start = held.state.version
    successor = await table.take()
    await successor.claim("n2")
    with pytest.raises(GoneError):
        await held.watch(Viewer("ann", "t1", table.mailbox), successor.state.version)
    assert held.released
    await successor.release(CroupierError("DRAINING", "over"))
    assert successor.state.version > start


async def test_a_viewer_who_claims_to_have_seen_more_than_there_is_gets_a_picture(
    table: Table,
) -> None:
    held = await table.open()
    await held.watch(Viewer("ann", "t1", table.mailbox), held.state.version + 1_000)
    told = await table.mailbox.get()
    assert (told.change.state, list(told.change.events)) == (held.state, [])


async def test_ids_of_commands_are_looked_up_only_before_a_refusal(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No extra round trip (architecture, 3, idempotency)."""
    held = await table.open()
    looked: list[UUID] = []
    find = table.log.find_command

    async def find_command(stream: str, caller: str, command_id: UUID) -> Any:
        looked.append(command_id)
        return await find(stream, caller, command_id)

    monkeypatch.setattr(table.log, "find_command", find_command)
    key = CommandKey("ann", uuid4(), bytes(32))
    first = await held.submit(sit_out(True, key))
    assert await held.submit(sit_out(True, key)) == first
    assert not looked
    other = CommandKey("ann", uuid4(), bytes(32))
    assert await refusal(held.submit(proposal(e.JoinAsked("ann"), other))) == "ALREADY_SEATED"
    assert await held.submit(proposal(e.JoinAsked("ann"), key)) == first
    assert looked == [other.command_id, key.command_id]
