"""A process that goes on while a backup is restored under it: what it remembers of a shoe is more
than the log has."""

from __future__ import annotations

import asyncpg
from croupier.shuffle.v1 import shuffle_pb2 as pb

from tests.integration.shuffle.conftest import OPEN, Start, refusal, types
from tests.servers import Database


async def test_what_a_process_remembers_of_a_lost_tail_deals_no_card(
    module_database: Database, start: Start
) -> None:
    """It goes on while a backup is restored under it, where the shoe is then retired: it must not
    take what has been written since for what it wrote itself."""
    process = await start()
    here, there = process.desk, (await start()).desk
    await here.ready()
    backup = len(await types(process))
    for at in range(3):
        await here.deal(pb.DealRequest.Draw(position=at, use=OPEN))
    await lose_tail(module_database, here.shoe, backup)
    await there.retire()
    assert await refusal(here.deal(pb.DealRequest.Draw(position=3, use=OPEN))) == "SHOE_RETIRED"
    assert (await here.get()).phase == pb.SHOE_PHASE_RETIRED


async def test_a_shoe_whose_seed_was_published_after_the_loss_is_over(
    module_database: Database, start: Start
) -> None:
    """As much was written since as was lost, or less: nothing new stands behind what is known."""
    process = await start()
    here, there = process.desk, (await start()).desk
    await here.ready()
    backup = len(await types(process))
    for at in range(2):
        await here.deal(pb.DealRequest.Draw(position=at, use=OPEN))
    await lose_tail(module_database, here.shoe, backup)
    await there.retire()
    assert await refusal(here.retire()) == "SHOE_RETIRED"
    assert (await here.get()).phase == pb.SHOE_PHASE_RETIRED


async def lose_tail(database: Database, shoe_id: str, keep: int) -> None:
    """The shoe's stream as it was after `keep` events."""
    connection = await asyncpg.connect(database.dsn())
    stream = f"shuffle/{shoe_id}"
    async with connection.transaction():
        for table in ("events", "streams", "commands"):
            await connection.execute(f"ALTER TABLE log.{table} DISABLE TRIGGER ALL")
        await connection.execute(
            "DELETE FROM log.events WHERE stream = $1 AND version > $2", stream, keep
        )
        await connection.execute(
            "DELETE FROM log.commands WHERE stream = $1 AND last_version > $2", stream, keep
        )
        await connection.execute(
            "UPDATE log.streams SET version = $2 WHERE stream = $1", stream, keep
        )
    await connection.close()
