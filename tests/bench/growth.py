"""What a hand costs as the house grows: more tables, more accounts, a longer log."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from uuid import uuid4

from croupier.table.v1 import events_pb2

from clients.api.house import Identity
from clients.api.wallet import WalletClient
from deploy.programs import DATABASE
from shared.log import Append, NewEvent, PostgresLog, open_pool
from tests.bench.figures import Effort, Figure
from tests.bench.hands import WARM_UP_S, play
from tests.bench.places import LOAD, RunningHouse, open_house
from tests.bench.players import CURRENCY, seated

TABLES = (10, 100, 1_000)
ACCOUNTS = 10_000
EVENTS = (100_000, 1_000_000)
LARGE_EVENTS = 10_000_000
WITHIN = 1.5
_STREAMS = 100
_EVENTS_AN_APPEND = 100
_AT_ONCE = 100


async def growth(effort: Effort) -> list[Figure]:
    """The processor's milliseconds a hand, of all processes together, against the smallest house.

    With `effort.large` the log alone, up to ten million events.
    """
    if effort.large:
        return await _longer_log(effort, (*EVENTS, LARGE_EVENTS))
    return [
        *await _more_tables(effort),
        *await _more_accounts(effort),
        *await _longer_log(effort, EVENTS),
    ]


async def _more_tables(effort: Effort) -> list[Figure]:
    costs = []
    for tables in TABLES:
        async with open_house() as house:
            costs.append(await _costs(house, effort, tables))
    return [
        _figure(f"{tables:,} tables", f"{TABLES[0]} tables", cost, costs[0])
        for tables, cost in zip(TABLES[1:], costs[1:], strict=True)
    ]


async def _more_accounts(effort: Effort) -> list[Figure]:
    async with open_house() as house:
        few = await _costs(house, effort, TABLES[0])
        limit = asyncio.Semaphore(_AT_ONCE)
        async with house.house.connect("wallet", Identity("bench", "operator")) as connection:
            wallet = WalletClient(connection)

            async def one(number: int) -> None:
                async with limit:
                    await wallet.open_account(CURRENCY, f"p_{number}")

            await asyncio.gather(*map(one, range(ACCOUNTS)))
        await house.caught_up()
        many = await _costs(house, effort, TABLES[0])
    return [_figure(f"{ACCOUNTS:,} accounts", f"{TABLES[0]} accounts", many, few)]


async def _longer_log(effort: Effort, lengths: Sequence[int]) -> list[Figure]:
    costs = []
    written = 0
    async with open_house() as house:
        for length in lengths:
            await _write(house, length - written)
            written = length
            costs.append(await _costs(house, effort, TABLES[0]))
    return [
        _figure(f"a log of {length:,} events", f"{lengths[0]:,} events", cost, costs[0])
        for length, cost in zip(lengths[1:], costs[1:], strict=True)
    ]


async def _costs(house: RunningHouse, effort: Effort, tables: int) -> list[float]:
    """Milliseconds of the processor that a hand costs all processes but the load, each turn."""
    async with seated(house.house, tables, f"bench{uuid4().hex[:4]}") as (players, _):
        await play(house, players, WARM_UP_S)
        costs = [(await play(house, players, effort.seconds))[1] for _ in range(effort.turns)]
    return [sum(ms for name, ms in cost.items() if name != LOAD) for cost in costs]


async def _write(house: RunningHouse, events: int) -> None:
    """So many bets of tables that never were, indexed by the audit like any other."""
    role = "croupier_table"
    pool = await open_pool(house.postgres.dsn(DATABASE, role, house.keys.roles[role]))
    bet = events_pb2.BetPlaced(player="p_1", box=1, wager="player", stake=500)
    payload = bet.SerializeToString()
    streams = [f"table/{uuid4().hex}" for _ in range(_STREAMS)]
    async with PostgresLog(pool) as log:

        async def fill(stream: str) -> None:
            for version in range(0, events // _STREAMS, _EVENTS_AN_APPEND):
                event = NewEvent("BetPlaced", payload, "bench", 1, f"{stream[6:]}-{version}")
                await log.append([Append(uuid4(), stream, version, (event,) * _EVENTS_AN_APPEND)])

        await asyncio.gather(*map(fill, streams))
    await pool.close()
    await house.caught_up()


def _figure(large: str, small: str, cost: list[float], least: list[float]) -> Figure:
    figure = Figure("growth", f"cost of a hand: {large}", "ms", small, WITHIN, at_most=True)
    # The turns of two houses are not pairs: each is held against the other's median.
    figure.measured = cost
    figure.baseline = [statistics.median(least)] * len(cost)
    figure.notes["smallest"] = least
    figure.notes["at"] = time.time()
    return figure
