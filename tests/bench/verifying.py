"""The audit's check of everything, beside merely reading the same rows."""

from __future__ import annotations

import asyncio
import gc
import time
from base64 import b64decode

import asyncpg

from deploy.programs import DATABASE
from services.audit.check_all import FullCheck, Progress
from services.audit.snapshot import take_snapshot
from shared.log import PostgresLog, open_pool
from shared.sealing import Keyring
from tests.bench.figures import Effort, Figure
from tests.bench.places import RunningHouse, open_house
from tests.bench.players import seated

TABLES = 10
PLAYED_S = 20.0
_ROWS = """
    SELECT partition, position, stream, version, type, schema_version, payload, hash, hand_id,
           causation_id, correlation_id, actor, recorded_at
      FROM log.events ORDER BY partition, position
"""


async def verifying(effort: Effort) -> list[Figure]:
    """Both by the seconds of this process's core, so that nothing else counts."""
    figure = Figure(
        "verify",
        "hands verified a second and core",
        "1/s",
        "reading the same hands' rows with asyncpg",
        0.05,
    )
    async with open_house() as house:
        async with seated(house.house, TABLES) as (players, _):
            until = time.perf_counter() + PLAYED_S
            await asyncio.gather(*(player.play_until(until) for player in players))
        await house.caught_up()
        for _ in range(effort.turns):
            hands, verifying_s = await _verify(house)
            figure.add(hands / verifying_s, hands / await _read(house))
            figure.notes["hands"] = hands
    return [figure]


async def _verify(house: RunningHouse) -> tuple[int, float]:
    role = "croupier_audit"
    pool = await open_pool(house.postgres.dsn(DATABASE, role, house.keys.roles[role]))
    async with pool.acquire() as connection:
        snapshot = await take_snapshot(connection)
    started = time.process_time()
    progress = Progress()
    async with PostgresLog(pool) as log:
        keyring = Keyring("k1", {"k1": b64decode(house.keys.deployment)})
        async for progress in FullCheck(log, keyring, snapshot, _disclose).run():
            assert not progress.findings, progress.findings[0]
    passed = time.process_time() - started
    await pool.close()
    return progress.hands, passed


async def _read(house: RunningHouse) -> float:
    connection = await asyncpg.connect(house.dsn)
    # Else much of the time goes to the collector, which walks through what the checks before left.
    gc.collect()
    gc.freeze()
    started = time.process_time()
    rows = await connection.fetch(_ROWS)
    passed = time.process_time() - started
    gc.unfreeze()
    assert rows
    await connection.close()
    return passed


async def _disclose(shoe_id: str) -> bytes:
    raise AssertionError(f"baccarat's seeds are published, that of {shoe_id} is asked for")
