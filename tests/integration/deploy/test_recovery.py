"""`croupier log recover`: a backup is restored that lacks what has been played since."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from croupier.shuffle.v1 import events_pb2 as shuffle_pb2

from deploy import recovery
from deploy.embedded_nats import EmbeddedNats
from deploy.recovery import Recovered, recover
from services.shuffle.shoe import Shoe
from services.shuffle.shoes import Shoes
from shared.log import Append, NewEvent, PostgresLog, open_pool
from shared.sealing import Keyring
from tests.integration.deploy.recovering import (
    FIELD_KEYS,
    OPEN_SHOES,
    SEED_KEYS,
    findings,
    in_mid_hand,
    retirements,
    stored_seeds,
    view,
)
from tests.integration.table.house import House
from tests.integration.table.people import play_hand
from tests.polling import eventually
from tests.servers import Database, PostgresForTests, Running


@pytest.fixture
async def houses(nats_server: Running, tmp_path: Path) -> AsyncIterator[list[House]]:
    """Houses of the test, one database each, over the same bus: that is not restored."""
    opened: list[House] = []
    yield opened
    for house in opened:
        await house.stop()


def house_over(
    database: Database, nats_server: Running, tmp_path: Path, opened: list[House]
) -> House:
    assert isinstance(nats_server.server, EmbeddedNats)
    house = House(database, nats_server.server.url, tmp_path)
    opened.append(house)
    return house


async def dealt_from(house: House, after: Mapping[str, int]) -> set[str]:
    """The shoes from which cards have left behind the versions in `after`."""
    rows = await house.sql(
        """SELECT stream, version FROM log.events
            WHERE type LIKE 'Cards%' AND stream LIKE 'shuffle/%'"""
    )
    return {row["stream"] for row in rows if row["version"] > after.get(row["stream"], 0)}


async def versions(house: House) -> dict[str, int]:
    rows = await house.sql("SELECT stream, version FROM log.streams")
    return {row["stream"]: row["version"] for row in rows}


async def test_after_a_restored_backup_no_open_shoe_is_dealt_from(
    postgres: PostgresForTests,
    database: Database,
    nats_server: Running,
    tmp_path: Path,
    houses: list[House],
) -> None:
    """What the lost tail has shown is known to somebody. The open hand is void, its stakes are
    back, both tables play on from new shoes, and everything verifies."""
    first = await house_over(database, nats_server, tmp_path, houses).start()
    await in_mid_hand(first)
    await first.stop()
    backup = await postgres.copy_of(database)
    again = await house_over(database, nats_server, tmp_path, houses).start()
    ann = again.person("ann")
    async with ann.playing("t1") as stream:  # the tail that will be lost
        await play_hand(stream)
    await again.stop()

    restored = house_over(backup, nats_server, tmp_path, houses)
    open_shoes = {row["stream"] for row in await restored.sql(OPEN_SHOES)}
    assert len(open_shoes) == 4  # at either table one in use and the next
    done_ = await recover(backup.dsn(), FIELD_KEYS, SEED_KEYS)
    assert done_ == Recovered(tables=2, hands_voided=1, shoes=4)
    ended = await retirements(restored)
    assert {f"shuffle/{shoe_id}" for shoe_id in ended} >= open_shoes
    assert {each.retire_reason for each in ended.values()} == {
        shuffle_pb2.RETIRE_REASON_LOG_RECOVERED
    }
    before = await versions(restored)

    await restored.start()
    bob = restored.person("bob")
    assert (await bob.view("t2")).you.chips.minor_units == 10_000
    async with restored.person("ann").playing("t1") as stream:
        await play_hand(stream)
    assert not await dealt_from(restored, before) & open_shoes
    assert await dealt_from(restored, before)

    async def put_away() -> bool:
        types = await restored.types("t1") + await restored.types("t2")
        return types.count("ShoePutAway") >= 4

    await eventually(put_away)
    await restored.stop()
    assert await findings(backup, await stored_seeds(backup)) == []


async def test_a_shoe_whose_table_speaks_meanwhile_is_looked_at_again(
    database: Database,
    nats_server: Running,
    tmp_path: Path,
    houses: list[House],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = await house_over(database, nats_server, tmp_path, houses).start()
    await in_mid_hand(house)
    await house.stop()
    get, seen = Shoes.get, set[str]()

    async def as_it_was_before(shoes: Shoes, shoe_id: str) -> Shoe:
        shoe = await get(shoes, shoe_id)
        if shoe_id in seen:
            return shoe
        seen.add(shoe_id)
        return replace(shoe, epoch=shoe.epoch - 1)

    monkeypatch.setattr(Shoes, "get", as_it_was_before)
    recovered = await recover(database.dsn(), FIELD_KEYS, SEED_KEYS)
    assert (recovered.shoes, recovered.failures) == (len(seen), [])
    assert seen


async def test_it_may_be_run_in_an_open_house_and_again(
    database: Database, nats_server: Running, tmp_path: Path, houses: list[House]
) -> None:
    """Nodes that hold the tables find that somebody has written to them, and take them up again."""
    house = await house_over(database, nats_server, tmp_path, houses).start()
    await in_mid_hand(house)
    done_ = await recover(database.dsn(), FIELD_KEYS, SEED_KEYS)
    assert (done_.tables, done_.hands_voided, done_.failures) == (2, 1, [])
    assert (await recover(database.dsn(), FIELD_KEYS, SEED_KEYS)).hands_voided == 0
    ann = house.person("ann")
    [row] = await house.sql("SELECT epoch FROM tables.directory WHERE table_id = 't1'")
    assert row["epoch"] >= 3  # opened, then let go each time

    async def taken_up_again() -> bool:
        seen = await view(ann, "t1")
        return seen is not None and seen.table.table.epoch >= row["epoch"]

    await eventually(taken_up_again)
    async with ann.playing("t1") as stream:
        await play_hand(stream)
    assert "HandVoided" in await house.types("t2")


async def test_in_an_open_house_new_shoes_are_left_alone(
    database: Database,
    nats_server: Running,
    tmp_path: Path,
    houses: list[House],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its nodes may be quicker than who recovers it, and play on already."""
    house = await house_over(database, nats_server, tmp_path, houses).start()
    await in_mid_hand(house)
    old = {row["stream"].removeprefix("shuffle/") for row in await house.sql(OPEN_SHOES)}
    let_go = recovery._have_taken_up_again

    async def new_ones_opened() -> bool:
        types = await house.types("t1") + await house.types("t2")
        return types.count("ShoeOffered") == 6

    async def and_are(dsn: str) -> None:
        await let_go(dsn)
        await eventually(new_ones_opened)

    monkeypatch.setattr(recovery, "_have_taken_up_again", and_are)
    assert (await recover(database.dsn(), FIELD_KEYS, SEED_KEYS)).failures == []
    assert not (await retirements(house)).keys() - old
    async with house.person("ann").playing("t1") as stream:
        await play_hand(stream)


