"""Snapshots save a claim the reading of a table's whole life, and nothing depends on them."""

from __future__ import annotations

import pytest

from services.table.loading import load
from services.table.snapshots import Snapshots
from shared.log import PostgresLog, open_pool
from shared.sealing import Keyring
from shared.table.codec import TableCodec
from shared.table.sealer import KeyringSealer
from tests.integration.table.house import House
from tests.integration.table.people import assert_seamless, play_hand
from tests.polling import eventually

KEYS = Keyring("k1", {"k1": bytes(range(32))})


async def test_a_table_is_taken_up_from_its_snapshot(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.table.snapshots.EVERY_EVENTS", 10)
    await house.open()
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        for _ in range(3):
            await play_hand(stream)
    pool = await open_pool(house.database.dsn("croupier_table"))
    async with PostgresLog(pool) as log:
        snapshots = Snapshots(pool, KEYS)

        async def taken() -> bool:
            return (await snapshots.get("t1")).version > 30

        await eventually(taken)
        await house.services["table-1"].stop()
        before = await snapshots.get("t1")
        codec = TableCodec(KeyringSealer(KEYS))
        whole = await load(log, codec, "t1")
        assert before.hand is None
        assert 30 < before.version <= whole.version
        assert await load(log, codec, "t1", before) == whole
        # Another version of the software, another key, another log: it counts for nothing.
        assert (await Snapshots(pool, Keyring("k1", {"k1": bytes(32)})).get("t1")).version == 0
        for spoil in ("written_by = '\\x00'", "hash = '\\x00'", "version = version + 1"):
            await house.sql(f"UPDATE tables.snapshots SET {spoil}")
            assert (await snapshots.get("t1")).version == 0, spoil
        await house.services["table-1"].start()
        async with ann.playing("t1") as stream:
            await play_hand(stream)
            assert_seamless(stream.updates)
        # Which is then taken anew.
        await eventually(taken)
    await pool.close()
