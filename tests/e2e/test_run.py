"""`croupier run`: plays, verifies, and ends with a status that tells whether all of it holds."""

from __future__ import annotations

import signal
from functools import partial

import asyncpg
import pytest

from tests.e2e.houses import OPEN_TIMEOUT_S, HouseOnDisk, database_of
from tests.polling import eventually

# Each command has its own bound.
pytestmark = pytest.mark.timeout(300)


async def alter_a_stake(house: HouseOnDisk) -> None:
    """What only a superuser can do: changes a bet in the log, triggers or not."""
    connection = await asyncpg.connect(database_of(house))
    try:
        await connection.execute("ALTER TABLE log.events DISABLE TRIGGER ALL")
        changed = await connection.execute(
            "UPDATE log.events SET payload = payload || decode('0800', 'hex')"
            " WHERE (partition, position) ="
            " (SELECT partition, min(position) FROM log.events WHERE type = 'BetPlaced'"
            "  GROUP BY partition)"
        )
        assert changed == "UPDATE 1"
    finally:
        await connection.close()


async def somebody_has_bet(house: HouseOnDisk) -> bool:
    connection = await asyncpg.connect(database_of(house))
    try:
        asked = "SELECT EXISTS (SELECT FROM log.events WHERE type = 'BetPlaced')"
        return bool(await connection.fetchval(asked))
    finally:
        await connection.close()


async def test_in_an_open_house_it_plays_and_leaves_the_house_open(open_house: HouseOnDisk) -> None:
    done = await open_house.run("run", "--hands", "5")
    assert done.status == 0, done
    assert "everything holds" in done.out
    assert open_house.is_up()


async def test_it_ends_with_1_when_the_log_was_altered(open_house: HouseOnDisk) -> None:
    assert (await open_house.run("run", "--hands", "3")).status == 0
    await alter_a_stake(open_house)
    done = await open_house.run("run", "--hands", "3")
    assert done.status == 1, done
    assert "everything holds" not in done.out


async def test_ctrl_c_during_the_play_closes_the_house(house: HouseOnDisk) -> None:
    running = house.start("run", "--hands", "100000")
    await eventually(house.is_up, within_s=OPEN_TIMEOUT_S)
    await eventually(partial(somebody_has_bet, house), within_s=OPEN_TIMEOUT_S)
    running.send_signal(signal.SIGINT)
    done = await house.end_of(running)
    # So many hands were not played, but what was played holds.
    assert done.status == 1, done
    assert not house.told()["processes"]
