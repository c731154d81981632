"""Whole hands: players on `Play`, settled by the wallet and indexed by the audit."""

from __future__ import annotations

import asyncio
import time

from tests.bench.echo import echo_server, unary_rate
from tests.bench.figures import Effort, Figure
from tests.bench.places import RunningHouse, open_house
from tests.bench.players import Player, seated

TABLES = 50
IN_FLIGHT = 32
WARM_UP_S = 1.0


async def hands(effort: Effort) -> list[Figure]:
    """Baccarat at fifty tables against a unary echo."""
    figure = Figure(
        "hands",
        f"hands a second: baccarat, {TABLES} tables, settled and indexed",
        "1/s",
        f"unary grpc.aio echo, {IN_FLIGHT} in flight",
        0.10,
    )
    costs: list[dict[str, float]] = []
    async with (
        open_house() as house,
        echo_server() as echo,
        seated(house.house, TABLES) as (players, _),
    ):
        await play(house, players, WARM_UP_S)
        before, played = await house.sizes(), sum(player.hands for player in players)
        for _ in range(effort.turns):
            echoes = await unary_rate(echo, IN_FLIGHT, effort.seconds)
            rate, cost = await play(house, players, effort.seconds)
            figure.add(rate, echoes)
            costs.append(cost)
        count = sum(player.hands for player in players) - played
        figure.notes["a_hand"] = {
            what: round((now - before[what]) / count, 2)
            for what, now in (await house.sizes()).items()
        }
    figure.notes["processor_ms_a_hand"] = costs
    return [figure]


async def play(
    house: RunningHouse, players: list[Player], seconds: float
) -> tuple[float, dict[str, float]]:
    """Hands a second until the last is settled and indexed, and what one costs each process in
    milliseconds of the processor, the load among them."""
    played = sum(player.hands for player in players)
    used = house.processor_s()
    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for player in players:
            group.create_task(player.play_until(started + seconds))
    await house.caught_up()
    passed = time.perf_counter() - started
    count = sum(player.hands for player in players) - played
    return count / passed, spent(used, house.processor_s(), count)


def spent(before: dict[str, float], after: dict[str, float], count: int) -> dict[str, float]:
    """Milliseconds of the processor that each of so many cost, process by process."""
    return {name: round(1e3 * (now - before[name]) / count, 3) for name, now in after.items()}
