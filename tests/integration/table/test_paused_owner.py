"""A node is paused with a request for cards on its way; its table goes on elsewhere."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import grpc
from croupier.shuffle.v1 import events_pb2, shuffle_pb2
from croupier.table.v1 import table_pb2 as pb

from services.table.presence import OUTAGE_S
from services.table.proposal import now_us
from shared.rpc.access import Role
from shared.rpc.errors import from_rpc_error
from tests.integration.table.gate import Gate
from tests.integration.table.house import House
from tests.integration.table.people import bet, command, cut, done
from tests.integration.table.serving import Process
from tests.polling import eventually


@dataclass
class Holding:
    """Holds back calls of these methods, but for the first `free` ones, until they are let go."""

    methods: tuple[str, ...]
    free: int = 0
    held: asyncio.Event = field(default_factory=asyncio.Event)
    let_go: asyncio.Event = field(default_factory=asyncio.Event)
    refusals: list[str] = field(default_factory=list)

    async def __call__(self, method: str, pass_on: Callable[[], Awaitable[bytes]]) -> bytes:
        # What is on its way arrives, though whoever sent it has waited for too long.
        arriving = asyncio.ensure_future(self._arrive(method, pass_on))
        arriving.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(arriving)

    async def _arrive(self, method: str, pass_on: Callable[[], Awaitable[bytes]]) -> bytes:
        if method in self.methods:
            self.free -= 1
            if self.free < 0:
                self.held.set()
                await self.let_go.wait()
        try:
            answer = await pass_on()
        except grpc.aio.AioRpcError as error:
            self.refusals.append(from_rpc_error(error).reason)
            raise
        if method == "DealMany":
            outcomes = shuffle_pb2.DealManyResponse.FromString(answer).outcomes
            self.refusals += [each.refused.reason for each in outcomes if each.HasField("refused")]
        return answer


@dataclass
class Takeover:
    """The table is at "table-2"; what "table-1" asked of shuffle before it was stopped, and what
    "table-2" asks again, waits at their gates. So does the retirement of the shoe."""

    first: Process
    of_first: Holding
    of_second: Holding


@asynccontextmanager
async def takeover(house: House) -> AsyncIterator[Takeover]:
    await asyncio.gather(house.shuffle(), house.wallet(), house.relay())
    async with AsyncExitStack() as stack:
        gates = [
            await stack.enter_async_context(Gate(house.address("shuffle-1"))) for _ in range(2)
        ]
        # The burn's two requests pass.
        of_first = gates[0].passing = Holding(("DealMany",), free=2)
        of_second = gates[1].passing = Holding(("DealMany", "RetireShoe"))
        first = await house.node_process(
            "table-1", shuffle_address=gates[0].address, lease_ttl_s=1.0
        )
        await house.open("t1")
        ann = await house.seat("ann")
        async with ann.playing("t1") as stream:
            await stream.command("t1", bet(100))
            await stream.command("t1", done())
            await stream.until(lambda each: each.update.table.shoe.cut_player == "ann")
            await stream.command("t1", cut())
            await of_first.held.wait()
        assert first.process is not None
        first.process.send_signal(signal.SIGSTOP)
        try:
            await house.node("table-2", shuffle_address=gates[1].address)
            await of_second.held.wait()
            yield Takeover(first, of_first, of_second)
        finally:
            of_first.let_go.set()
            of_second.let_go.set()
            first.process.send_signal(signal.SIGCONT)
            await house.services["table-2"].stop()
            await first.stop()


async def shoe_events(house: House, shoe_id: str) -> list[str]:
    """What the log has of a shoe: the types of its events, with the epochs of those that ask."""
    rows = await house.sql(
        "SELECT type, payload FROM log.events WHERE stream = $1 ORDER BY version",
        f"shuffle/{shoe_id}",
    )
    told = []
    for row in rows:
        body = getattr(events_pb2, row["type"]).FromString(row["payload"])
        told.append(f"{row['type']} {getattr(body, 'epoch', '')}".strip())
    return told


async def test_a_paused_nodes_request_gets_no_card_of_a_hand_that_was_voided_since(
    empty_house: House,
) -> None:
    """The new owner speaks to the shoe before anybody can have the hand voided. Its own requests
    wait all the while: nothing else could fence the old one."""
    async with takeover(empty_house) as at:
        house = empty_house
        pit = house.person("pete", Role.PIT, node="table-2")
        await pit.execute("t1", command(rule_void=pb.RuleVoid(note="power cut")))
        assert "HandVoided" in await house.types("t1")
        before = await shoe_events(house, "t1-s2")
        assert before[-1] == "ShoeClaimed 2"
        at.of_first.let_go.set()
        await eventually(lambda: bool(at.of_first.refusals))
        assert at.of_first.refusals == ["STALE_EPOCH"]
        assert await shoe_events(house, "t1-s2") == before


async def test_a_pause_of_the_only_node_costs_nobody_his_time(empty_house: House) -> None:
    """Its lease outlives the pause: nobody else sees it, and nothing was being written."""
    house = empty_house
    await asyncio.gather(house.shuffle(), house.wallet(), house.relay())
    node = await house.node_process("table-1", lease_ttl_s=60)
    await house.open("t1", clocks={"betting_ms": 5_000})
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        await stream.command("t1", bet(100))
        started = (await stream.event("BettingClockStarted")).betting_clock_started
        node.pause()
        over_us = started.deadline.ToMicroseconds() + round(OUTAGE_S * 1_000_000)
        await eventually(lambda: now_us() > over_us)
        node.go_on()
        await stream.event("DeadlineMoved")
        placed = await stream.command("t1", bet(100, box=2))
        assert (await stream.answered(placed)).HasField("acknowledgement")
    types = await house.types()
    assert "ClockExpired" not in types
    assert types[-3:] == ["PlayResumed", "DeadlineMoved", "BetPlaced"]
    await house.stop()
