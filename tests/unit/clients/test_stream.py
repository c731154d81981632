"""The `Play` stream of the client library against a service that cuts, loses and refuses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import grpc
import pytest
from croupier.table.v1 import table_pb2 as pb

from clients.api import Connection, RefusedError, TableClient, UnansweredError, commands
from clients.api.seat import MOST_UNREAD_UPDATES, Seat
from deploy.program import free_port
from tests.polling import eventually
from tests.unit.clients.fake_tables import FakeTables


@asynccontextmanager
async def serving(tables: FakeTables) -> AsyncIterator[str]:
    server = grpc.aio.server()
    tables.add_to(server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)


@pytest.fixture
async def tables() -> FakeTables:
    service = FakeTables()
    service.table("t1")
    service.table("t2")
    return service


@pytest.fixture
async def client(tables: FakeTables) -> AsyncIterator[TableClient]:
    tokens = (f"token-{number}" for number in range(1, 1000))
    async with (
        serving(tables) as address,
        Connection([address], lambda: next(tokens)) as connection,
        TableClient(connection, "p_ann", Random(1)) as client,
    ):
        yield client


async def seen(seat: Seat, version: int) -> None:
    await eventually(lambda: seat.version == version)


async def test_several_tables_share_one_stream(client: TableClient, tables: FakeTables) -> None:
    first, second = await client.seat("t1"), await client.seat("t2")
    await first.execute(commands.done_betting())
    assert (first.version, second.version) == (2, 1)
    assert tables.streams == 1
    assert second.table.table.table_id == "t2"


async def test_an_acknowledgement_comes_after_the_updates_it_caused(client: TableClient) -> None:
    seat = await client.seat("t1")
    answer = await seat.execute(commands.done_betting())
    assert seat.version == answer.version == 2
    assert [event.type for update in seat.unread() for event in update.events] == ["BetsDone"]


async def test_after_a_cut_each_table_resumes_from_the_last_version_seen(
    client: TableClient, tables: FakeTables
) -> None:
    seat = await client.seat("t1")
    await seat.execute(commands.done_betting())
    seat.unread()
    tables.cut()
    await eventually(lambda: tables.streams == 0)
    tables.table("t1").append("bob")
    await seen(seat, 3)
    assert tables.watches[-1] == ("t1", 2)
    assert [event.version for event in (await seat.next_update()).events] == [3]


async def test_a_command_whose_answer_was_lost_is_asked_again_and_happens_once(
    client: TableClient, tables: FakeTables
) -> None:
    seat = await client.seat("t1")
    tables.lose_answers = 2
    command = commands.done_betting()
    answer = await seat.execute(command)
    assert answer.version == 2
    assert tables.commands == [command.command_id] * 3
    assert len(tables.table("t1").events) == 2


async def test_a_refusal_is_a_typed_error(client: TableClient, tables: FakeTables) -> None:
    seat = await client.seat("t1")
    tables.refuse = ["STAKE_BELOW_MINIMUM"]
    with pytest.raises(RefusedError) as refusal:
        await seat.execute(commands.done_betting())
    assert refusal.value.reason == "STAKE_BELOW_MINIMUM"
    assert refusal.value.field == "stake"
    assert "STAKE_BELOW_MINIMUM" in refusal.value.message
    assert seat.version == 1


async def test_a_passing_refusal_is_tried_again_with_the_same_id(
    client: TableClient, tables: FakeTables
) -> None:
    seat = await client.seat("t1")
    tables.refuse = ["NOT_OWNER", "DRAINING"]
    answer = await seat.execute(commands.done_betting())
    assert answer.version == 2
    assert len(tables.commands) == 3
    assert len(set(tables.commands)) == 1


async def test_a_command_that_nobody_answers_is_unanswered_not_refused(
    client: TableClient, tables: FakeTables
) -> None:
    seat = await client.seat("t1")
    tables.refuse = ["NO_OWNER"] * 1000
    command = commands.done_betting()
    with pytest.raises(UnansweredError) as error:
        await seat.execute(command, timeout_s=0.2)
    assert error.value.command_id == command.command_id


async def test_watching_a_table_that_is_not_there_is_refused(client: TableClient) -> None:
    with pytest.raises(RefusedError, match="TABLE_NOT_FOUND"):
        await client.seat("nowhere")


async def test_a_gap_is_filled_before_anything_else_is_shown(
    client: TableClient, tables: FakeTables
) -> None:
    seat = await client.seat("t1")
    table = tables.table("t1")
    unheard = table.watching.pop()
    table.append("bob")
    table.watching.append(unheard)
    table.append("cid")
    await seen(seat, 3)
    versions = [event.version for update in seat.unread() for event in update.events]
    assert versions == [2, 3]


async def test_an_update_seen_before_the_cut_is_not_shown_again(
    client: TableClient, tables: FakeTables
) -> None:
    seat = await client.seat("t1")
    await seat.execute(commands.done_betting())
    (queue,) = tables.table("t1").watching
    seat.unread()
    table = tables.table("t1")
    queue.put_nowait(pb.PlayResponse(update=table.update(1)))
    table.append("bob")
    await seen(seat, 3)
    versions = [event.version for update in seat.unread() for event in update.events]
    assert versions == [3]


async def test_updates_nobody_takes_are_bounded_and_the_view_stays_the_newest(
    client: TableClient, tables: FakeTables
) -> None:
    seat = await client.seat("t1")
    for _ in range(MOST_UNREAD_UPDATES + 10):
        tables.table("t1").append("bob")
    await seen(seat, MOST_UNREAD_UPDATES + 11)
    assert seat.skipped == 10
    assert seat.table.table.version == MOST_UNREAD_UPDATES + 11
    assert len(seat.unread()) == MOST_UNREAD_UPDATES


async def test_who_may_not_play_is_told_at_once_and_everywhere(
    client: TableClient, tables: FakeTables
) -> None:
    tables.fail_streams = [(grpc.StatusCode.PERMISSION_DENIED, "ROLE_NOT_ALLOWED")]
    with pytest.raises(RefusedError, match="ROLE_NOT_ALLOWED"):
        await client.seat("t1")
    with pytest.raises(RefusedError, match="ROLE_NOT_ALLOWED"):
        await client.seat("t2")


async def test_a_token_that_expires_while_playing_is_renewed(
    client: TableClient, tables: FakeTables
) -> None:
    seat = await client.seat("t1")
    tables.fail_streams = [(grpc.StatusCode.UNAVAILABLE, "DRAINING")]
    tables.cut()
    await eventually(lambda: tables.streams == 1 and len(tables.tokens) == 3)
    await seat.execute(commands.done_betting())
    assert tables.tokens == ["Bearer token-1", "Bearer token-2", "Bearer token-3"]


async def test_a_house_that_is_not_there_yet_is_found_when_it_opens(tables: FakeTables) -> None:
    address = f"127.0.0.1:{free_port()}"
    async with (
        Connection([address], lambda: "token") as connection,
        TableClient(connection, "p_ann", Random(1)) as client,
    ):
        sitting = asyncio.create_task(client.seat("t1"))
        await eventually(lambda: client.stream.reconnects >= 1)
        server = grpc.aio.server()
        tables.add_to(server)
        assert server.add_insecure_port(address)
        await server.start()
        seat = await sitting
        assert seat.version == 1
        await server.stop(None)


async def test_nobody_there_within_the_time_given_is_said_so() -> None:
    address = f"127.0.0.1:{free_port()}"
    async with (
        Connection([address], lambda: "token") as connection,
        TableClient(connection, "p_ann") as client,
    ):
        with pytest.raises(RefusedError, match="UNREACHABLE"):
            await client.seat("t1", timeout_s=0.2)
