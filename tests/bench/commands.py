"""Single commands: how many a second, and how long one takes at half of that."""

from __future__ import annotations

import asyncio
import statistics
import time

from tests.bench.echo import echo_server, stream_rate, stream_waits, unary_rate
from tests.bench.figures import Effort, Figure
from tests.bench.places import open_house
from tests.bench.players import Player, execute_until, seated

IN_FLIGHT = 32


async def commands(effort: Effort) -> list[Figure]:
    """`PlaceBet`, acknowledged and durable, on `Play` and on `Execute`."""
    on_play = Figure(
        "commands",
        f"commands a second on Play: PlaceBet, durable, {IN_FLIGHT} in flight",
        "1/s",
        "stream grpc.aio echo",
        0.35,
    )
    on_execute = Figure(
        "commands",
        f"commands a second on Execute: PlaceBet, durable, {IN_FLIGHT} in flight",
        "1/s",
        "unary grpc.aio echo",
        0.35,
    )
    async with (
        open_house() as house,
        echo_server() as echo,
        seated(house.house, IN_FLIGHT) as (players, channel),
    ):
        await _bets(players, 1.0)
        for _ in range(effort.turns):
            streams = await stream_rate(echo, IN_FLIGHT, effort.seconds)
            on_play.add(await _bets(players, effort.seconds), streams)
            await house.caught_up()
            calls = await unary_rate(echo, IN_FLIGHT, effort.seconds)
            # The streams would be told of every bet: here only the calls are wanted.
            for player in players:
                await player.stop_watching()
            started = time.perf_counter()
            count = await execute_until(players, channel, started + effort.seconds)
            on_execute.add(count / (time.perf_counter() - started), calls)
            await house.caught_up()
            for player in players:
                await player.watch()
    return [on_play, on_execute]


async def latency(effort: Effort) -> list[Figure]:
    """A command on `Play` at half the rate that is possible, beside an echo at the same rate."""
    median = Figure(
        "latency", "a command on Play at half the maximum, p50", "ms", "stream echo", 4, True
    )
    slowest = Figure(
        "latency", "a command on Play at half the maximum, p99", "ms", "stream echo", 8, True
    )
    async with (
        open_house() as house,
        echo_server() as echo,
        seated(house.house, IN_FLIGHT) as (players, _),
    ):
        await _bets(players, 1.0)
        rate = await _bets(players, effort.seconds) / 2
        median.notes["rate"] = slowest.notes["rate"] = rate
        for _ in range(effort.turns):
            await house.caught_up()
            echoed = await stream_waits(echo, IN_FLIGHT, rate, effort.seconds)
            waits = await _waits(players, rate, effort.seconds)
            median.add(1e3 * statistics.median(waits), 1e3 * statistics.median(echoed))
            slowest.add(1e3 * _p99(waits), 1e3 * _p99(echoed))
    return [median, slowest]


async def _bets(players: list[Player], seconds: float) -> float:
    started = time.perf_counter()
    counts = await asyncio.gather(*(player.bet_until(started + seconds) for player in players))
    return sum(counts) / (time.perf_counter() - started)


async def _waits(players: list[Player], rate: float, seconds: float) -> list[float]:
    began, every = time.perf_counter(), len(players) / rate
    await asyncio.gather(
        *(
            player.bet_at(began, every * number / len(players), every, seconds)
            for number, player in enumerate(players)
        )
    )
    waits = [wait for player in players for wait in player.waits]
    for player in players:
        player.waits.clear()
    return waits


def _p99(waits: list[float]) -> float:
    return statistics.quantiles(waits, n=100)[98]
