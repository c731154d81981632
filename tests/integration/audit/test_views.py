"""What people with psql see, and that they can do nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TypeAlias

import asyncpg
import pytest
from croupier.table.v1 import events_pb2 as table

from services.audit.projection import rows_of
from services.audit.storage import write
from tests.integration.audit.conftest import RealHouse
from tests.servers import Database
from tests.unit.audit.given import as_read

Auditor: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture
async def auditor(database: Database) -> AsyncIterator[Auditor]:
    """A person with psql and the read-only role."""
    connection = await asyncpg.connect(database.dsn("croupier_auditor"))
    yield connection
    await connection.close()


async def test_a_hand_in_plain_sql(real: RealHouse, auditor: Auditor) -> None:
    [hand_id] = await real.play(1)
    hand = await auditor.fetchrow("SELECT * FROM audit.hands WHERE hand_id = $1", hand_id)
    assert hand is not None
    assert (hand["table_id"], hand["table_name"], hand["number"]) == ("t1", "T1", 1)
    assert (hand["game"], hand["currency"], hand["players"]) == ("baccarat", "EUR", ["ann", "bob"])
    assert hand["result"] == "banker"
    assert (hand["staked_minor"], hand["returned_minor"], hand["house_minor"]) == (
        2_500,
        4_000,
        -1_500,
    )
    assert not hand["voided"]
    assert hand["opened_at"] < hand["ended_at"]
    bets = await auditor.fetch(
        "SELECT player, wager, stake_minor, returned_minor, net_minor FROM audit.bets"
        " WHERE hand_id = $1 ORDER BY player",
        hand_id,
    )
    assert [tuple(bet) for bet in bets] == [
        ("ann", "banker", 2_000, 4_000, 2_000),
        ("bob", "player", 500, 0, -500),
    ]
    postings = await auditor.fetch(
        "SELECT account, amount_minor FROM audit.postings WHERE hand_id = $1 ORDER BY account",
        hand_id,
    )
    assert [tuple(posting) for posting in postings] == [
        ("house/t1", -1_500),
        ("table/t1/ann", 2_000),
        ("table/t1/bob", -500),
    ]


async def test_cards_come_with_their_shoe(real: RealHouse, auditor: Auditor) -> None:
    [hand_id] = await real.play(1)
    cards = await auditor.fetch(
        "SELECT hand, face, card, shoe_id FROM audit.cards WHERE hand_id = $1 ORDER BY position",
        hand_id,
    )
    shoe_id = await auditor.fetchval("SELECT shoe_id FROM audit.hands WHERE hand_id = $1", hand_id)
    assert {card["shoe_id"] for card in cards} == {shoe_id}
    assert cards[0]["hand"] == "burn"
    assert {card["hand"] for card in cards} == {"burn", "player", "banker"}
    assert all((card["card"] is not None) == (card["face"] == "up") for card in cards)


async def test_events_are_json(real: RealHouse, auditor: Auditor) -> None:
    [hand_id] = await real.play(1)
    rows = await auditor.fetch(
        "SELECT type, kind, body ->> 'stake' AS stake FROM audit.events"
        " WHERE hand_id = $1 AND type = 'BetPlaced' ORDER BY position",
        hand_id,
    )
    assert [tuple(row) for row in rows] == [
        ("BetPlaced", "input", "2000"),
        ("BetPlaced", "input", "500"),
    ]
    assert await auditor.fetchval("SELECT count(*) FROM audit.events") == await auditor.fetchval(
        "SELECT sum(position) FROM log.partitions"
    )


async def test_tables_and_decisions_can_be_read(real: RealHouse, auditor: Auditor) -> None:
    await real.play(1)
    assert await auditor.fetchval("SELECT name FROM audit.tables") == "T1"
    assert await auditor.fetchval("SELECT count(*) FROM audit.decisions") == 0


async def test_a_voided_hand_gives_every_stake_back(real: RealHouse, auditor: Auditor) -> None:
    [hand_id] = await real.play(1)
    await real.root.execute(
        "UPDATE audit.bet SET returned_minor = NULL WHERE hand_id = $1", hand_id
    )
    voided = as_read(table.HandVoided(hand_id=hand_id, why="pit"), "table/t9", 999).event
    await write(real.root, rows_of(voided))
    bets = await auditor.fetch("SELECT net_minor FROM audit.bets WHERE hand_id = $1", hand_id)
    assert [bet["net_minor"] for bet in bets] == [0, 0]
    hand = await auditor.fetchrow("SELECT * FROM audit.hands WHERE hand_id = $1", hand_id)
    assert hand is not None
    assert (hand["voided"], hand["void_reason"]) == (True, "pit")


async def test_the_auditors_role_reads_views_and_nothing_else(auditor: Auditor) -> None:
    for statement in (
        "UPDATE audit.hand SET result = 'tie'",
        "DELETE FROM audit.event",
        "TRUNCATE audit.posting",
        "INSERT INTO audit.hand_player VALUES ('eve', now(), 'h')",
        "UPDATE audit.postings SET note = 'eve'",
        "SELECT * FROM audit.event",
        "SELECT * FROM audit.consumer_positions",
        "SELECT * FROM shuffle.seeds",
        "CREATE TABLE audit.mine (a integer)",
        "SELECT log.lock_heads(ARRAY['table.0'])",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await auditor.execute(statement)


async def test_the_services_role_cannot_take_back_what_is_indexed(database: Database) -> None:
    connection = await asyncpg.connect(database.dsn("croupier_audit"))
    try:
        for statement in (
            "DELETE FROM audit.event",
            "UPDATE audit.event SET body = '{}'",
            "UPDATE audit.posting SET amount_minor = 0",
            "UPDATE wallet.accounts SET balance = 0",
            "SELECT * FROM shuffle.seeds",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(statement)
    finally:
        await connection.close()
