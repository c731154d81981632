"""The connection is cut around the COMMIT: nothing is lost, nothing is doubled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from shared.log import LogUnavailableError, Outcome, PostgresLog, append_on, open_pool
from tests.logs import append, assert_sound, payloads
from tests.servers import Database
from tests.wire import Wire, wire_to

STREAMS = 6
APPENDS = 30


@pytest.fixture
async def wire(database: Database) -> AsyncIterator[Wire]:
    async with wire_to(database.dsn("croupier_table")) as wire:
        yield wire


@pytest.fixture
async def cut_log(database: Database, wire: Wire) -> AsyncIterator[PostgresLog]:
    """A log over one connection, which has its statement prepared and answers in one message."""
    pool = await open_pool(wire.through(database.dsn("croupier_table")), max_size=1)
    async with PostgresLog(pool) as log:
        await log.append([append("table/warm", 0)])
        yield log
    pool.terminate()


async def test_the_answer_to_a_commit_is_lost(
    cut_log: PostgresLog, wire: Wire, postgres_log: PostgresLog
) -> None:
    """The caller asked once and gets the one answer: OK, not SAME."""
    wire.swallow_next_answer()
    [answer] = await cut_log.append([append("table/a", 0, b"1", b"2")])
    assert wire.answers_swallowed == 1
    assert answer.outcome is Outcome.OK
    assert (answer.first_position, answer.first_version, answer.last_version) == (2, 1, 2)
    assert payloads(await assert_sound(postgres_log, "table.0")) == [b"", b"1", b"2"]


async def test_the_append_never_arrives(
    cut_log: PostgresLog, wire: Wire, postgres_log: PostgresLog
) -> None:
    wire.cut_next_request()
    [answer] = await cut_log.append([append("table/a", 0, b"1")])
    assert answer.outcome is Outcome.OK
    assert payloads(await assert_sound(postgres_log, "table.0")) == [b"", b"1"]


async def test_a_lost_answer_to_a_repeated_command_stays_same(
    cut_log: PostgresLog, wire: Wire
) -> None:
    once = append("table/a", 0, b"1")
    await cut_log.append([once])
    [again] = await cut_log.append([once])
    assert again.outcome is Outcome.SAME


async def test_cut_again_and_again(
    cut_log: PostgresLog, wire: Wire, postgres_log: PostgresLog
) -> None:
    """Writers that each append as soon as they have their answer, the wire cut all the while."""

    async def write(stream: str) -> None:
        for version in range(APPENDS):
            [answer] = await cut_log.append(
                [append(stream, version, f"{stream} {version}".encode())]
            )
            assert answer.outcome is Outcome.OK
            assert answer.last_version == version + 1
            if version % 5 == 2:
                wire.swallow_next_answer()
            if version % 5 == 4:
                wire.cut_next_request()

    await asyncio.gather(*(write(f"table/{number}") for number in range(STREAMS)))
    assert wire.answers_swallowed >= 3
    events = await assert_sound(postgres_log, "table.0")
    for number in range(STREAMS):
        stream = f"table/{number}"
        mine = [event.payload.decode() for event in events if event.stream == stream]
        assert mine == [f"{stream} {version}" for version in range(APPENDS)]


async def test_a_services_own_transaction_cut_at_commit_is_repeated(
    database: Database, wire: Wire, postgres_log: PostgresLog
) -> None:
    dsn = wire.through(database.dsn("croupier_table"))
    ours = append("table/a", 0, b"1")

    async def try_once(cut: bool) -> Outcome:
        connection = await asyncpg.connect(dsn)
        try:
            transaction = connection.transaction()
            await transaction.start()
            [answer] = await append_on(connection, [ours])
            if cut:
                wire.swallow_next_answer()
            await transaction.commit()
            return answer.outcome
        finally:
            connection.terminate()

    with pytest.raises((OSError, asyncpg.PostgresConnectionError)):
        await try_once(cut=True)
    assert await try_once(cut=False) is Outcome.SAME
    assert payloads(await assert_sound(postgres_log, "table.0")) == [b"1"]


async def test_a_log_that_stays_away_is_told_in_the_end(
    database: Database, postgres_log: PostgresLog
) -> None:
    async with wire_to(database.dsn("croupier_table")) as wire:
        pool = await open_pool(wire.through(database.dsn("croupier_table")), max_size=1)
        log = PostgresLog(pool, give_up_after_s=0.2)
        await log.append([append("table/a", 0)])
        wire.target = 1
        wire.cut()
        lost = append("table/a", 1)
        with pytest.raises(LogUnavailableError) as told:
            await log.append([lost])
        assert told.value.reason == "LOG_UNAVAILABLE"
        with pytest.raises(LogUnavailableError):
            await log.read_stream("table/a")
        await log.close()
        pool.terminate()
    assert (await postgres_log.append([lost]))[0].outcome is Outcome.OK
