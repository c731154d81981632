"""kill -9 of each process while people play: the game goes on, and all of it verifies."""

from __future__ import annotations

import pytest

from clients.bots.progress import Ledger, Summary, Verified
from tests.chaos.playing import playing
from tests.e2e.houses import PROCESSES, HouseOnDisk

# Each step has its own bound; here there are many.
pytestmark = pytest.mark.timeout(300)


def assert_all_holds(summary: Summary, ledger: Ledger, verified: Verified, hands: int) -> None:
    assert verified.clean, verified
    assert verified.hands >= hands
    assert ledger.balanced, ledger
    assert not summary.still_seated
    assert not summary.refusals


async def test_the_game_goes_on_when_each_process_in_turn_is_killed(house: HouseOnDisk) -> None:
    assert (await house.run("up", "--detach")).status == 0
    async with playing(house) as run:
        await run.more_hands(10)
        for name in PROCESSES:
            restarts = house.kill(name)
            await house.is_back(name, restarts)
            await run.more_hands(20)
        summary, ledger, verified = await run.finish()
    assert_all_holds(summary, ledger, verified, 10 + 20 * len(PROCESSES))
    assert summary.reconnects


async def test_the_game_goes_on_when_everything_is_killed_at_once(house: HouseOnDisk) -> None:
    assert (await house.run("up", "--detach")).status == 0
    async with playing(house) as run:
        await run.more_hands(10)
        restarts = {name: house.kill(name) for name in PROCESSES}
        for name, before in restarts.items():
            await house.is_back(name, before)
        await run.more_hands(20)
        assert_all_holds(*await run.finish(), 30)


async def test_the_game_goes_on_after_the_house_was_closed_in_the_middle_of_it(
    house: HouseOnDisk,
) -> None:
    assert (await house.run("up", "--detach")).status == 0
    async with playing(house) as run:
        await run.more_hands(10)
        assert (await house.run("down")).status == 0
        assert (await house.run("up", "--detach")).status == 0
        await run.more_hands(20)
        assert_all_holds(*await run.finish(), 30)
