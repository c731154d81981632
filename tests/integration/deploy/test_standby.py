"""Postgres with a standby: what is acknowledged is on both, and the house goes on at the one that
is promoted. One that lacked the tail is put in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import asyncpg
import pytest
from croupier.table.v1 import table_pb2 as pb

from clients.api.errors import PASSING_REASONS
from deploy.embedded_nats import EmbeddedNats
from deploy.recovery import recover
from shared.bus.consumer import Consumer
from shared.bus.stream import connect
from shared.log import LogDivergedError, LogUnavailableError, Outcome, PostgresLog, open_pool
from tests.integration.bus import probe
from tests.integration.bus.probe import Probe
from tests.integration.deploy.recovering import (
    FIELD_KEYS,
    SEED_KEYS,
    findings,
    in_mid_hand,
    stored_seeds,
    view,
)
from tests.integration.table.house import House
from tests.integration.table.people import PlayCall, bet, command, done, play_hand
from tests.logs import append, assert_sound, payloads
from tests.polling import eventually
from tests.servers import (
    Database,
    PostgresForTests,
    Running,
    remove,
    standby_of,
    temporary_folder,
    twin_of,
)

SERVICES = ("shuffle-1", "wallet-1", "relay-1", "table-1")
SYNCHRONOUS = "ALTER SYSTEM SET synchronous_standby_names = '*'"
ASYNCHRONOUS = "ALTER SYSTEM RESET synchronous_standby_names"
HAS_IT = """
    SELECT EXISTS (SELECT FROM pg_stat_replication
                    WHERE state = 'streaming' AND flush_lsn >= $1::text::pg_lsn)
"""
IS_SYNCHRONOUS = "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')"


@pytest.fixture(scope="module")
def primary(postgres: PostgresForTests) -> Iterator[PostgresForTests]:
    """A Postgres of this module's own: its tests kill it."""
    folder = temporary_folder()
    server = twin_of(postgres, folder)
    server.start()
    yield server
    server.kill()
    remove(folder)


@dataclass
class Replicated:
    """A database on a primary and on the standby that follows it."""

    primary: PostgresForTests
    standby: PostgresForTests
    database: Database

    def dsn(self, role: str) -> str:
        """As a service is told it: whichever of the two is the primary now."""
        both = f"127.0.0.1:{self.primary.server.port},127.0.0.1:{self.standby.server.port}"
        one = f"127.0.0.1:{self.primary.server.port}"
        return self.database.dsn(role).replace(one, both) + "?target_session_attrs=primary"

    async def catch_up(self) -> None:
        """Waits until the standby has all that is on the primary now."""
        root = await asyncpg.connect(self.primary.server.dsn())
        now = await root.fetchval("SELECT pg_current_wal_lsn()::text")
        await eventually(lambda: root.fetchval(HAS_IT, now), within_s=60)
        await root.close()

    async def synchronous(self) -> None:
        """From now on commits wait for the standby."""
        await have(self.primary, SYNCHRONOUS)
        root = await asyncpg.connect(self.primary.server.dsn())
        await eventually(lambda: root.fetchval(IS_SYNCHRONOUS), within_s=60)
        # Who commits learns it from the checkpointer, which reads the settings before it begins.
        await root.execute("CHECKPOINT")
        await root.close()

    async def promote(self) -> None:
        """The standby is the primary from now on."""
        assert self.primary.process is None
        self.database = Database(self.standby.server, self.database.name)
        root = await asyncpg.connect(self.standby.server.dsn())
        assert await root.fetchval("SELECT pg_promote()")
        await root.close()


@pytest.fixture
async def replicated(primary: PostgresForTests, own_folder: Path) -> AsyncIterator[Replicated]:
    """Both run, and one follows the other; commits do not wait for it."""
    database = await primary.database()
    standby = standby_of(primary, own_folder)
    await standby.start_again()
    both = Replicated(primary, standby, database)
    await both.catch_up()
    yield both
    standby.kill()
    if primary.process is None:
        await primary.start_again()
    await have(primary, ASYNCHRONOUS)


async def have(server: PostgresForTests, setting: str) -> None:
    """Changes a setting of a running server."""
    root = await asyncpg.connect(server.server.dsn())
    await root.execute(setting)
    await root.execute("SELECT pg_reload_conf()")
    await root.close()


@pytest.fixture
async def house(
    replicated: Replicated, nats_server: Running, tmp_path: Path
) -> AsyncIterator[House]:
    """Its services know both servers."""
    assert isinstance(nats_server.server, EmbeddedNats)
    house = House(replicated.database, nats_server.server.url, tmp_path)
    house.dsns = {name: replicated.dsn("croupier_" + name.partition("-")[0]) for name in SERVICES}
    yield house
    await house.stop()


async def test_what_the_standby_lacks_is_neither_acknowledged_nor_seen(
    replicated: Replicated,
) -> None:
    await replicated.synchronous()
    dsn = replicated.database.dsn("croupier_table")
    pool, other_pool = await open_pool(dsn), await open_pool(dsn)
    impatient = PostgresLog(pool, give_up_after_s=1.0, call_timeout_s=0.2)
    async with impatient, PostgresLog(other_pool) as other:
        await other.append([append("table/a", 0, b"1")])
        replicated.standby.kill()
        late = append("table/a", 1, b"2")
        for _ in range(2):  # the second time it would be in already
            with pytest.raises(LogUnavailableError):
                await impatient.append([late])
        assert len(await other.read_stream("table/a")) == 1
        await replicated.standby.start_again()
        await replicated.catch_up()
        [answer] = await other.append([late])
        assert answer.outcome in (Outcome.OK, Outcome.SAME)
        assert answer.last_version == 2
        # Where it does not come back, the operator goes on without it.
        replicated.standby.kill()
        later = append("table/a", 2, b"3")
        with pytest.raises(LogUnavailableError):
            await impatient.append([later])
        await have(replicated.primary, ASYNCHRONOUS)
        assert (await other.append([later]))[0].last_version == 3
        assert payloads(await assert_sound(other, "table.0")) == [b"1", b"2", b"3"]
    await pool.close()
    await other_pool.close()


