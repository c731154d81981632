"""The chain check names what is wrong. To tamper takes a superuser who takes the triggers away."""

from __future__ import annotations

import pytest

from shared.log import (
    ChainFault,
    EventLog,
    FaultKind,
    NewEvent,
    PostgresLog,
    block_head,
    event_hash,
    verify_chain,
)
from tests.integration.log.conftest import Root
from tests.logs import append

TABLES = ("events", "blocks", "commands", "partitions", "streams")


async def write(log: EventLog) -> None:
    """Twelve events: blocks of 1 at 1, 4, 7, 10; of 2 at 2, 5, 8, 11."""
    for number in range(4):
        await log.append([append("table/a", number, b"one")])
        await log.append([append("table/b", 2 * number, b"two", b"three")])


@pytest.fixture
async def tampered(postgres_log: PostgresLog, root: Root) -> Root:
    """A superuser's connection to a written log without its triggers."""
    await write(postgres_log)
    for table in TABLES:
        await root.execute(f"ALTER TABLE log.{table} DISABLE TRIGGER ALL")
    return root


async def test_a_log_that_nobody_touched_holds(log: EventLog) -> None:
    await write(log)
    report = await verify_chain(log, "table.0")
    assert report.holds
    assert (report.first_position, report.last_position) == (1, 12)
    assert report.head == (await log.heads())["table.0"].hash


@pytest.mark.parametrize(
    ("first", "last", "covered"),
    [(1, 1, (1, 1)), (3, 3, (2, 3)), (5, 8, (5, 9)), (4, 100, (4, 12)), (12, None, (11, 12))],
)
async def test_a_part_is_checked_by_whole_blocks(
    log: EventLog, first: int, last: int | None, covered: tuple[int, int]
) -> None:
    await write(log)
    report = await verify_chain(log, "table.0", first, last)
    assert report.holds
    assert (report.first_position, report.last_position) == covered


async def test_an_empty_partition_holds(log: EventLog) -> None:
    report = await verify_chain(log, "table.0")
    assert report.holds
    assert report.last_position == 0


async def test_there_is_no_chain_of_an_unknown_partition(log: EventLog) -> None:
    with pytest.raises(ValueError, match=r"table\.9"):
        await verify_chain(log, "table.9")


CHANGES = (
    "payload = 'other'",
    "type = 'CardsDealt'",
    "actor = 'player:8'",
    "hand_id = 'h9'",
    "schema_version = 2",
    "causation_id = gen_random_uuid()",
    "correlation_id = gen_random_uuid()",
    "stream = 'table/c'",
    "version = 99",
    "hash = sha256('other')",
    "recorded_at = recorded_at + interval '1 microsecond'",
)


async def test_a_changed_event_is_named_by_its_position(
    postgres_log: PostgresLog, tampered: Root
) -> None:
    await tampered.execute("CREATE TEMPORARY TABLE kept AS SELECT * FROM log.events")
    for change in CHANGES:
        await tampered.execute(f"UPDATE log.events SET {change} WHERE position = 6")
        report = await verify_chain(postgres_log, "table.0")
        assert report.faults == (ChainFault(FaultKind.EVENT, 6),), change
        assert not (await verify_chain(postgres_log, "table.0", 6, 6)).holds, change
        assert (await verify_chain(postgres_log, "table.0", 7)).holds, change
        await tampered.execute("DELETE FROM log.events WHERE position = 6")
        await tampered.execute("INSERT INTO log.events SELECT * FROM kept WHERE position = 6")
    assert (await verify_chain(postgres_log, "table.0")).holds


async def test_a_changed_event_with_its_hash_made_anew_is_named_by_its_block(
    postgres_log: PostgresLog, tampered: Root
) -> None:
    forged = NewEvent("BetPlaced", b"forged", "player:7")
    [event] = await postgres_log.read_partition("table.0", 5, 1)
    await tampered.execute(
        "UPDATE log.events SET payload = 'forged', hash = $1 WHERE position = 6",
        event_hash(event.stream, event.version, forged),
    )
    report = await verify_chain(postgres_log, "table.0")
    assert report.faults == (ChainFault(FaultKind.BLOCK, 5),)


