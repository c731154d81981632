"""A house in the middle of hands, to be put in order after a loss, and a full check of it."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence

from croupier.shuffle.v1 import events_pb2 as shuffle_pb2
from croupier.table.v1 import table_pb2 as pb

from clients.api.errors import PASSING_REASONS
from services.audit.check_all import FullCheck
from services.audit.snapshot import take_snapshot
from services.audit.verify.findings import Finding
from services.shuffle.storage import ShoeStore
from shared.errors import CroupierError
from shared.log import PostgresLog, on_connection, open_pool
from shared.sealing import Keyring
from tests.integration.table.house import KEY, SEED_KEY, House
from tests.integration.table.people import Person, bet, cut, done, play_hand
from tests.polling import eventually
from tests.servers import Database

FIELD_KEYS = Keyring("k1", {"k1": b64decode(KEY)})
SEED_KEYS = Keyring("s1", {"s1": b64decode(SEED_KEY)})
OPEN_SHOES = """
    SELECT stream FROM log.streams AS s WHERE stream LIKE 'shuffle/%' AND NOT EXISTS (
        SELECT FROM log.events WHERE stream = s.stream AND type = 'ShoeRetired')
"""


async def in_mid_hand(house: House) -> None:
    """One hand of baccarat at "t1", and then hold'em at "t2" until its player is to decide."""
    await house.open("t1")
    await house.open("t2", "casino_holdem")
    ann = await house.seat("ann", chips=10_000)
    bob = await house.seat("bob", "t2", chips=10_000)
    async with ann.playing("t1") as stream:
        await play_hand(stream)
    async with bob.playing("t2") as stream:
        await stream.command("t2", bet(100, wager="ante"))
        await stream.command("t2", done())
        await stream.until(lambda each: each.update.table.shoe.cut_player == "bob")
        await stream.command("t2", cut())
        await stream.event("DecisionsDue")

    async def next_ones_opened() -> bool:
        types = await house.types("t1") + await house.types("t2")
        return types.count("ShoeOffered") == 4

    await eventually(next_ones_opened)


async def view(person: Person, table_id: str) -> pb.Update | None:
    """The table as somebody sees it; None while that is refused for a passing reason."""
    try:
        return await person.view(table_id)
    except CroupierError as refused:
        if refused.reason not in PASSING_REASONS:
            raise
        return None


async def retirements(house: House) -> Mapping[str, shuffle_pb2.ShoeRetired]:
    """How each retired shoe ended."""
    rows = await house.sql("SELECT stream, payload FROM log.events WHERE type = 'ShoeRetired'")
    return {
        row["stream"].removeprefix("shuffle/"): shuffle_pb2.ShoeRetired.FromString(row["payload"])
        for row in rows
    }


async def findings(database: Database, seeds: Mapping[str, bytes]) -> Sequence[Finding]:
    """What a check of everything finds."""

    async def disclosed(shoe_id: str) -> bytes:
        return seeds[shoe_id]

    pool = await open_pool(database.dsn("croupier_audit"), 2)
    async with PostgresLog(pool) as log:
        snapshot = await on_connection(pool, take_snapshot)
        found: list[Finding] = []
        async for progress in FullCheck(log, FIELD_KEYS, snapshot, disclosed).run():
            found += progress.findings
            progress.findings.clear()
    await pool.close()
    return found


async def stored_seeds(database: Database) -> dict[str, bytes]:
    """The seeds of shoes that are not published, as the audit service is told them."""
    pool = await open_pool(database.dsn("croupier_shuffle"), 1)
    store = ShoeStore(pool, SEED_KEYS)
    rows = await pool.fetch("SELECT shoe_id FROM shuffle.seeds")
    seeds = {row["shoe_id"]: await store.server_seed(row["shoe_id"]) for row in rows}
    await pool.close()
    return seeds
