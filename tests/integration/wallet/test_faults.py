"""Whatever the bus does, the balances end where the log says, and every hand is posted once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import asyncpg
import pytest
from croupier.table.v1 import events_pb2 as table_events

from services.relay.reading import batches_after
from services.wallet.cashier import Cashier
from services.wallet.following import apply
from services.wallet.orders import Deposit, OpenAccount
from shared.bus import metrics
from shared.bus.batch import STREAM
from shared.bus.consumer import Apply, Consumer, Consuming
from shared.bus.parking import list_parked, request_retry
from shared.bus.publisher import Publisher
from shared.bus.stream import ensure_stream
from shared.log import Connection, OnCommitted, PostgresLog, RecordedEvent, open_pool
from shared.money import Money
from tests.integration.bus.conftest import House, forget_stream, house_in
from tests.integration.wallet.conftest import Ledger, Tables, hand_settled
from tests.integration.wallet.test_exactly_once import command
from tests.polling import eventually
from tests.servers import Database, Running
from tests.wire import wire_to

PLAYERS = ("ann", "bob", "cid")
TABLES = ("b1", "b2", "b3")
BOUGHT = 10_000


@dataclass
class Play:
    """Three players at three tables, and what they must have in the end."""

    house: House
    ledger: Ledger
    tables: Tables
    hands: int = 0
    won: dict[tuple[str, str], int] = field(default_factory=dict)

    async def buy_in(self) -> None:
        for table in TABLES:
            await self.tables.open(table)
            for player in PLAYERS:
                await self.tables.buy_in(table, player, BOUGHT)
                self.won[table, player] = 0

    async def hand(self) -> None:
        """One hand at one of the tables, every third with a cash-out behind it."""
        self.hands += 1
        table = TABLES[self.hands % 3]
        lines = [
            (player, 10, 10 + (self.hands * (seat + 2)) % 17 - 8)
            for seat, player in enumerate(PLAYERS)
        ]
        await self.tables.settle(table, f"{table}-{self.hands}", *lines)
        for player, stake, returned in lines:
            self.won[table, player] += returned - stake

    async def play(self, hands: int) -> None:
        for _ in range(hands):
            await self.hand()

    def consumer(
        self, apply_: Apply = apply, on_committed: OnCommitted = lambda _: None
    ) -> Consumer:
        consuming = Consuming("wallet", "wallet", apply_, on_committed)
        dsn = self.house.database.dsn("croupier_wallet")
        return Consumer(consuming, "table.0", dsn, self.house.client)

    def follow(self) -> asyncio.Task[None]:
        """A replica of the wallet's consumer."""
        return self.house.start(self.consumer().run())

    async def position(self) -> int:
        found = await self.house.root.fetchval(
            "SELECT max(position) FROM wallet.consumer_positions"
        )
        return int(found or 0)

    async def caught_up(self) -> bool:
        return await self.position() == (await self.house.log.heads())["table.0"].position

    async def is_beyond(self, position: int) -> bool:
        return await self.position() > position

    async def ends_well(self) -> None:
        """All is applied, each hand once, and the balances are what was played."""
        await eventually(self.caught_up, within_s=30)
        books = await self.ledger.check()
        for (table, player), won in self.won.items():
            currency, balance, _ = books.accounts[f"table/{table}/{player}"]
            assert (currency, balance) == ("EUR", BOUGHT + won)
        deposits = len(PLAYERS)
        assert len(books.transfers) == deposits + len(self.won) + self.hands


@dataclass
class Doomed:
    """A consumer that dies at a certain point."""

    task: asyncio.Task[None] | None = None

    def die(self, moved: frozenset[str]) -> None:
        assert self.task is not None
        self.task.cancel()

    async def apply_and_die(
        self, connection: Connection, events: Sequence[RecordedEvent]
    ) -> frozenset[str]:
        moved = await apply(connection, events)
        self.die(moved)
        # Where a cancelled task learns of it.
        await asyncio.sleep(0)
        return moved


