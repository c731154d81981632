"""The audit process: it indexes what is committed, answers, and stops when it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from uuid import uuid4

import grpc
import pytest
from croupier.audit.v1 import audit_pb2 as pb
from croupier.shuffle.v1 import events_pb2 as shuffle
from croupier.table.v1 import events_pb2 as table
from pydantic import SecretStr

from deploy.program import free_port
from services.audit.main import serve
from shared.bus.consumers import Consumers
from shared.log import Append, NewEvent, PostgresLog, open_pool
from shared.ops.settings import AuditSettings
from tests.integration.audit.by_the_book import opened
from tests.integration.audit.conftest import Client, RealHouse
from tests.integration.audit.signed_log import SIGNER
from tests.polling import eventually
from tests.servers import Database, Running
from tests.services import PUBLIC_KEY


def settings(database: Database, nats: Running, port: int) -> AuditSettings:
    return AuditSettings(
        node="a1",
        listen=f"127.0.0.1:{port}",
        metrics_listen="127.0.0.1:0",
        token_public_key=PUBLIC_KEY,
        database_dsn=SecretStr(database.dsn("croupier_audit")),
        nats_url=SecretStr(nats.server.url),  # type: ignore[union-attr]
        deployment_key=SecretStr("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
        shuffle_address="127.0.0.1:1",
        service_token=SecretStr("unused"),
        log_id="casino.example/one",
        checkpoint_key=SecretStr("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
        checkpoint_every_s=0.1,
    )


@asynccontextmanager
async def serving(database: Database, nats: Running) -> AsyncIterator[Client]:
    """The process, as `croupier serve audit` runs it; told to stop at the end."""
    port, stopping = free_port(), asyncio.Event()
    process = asyncio.create_task(serve(settings(database, nats, port), stopping))
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        await channel.channel_ready()
        try:
            yield Client(channel)
        finally:
            stopping.set()
            await process


async def test_hands_are_listed_soon_after_they_are_committed(
    real: RealHouse, database: Database, nats_server: Running
) -> None:
    """Without a relay: the look at the heads, once a second, is what finds them."""
    async with serving(database, nats_server) as client:
        hand_id = await real.house.play(
            "t1", ("ann", 1, "banker", 2_000), ("bob", 2, "player", 500)
        )
        await real.wallet.follow()

        async def listed() -> bool:
            return [hand.hand_id for hand in (await client.hands()).hands] == [hand_id]

        await eventually(listed)
        assert (await client.verify(hand_id)).verified


async def test_checkpoints_are_signed_by_themselves(
    real: RealHouse, database: Database, nats_server: Running
) -> None:
    async with serving(database, nats_server) as client:
        await real.play(1)

        async def signed() -> bool:
            heads = await real.house.log.heads()
            due = {name: head.position for name, head in heads.items() if head.position}
            notes = await client.notes()
            key = str(SIGNER.verifier)
            return due == {name: opened(note, key)[1] for name, note in notes.items()}

        await eventually(signed)


async def indexed(real: RealHouse) -> bool:
    """Whether the audit has come to the end of the log."""
    return bool(
        await real.root.fetchval(
            """
            SELECT count(c.position) = 3 AND bool_and(c.position = p.position)
              FROM log.partitions AS p
              LEFT JOIN audit.consumer_positions AS c ON c.partition = p.name
             WHERE p.position > 0
            """
        )
    )


async def test_a_nul_in_the_log_parks_nothing(
    real: RealHouse, database: Database, nats_server: Running
) -> None:
    """It is refused today; a log may have it from earlier."""
    told = shuffle.ShoeDisclosed(
        purpose=shuffle.DISCLOSURE_PURPOSE_PERSON, to="ina", why="claim\0 17"
    )
    opened = table.TableOpened(
        table_id="t9", name="Table\0nine", game="baccarat", rules_json="{}", currency="EUR"
    )
    for role, stream, event in (("shuffle", "shuffle/t9-s1", told), ("table", "table/t9", opened)):
        pool = await open_pool(database.dsn(f"croupier_{role}"), 1)
        async with PostgresLog(pool) as log:
            payload = event.SerializeToString()
            new = NewEvent(event.DESCRIPTOR.name, payload, "test")
            await log.append([Append(uuid4(), stream, 0, (new,))])
        await pool.close()
    async with serving(database, nats_server):
        await eventually(partial(indexed, real))
    assert await real.root.fetch("SELECT stream, error FROM audit.parked_events") == []
    name = await real.root.fetchval("SELECT name FROM audit.game_table WHERE table_id = 't9'")
    why = await real.root.fetchval("SELECT why FROM audit.disclosure WHERE shoe_id = 't9-s1'")
    assert (name, why) == ("Table\ufffdnine", "claim\ufffd 17")


async def test_an_event_of_a_newer_version_is_parked_and_the_rest_goes_on(
    real: RealHouse, database: Database, nats_server: Running
) -> None:
    pool = await open_pool(database.dsn("croupier_shuffle"), 1)
    async with PostgresLog(pool) as log:
        unknown = NewEvent("ShoeBlessed", b"", "shuffle")
        await log.append([Append(uuid4(), "shuffle/later", 0, (unknown,))])
    await pool.close()

    async with serving(database, nats_server) as client:
        await eventually(partial(indexed, real))
        answer = await client.call("GetProgress", pb.GetProgressRequest(), pb.GetProgressResponse)
        assert {each.partition: each.parked for each in answer.partitions}["shuffle.0"] == 1
    parked = await real.root.fetch("SELECT stream, error FROM audit.parked_events")
    assert [tuple(row) for row in parked] == [
        ("shuffle/later", "UnknownEventError: unknown event type 'ShoeBlessed'")
    ]


async def test_it_ends_when_it_indexes_no_more(
    real: RealHouse,
    database: Database,
    nats_server: Running,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever keeps it running starts it again; it would answer for ever from an old index."""

    async def fail(consumers: Consumers) -> None:
        raise RuntimeError("no partitions")

    monkeypatch.setattr(Consumers, "run", fail)
    with pytest.raises(RuntimeError, match="no partitions"):
        async with asyncio.timeout(60):
            await serve(settings(database, nats_server, free_port()), asyncio.Event())