async def test_the_house_goes_on_at_the_synchronous_standby(
    replicated: Replicated, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The primary is killed in mid-hand. Nothing that was acknowledged is lost; the tables say that
    they are not to be had, with a hint, and go on with the clock's grace."""
    impatient = partial(PostgresLog, give_up_after_s=0.3)
    monkeypatch.setattr("services.table.main.PostgresLog", impatient)
    await replicated.synchronous()
    await house.start()
    await house.open(clocks={"cut_ms": 60_000, "grace_ms": 90_000})
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        given = [await stream.command("t1", bet(100, box=box)) for box in (1, 2)]
        acknowledged = [(await stream.answered(each)).acknowledgement for each in given]
        await stream.command("t1", done())
        await stream.until(lambda each: each.update.table.shoe.cut_player == "ann")
        replicated.primary.kill()
        chosen = await stream.command("t1", command(cut_shoe=pb.CutShoe(place=200)))
        refusal = (await stream.answered(chosen)).refusal
        assert refusal.reason == "LOG_UNAVAILABLE"
        assert refusal.retry_after.ToMilliseconds() > 0
    await replicated.promote()
    house.database = replicated.database
    back = ann.play()  # the node sent its viewers away if it was without a lease for long
    await hear_that_play_goes_on(back, stream.updates[-1].version)
    assert (await say_until_taken(back, chosen)).version
    await back.event("HandSettled")
    await play_hand(back)
    for command_, told in zip(given, acknowledged, strict=True):
        again = (await back.answered(await back.command("t1", command_))).acknowledgement
        assert again == told
    back.cancel()
    types = await house.types()
    assert types.count("CutChosen") == 1
    assert "HandVoided" not in types
    assert await findings(replicated.database, {}) == []


async def hear_that_play_goes_on(stream: PlayCall, after: int) -> None:
    """Watches until play goes on, again and again as long as nobody has the table."""

    def told(answer: pb.PlayResponse) -> bool:
        events = answer.update.events
        return answer.HasField("refusal") or any(each.type == "PlayResumed" for each in events)

    await stream.watch("t1", after)
    while (answer := await stream.until(told)).HasField("refusal"):
        assert answer.refusal.reason in PASSING_REASONS
        await stream.watch("t1", after)


async def say_until_taken(stream: PlayCall, what: pb.Command) -> pb.Acknowledgement:
    """Repeats a command as long as the log is away."""
    async with asyncio.timeout(30):
        while True:
            answer = await stream.answered(await stream.command("t1", what))
            if answer.HasField("acknowledgement"):
                return answer.acknowledgement
            assert answer.refusal.reason == "LOG_UNAVAILABLE"


async def test_a_standby_that_lacked_the_tail(replicated: Replicated, house: House) -> None:
    """What was played since is gone. Whoever has seen it stops; `log recover` voids the open hands,
    with their stakes back, and retires the open shoes, and the same house plays on."""
    await probe.make_tables(replicated.database.dsn())
    await house.start()
    await in_mid_hand(house)
    await replicated.catch_up()
    replicated.standby.stop()
    async with house.person("ann").playing("t1") as stream:
        await play_hand(stream)  # the tail that will be lost
    ahead = await head_of(replicated.database)
    replicated.primary.kill()
    await replicated.standby.start_again()
    await replicated.promote()
    house.database = replicated.database
    await diverges(replicated, house, *ahead)

    done_ = await recover(replicated.database.dsn(), FIELD_KEYS, SEED_KEYS)
    assert (done_.tables, done_.hands_voided, done_.failures) == (2, 1, [])
    bob = house.person("bob")

    async def stakes_are_back() -> bool:
        seen = await view(bob, "t2")
        return seen is not None and seen.you.chips.minor_units == 10_000

    await eventually(stakes_are_back, within_s=60)
    await eventually(partial(view, bob, "t1"), within_s=60)
    async with house.person("ann").playing("t1") as stream:
        await play_hand(stream)
    await house.stop()
    assert await findings(replicated.database, await stored_seeds(replicated.database)) == []


async def head_of(database: Database) -> tuple[int, bytes]:
    """Position and hash of the last event of the tables."""
    root = await asyncpg.connect(database.dsn())
    row = await root.fetchrow(
        """SELECT position, hash FROM log.events WHERE partition = 'table.0'
            ORDER BY position DESC LIMIT 1"""
    )
    await root.close()
    assert row is not None
    return row["position"], row["hash"]


async def diverges(replicated: Replicated, house: House, position: int, hash_: bytes) -> None:
    """A consumer that keeps its position elsewhere, and has seen the lost tail, stops."""
    await house.sql(
        """INSERT INTO probe.consumer_positions (consumer, partition, position, hash)
           VALUES ($1, 'table.0', $2, $3)""",
        probe.NAME,
        position,
        hash_,
    )
    bus = await connect(house.nats_url, "ahead")
    consumer = Consumer(Probe().consuming(), "table.0", replicated.dsn(probe.ROLE), bus)
    with pytest.raises(LogDivergedError):
        async with asyncio.timeout(30):
            await consumer.run()
    await bus.close()
