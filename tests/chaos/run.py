"""Plays five games at a house of real processes that are killed, paused and cut off: `make chaos`.

    python -m tests.chaos.run [--minutes 5] [--seed S] [--games battle,draw_poker]

The faults come from the seed; how they meet the processes depends on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from random import Random
from typing import BinaryIO, cast

from tests.chaos.evening import GAMES, Evening, Outcome
from tests.chaos.house import NODES, SERVICES, ChaosHouse, chaos_house
from tests.integration.table.serving import ProcessEndedError
from tests.servers import remove, temporary_folder

QUIET_S = (0.5, 4.0)
START_AGAIN_S = 0.5


async def run(seed: int, minutes: float, games: tuple[str, ...] = GAMES) -> Outcome:
    """One evening. Whatever is found is in its outcome."""
    what = "" if games == GAMES else f" --games {','.join(games)}"
    outcome = Outcome(f"python -m tests.chaos.run --minutes {minutes:g} --seed {seed}{what}")
    dice = Random(seed)
    folder = temporary_folder()
    try:
        with tempfile.TemporaryFile() as spool:
            async with chaos_house(folder) as house:
                evening = Evening(house, games, dice, cast("BinaryIO", spool), outcome)
                faults = Faults(house, dice, outcome.counts)
                await evening.play(lambda: faults.happen(60 * minutes), faults.mend)
    finally:
        remove(folder)
    return outcome


class Faults:
    """What goes wrong in a house, by the dice."""

    def __init__(self, house: ChaosHouse, dice: Random, counts: Counter[str]) -> None:
        self._house = house
        self._dice = dice
        self._counts = counts
        self._later: set[asyncio.Task[None]] = set()

    async def happen(self, for_s: float) -> None:
        """One fault after the other: on a slow machine as many as on a quick one."""
        planned_s = 0.0
        while planned_s < for_s:
            quiet_s = self._dice.uniform(*QUIET_S)
            planned_s += quiet_s
            await asyncio.sleep(quiet_s)
            self._one_fault()

    def _one_fault(self) -> None:
        dice, house = self._dice, self._house
        name = dice.choice((*NODES, *NODES, *house.names))
        for_s = dice.choice((dice.uniform(0.1, 2.0), dice.uniform(2.0, 6.0)))
        match dice.choice(("kill", "kill", "pause", "pause", "cut", "swallow", "clients")):
            case "kill":
                self._counts["kills"] += 1
                house.signal(name, signal.SIGCONT)
                house.kill(name)
                self._in(for_s, lambda: self._start(name))
            case "pause":
                self._counts["pauses"] += 1
                house.signal(name, signal.SIGSTOP)
                self._in(for_s, lambda: self._continue(name))
            case "cut":
                self._counts["cuts"] += 1
                house.wires[dice.choice((*NODES, *SERVICES))].cut()
            case "swallow":
                self._counts["cuts"] += 1
                house.wires[dice.choice((*NODES, *SERVICES))].swallow_next_answer()
            case "clients":
                self._counts["cuts"] += 1
                dice.choice(house.client_wires).cut()

    async def _start(self, name: str) -> None:
        """As a supervisor would: again, where what it needs at its start is not there."""
        while True:
            try:
                return await self._house.start_again(name)
            except (ProcessEndedError, OSError, AssertionError):
                self._counts["starts that failed"] += 1
                await asyncio.sleep(START_AGAIN_S)

    async def _continue(self, name: str) -> None:
        self._house.signal(name, signal.SIGCONT)

    def _in(self, delay_s: float, work: Callable[[], Awaitable[None]]) -> None:
        async def later() -> None:
            await asyncio.sleep(delay_s)
            await work()

        task = asyncio.create_task(cast("Coroutine[None, None, None]", later()))
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    async def mend(self) -> None:
        """Everything runs and reaches everything again."""
        for task in list(self._later):
            task.cancel()
        for name in self._house.names:
            self._house.signal(name, signal.SIGCONT)
        for name in self._house.names:
            await self._start(name)


def main() -> int:
    """Returns the exit status: 0 if nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.run")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--games", type=lambda text: tuple(text.split(",")), default=GAMES)
    arguments = parser.parse_args()
    seed = Random().getrandbits(32) if arguments.seed is None else arguments.seed
    print(f"{arguments.minutes:g} minutes, seed {seed}", flush=True)
    outcome = asyncio.run(run(seed, arguments.minutes, arguments.games))
    print(outcome.told())
    return 1 if outcome.findings else 0


if __name__ == "__main__":
    sys.exit(main())
