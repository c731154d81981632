"""What a transaction of the wallet reads of a log whose events nobody has counted yet."""

from __future__ import annotations

import asyncpg

from services.wallet.following import apply
from shared.log import event_id
from tests.integration.wallet.conftest import Ledger, Service, Tables

HANDS = 100
_READ = """
    SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes
     WHERE schemaname = 'log' AND relname = 'events'
"""


async def test_whether_a_cause_is_answered_is_looked_up_and_not_looked_for(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    await service.player_with("ann", 1_000)
    await tables.open("b1")
    await tables.buy_in("b1", "ann", 500)
    for hand in range(HANDS):
        await tables.settle("b1", f"b1-{hand}", ("ann", 1, 1))
    *before, last = await ledger.table_log()
    await ledger.follow(before)
    assert len(await tables.log.find_by_causation([event_id(last.stream, last.version)])) == 0

    connection = await asyncpg.connect(ledger.dsn)
    try:
        await ledger.root.execute("SELECT pg_stat_clear_snapshot()")
        read = await ledger.root.fetchval(_READ)
        for _ in range(2):  # the second time everything is answered
            async with connection.transaction():
                await apply(connection, [last])
        await connection.execute("SELECT pg_stat_force_next_flush()")
        await connection.execute("SELECT 1")
        assert await ledger.root.fetchval(_READ) - read < HANDS
    finally:
        await connection.close()
    await ledger.check()