@pytest.fixture
async def play(database: Database, nats_server: Running, ledger: Ledger) -> AsyncIterator[Play]:
    """Nothing runs yet; everybody has bought in, which nobody has noticed."""
    pool = await open_pool(database.dsn("croupier_wallet"), max_size=1)
    cashier = Cashier(pool, lambda moved: None)
    for player in PLAYERS:
        await cashier.execute(command(player, OpenAccount("EUR")))
        await cashier.execute(command(player, Deposit(Money("EUR", 4 * BOUGHT), "")))
    await cashier.close()
    await pool.close()
    async with house_in(database, nats_server.server.url) as house:  # type: ignore[union-attr]
        assert isinstance(house.log, PostgresLog)
        play = Play(house, ledger, Tables(house.log))
        await play.buy_in()
        yield play


async def test_nothing_happens_to_the_bus(play: Play) -> None:
    play.house.relay()
    play.follow()
    await play.play(60)
    await play.ends_well()


async def test_all_messages_come_again_after_the_dedupe_window(play: Play) -> None:
    await ensure_stream(play.house.client, duplicate_window_s=0.1)
    play.house.relay()
    play.follow()
    await play.play(20)
    await play.ends_well()
    stored = await play.house.stored()
    publisher = Publisher(play.house.client)

    async def published_again() -> bool:
        batches, _ = await batches_after(play.house.root, "table.0", 0)
        await publisher.publish(batches)
        return await play.house.stored() >= 2 * stored

    await eventually(published_again)
    await publisher.close()
    await play.play(20)
    await play.ends_well()


@pytest.mark.parametrize("lost", ["one", "the last", "all"])
async def test_messages_are_lost(play: Play, lost: str) -> None:
    relay = play.house.relay()
    await play.play(30)
    total = (await play.house.log.heads())["table.0"].position
    await eventually(lambda: _stored(play.house, total))
    await play.house.stop(relay)
    jetstream = play.house.client.jetstream()
    gone = {"one": [7], "the last": range(total - 4, total + 1), "all": range(1, total + 1)}[lost]
    for number in gone:
        await jetstream.delete_msg(STREAM, number)
    play.follow()
    await play.ends_well()


async def test_the_stream_is_deleted_and_comes_again(play: Play) -> None:
    play.house.relay()
    play.follow()
    for _ in range(3):
        await play.play(15)
        await eventually(lambda: _stored(play.house, 1))
        await forget_stream(play.house.client)
    await play.play(15)
    await play.ends_well()


async def test_the_relay_is_killed_in_the_middle(play: Play) -> None:
    play.follow()
    for _ in range(4):
        before = await play.position()
        relay = play.house.relay()
        await play.play(15)
        await eventually(partial(play.is_beyond, before))
        await play.house.stop(relay)
    await play.play(5)
    await play.ends_well()