async def test_a_closed_table_stays_as_it_is_and_a_missing_key_is_told(
    database: Database, nats_server: Running, tmp_path: Path, houses: list[House]
) -> None:
    house = await house_over(database, nats_server, tmp_path, houses).start()
    await house.open("t1")
    await house.stop()
    wrong = Keyring("s9", {"s9": bytes(32)})
    done_ = await recover(database.dsn(), FIELD_KEYS, wrong)
    assert (done_.tables, done_.shoes) == (1, 0)
    [failure] = done_.failures
    assert failure.startswith("shoe t1-s2: no key 's1'")


async def test_a_table_that_cannot_be_read_keeps_no_shoe_open(
    database: Database, nats_server: Running, tmp_path: Path, houses: list[House]
) -> None:
    house = await house_over(database, nats_server, tmp_path, houses).start()
    await house.open("t1")
    await house.stop()
    pool = await open_pool(database.dsn("croupier_table"), 1)
    async with PostgresLog(pool) as log:
        broken = NewEvent("TableOpened", b"\xff", "test")
        await log.append([Append(uuid4(), "table/a0", 0, (broken,))])
    await pool.close()
    done_ = await recover(database.dsn(), FIELD_KEYS, SEED_KEYS)
    assert (done_.tables, done_.shoes) == (1, 1)
    [failure] = done_.failures
    assert failure.startswith("table a0: DecodeError")
    assert await house.sql(OPEN_SHOES) == []
