"""Single commands: how many a second, and how long one takes at half of that."""

from __future__ import annotations

import asyncio
import re
import statistics
import time
from collections.abc import Awaitable

from tests.bench.echo import echo_server, stream_rate, stream_waits, unary_rate
from tests.bench.figures import Effort, Figure
from tests.bench.hands import spent
from tests.bench.places import RunningHouse, open_house
from tests.bench.players import Player, execute_until, seated

IN_FLIGHT = 32


async def commands(effort: Effort) -> list[Figure]:
    """`PlaceBet`, acknowledged and durable, on `Play` and on `Execute`.

    One message there and one back, as the echo has it. What it costs who watches the table as well,
    and is told of every bet, is a figure of its own.
    """
    on_play, told, on_execute = (
        Figure(
            "commands",
            f"commands a second on {way}: PlaceBet, durable, {IN_FLIGHT} in flight",
            "1/s",
            f"{echo} grpc.aio echo",
            goal,
        )
        for way, echo, goal in (
            ("Play", "stream", 0.35),
            ("Play by players who watch", "stream", None),
            ("Execute", "unary", 0.35),
        )
    )
    async with (
        open_house() as house,
        echo_server() as echo,
        seated(house.house, IN_FLIGHT) as (players, channel),
    ):
        await _bets(players, 1.0)
        for _ in range(effort.turns):
            streams = await stream_rate(echo, IN_FLIGHT, effort.seconds)
            await _measure(house, told, _bets(players, effort.seconds), streams)
            for player in players:
                await player.stop_watching()
            await _measure(house, on_play, _bets(players, effort.seconds), streams)
            calls = await unary_rate(echo, IN_FLIGHT, effort.seconds)
            executed = execute_until(players, channel, time.perf_counter() + effort.seconds)
            await _measure(house, on_execute, executed, calls)
            for player in players:
                await player.watch()
    return [on_play, told, on_execute]


async def _measure(
    house: RunningHouse, figure: Figure, counting: Awaitable[int], baseline: float
) -> None:
    """Adds a turn; notes what a command cost each process, until the last is indexed."""
    used = house.processor_s()
    started = time.perf_counter()
    count = await counting
    figure.add(count / (time.perf_counter() - started), baseline)
    await house.caught_up()
    cost = spent(used, house.processor_s(), count)
    figure.notes.setdefault("processor_ms_a_command", []).append(cost)


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
        for player in players:
            await player.stop_watching()
        await _bets(players, 1.0)
        rate = await _bets(players, effort.seconds) / effort.seconds / 2
        median.notes["rate"] = rate
        for _ in range(effort.turns):
            await house.caught_up()
            echoed = await stream_waits(echo, IN_FLIGHT, rate, effort.seconds)
            commits = await _commits(house)
            waits = await _waits(players, rate, effort.seconds)
            count, seconds = (
                now - before for now, before in zip(await _commits(house), commits, strict=True)
            )
            median.add(1e3 * statistics.median(waits), 1e3 * statistics.median(echoed))
            slowest.add(1e3 * _p99(waits), 1e3 * _p99(echoed))
            median.notes.setdefault("mean_commit_ms", []).append(round(1e3 * seconds / count, 2))
            median.notes.setdefault("commands_a_commit", []).append(round(len(waits) / count, 2))
    return [median, slowest]


async def _commits(house: RunningHouse) -> tuple[float, float]:
    """How many groups the table service has committed, and the seconds that it waited for them."""
    text = await house.metrics("table")
    count, seconds = (
        re.search(rf"^croupier_log_commit_seconds_{what} (\S+)$", text, re.MULTILINE)
        for what in ("count", "sum")
    )
    assert count is not None
    assert seconds is not None
    return float(count[1]), float(seconds[1])


async def _bets(players: list[Player], seconds: float) -> int:
    until = time.perf_counter() + seconds
    return sum(await asyncio.gather(*(player.bet_until(until) for player in players)))


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
