"""What the index costs before anybody has counted the rows of its tables."""

from __future__ import annotations

from services.audit.main import apply
from services.audit.storage import BY_KEY
from shared.log import connect
from tests.integration.audit.conftest import RealHouse
from tests.servers import Database

_INDEX = (
    "game_table",
    "hand",
    "hand_player",
    "bet",
    "card",
    "decision",
    "event",
    "posting",
    "shoe",
    "shoe_hand",
    "shoe_ready",
)
_READ = "SELECT seq_scan, seq_tup_read FROM pg_stat_user_tables WHERE relname = 'hand'"


async def test_a_hand_is_found_by_its_key_also_where_statistics_know_of_no_hands(
    real: RealHouse, database: Database
) -> None:
    hands = await real.play(3)
    log = real.wallet.log
    events = [*await log.read_partition("table.0", 0), *await log.read_partition("wallet.0", 0)]
    await real.root.execute("TRUNCATE " + ", ".join(f"audit.{table}" for table in _INDEX))
    connection = await connect(database.dsn("croupier_audit"), server_settings=BY_KEY)
    try:
        before = await real.root.fetchrow(_READ)
        for event in events:
            async with connection.transaction():
                await apply(connection, [event])
        ended = "SELECT count(*) FROM audit.hand WHERE hand_id = ANY ($1) AND result <> ''"
        assert await connection.fetchval(ended, hands) == len(hands)
        await connection.execute("SELECT pg_stat_force_next_flush()")
        assert await real.root.fetchrow(_READ) == before
    finally:
        await connection.close()
