"""Processes race appends: no gap, no reordering, no lost or doubled event."""

from __future__ import annotations

import asyncio
import sys

import pytest

from shared.log import PostgresLog
from tests.integration.log.conftest import Root
from tests.integration.log.racer import WRITERS
from tests.logs import assert_sound
from tests.servers import Database

APPENDS_IN_ALL = 384


@pytest.mark.parametrize(("processes", "partitions"), [(2, 1), (8, 1), (8, 2)])
async def test_processes_race(
    postgres_log: PostgresLog, database: Database, root: Root, processes: int, partitions: int
) -> None:
    for _ in range(partitions - 1):
        await root.execute("SELECT log.add_partition('table')")
    names = [f"table.{number}" for number in range(partitions)]
    appends = APPENDS_IN_ALL // WRITERS // processes
    racers = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.integration.log.racer",
            database.dsn("croupier_table"),
            f"p{number}",
            str(appends),
            stdout=asyncio.subprocess.PIPE,
        )
        for number in range(processes)
    ]
    over = asyncio.Event()
    watching = [asyncio.create_task(watch(postgres_log, name, over)) for name in names]
    outputs = await asyncio.gather(*(racer.communicate() for racer in racers))
    over.set()
    seen = [position for each in watching for position in await each]
    assert [racer.returncode for racer in racers] == [0] * processes

    events = [event for name in names for event in await assert_sound(postgres_log, name)]
    taken = sorted(line for output, _ in outputs for line in output.decode().splitlines())
    assert len(taken) == 2 * APPENDS_IN_ALL
    assert taken == sorted(
        f"{event.stream} {event.version} {event.payload.decode()}" for event in events
    )
    for process in range(processes):
        for writer in range(WRITERS):
            own = [each for each in events if each.stream == f"table/own-p{process}-{writer}"]
            assert [each.payload.decode() for each in own] == [
                f"p{process}-{writer}:{number}" for number in range(appends)
            ]
    assert len(seen) == len(events)


async def watch(log: PostgresLog, partition: str, over: asyncio.Event) -> list[int]:
    """Reads along while the race is on. Position order is commit order: what is read next always
    begins right behind what was read before."""
    seen: list[int] = []
    while True:
        last_round = over.is_set()
        for event in await log.read_partition(partition, len(seen)):
            assert event.position == len(seen) + 1
            seen.append(event.position)
        if last_round:
            return seen
