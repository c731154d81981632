"""What a hand costs with one, two and four table nodes, and how long they wait for one another.

    python -m tests.bench.nodes [TABLES] [SECONDS] [HANDS_PER_S]

The same load each time: a player at each baccarat table, so many hands a second in all, settled by
the wallet and indexed by the audit. Players come to the node that has their table, or to any node.
Prints for each the milliseconds of the processor that a hand costs every process, the share of an
append's time that passes in waiting for the partition's head, and the memory of a table that is
played at.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.request import urlopen

import asyncpg
import grpc
import psutil

from clients.api.house import Identity
from clients.api.nodes import NodeClient
from clients.api.table import TableClient
from deploy.folder import service_of
from tests.bench.places import RunningHouse, open_house
from tests.bench.players import Choose, Player, seated

CASES = ((1, True), (2, True), (4, True), (2, False), (4, False))
"""How many nodes, and whether players come to the node that has their table."""
TURNS = 2
TABLES = 100
SECONDS = 15.0
HANDS_PER_S = 40.0
WARM_UP_S = 5.0
SAMPLE_S = 0.005
GROUPS = "croupier_log_group_appends"
_APPENDS = """
SELECT count(*), count(*) FILTER (WHERE wait_event_type = 'Lock') FROM pg_stat_activity
WHERE state = 'active' AND query LIKE '%log.append%' AND usename LIKE '%table%'
"""


@dataclass
class Waiting:
    """How often an append of a table node was seen under way, and how often it waited for the
    head of the partition."""

    appends: int = 0
    waiting: int = 0


@dataclass
class Case:
    """What one house showed: milliseconds of the processor a hand by service (`load`: the players),
    how many appends go in one transaction of a table node, and what a table takes of its node's
    memory."""

    cost_ms: dict[str, float]
    appends_a_commit: float
    waited: Waiting
    table_kib: float

    @property
    def whole_ms(self) -> float:
        return sum(ms for name, ms in self.cost_ms.items() if name != "load")

    def __str__(self) -> str:
        share = self.waited.waiting / max(1, self.waited.appends)
        each = ", ".join(f"{name} {ms:.2f}" for name, ms in self.cost_ms.items())
        return (
            f"{self.whole_ms:.2f} ms a hand ({each}); {100 * share:.0f} % of an append's time for "
            f"the head ({self.waited.appends} seen), {self.appends_a_commit:.2f} appends a commit; "
            f"{self.table_kib:.0f} KiB a table"
        )


async def measure(tables: int, seconds: float, hands_per_s: float) -> None:
    """Prints what was measured, the cases by turns: the machine has other things to do as well."""
    measured: dict[tuple[int, bool], list[float]] = {}
    for nodes, at_home in CASES * TURNS:
        async with open_house(nodes) as house:
            case = await measure_case(house, at_home, tables, seconds, hands_per_s)
        measured.setdefault((nodes, at_home), []).append(case.whole_ms)
        print(f"{_named(nodes, at_home)}: {case}", flush=True)
    one = statistics.median(measured[CASES[0]])
    for (nodes, at_home), costs in measured.items():
        ms = statistics.median(costs)
        print(f"{_named(nodes, at_home)}: median of {TURNS} {ms:.2f} ms a hand, {ms / one:.2f} x")


def _named(nodes: int, at_home: bool) -> str:
    return f"{nodes} nodes, players {'where their table is' if at_home else 'at any node'}"


async def measure_case(
    house: RunningHouse, at_home: bool, tables: int, seconds: float, hands_per_s: float
) -> Case:
    """What a hand costs in this house."""
    empty = memory(house)
    async with (
        choosing(house, at_home) as choose,
        seated(house.house, tables, choose=choose) as (players, _),
    ):
        await play(players, WARM_UP_S, hands_per_s)
        await house.caught_up()
        before = await groups(house)
        cost = await hand_ms(house, players, seconds, hands_per_s)
        appends, commits = (
            now - then for now, then in zip(await groups(house), before, strict=True)
        )
        table_kib = (memory(house) - empty) / tables / 1024
        sampling = asyncio.create_task(waits(house, seconds / 2))
        await play(players, seconds / 2, hands_per_s)
        return Case(cost, appends / commits, await sampling, table_kib)


async def hand_ms(
    house: RunningHouse, players: list[Player], seconds: float, hands_per_s: float
) -> dict[str, float]:
    """Milliseconds of the processor a hand by service, all table nodes together."""
    used, played = house.processor_s(), count(players)
    await play(players, seconds, hands_per_s)
    await house.caught_up()
    hands = count(players) - played
    cost: dict[str, float] = {}
    for name, now_s in house.processor_s().items():
        service = service_of(name) or name
        cost[service] = cost.get(service, 0.0) + 1e3 * (now_s - used[name]) / hands
    return cost


async def play(players: list[Player], seconds: float, hands_per_s: float) -> None:
    """At fixed times, one table after the other."""
    every = len(players) / hands_per_s
    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number, player in enumerate(players):
            group.create_task(player.play_at(began, number / hands_per_s, every, seconds))


def count(players: list[Player]) -> int:
    return sum(player.hands for player in players)


async def waits(house: RunningHouse, seconds: float) -> Waiting:
    """Looks at the appends of table nodes that are under way, again and again."""
    seen = Waiting()
    connection = await asyncpg.connect(house.dsn)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        appends, waiting = await connection.fetchrow(_APPENDS) or (0, 0)
        seen.appends += appends
        seen.waiting += waiting
        await asyncio.sleep(SAMPLE_S)
    await connection.close()
    return seen


async def groups(house: RunningHouse) -> tuple[float, float]:
    """The appends of all table nodes so far, and their commits."""
    appends = commits = 0.0
    for address in house.folder.read()["metrics"]["table"]:
        page = await asyncio.to_thread(_read, f"http://{address}/metrics")
        told = dict(line.split() for line in page.splitlines() if line.startswith(GROUPS + "_"))
        appends += float(told[f"{GROUPS}_sum"])
        commits += float(told[f"{GROUPS}_count"])
    return appends, commits


def _read(url: str) -> str:
    with urlopen(url, timeout=10) as answer:
        return str(answer.read(), "utf-8")


def memory(house: RunningHouse) -> int:
    """Bytes that are the table nodes' own."""
    told = house.folder.read()["processes"]
    pids = [each["pid"] for name, each in told.items() if service_of(name) == "table"]
    return sum(psutil.Process(pid).memory_full_info().uss for pid in pids)


@asynccontextmanager
async def choosing(house: RunningHouse, at_home: bool) -> AsyncIterator[Choose]:
    """Where players connect: to the node that has their table, or to all nodes by turns."""
    addresses = house.house.addresses["table"]
    channels = {address: grpc.aio.insecure_channel(address) for address in addresses}
    turns = itertools.cycle(addresses)
    async with house.house.connect("table", Identity("bench", "operator")) as connection:
        address_of = {node.node: node.address for node in await NodeClient(connection).nodes()}

        async def choose(table_id: str, floor: TableClient) -> grpc.aio.Channel:
            if not at_home:
                return channels[next(turns)]
            update = await floor.view(table_id)
            return channels[address_of[update.table.table.node]]

        yield choose
    await asyncio.gather(*(channel.close() for channel in channels.values()))


if __name__ == "__main__":
    said = [float(each) for each in sys.argv[1:]]
    said += (TABLES, SECONDS, HANDS_PER_S)[len(said) :]
    asyncio.run(measure(int(said[0]), *said[1:]))
