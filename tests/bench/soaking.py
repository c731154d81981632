"""Plays steadily for a long time and tells what grows: `make soak`.

    python -m tests.bench.soaking [MINUTES] [SHARE]

First the most that this machine does is found, then SHARE (0.7) of it is played. Memory (what is a
process's own), open files, lag and how long a hand takes are looked at twenty times; the last
quarter of the looks is held against the first. The bus keeps less than it would, so that what it
has is as much in both: it has an index of it in memory.
"""

from __future__ import annotations

import asyncio
import logging
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil
import structlog
import uvloop
from rich.console import Console
from rich.table import Table

from tests.bench.hands import play
from tests.bench.places import RunningHouse, open_house
from tests.bench.players import Player, seated

MINUTES = 60.0
SHARE = 0.7
TABLES = 20
LOOKS = 20
CALIBRATE_S = 10.0
BUS_BYTES = 256 * 2**20
"""Full within the first tenth of an hour at 150 hands a second."""
# What may differ between two quarters of an evening in which nothing grows.
MEMORY_GROWTH = 1.15
MEMORY_SLACK_MB = 8.0
FILES_GROWTH = 1.05  # Postgres opens what a connection has come to need
MOST_MORE_FILES = 4.0
DATA_FOLDER = "/data/base/"
LAG_SLACK_EVENTS = 500.0
LATENCY_GROWTH = 1.5


@dataclass(frozen=True, slots=True)
class Measure:
    """What is looked at again and again, and how it may grow: `factor` times, and `slack` more."""

    name: str
    unit: str
    factor: float
    slack: float
    looks: list[float]

    @property
    def first(self) -> float:
        """The median of the first quarter."""
        return statistics.median(self.looks[: max(1, len(self.looks) // 4)])

    @property
    def last(self) -> float:
        """The median of the last quarter."""
        return statistics.median(self.looks[-max(1, len(self.looks) // 4) :])

    @property
    def grows(self) -> bool:
        """Whether there is more of it than may be."""
        return self.last > self.first * self.factor + self.slack


class Measures:
    """Everything that was looked at, by name."""

    def __init__(self) -> None:
        self.all: dict[str, Measure] = {}

    def add(self, name: str, unit: str, factor: float, slack: float, value: float) -> None:
        """One look."""
        known = self.all.get(name)
        if known is None:
            known = self.all[name] = Measure(name, unit, factor, slack, [])
        known.looks.append(value)

    def look_at(self, house: RunningHouse) -> None:
        """Memory of each process, its children's included, and the open files of the one that has
        most: Postgres has more processes at one time than at another. The files of tables and
        indexes, which each of these keeps open, are as many as there are data."""
        for name, told in house.folder.read()["processes"].items():
            root = psutil.Process(told["pid"])
            own_bytes, most_files = 0, 0
            for process in (root, *root.children(recursive=True)):
                try:
                    own_bytes += process.memory_full_info().uss
                    data = [each for each in process.open_files() if DATA_FOLDER in each.path]
                    most_files = max(most_files, process.num_fds() - len(data))
                except psutil.NoSuchProcess:  # Postgres ends a worker now and then
                    continue
            memory = (f"{name}: memory", "MB", MEMORY_GROWTH, MEMORY_SLACK_MB)
            self.add(*memory, own_bytes / 2**20)
            self.add(f"{name}: open files", "", FILES_GROWTH, MOST_MORE_FILES, most_files)


async def soak(minutes: float, share: float, console: Console) -> bool:
    """Whether nothing has grown."""
    measures = Measures()
    async with open_house() as house, seated(house.house, TABLES) as (players, _):
        await house.bound_bus(BUS_BYTES)
        most, _ = await play(house, players, CALIBRATE_S)
        console.print(f"{most:.0f} hands/s at most; playing {share * most:.0f} for {minutes:g} min")
        await house.caught_up()
        for number in range(LOOKS):
            waits = await _steadily(players, share * most, 60 * minutes / LOOKS)
            lag = float(await house.lag())
            measures.look_at(house)
            measures.add("lag", "events", 1.0, LAG_SLACK_EVENTS, lag)
            cuts = statistics.quantiles(waits, n=100)
            measures.add("a hand, p50", "ms", LATENCY_GROWTH, 1.0, 1e3 * cuts[49])
            measures.add("a hand, p99", "ms", LATENCY_GROWTH, 5.0, 1e3 * cuts[98])
            console.print(
                f"{number + 1}/{LOOKS}: {len(waits)} hands, lag {lag:.0f}, "
                f"p50 {1e3 * cuts[49]:.0f} ms, p99 {1e3 * cuts[98]:.0f} ms",
                style="dim",
            )
    _show(console, list(measures.all.values()))
    return not any(measure.grows for measure in measures.all.values())


async def _steadily(players: Sequence[Player], rate: float, seconds: float) -> list[float]:
    """Hands at `rate` a second in all; how many seconds each took."""
    began, every = time.perf_counter(), len(players) / rate
    waits = await asyncio.gather(
        *(
            player.play_at(began, every * number / len(players), every, seconds)
            for number, player in enumerate(players)
        )
    )
    return [wait for of_one in waits for wait in of_one]


def _show(console: Console, measures: Sequence[Measure]) -> None:
    table = Table(title="median of the first and of the last quarter", title_justify="left")
    table.add_column("measure")
    for column in ("first", "last", "unit", "grows"):
        table.add_column(column, justify="right")
    for each in measures:
        grows = "[red]yes[/]" if each.grows else "no"
        table.add_row(each.name, f"{each.first:,.1f}", f"{each.last:,.1f}", each.unit, grows)
    console.print(table)


def main() -> int:
    """Returns the exit status: 0 if nothing grows."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else MINUTES
    share = float(sys.argv[2]) if len(sys.argv) > 2 else SHARE
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    return 0 if uvloop.run(soak(minutes, share, Console())) else 1


if __name__ == "__main__":
    sys.exit(main())