async def test_of_two_replicas_one_applies_and_the_other_takes_over(play: Play) -> None:
    play.house.relay()
    replicas = [play.follow(), play.follow()]
    await play.play(20)
    await play.ends_well()
    for _ in range(3):
        # The active one's connection is cut under its hands; both go on.
        await play.house.root.execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_locks
             WHERE locktype = 'advisory' AND granted
               AND pid IN (SELECT pid FROM pg_stat_activity WHERE usename = 'croupier_wallet')
            """
        )
        await play.play(10)
    await play.ends_well()
    assert not any(replica.done() for replica in replicas)


async def test_a_consumer_is_killed_between_effect_and_acknowledgement(play: Play) -> None:
    play.house.relay()
    for _ in range(4):
        doomed = Doomed()
        doomed.task = play.house.start(play.consumer(on_committed=doomed.die).run())
        await play.play(10)
        await asyncio.wait([doomed.task], timeout=30)
        assert doomed.task.done()
    assert await play.position() > 0
    play.follow()
    await play.ends_well()


async def test_a_consumer_is_killed_between_effect_and_commit(play: Play) -> None:
    play.house.relay()
    for _ in range(4):
        doomed = Doomed()
        doomed.task = play.house.start(play.consumer(doomed.apply_and_die).run())
        await asyncio.wait([doomed.task], timeout=30)
        assert doomed.task.done()
    assert await play.position() == 0
    play.follow()
    await play.play(10)
    await play.ends_well()


@pytest.mark.parametrize("fault", ["swallow_next_answer", "cut_next_request"])
async def test_the_connection_is_cut_at_commit(play: Play, fault: str) -> None:
    """Its answer is lost, or the COMMIT never arrives."""
    play.house.relay()
    async with wire_to(play.house.database.dsn("croupier_wallet")) as wire:
        cuts = 0

        async def apply_and_cut(
            connection: Connection, events: Sequence[RecordedEvent]
        ) -> frozenset[str]:
            nonlocal cuts
            moved = await apply(connection, events)
            if moved and cuts < 3:
                cuts += 1
                getattr(wire, fault)()
            return moved

        consuming = Consuming("wallet", "wallet", apply_and_cut, lambda moved: None)
        dsn = wire.through(play.house.database.dsn("croupier_wallet"))
        following = play.house.start(Consumer(consuming, "table.0", dsn, play.house.client).run())
        for _ in range(4):
            await play.play(10)
            await eventually(play.caught_up, within_s=30)
        await play.ends_well()
        assert cuts == 3
        await play.house.stop(following)


async def test_an_overdrawn_escrow_parks_its_table_and_no_other(play: Play) -> None:
    play.house.relay()
    play.follow()
    await play.play(6)
    await play.ends_well()
    poison = hand_settled("b1-x", ("ann", BOUGHT * 5, 0))
    await play.tables.write("b1", poison)
    hands_before = play.hands
    await play.play(9)
    await eventually(play.caught_up, within_s=30)
    parked = await list_parked(play.house.root, "wallet")
    assert [event.stream for event in parked] == ["table/b1"] * 4
    assert "INSUFFICIENT_CHIPS" in parked[0].error
    assert [event.type for event in parked] == ["HandSettled"] * 4
    books = await play.ledger.check()
    assert books.accounts["table/b1/ann"][1] >= 0
    for table in ("b2", "b3"):
        for player in PLAYERS:
            assert books.accounts[f"table/{table}/{player}"][1] == BOUGHT + play.won[table, player]
    assert play.hands - hands_before == 9
    gauge = metrics.PARKED_STREAMS.labels("wallet", "table.0")
    await eventually(lambda: gauge._value.get() == 1)
    # Asked for again, it is tried again, and is as wrong as before.
    assert await request_retry(play.house.root, "wallet", "table/b1") == 4
    await eventually(lambda: _tried(play.house.root, 2))
    assert len(await list_parked(play.house.root, "wallet")) == 4


async def test_a_parked_table_goes_on_where_it_stopped_once_it_is_mended(play: Play) -> None:
    """The wallet cannot read a table's opening: that is parked, and so is all behind it."""
    play.house.relay()
    play.follow()
    await play.tables.write("z1", table_events.TableOpened(currency="", game="baccarat"))
    await play.tables.buy_in("z1", "ann", 500)
    await play.tables.settle("z1", "z1-3", ("ann", 100, 0))
    await eventually(play.caught_up, within_s=30)
    parked = await list_parked(play.house.root, "wallet")
    assert [event.type for event in parked] == ["TableOpened", "ChipsRequested", "HandSettled"]
    # Mended by hand: the wallet is told what the table is, and passes over its opening.
    await play.house.root.execute("INSERT INTO wallet.tables VALUES ('z1', 'EUR', 'baccarat')")
    await play.house.root.execute(
        "DELETE FROM wallet.parked_events WHERE stream = 'table/z1' AND version = 1"
    )
    await request_retry(play.house.root, "wallet", "table/z1")
    await eventually(lambda: _nothing_parked(play.house.root))
    assert await play.ledger.balance("table/z1/ann") == 400
    await play.ledger.check()


async def _stored(house: House, count: int) -> bool:
    return await house.stored() >= count


async def _tried(root: asyncpg.Connection[asyncpg.Record], attempts: int) -> bool:
    return (await list_parked(root, "wallet"))[0].attempts == attempts


async def _nothing_parked(root: asyncpg.Connection[asyncpg.Record]) -> bool:
    return not await list_parked(root, "wallet")