@pytest.mark.parametrize(
    ("damage", "faults"),
    [
        ("DELETE FROM log.events WHERE position = 6", [(FaultKind.MISSING, 6)]),
        ("DELETE FROM log.blocks WHERE first_position = 5", [(FaultKind.BLOCK, 7)]),
        ("DELETE FROM log.blocks WHERE first_position = 11", [(FaultKind.HEAD, 12)]),
        (
            "UPDATE log.blocks SET head = sha256('x') WHERE first_position = 11",
            [(FaultKind.BLOCK, 11), (FaultKind.HEAD, 12)],
        ),
        (
            "UPDATE log.partitions SET head = sha256('x') WHERE name = 'table.0'",
            [(FaultKind.HEAD, 12)],
        ),
    ],
    ids=["event gone", "block gone", "last block gone", "last block changed", "head changed"],
)
async def test_what_is_gone_or_changed_is_named(
    postgres_log: PostgresLog, tampered: Root, damage: str, faults: list[tuple[FaultKind, int]]
) -> None:
    await tampered.execute(damage)
    report = await verify_chain(postgres_log, "table.0")
    assert [(fault.kind, fault.position) for fault in report.faults] == faults


@pytest.mark.parametrize("gone", ["> 4", "IN (5, 7)"], ids=["the tail", "those in between"])
async def test_a_part_of_which_the_blocks_are_gone_does_not_hold(
    postgres_log: PostgresLog, tampered: Root, gone: str
) -> None:
    """What is checked when one hand is: there is nothing left that could contradict it."""
    await tampered.execute(f"DELETE FROM log.blocks WHERE first_position {gone}")
    report = await verify_chain(postgres_log, "table.0", 5, 7)
    assert report.faults == (ChainFault(FaultKind.BLOCK, 5),)


async def test_events_that_changed_places_are_found(
    postgres_log: PostgresLog, tampered: Root
) -> None:
    await tampered.execute("UPDATE log.events SET position = 100 WHERE position = 5")
    await tampered.execute("UPDATE log.events SET position = 5 WHERE position = 6")
    await tampered.execute("UPDATE log.events SET position = 6 WHERE position = 100")
    report = await verify_chain(postgres_log, "table.0")
    assert report.faults == (ChainFault(FaultKind.BLOCK, 5),)


async def test_every_fault_is_told_not_only_the_first(
    postgres_log: PostgresLog, tampered: Root
) -> None:
    await tampered.execute("UPDATE log.events SET payload = 'x' WHERE position IN (2, 3, 10)")
    report = await verify_chain(postgres_log, "table.0")
    assert [fault.position for fault in report.faults] == [2, 3, 10]


async def test_a_tail_cut_off_with_its_head_needs_a_checkpoint_to_be_found(
    postgres_log: PostgresLog, tampered: Root
) -> None:
    """What docs/event-log.md says of the chain's limits, shown: only who kept the head sees it."""
    kept = (await postgres_log.heads())["table.0"]
    await tampered.execute("DELETE FROM log.events WHERE position > 9")
    await tampered.execute("DELETE FROM log.blocks WHERE first_position > 9")
    await tampered.execute(
        """
        UPDATE log.partitions SET (position, head) = (
            SELECT 9, head FROM log.blocks WHERE first_position = 8) WHERE name = 'table.0'
        """
    )
    report = await verify_chain(postgres_log, "table.0")
    assert report.holds
    assert (report.last_position, report.head) != (kept.position, kept.hash)


async def test_a_chain_computed_anew_needs_a_checkpoint_to_be_found(
    postgres_log: PostgresLog, tampered: Root
) -> None:
    kept = (await postgres_log.heads())["table.0"]
    forged = NewEvent("BetPlaced", b"forged", "player:7")
    *before, last = await postgres_log.read_blocks("table.0", 0)
    events = await postgres_log.read_partition("table.0", 10)
    forged_hash = event_hash(events[0].stream, events[0].version, forged)
    head = block_head(
        before[-1].head, "table.0", 11, last.recorded_at, forged_hash + events[1].hash
    )
    await tampered.execute(
        "UPDATE log.events SET payload = 'forged', hash = $1 WHERE position = 11", forged_hash
    )
    await tampered.execute("UPDATE log.blocks SET head = $1 WHERE first_position = 11", head)
    await tampered.execute("UPDATE log.partitions SET head = $1 WHERE name = 'table.0'", head)
    report = await verify_chain(postgres_log, "table.0")
    assert report.holds
    assert report.head != kept.hash


async def test_a_long_chain_is_read_in_pages(log: EventLog) -> None:
    for first in range(0, 1_200, 300):
        await log.append([append(f"table/{first + n}", 0) for n in range(200)])
        await log.append([append("table/long", first, *[b"x"] * 300)])
    report = await verify_chain(log, "table.0")
    assert report.holds
    assert report.last_position == 4 * 500
    assert (await verify_chain(log, "table.0", 1_900)).holds
