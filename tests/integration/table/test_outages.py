"""A table while the log, the bus or shuffle is away: nothing is lost, nothing happens twice, and
nobody is worse off for it."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import asyncpg
import pytest
from croupier.shuffle.v1 import events_pb2 as shuffle_events
from croupier.table.v1 import events_pb2
from croupier.table.v1 import table_pb2 as pb
from nats.js.errors import NotFoundError

from deploy.embedded_nats import EmbeddedNats
from shared.bus.batch import LAST_HEADER, STREAM
from shared.bus.stream import connect
from shared.cards import parse_card
from shared.log import PostgresLog
from tests.integration.table.gate import Gate, LostError
from tests.integration.table.house import House
from tests.integration.table.people import assert_seamless, bet, command, done, eur, play_hand
from tests.integration.table.serving import Process
from tests.ledger import assert_books_hold
from tests.polling import eventually
from tests.servers import PostgresForTests, Running
from tests.wire import Wire, wire_to

NOWHERE = 1


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that are started now give the log up soon."""
    soon = partial(PostgresLog, give_up_after_s=0.3)
    monkeypatch.setattr("services.table.main.PostgresLog", soon)


@pytest.fixture
async def wired(
    empty_house: House, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[House, Wire]]:
    """A house whose table node has one connection to the log, which can be cut. Its lease is long,
    so that only the table itself speaks to the log."""
    house = empty_house
    monkeypatch.setattr("services.table.neighbours.LOOK_EVERY_S", 3_600)
    async with wire_to(house.database.dsn("croupier_table")) as wire:
        await house.shuffle()
        await house.wallet()
        await house.relay()
        house.dsns["table-1"] = wire.through(house.database.dsn("croupier_table"))
        await house.node(lease_ttl_s=60, heartbeat_s=20, database_pool_size=1)
        yield house, wire
        await house.stop()


async def test_an_answer_that_is_lost_on_the_way_from_the_log(wired: tuple[House, Wire]) -> None:
    house, wire = wired
    await house.open()
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        for box in (1, 2):
            wire.swallow_next_answer()
            placed = await stream.command("t1", bet(100, box=box))
            answer = (await stream.answered(placed)).acknowledgement
            assert answer.version
        assert wire.answers_swallowed == 2
        wire.cut_next_request()
        placed = await stream.command("t1", bet(100, box=3))
        await stream.answered(placed)
        assert_seamless(stream.updates)
    assert (await house.types()).count("BetPlaced") == 3


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("is_in", [True, False])
async def test_nobody_knows_whether_it_is_in(wired: tuple[House, Wire], is_in: bool) -> None:
    house, wire = wired
    await house.open(clocks={"betting_ms": 60_000, "grace_ms": 600_000})
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        await stream.command("t1", bet(100))
        started = await stream.event("BettingClockStarted")
        real = wire.target
        if is_in:
            wire.swallow_next_answer()
        else:
            wire.cut_next_request()
        wire.target = NOWHERE
        doubtful = await stream.command("t1", bet(100, box=2))
        waiting = await stream.command("t1", bet(100, box=3))
        for each in (doubtful, waiting):
            refusal = (await stream.answered(each)).refusal
            assert refusal.reason == "LOG_UNAVAILABLE"
        request = pb.ExecuteRequest(table_id="t1", command=waiting)
        assert await ann.refused("Execute", request) == ("LOG_UNAVAILABLE", "")
        wire.target = real
        # It looks by itself, tells what it finds, and the clock gets its grace.
        moved = (await stream.event("DeadlineMoved")).deadline_moved
        assert moved.deadline.ToMicroseconds() > (
            started.betting_clock_started.deadline.ToMicroseconds()
        )
        bets = [event.bet_placed.box for event in stream.events if event.type == "BetPlaced"]
        assert bets == ([1, 2] if is_in else [1])
        # The same again.
        first = (await stream.answered(await stream.command("t1", doubtful))).acknowledgement
        again = await ann.execute("t1", doubtful)
        assert (first.first_version, first.version) == (again.first_version, again.version)
        await stream.answered(await stream.command("t1", waiting))
        assert_seamless(stream.updates)
    assert (await house.types()).count("BetPlaced") == 3
    assert (await house.types()).count("PlayResumed") == 1


