"""Simulated nights from fixed seeds, and the simulation itself: a seed gives the same night."""

from __future__ import annotations

import asyncio

import pytest

from tests.chaos import simulate
from tests.chaos.simulated.loop import Process, StuckError, VirtualLoop, spawn
from tests.chaos.simulated.night import Script, run

SMALL = Script(3, games=("battle",), night_s=15.0)


@pytest.mark.parametrize("seed", [4, 15, 71, 88])
def test_whatever_breaks_in_a_night_all_of_it_holds(seed: int) -> None:
    outcome = run(Script(seed))
    assert not outcome.findings, simulate.told(outcome)
    assert outcome.hands
    assert outcome.claims > len(outcome.script.games)
    assert sum(outcome.faults.values()) == len(outcome.script.plan())


def test_the_same_seed_gives_the_same_night() -> None:
    first, second = run(SMALL), run(SMALL)
    assert first.events
    assert first.heads == second.heads
    assert run(Script(4, games=SMALL.games, night_s=SMALL.night_s)).heads != first.heads


def test_a_night_is_told_with_how_to_play_it_again() -> None:
    script = Script(7, games=("battle",), faults=(1, 4))
    words = "--nights 1 --seed 7 --games battle --faults 1,4"
    assert simulate.again(script) == f"python -m tests.chaos.simulate {words}"


def in_loop(work: object) -> list[tuple[str, float]]:
    loop = VirtualLoop()
    try:
        heard: list[tuple[str, float]] = []
        loop.run_until_complete(work(loop, heard))  # type: ignore[operator]
        loop.run_until_complete(loop.end_all())
    finally:
        loop.close()
    return heard


async def tick(heard: list[tuple[str, float]], process: Process) -> None:
    while True:
        await asyncio.sleep(1.0)
        heard.append((process.name, asyncio.get_running_loop().time()))


def test_a_paused_process_goes_on_and_a_killed_one_does_not() -> None:
    async def night(loop: VirtualLoop, heard: list[tuple[str, float]]) -> None:
        paused, killed = Process("paused"), Process("killed")
        for process in (paused, killed):
            spawn(process, tick(heard, process))
        await asyncio.sleep(1.5)
        loop.pause(paused)
        loop.kill(killed)
        await asyncio.sleep(3.0)
        loop.go_on(paused)
        await asyncio.sleep(1.2)
        loop.kill(paused)

    assert in_loop(night) == [("paused", 1.0), ("killed", 1.0), ("paused", 4.5), ("paused", 5.5)]


def test_a_night_in_which_nothing_can_happen_any_more_ends() -> None:
    async def night(loop: VirtualLoop, heard: list[tuple[str, float]]) -> None:
        await asyncio.Event().wait()

    with pytest.raises(StuckError):
        in_loop(night)
