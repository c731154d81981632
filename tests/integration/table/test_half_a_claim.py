"""A node that dies between its claim in the log and its entry in the directory."""

from __future__ import annotations

from services.table.admission import Admission
from services.table.loading import load
from services.table.owner import TableOwner
from services.table.presence import Presence
from shared.log import PostgresLog, open_pool
from shared.sealing import Keyring
from shared.table.codec import TableCodec
from shared.table.sealer import KeyringSealer
from tests.integration.table.house import House
from tests.integration.table.nodes import at, owned_by, table_of
from tests.integration.table.people import bet


async def test_a_table_that_its_node_has_lost_to_nobody_is_taken_up(empty_house: House) -> None:
    """It belongs to a third one, which for the directory's sake would wait for ever."""
    house = empty_house
    await house.shuffle()
    await house.wallet()
    await house.relay()
    await house.node("node-a")
    table_id = table_of("node-b")
    await house.open(table_id, node="node-a")
    ann = await house.seat("ann", table_id, node="node-a")
    await ann.execute(table_id, bet(100))  # so that it stays where it is
    await house.node("node-b")
    await claimed_by_one_that_dies(house, table_id)
    await at(house, "node-b", "ann").execute(table_id, bet(100))
    await owned_by(house, table_id, "node-b")
    await house.stop()


async def claimed_by_one_that_dies(house: House, table_id: str) -> None:
    pool = await open_pool(house.database.dsn("croupier_table"))
    async with PostgresLog(pool) as log:
        codec = TableCodec(KeyringSealer(Keyring("k1", {"k1": bytes(range(32))})))
        state = await load(log, codec, table_id)
        told = (lambda owner: None, lambda state: None)
        await TableOwner(state, log, codec, Admission(), Presence(), *told).claim("node-c")
    await pool.close()