async def test_a_slow_log_is_an_outage_to_a_running_clock(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.table.owner.OUTAGE_S", 0.0)
    await house.node("table-2", grace_s=600)
    # Without a grace of its own.
    await house.open(node="table-2", clocks={"betting_ms": 10_000, "grace_ms": 0})
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        await stream.command("t1", bet(100))
        started = (await stream.event("BettingClockStarted")).betting_clock_started
        moved = (await stream.event("DeadlineMoved")).deadline_moved
        # By the grace that is set at the node where the table was opened.
        assert moved.deadline.ToSeconds() > started.deadline.ToSeconds() + 500
        kinds = [event.type for event in stream.events]
        assert kinds[-2:] == ["PlayResumed", "DeadlineMoved"]


async def test_postgres_is_killed_in_mid_hand(
    own_postgres: PostgresForTests, own_nats: Running, tmp_path: Path
) -> None:
    assert isinstance(own_nats.server, EmbeddedNats)
    house = House(await own_postgres.database(), own_nats.server.url, tmp_path)
    await house.start()
    await house.open()
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        await stream.command("t1", bet(100))
        await stream.command("t1", finished := done())
        await stream.event("CutOffered")
        own_postgres.kill()
        chosen = command(cut_shoe=pb.CutShoe(place=200))
        await stream.command("t1", chosen)
        await own_postgres.start_again()
        await stream.event("HandSettled")
        await stream.answered(await stream.command("t1", finished))
        await stream.answered(await stream.command("t1", chosen))
        await play_hand(stream)
        assert_seamless(stream.updates)
    assert (await house.types()).count("CutChosen") == 1
    await house.stop()


async def test_chips_come_without_the_bus(
    own_nats: Running, empty_house: House, tmp_path: Path
) -> None:
    house = empty_house
    assert isinstance(own_nats.server, EmbeddedNats)
    house.nats_url = own_nats.server.url
    await house.start()
    await house.open()
    ann = await house.seat("ann", chips=0)
    await house.fund("ann", 500)
    own_nats.kill()
    async with ann.playing("t1") as stream:
        for _ in range(2):
            await stream.command("t1", command(buy_chips=pb.BuyChips(amount=eur(250))))
            arrived = (await stream.event("ChipsArrived")).chips_arrived
            assert (arrived.player, arrived.amount) == ("ann", 250)
        await play_hand(stream)
        await own_nats.start_again()
        await play_hand(stream)
    await house.stop()


async def test_services_start_and_stop_while_the_bus_is_away(
    own_nats: Running, empty_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.bus.stream.FIRST_WAIT_S", 0.1)
    house = empty_house
    assert isinstance(own_nats.server, EmbeddedNats)
    house.nats_url = own_nats.server.url
    own_nats.kill()
    await house.start()
    await house.services["wallet-1"].stop()
    await house.services["wallet-1"].start()
    await house.open()
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        await play_hand(stream)
        await own_nats.start_again()
        await play_hand(stream)
    await eventually(partial(bus_has_last, house))
    await house.stop()


async def test_the_bus_comes_back_empty(
    own_nats: Running, empty_house: House, tmp_path: Path
) -> None:
    """NATS is away while people play, and a wallet that was away as well finds nothing of it there:
    chips that were bought meanwhile wait, and come; money and log agree."""
    house = empty_house
    assert isinstance(own_nats.server, EmbeddedNats)
    house.nats_url = own_nats.server.url
    await house.start()
    await house.open()
    ann = await house.seat("ann")
    await house.deposit("ann", 500)
    async with ann.playing("t1") as stream:
        await play_hand(stream)
        own_nats.kill()
        await house.services["wallet-1"].stop()
        await play_hand(stream)
        await stream.answered(await stream.command("t1", buys := buy(500)))
        await play_hand(stream)
        assert (await ann.view("t1")).you.pending_chips == eur(500)
        shutil.rmtree(own_nats.server.folder / "store")
        await own_nats.start_again()
        await house.services["wallet-1"].start()
        arrived = (await stream.event("ChipsArrived")).chips_arrived
        assert (arrived.player, arrived.amount) == ("ann", 500)
        await stream.answered(await stream.command("t1", buys))
        await play_hand(stream)
        assert_seamless(stream.updates)
    await eventually(partial(wallet_has_all, house))
    await eventually(partial(bus_has_last, house))
    root = await asyncpg.connect(house.database.dsn())
    await assert_books_hold(root)
    await root.close()
    assert (await house.types()).count("ChipsArrived") == 2
    await house.stop()


def buy(amount: int) -> pb.Command:
    return command(buy_chips=pb.BuyChips(amount=eur(amount)))


async def wallet_has_all(house: House) -> bool:
    """Whether the wallet has applied all that the tables have said."""
    [row] = await house.sql(
        """SELECT p.position = c.position AS equal FROM log.partitions p
             JOIN wallet.consumer_positions c ON c.partition = p.name WHERE p.name = 'table.0'"""
    )
    return bool(row["equal"])


async def bus_has_last(house: House) -> bool:
    """Whether the tables' last event is on the bus."""
    [row] = await house.sql("SELECT position FROM log.partitions WHERE name = 'table.0'")
    client = await connect(house.nats_url, "test")
    try:
        last = await client.jetstream().get_last_msg(STREAM, "croupier.table.0.t1")
    except NotFoundError:
        return False
    finally:
        await client.close()
    return (last.headers or {}).get(LAST_HEADER) == str(row["position"])


class Killer:
    """Kills shuffle at each of these calls, once, before or after it is carried out; the table is
    not answered, and shuffle starts again."""

    def __init__(self, shuffle: Process, after: list[str], before: list[str]) -> None:
        self._shuffle = shuffle
        self._after = after
        self._before = before

    async def passing(self, method: str, pass_on: Callable[[], Awaitable[bytes]]) -> bytes:
        if method in self._before:
            self._before.remove(method)
        elif method in self._after:
            self._after.remove(method)
            await pass_on()
        else:
            return await pass_on()
        self._shuffle.kill()
        await self._shuffle.start()
        raise LostError

    @property
    def is_over(self) -> bool:
        return not self._after and not self._before


async def test_shuffle_is_killed_in_every_phase_of_a_hand(empty_house: House) -> None:
    house = empty_house
    shuffle = await house.shuffle_process()
    await house.wallet()
    await house.relay()
    async with Gate(shuffle.address) as gate:
        # The first deal of a shoe is its burn, which takes two.
        calls = ["OpenShoe", "CutShoe", "SealShoe", "DealMany", "DealMany", "DealMany"]
        killer = Killer(shuffle, calls, ["DealMany"])
        gate.passing = killer.passing
        await house.node(shuffle_address=gate.address)
        await house.open()
        ann = await house.seat("ann")
        async with ann.playing("t1") as stream:
            settled = await play_hand(stream)
            assert killer.is_over
            assert_seamless(stream.updates)
        await assert_cards_are_shuffles(house, settled.hand_id)


async def assert_cards_are_shuffles(house: House, hand_id: str) -> None:
    """Every card that the table was dealt is the one that shuffle showed, once, at that place."""
    [opened] = await house.sql(
        "SELECT payload FROM log.events WHERE type = 'HandOpened' AND hand_id = $1", hand_id
    )
    shoe_id = events_pb2.HandOpened.FromString(opened["payload"]).shoe_id
    rows = await house.sql(
        "SELECT type, payload FROM log.events WHERE stream = $1", f"shuffle/{shoe_id}"
    )
    shown: dict[int, str] = {}
    for row in rows:
        proofs = []
        if row["type"] == "CardsShown":
            proofs = [c.open for c in shuffle_events.CardsShown.FromString(row["payload"]).cards]
        elif row["type"] == "CardsBurned":
            proofs = list(shuffle_events.CardsBurned.FromString(row["payload"]).open)
        for proof in proofs:
            assert proof.position not in shown
            shown[proof.position] = proof.card
    types = [row["type"] for row in rows]
    for once in ("ShoeOpened", "ShoeCut", "ShoeSealed"):
        assert types.count(once) == 1
    rows = await house.sql(
        "SELECT payload FROM log.events WHERE type = 'CardsDealt' AND hand_id = $1",
        hand_id,
    )
    dealt = [
        card
        for row in rows
        for card in events_pb2.CardsDealt.FromString(row["payload"]).cards
        if card.card_plus_one
    ]
    assert {card.position: card.card_plus_one - 1 for card in dealt} == {
        position: _code(card) for position, card in shown.items()
    }
    assert len(dealt) >= 5


def _code(card: str) -> int:
    return int(parse_card(card))
