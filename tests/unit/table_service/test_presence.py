"""A node that was away itself: stopped, asleep, under a clock set forward, or without its lease.
Nobody is folded by that (architecture, 5, clocks)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial

import pytest

from services.table.owner import TableOwner
from services.table.presence import Presence
from services.table.proposal import now_us
from shared.errors import CroupierError
from shared.log import LogOverloadedError
from shared.table import events as e
from tests.polling import eventually
from tests.unit.table_service.test_owner import (
    HOUR_MS,
    FailingLog,
    Table,
    bets,
    proposal,
    sit_out,
)

LEASE_S = 60.0


class Wall:
    """The wall's clock, which may jump, and may stand: then it goes by its jumps alone, however
    slow the machine is."""

    def __init__(self) -> None:
        self._true_ns = time.time_ns
        self._stands_at_ns = 0
        self.ahead_s = 0.0

    def stand(self) -> None:
        self._stands_at_ns = self._true_ns()

    def time_ns(self) -> int:
        return (self._stands_at_ns or self._true_ns()) + round(self.ahead_s * 1e9)


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    made = Wall()
    monkeypatch.setattr(time, "time_ns", made.time_ns)
    return made


@pytest.fixture
async def table(wall: Wall) -> AsyncIterator[Table]:
    made = Table(FailingLog())
    yield made
    await made.owner.release(CroupierError("DRAINING", "over"))


def deadline_of(held: TableOwner) -> int:
    assert held.state.betting is not None
    return held.state.betting.deadline


async def logged(table: Table, what: str) -> bool:
    return what in await table.log.types()


async def logged_any(table: Table, *types: str) -> str:
    """The first of these types that the log has."""
    return next((each for each in await table.log.types() if each in types), "")


async def test_a_clock_that_ran_out_while_the_node_was_away_gets_its_grace_and_then_runs_out(
    table: Table, wall: Wall
) -> None:
    held = await table.open(betting_ms=1_000, grace_ms=100)
    await bets(held)
    wall.ahead_s += 30
    await eventually(partial(logged, table, "ClockExpired"))
    types = await table.log.types()
    assert types[types.index("PlayResumed") :][:3] == [
        "PlayResumed",
        "DeadlineMoved",
        "ClockExpired",
    ]


async def test_a_log_that_takes_no_more_just_then_costs_nobody_his_grace(
    table: Table, wall: Wall
) -> None:
    """All tables of the node say at once that they go on."""
    wall.stand()
    held = await table.open(betting_ms=200, grace_ms=HOUR_MS)
    await bets(held)
    table.log.failures.append(("before", LogOverloadedError("so many wait")))
    wall.ahead_s += 30
    table.presence.outage()
    await eventually(lambda: not table.log.failures)
    clock_rings = eventually(lambda: logged_any(table, "PlayResumed", "ClockExpired"))
    assert await clock_rings == "PlayResumed"


async def test_a_bet_right_after_the_node_was_away_is_in_time(table: Table, wall: Wall) -> None:
    held = await table.open(betting_ms=20_000, grace_ms=10_000)
    await bets(held)
    wall.ahead_s += 30
    back = now_us()
    await held.submit(proposal(e.BetPlaced("ann", 2, "player", 10)))
    assert deadline_of(held) >= back + 10_000_000
    assert (await table.log.types())[-3:] == ["PlayResumed", "DeadlineMoved", "BetPlaced"]


async def test_it_notices_by_itself_and_wakes_its_tables(table: Table, wall: Wall) -> None:
    held = await table.open(betting_ms=20_000, grace_ms=10_000)
    await bets(held)
    wall.ahead_s += 15
    looking = asyncio.create_task(table.presence.run())
    await eventually(partial(logged, table, "DeadlineMoved"))
    looking.cancel()


async def test_a_node_that_was_busy_for_a_moment_was_not_away(table: Table, wall: Wall) -> None:
    wall.stand()
    held = await table.open(betting_ms=100, grace_ms=10_000)
    await bets(held)
    table.presence.outage()
    wall.ahead_s += 0.5
    await eventually(partial(logged, table, "ClockExpired"))
    assert not await logged(table, "PlayResumed")


async def test_a_clock_that_runs_far_beyond_the_grace_is_left_alone(
    table: Table, wall: Wall
) -> None:
    held = await table.open(betting_ms=60_000, grace_ms=10_000)
    await bets(held)
    before = deadline_of(held)
    wall.ahead_s += 30
    await held.submit(sit_out(False))
    assert deadline_of(held) == before
    assert not await logged(table, "PlayResumed")


async def test_what_rang_before_the_node_was_away_counts(table: Table, wall: Wall) -> None:
    held = await table.open(betting_ms=100, grace_ms=10_000)
    await bets(held)
    table.log.may_append.clear()
    running = held.propose(sit_out(False))
    deadline = deadline_of(held)
    await eventually(lambda: now_us() > deadline + 20_000)
    table.presence.outage()
    wall.ahead_s += 30
    table.log.may_append.set()
    await running
    await eventually(partial(logged, table, "ClockExpired"))
    assert not await logged(table, "PlayResumed")


@pytest.mark.parametrize(
    ("held", "away_s", "resumed"), [(False, 3, 1), (True, 3, 0), (False, 1, 0)]
)
async def test_a_lease_that_had_run_out_was_an_outage(
    table: Table, wall: Wall, held: bool, away_s: int, resumed: int
) -> None:
    wall.stand()
    owner = await table.open(betting_ms=20_000, grace_ms=30_000)
    await bets(owner)
    loop = asyncio.get_running_loop()
    table.presence.returned()
    table.presence.leased(loop.time(), LEASE_S)
    for _ in range(away_s):
        wall.ahead_s += 1  # it runs all the while
        table.presence.outage()
    if not held:
        table.presence.returned()
    table.presence.leased(loop.time(), LEASE_S)
    table.presence.stop()
    await owner.submit(sit_out(False))
    assert (await table.log.types()).count("PlayResumed") == resumed


async def test_the_claim_of_a_node_that_has_its_lease_again_is_all_that_is_said(
    table: Table, wall: Wall
) -> None:
    owner = await table.open(betting_ms=20_000, grace_ms=30_000)
    await bets(owner)
    loop = asyncio.get_running_loop()
    table.presence.leased(loop.time(), LEASE_S)
    before = await table.log.types()
    for _ in range(3):
        wall.ahead_s += 1
        table.presence.outage()
    table.presence.returned()
    await owner.claim("n1")
    table.presence.leased(loop.time(), LEASE_S)
    table.presence.stop()
    assert deadline_of(owner) >= now_us() + 29_000_000
    await owner.submit(sit_out(False))
    assert (await table.log.types())[len(before) :] == [
        "TableClaimed",
        "DeadlineMoved",
        "SitOutChanged",
    ]


async def test_a_clock_that_rang_without_a_lease_waits_for_the_grace_of_the_claim_behind_it(
    table: Table, wall: Wall
) -> None:
    """An append is under way as the node has its lease again, and the clock's turn is next."""
    wall.stand()
    owner = await table.open(betting_ms=2_000, grace_ms=30_000)
    await bets(owner)
    loop = asyncio.get_running_loop()
    table.presence.leased(loop.time(), LEASE_S)
    table.log.may_append.clear()
    under_way = asyncio.create_task(owner.submit(proposal(e.BetPlaced("ann", 2, "player", 10))))
    await asyncio.sleep(0)
    for _ in range(3):
        wall.ahead_s += 1
        table.presence.outage()
    ringing = owner.propose(proposal(e.ClockExpired(deadline_of(owner), 0, "betting")))
    table.presence.returned()
    claiming = asyncio.create_task(owner.claim("n1"))
    await asyncio.sleep(0)
    table.log.may_append.set()
    await asyncio.gather(under_way, claiming)
    with pytest.raises(CroupierError):
        await ringing
    table.presence.stop()
    assert "BettingClosed" not in await table.log.types()
    assert deadline_of(owner) >= now_us() + 29_000_000


async def test_nothing_is_said_at_a_table_that_is_not_claimed_yet(table: Table, wall: Wall) -> None:
    held = await table.open(betting_ms=20_000, grace_ms=10_000)
    await bets(held)
    successor = await table.take()
    wall.ahead_s += 30
    await successor.claim("n2")
    assert (await table.log.types())[-2:] == ["TableClaimed", "DeadlineMoved"]
    await successor.release(CroupierError("DRAINING", "over"))


async def test_a_lease_runs_from_when_it_was_asked_for() -> None:
    lapsed = asyncio.Event()
    presence = Presence(lapsed=lapsed.set)
    assert not presence.has_lease
    now_s = asyncio.get_running_loop().time()
    presence.leased(now_s, LEASE_S)
    assert presence.has_lease
    presence.leased(now_s - LEASE_S, LEASE_S)
    assert not presence.has_lease
    async with asyncio.timeout(5):
        await lapsed.wait()
