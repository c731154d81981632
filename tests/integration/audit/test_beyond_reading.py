"""What a superuser leaves is found, not stumbled over, also where it cannot be followed."""

from __future__ import annotations

from uuid import uuid4

import pytest
from croupier.audit.v1 import audit_pb2 as pb

from shared.log import Append, NewEvent, PostgresLog, chain
from shared.log.patience import Pool
from tests.integration.audit.conftest import Client, RealHouse
from tests.integration.audit.signed_log import sign


async def disarm(real: RealHouse) -> None:
    for table in ("log.events", "log.blocks", "log.partitions", "log.streams"):
        await real.root.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")


async def test_a_partition_that_is_gone(real: RealHouse, client: Client, pool: Pool) -> None:
    await real.play(1)
    async with PostgresLog(pool) as log:
        await log.append([Append(uuid4(), "audit/x", 0, (NewEvent("X", b"x", "test"),))])
    await sign(pool)
    held = (await client.notes())["audit.0"]
    await disarm(real)
    for sql in (
        "DELETE FROM log.events WHERE partition = 'audit.0'",
        "DELETE FROM log.blocks WHERE partition = 'audit.0'",
        "DELETE FROM log.streams WHERE partition = 'audit.0'",
        "DELETE FROM log.partitions WHERE name = 'audit.0'",
    ):
        await real.root.execute(sql)
    for brought in ([], [held]):
        [found] = await client.findings(brought)
        assert (found.check, found.partition) == (pb.CHECK_CHECKPOINT, "audit.0")
        assert "is not in the log any more" in found.message


async def test_a_chain_that_is_not_followed_to_its_end(
    real: RealHouse, client: Client, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is told that events are missing which were not looked at."""
    monkeypatch.setattr(chain, "MAX_FAULTS", 1)
    await real.play(1)
    await sign(pool)
    await disarm(real)
    await real.root.execute(
        "UPDATE log.events SET payload = '\\x00' WHERE partition = 'table.0' AND position = 2"
    )
    [found] = [each for each in await client.findings() if each.check == pb.CHECK_CHECKPOINT]
    assert "no more than" not in found.message
    assert "was not followed further than" in found.message


async def test_a_time_that_no_block_has(real: RealHouse, client: Client, pool: Pool) -> None:
    await real.play(1)
    await disarm(real)
    for table, position in (("events", "position"), ("blocks", "first_position")):
        await real.root.execute(
            f"UPDATE log.{table} SET recorded_at = '1960-01-01'"
            f" WHERE partition = 'table.0' AND {position} > 2"
        )
    chained = [each for each in await client.findings() if each.check == pb.CHECK_CHAIN]
    assert {each.partition for each in chained} == {"table.0"}


@pytest.mark.parametrize("column", ["schema_version", "version"])
async def test_a_number_that_no_event_has(
    real: RealHouse, client: Client, pool: Pool, column: str
) -> None:
    await real.play(1)
    await disarm(real)
    await real.root.execute(f"ALTER TABLE log.events DROP CONSTRAINT events_{column}_check")
    await real.root.execute(
        f"UPDATE log.events SET {column} = -1 WHERE partition = 'table.0' AND position = 5"
    )
    chained = [each for each in await client.findings() if each.check == pb.CHECK_CHAIN]
    assert ("table.0", 5) in [(each.partition, each.position) for each in chained]
