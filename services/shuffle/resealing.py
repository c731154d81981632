"""After a change of keys: seeds that an older key has sealed are sealed again under the newest."""

from __future__ import annotations

import asyncio

import structlog
from prometheus_client import Counter, Gauge

from services.shuffle.storage import ShoeStore
from shared.log import LogUnavailableError

BATCH = 200
PAUSE_S = 5.0

_resealed = Counter("croupier_shuffle_seeds_resealed_total", "Seeds sealed again under a newer key")
_unreadable = Gauge("croupier_shuffle_seeds_unreadable", "Seeds that no key in the settings opens")
_log = structlog.get_logger()


async def reseal_all(store: ShoeStore) -> int:
    """Once over all stored seeds; how many were sealed again. Waits out a database that is away.

    A seed that no key opens stays as it is, and is told: a key is missing in the settings.
    """
    after, resealed, unreadable = "", 0, 0
    while True:
        try:
            done = await store.reseal(after, BATCH)
        except LogUnavailableError:
            await asyncio.sleep(PAUSE_S)
            continue
        after, resealed, unreadable = (
            done.last,
            resealed + done.resealed,
            unreadable + done.unreadable,
        )
        _resealed.inc(done.resealed)
        if not done.last:
            break
    _unreadable.set(unreadable)
    if resealed:
        _log.info("seeds_resealed", seeds=resealed)
    if unreadable:
        _log.error("seeds_unreadable", seeds=unreadable)
    return resealed
