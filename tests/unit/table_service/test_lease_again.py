"""A node that comes back to its lease, with more tables than are claimed in a moment."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast
from uuid import UUID

import pytest

from services.table.directory import Look, Peer, Place, Placed
from services.table.loading import load
from services.table.lobby import Lobby
from services.table.node import CLAIMS_AT_ONCE, Node
from services.table.owner import TableOwner
from services.table.proposal import as_append, now_us
from shared.errors import CroupierError
from shared.log import Append, Appended, LogUnavailableError, MemoryLog
from shared.table import events as e
from shared.table.decide import decide
from shared.table.state import TableState
from tests.polling import eventually
from tests.unit.table_service.test_owner import CODEC, HOUR_MS, proposal

LEASE_S = 600.0
"""It ends where a test says so."""
HEARTBEAT_S = 0.02
SELF = Peer("n1", UUID(int=1), "n1:1", True, LEASE_S)


class Log(MemoryLog):
    """Counts the appends that wait at once, and holds them up while it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.may_append = asyncio.Event()
        self.may_append.set()
        self.waiting = 0
        self.most_waiting = 0

    async def append(self, appends: Sequence[Append]) -> list[Appended]:
        self.waiting += 1
        self.most_waiting = max(self.most_waiting, self.waiting)
        try:
            await self.may_append.wait()
            return await super().append(appends)
        finally:
            self.waiting -= 1

    async def claims(self, table_id: str) -> int:
        recorded = await self.read_stream(f"table/{table_id}", 0, 1_000)
        return [event.type for event in recorded].count("TableClaimed")

    async def open(self, table_id: str) -> None:
        clocks = e.Clocks(**dict.fromkeys(e.Clocks.__slots__, HOUR_MS))
        opened = e.TableOpened(table_id, "One", "baccarat", 1, "{}", "EUR", clocks, 7, now_us())
        events, _ = decide(TableState(), opened)
        stream = f"table/{table_id}"
        append, _ = as_append(CODEC, stream, TableState(), events, proposal(opened))
        await self.append([append])


class Directory:
    """One node, and the tables that it has."""

    def __init__(self, table_ids: Sequence[str]) -> None:
        self.rows = {table_id: Placed(table_id, None, 0, None) for table_id in table_ids}
        self.beats = 0
        self.held = False
        self.entries = 0
        self.peers: tuple[Peer, ...] = (SELF,)
        self.may_release = asyncio.Event()
        self.may_release.set()
        self.failures: list[Exception] = []
        self.faults: list[Exception] = []

    async def heartbeat(self, *_: Any) -> bool:
        await asyncio.sleep(0)
        self.beats += 1
        if self.faults:
            raise self.faults.pop()
        held, self.held = self.held, True
        return held

    async def discover(self) -> None:
        pass

    async def look(self) -> Look:
        rows = self.rows.values()
        return Look(self.peers, 0, tuple(row for row in rows if row.owner is None))

    async def census(self) -> tuple[Placed, ...]:
        return tuple(self.rows.values())

    async def place(self, table_id: str) -> Place:
        row = self.rows[table_id]
        return Place(row.owner, SELF.address if row.owner else None, row.epoch, False)

    async def places(self, table_ids: Sequence[str]) -> dict[str, Place]:
        return {}

    async def claimed(self, epochs: Mapping[str, int]) -> None:
        self.entries += 1
        for table_id, epoch in epochs.items():
            self.rows[table_id] = Placed(table_id, SELF.node, epoch, None)

    async def released(self, table_ids: Sequence[str]) -> None:
        await self.may_release.wait()
        if self.failures:
            raise self.failures.pop()
        for table_id in table_ids:
            self.rows[table_id] = Placed(table_id, None, self.rows[table_id].epoch, None)


class Others:
    """Shuffle, snapshots and nudges: nobody who has a say."""

    def __init__(self) -> None:
        self.may_fence = asyncio.Event()
        self.may_fence.set()
        self.fencing = asyncio.Event()

    def act(self, owner: TableOwner) -> None:
        pass

    async def fence(self, owner: TableOwner) -> None:
        self.fencing.set()
        await self.may_fence.wait()

    async def get(self, table_id: str) -> TableState:
        return TableState()

    def offer(self, state: TableState) -> None:
        pass

    def forget(self, table_id: str) -> None:
        pass

    def nudge(self, node: str) -> None:
        pass

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def stop(self) -> None:
        pass


class Running:
    """A node with its tables."""

    def __init__(self, tables: int) -> None:
        self.table_ids = [f"t{number}" for number in range(tables)]
        self.log = Log()
        self.directory = cast("Any", Directory(self.table_ids))
        self.others = cast("Any", Others())
        several = (self.others, Lobby(), self.others, self.others)
        times_s = (LEASE_S, HEARTBEAT_S, 0.0)
        self.node = Node(SELF.node, self.log, CODEC, self.directory, *several, *times_s)

    async def has_all(self) -> None:
        await eventually(lambda: self.node.owners.keys() == set(self.table_ids))

    async def beats(self, count: int = 3) -> None:
        """Until so many heartbeats have been asked for, and answered."""
        least = self.directory.beats + count
        await eventually(lambda: self.directory.beats >= least)

    async def current(self, table_id: str) -> bool:
        with contextlib.suppress(CroupierError):
            return bool(await self.node.find_current(table_id))
        return False


