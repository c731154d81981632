"""A change of keys: stored seeds are sealed again, no shoe notices."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from services.shuffle.resealing import reseal_all
from services.shuffle.storage import ShoeStore
from shared.log import open_pool
from shared.sealing import Keyring, UnsealError
from tests.integration.shuffle.conftest import OPEN, SEED_KEYS, Desk, Draw
from tests.servers import Database

NEW_KEY = bytes([9] * 32)
BOTH = Keyring("s2", {**SEED_KEYS.keys, "s2": NEW_KEY})
NEW_ONLY = Keyring("s2", {"s2": NEW_KEY})


@asynccontextmanager
async def store(database: Database, keys: Keyring) -> AsyncIterator[ShoeStore]:
    pool = await open_pool(database.dsn("croupier_shuffle"), 2)
    try:
        yield ShoeStore(pool, keys)
    finally:
        await pool.close()


async def sealed_with(database: Database, shoe_id: str) -> str:
    connection = await asyncpg.connect(database.dsn())
    try:
        key_id = await connection.fetchval(
            "SELECT key_id FROM shuffle.seeds WHERE shoe_id = $1", shoe_id
        )
    finally:
        await connection.close()
    assert isinstance(key_id, str)
    return key_id


async def test_old_seeds_are_sealed_again_and_the_old_key_may_go(
    module_database: Database, desk: Desk
) -> None:
    root = await desk.ready()
    async with store(module_database, SEED_KEYS) as old:
        seed = await old.server_seed(desk.shoe)
    async with store(module_database, BOTH) as both:
        assert await both.server_seed(desk.shoe) == seed  # before it is sealed again
        assert await reseal_all(both) >= 1
        assert await reseal_all(both) == 0
    assert await sealed_with(module_database, desk.shoe) == "s2"
    async with store(module_database, NEW_ONLY) as new:
        assert await new.server_seed(desk.shoe) == seed
    # The running service, which does not know the new key, has the shoe in memory.
    assert len((await desk.deal(Draw(position=0, use=OPEN))).cards) == 1
    assert (await desk.get()).root == root


async def test_a_batch_ends_and_the_next_goes_on_behind_it(
    module_database: Database, desk: Desk
) -> None:
    shoes = sorted(f"{desk.shoe}-{number}" for number in range(5))
    for shoe in shoes:
        await desk.open(shoe)
    async with store(module_database, BOTH) as both:
        await reseal_all(both)
    async with store(module_database, Keyring("s3", {**BOTH.keys, "s3": bytes(32)})) as third:
        done = await third.reseal("", 2)
        assert done.resealed == 2
        assert (await third.reseal(done.last, 1000)).resealed >= 3
        assert (await third.reseal("~", 1000)).last == ""


async def test_two_at_once_do_no_harm(module_database: Database, desk: Desk) -> None:
    await desk.open()
    ring = Keyring("s5", {**BOTH.keys, "s3": bytes(32), "s5": bytes([5] * 32)})
    async with store(module_database, ring) as one, store(module_database, ring) as other:
        seed = await one.server_seed(desk.shoe)
        await asyncio.gather(reseal_all(one), reseal_all(other))
        assert await one.server_seed(desk.shoe) == seed


async def test_a_seed_that_is_published_meanwhile_is_gone_all_the_same(
    database: Database,
) -> None:
    """The retirement removes the row that the change of keys has just written anew."""
    superuser = await asyncpg.connect(database.dsn())
    other = await asyncpg.connect(database.dsn("croupier_shuffle"))
    sealed = SEED_KEYS.seal_at_rest(bytes(32), "shuffle.seeds", "shoe-1")
    await superuser.execute(
        "INSERT INTO shuffle.seeds VALUES ('shoe-1', 's1', $1, $2)", sealed.nonce, sealed.ciphertext
    )
    resealing = other.transaction()
    await resealing.start()
    new = BOTH.seal_at_rest(bytes(32), "shuffle.seeds", "shoe-1")
    assert await other.fetchval(
        "SELECT shuffle.reseal('shoe-1', $1, 's2', $2, $3)", sealed.nonce, new.nonce, new.ciphertext
    )
    removing = asyncio.create_task(
        superuser.execute("DELETE FROM shuffle.seeds WHERE shoe_id = 'shoe-1'")
    )
    await resealing.commit()
    assert await removing == "DELETE 1"
    await superuser.close()
    await other.close()


async def test_a_seed_that_has_changed_since_it_was_read_is_left_alone(
    database: Database,
) -> None:
    superuser = await asyncpg.connect(database.dsn())
    sealed = SEED_KEYS.seal_at_rest(bytes(32), "shuffle.seeds", "shoe-1")
    await superuser.execute(
        "INSERT INTO shuffle.seeds VALUES ('shoe-1', 's1', $1, $2)", sealed.nonce, sealed.ciphertext
    )
    shuffle = await asyncpg.connect(database.dsn("croupier_shuffle"))
    assert not await shuffle.fetchval(
        "SELECT shuffle.reseal('shoe-1', $1, 's2', $1, $2)", bytes(12), bytes(48)
    )
    table = await asyncpg.connect(database.dsn("croupier_table"))
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await table.execute("SELECT shuffle.reseal('shoe-1', $1, 's2', $1, $1)", bytes(12))
    for connection in (superuser, shuffle, table):
        await connection.close()


async def test_a_seed_whose_key_is_missing_stays_and_is_told(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    superuser = await asyncpg.connect(database.dsn())
    sealed = SEED_KEYS.seal_at_rest(bytes(32), "shuffle.seeds", "shoe-1")
    await superuser.execute(
        "INSERT INTO shuffle.seeds VALUES ('shoe-1', 's1', $1, $2)", sealed.nonce, sealed.ciphertext
    )
    await superuser.close()
    async with store(database, NEW_ONLY) as new:
        assert await reseal_all(new) == 0
        with pytest.raises(UnsealError):
            await new.server_seed("shoe-1")
    assert "seeds_unreadable" in capsys.readouterr().out
    assert await sealed_with(database, "shoe-1") == "s1"