@asynccontextmanager
async def running(tables: int) -> AsyncIterator[Running]:
    made = Running(tables)
    for table_id in made.table_ids:
        await made.log.open(table_id)
    stopping = asyncio.Event()
    run = asyncio.create_task(made.node.run(stopping))
    try:
        yield made
    finally:
        made.log.may_append.set()
        made.others.may_fence.set()
        made.directory.may_release.set()
        stopping.set()
        await run
        made.directory.gone = made.others.stop
        await made.node.hand_over()


async def test_a_lease_is_renewed_while_the_tables_are_claimed_anew() -> None:
    """Else a node whose claims take longer than its lease would never have one again."""
    async with running(1) as house:
        await house.has_all()
        house.log.may_append.clear()
        house.directory.held = False
        await eventually(lambda: house.log.waiting)
        await house.beats()
        assert not await house.current("t0")
        house.log.may_append.set()
        await eventually(lambda: house.current("t0"))
        assert await house.log.claims("t0") == 2


async def test_a_lease_that_ends_while_the_tables_are_claimed_anew() -> None:
    """Others may have taken a table behind its claim."""
    async with running(1) as house:
        await house.has_all()
        house.log.may_append.clear()
        house.directory.held = False
        await eventually(lambda: house.log.waiting)
        house.directory.held = False
        await house.beats()
        house.log.may_append.set()
        await eventually(lambda: house.current("t0"))
        assert await house.log.claims("t0") == 3


async def test_a_renewal_that_fails_while_the_tables_are_claimed_anew() -> None:
    """However it does, no claim is broken off, and no table let go for it."""
    async with running(1) as house:
        await house.has_all()
        owner = house.node.owners["t0"]
        house.log.may_append.clear()
        house.directory.held = False
        await eventually(lambda: house.log.waiting)
        house.directory.faults.append(RuntimeError())
        await eventually(lambda: not house.directory.faults)
        await house.beats()
        house.log.may_append.set()
        await eventually(lambda: house.current("t0"))
        assert house.node.owners["t0"] is owner


async def test_very_many_tables_are_claimed_anew_without_overloading_the_log() -> None:
    async with running(3 * CLAIMS_AT_ONCE) as house:
        await house.has_all()
        house.log.most_waiting = 0
        house.log.may_append.clear()
        house.directory.held = False
        await house.beats(1)
        await eventually(lambda: house.log.waiting >= CLAIMS_AT_ONCE)
        house.log.may_append.set()
        await eventually(lambda: house.current("t0"))
        assert house.log.most_waiting == CLAIMS_AT_ONCE
        assert len(house.node.owners) == len(house.table_ids)


async def test_a_table_that_was_being_taken_up_is_claimed_anew_as_well() -> None:
    """Its claim is in the log, and shuffle has not heard it yet: another node may have the table
    since."""
    async with running(1) as house:
        house.others.may_fence.clear()
        await house.others.fencing.wait()
        house.directory.held = False
        await house.beats()
        house.others.may_fence.set()
        await eventually(lambda: house.current("t0"))
        assert await house.log.claims("t0") == 2


async def test_a_table_that_was_lost_while_it_was_taken_up_is_not_shown() -> None:
    async with running(1) as house:
        house.others.may_fence.clear()
        await house.others.fencing.wait()
        finding = asyncio.create_task(house.node.find_current("t0"))
        await asyncio.sleep(0)
        other = TableOwner(
            await load(house.log, CODEC, "t0"),
            house.log,
            CODEC,
            house.node._admission,
            house.node._presence,
            house.others.act,
            house.others.offer,
        )
        await other.claim("n2")
        house.directory.held = False
        await house.beats()
        house.others.may_fence.set()
        with pytest.raises(CroupierError) as refused:
            await finding
        assert refused.value.reason in ("NOT_OWNER", "NO_OWNER")
        await other.release(CroupierError("DRAINING", "over"))


async def test_what_the_directory_has_lost_is_entered_at_once() -> None:
    """One by one, ten thousand tables would outlast the lease."""
    async with running(5) as house:
        await house.has_all()
        await house.beats()
        for table_id in house.table_ids:
            house.directory.rows[table_id] = Placed(table_id, None, 0, None)
        house.directory.entries = 0
        await eventually(lambda: all(row.owner for row in house.directory.rows.values()))
        assert house.directory.entries == 1


async def test_a_table_that_was_let_go_and_could_not_be_entered_as_gone_is_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would be nobody's until somebody looks at everything."""
    monkeypatch.setattr("services.table.node.LOOK_AT_ALL_EVERY", 1_000_000)
    async with running(8) as house:
        await house.has_all()
        await house.beats()
        directory = house.directory
        directory.may_release.clear()
        directory.failures.append(LogUnavailableError("away"))
        directory.peers = (SELF, Peer("n2", UUID(int=2), "n2:1", True, LEASE_S))
        await eventually(lambda: len(house.node.owners) < 8)
        await house.beats()
        directory.may_release.set()
        left = set(house.table_ids) - house.node.owners.keys()
        await eventually(lambda: not any(directory.rows[each].owner for each in left))
