"""What `Watch`, `Play` and `WatchLobby` promise to those who listen."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import grpc
import pytest
from croupier.table.v1 import table_pb2 as pb

from services.table import metrics
from shared.errors import CroupierError
from shared.log import PostgresLog
from shared.rpc.access import Role
from tests.integration.table.house import House
from tests.integration.table.people import (
    Person,
    assert_seamless,
    bet,
    command,
    cut,
    done,
    join,
    play_hand,
    told,
)
from tests.polling import eventually


def sit_out(sitting_out: bool) -> pb.Command:
    return command(sit_out=pb.SitOut(sitting_out=sitting_out))


async def test_a_snapshot_then_every_change_without_gap_or_repeat(house: House) -> None:
    await house.open()
    ann, bob = await house.seat("ann"), await house.seat("bob", chips=0)
    async with ann.playing("t1") as hers, bob.playing("t1") as his:
        first = hers.updates[0]
        assert first.previous == 0
        assert not first.events
        assert first.version == first.table.table.version == len(await house.types())
        for _ in range(3):
            await play_hand(hers)
        await hers.next_shoe()
        last = hers.updates[-1].version
        await his.until(lambda each: each.update.version == last)
        assert_seamless(hers.updates)
        assert_seamless(his.updates)
        kinds = (await house.types())[first.version : last]
        assert [event.type for event in hers.events] == kinds
        assert [event.type for event in his.events] == kinds
        assert hers.updates[-1].you.player == "ann"
        assert his.updates[-1].you.player == "bob"
        assert hers.updates[-1].table == his.updates[-1].table


async def test_an_acknowledgement_comes_behind_the_updates_that_it_caused(house: House) -> None:
    await house.open()
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        sent = [await stream.command("t1", bet(100, box=box)) for box in range(1, 8)]
        for each in sent:
            answer = (await stream.answered(each)).acknowledgement
            assert stream.updates[-1].version >= answer.version
            mine = [e.version for e in stream.events if e.type == "BetPlaced"]
            assert answer.first_version == mine[sent.index(each)]


async def test_a_dealer_or_operator_with_a_players_name_is_not_that_player(house: House) -> None:
    await house.open()
    await house.seat("ann")
    for role in (Role.OPERATOR, Role.AUDITOR, Role.DEALER, Role.PIT):
        view = await house.person("ann", role).view("t1")
        assert not view.HasField("you")
        assert [seat.player for seat in view.table.seats] == ["ann"]


async def test_watch_resumes_where_it_stopped(house: House) -> None:
    await house.open()
    ann = await house.seat("ann")
    watching = ann.watch("t1")
    seen = (await watching.read()).update
    watching.cancel()
    async with ann.playing("t1") as stream:
        await play_hand(stream)
        last = stream.updates[-1].version
    for method in ("Watch", "Play"):
        updates: list[pb.Update] = []
        if method == "Watch":
            watching = ann.watch("t1", seen.version)
            while not updates or updates[-1].version < last:
                updates.append((await watching.read()).update)
            watching.cancel()
        else:
            play = ann.play()
            await play.watch("t1", seen.version)
            await play.until(lambda each: each.update.version >= last)
            updates = play.updates
            play.cancel()
        assert_seamless(updates, seen.version)

    # Nothing has happened, once the next shoe is there: what there is to see, and no event.
    async def nothing_new() -> bool:
        nonlocal last
        watching = ann.watch("t1", last)
        update = (await watching.read()).update
        watching.cancel()
        asked, last = last, update.version
        assert update.previous == asked
        quiet = (update.version, len(update.events)) == (asked, 0)
        return quiet and update.table.next_shoe.commitment != b""

    await eventually(nothing_new)
    # A version that the table has not reached is of another log: a snapshot.
    for odd in (last + 1, -1):
        watching = ann.watch("t1", odd)
        update = (await watching.read()).update
        watching.cancel()
        assert (update.previous, update.version) == (0, last)


async def changes(person: Person, count: int, table_id: str = "t1") -> int:
    """Makes so many changes at the table; the last version."""
    stream = person.play()
    for number in range(count):
        last = await stream.command(table_id, sit_out(number % 2 == 0))
    version = (await stream.answered(last)).acknowledgement.version
    stream.cancel()
    return version


async def test_what_is_too_old_to_resume_gives_a_snapshot(house: House) -> None:
    await house.open()
    ann = await house.seat("ann", chips=0)
    last = await changes(ann, 501)
    watching = ann.watch("t1", last - 501)
    update = (await watching.read()).update
    watching.cancel()
    assert (update.previous, update.version, len(update.events)) == (0, last, 0)
    watching = ann.watch("t1", last - 500)
    update = (await watching.read()).update
    watching.cancel()
    assert (update.previous, update.version, len(update.events)) == (last - 500, last, 500)


async def test_several_tables_in_one_stream(house: House) -> None:
    for table_id in ("t1", "t2", "t3"):
        await house.open(table_id)
        ann = await house.seat("ann", table_id, chips=0)
    async with ann.playing("t1", "t2", "t3") as stream:
        sent = [
            (table_id, await stream.command(table_id, sit_out(number % 2 == 0)))
            for number in range(10)
            for table_id in ("t1", "t2", "t3")
        ]
        for table_id, each in sent:
            if not any(each.command_id == a.acknowledgement.command_id for a in stream.heard):
                await stream.answered(each)
            assert any(
                (a.acknowledgement.table_id, a.acknowledgement.command_id)
                == (table_id, each.command_id)
                for a in stream.heard
            )
        for table_id in ("t1", "t2", "t3"):
            updates = [update for update in stream.updates if update.table_id == table_id]
            assert_seamless(updates)
            assert len([event for update in updates for event in update.events]) == 10


async def test_no_more_updates_after_stop_and_a_new_snapshot_after_watch(house: House) -> None:
    await house.open()
    ann = await house.seat("ann", chips=0)
    async with ann.playing("t1") as stream:
        await stream.say("t1", stop=pb.StopWatching())
        # Commands are answered all the same.
        for sitting_out in (True, False):
            await stream.answered(await stream.command("t1", sit_out(sitting_out)))
        assert len(stream.updates) == 1
        await stream.watch("t1")
        update = (await stream.next()).update
        assert (update.previous, update.version) == (0, stream.updates[0].version + 2)
        # To stop what one does not watch harms nobody.
        await stream.say("t2", stop=pb.StopWatching())
        await stream.answered(await stream.command("t1", sit_out(True)))


async def test_a_client_that_has_said_all_gets_every_answer(house: House) -> None:
    await house.open()
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        async with house.log_held():
            sent = [await stream.command("t1", bet(100, box=box)) for box in range(1, 9)]
            await stream.done_sending()
            await house.append_waits()
        # The log goes on, and so does this.
        with pytest.raises(EOFError):
            await stream.until(lambda each: False)
    acknowledged = [each.acknowledgement.command_id for each in stream.heard]
    refused = [each.refusal.command_id for each in stream.heard]
    for each in sent[:-1]:
        assert acknowledged.count(each.command_id) == 1
    assert refused.count(sent[-1].command_id) == 1
    assert_seamless(stream.updates)


async def test_a_client_that_has_said_nothing_and_goes(house: House) -> None:
    await house.open()
    stream = house.person("ann").play()
    await stream.done_sending()
    with pytest.raises(EOFError):
        await stream.next()


async def test_a_command_is_carried_out_though_its_caller_is_gone(house: House) -> None:
    await house.open()
    ann = await house.seat("ann")
    stream = ann.play()
    await stream.watch("t1")
    await stream.next()
    late, cancelled = bet(100, box=1), bet(100, box=2)
    async with house.log_held():
        request = pb.ExecuteRequest(table_id="t1", command=late)
        calling = ann.tables.Execute(request, metadata=ann.metadata, timeout=2)
        await house.append_waits()
        with pytest.raises(grpc.aio.AioRpcError) as ended:
            await calling
        assert ended.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await stream.command("t1", cancelled)
        # In order behind the command, and refused before it comes to the table.
        await stream.answered(await stream.command("t1", command()))
        stream.cancel()

    async def both_are_in() -> bool:
        return (await house.types()).count("BetPlaced") == 2

    await eventually(both_are_in)
    # The same again tells what became of it.
    for number, each in enumerate((late, cancelled)):
        answer = await ann.execute("t1", each)
        assert (await house.types())[answer.first_version - 1] == "BetPlaced"
        assert number == 0 or answer.first_version > 1
    assert (await house.types()).count("BetPlaced") == 2


async def test_nobody_sees_what_is_not_in_the_log(house: House) -> None:
    await house.open()
    ann, bob = await house.seat("ann"), await house.seat("bob", chips=0)
    lobby = bob.tables.WatchLobby(pb.WatchLobbyRequest(), metadata=bob.metadata)
    [line] = (await lobby.read()).tables
    async with ann.playing("t1") as hers, bob.playing("t1") as his:
        before = hers.updates[-1].version
        async with house.log_held():
            placed = await hers.command("t1", bet(100))
            await house.append_waits()
            for person, stream in ((ann, hers), (bob, his)):
                heard = len(stream.heard)
                # Answered without the log: whatever had been told would have come first.
                await stream.answered(await stream.command("t1", command()))
                assert len(stream.heard) == heard + 1
                view = await person.view("t1")
                assert view.version == before
                assert not view.table.boxes
            listed = await ann.call("ListTables", pb.ListTablesRequest())
            assert [each.version for each in listed.tables] == [before]
            assert len(await house.types()) == before
        await hers.answered(placed)
        assert_seamless(hers.updates)
        assert (await his.event("BetPlaced")).version == before + 1
    assert line.version == before
    assert [each.version for each in (await lobby.read()).tables] == [len(await house.types())]
    lobby.cancel()


NARROW = (
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 1024),
    ("grpc.use_local_subchannel_pool", 1),
)


async def test_who_does_not_read_is_dropped_and_slows_nobody(house: House) -> None:
    await house.open()
    ann = await house.seat("ann", chips=0)
    async with grpc.aio.insecure_channel(house.address("table-1"), NARROW) as channel:
        slow = Person(channel, "sloth")
        watching = slow.watch("t1")
        seen = (await watching.read()).update
        assert seen.previous == 0
        # All of them are answered while nobody reads there.
        while metrics.watching():
            last = await changes(ann, 50)
        updates = [seen]
        dropped = None
        while dropped is None:
            try:
                updates.append((await watching.read()).update)
            except grpc.aio.AioRpcError as error:
                dropped = error
        assert told(dropped) == ("SLOW_WATCHER", "")
        assert_seamless(updates)
        assert updates[-1].version < last
        # He may go on where he is.
        watching = slow.watch("t1", updates[-1].version)
        more: list[pb.Update] = []
        while not more or more[-1].version < last:
            more.append((await watching.read()).update)
        assert_seamless(more, updates[-1].version)
        watching.cancel()


async def test_more_than_the_table_can_queue_is_refused_and_nothing_else_is_lost(
    empty_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A node that has enough of the log refuses all of them.
    patient = partial(PostgresLog, give_up_after_s=60.0)
    monkeypatch.setattr("services.table.main.PostgresLog", patient)
    house = await empty_house.start()
    await house.open()
    ann = await house.seat("ann", chips=0)
    before = len(await house.types())
    async with house.log_held():
        calls = [
            asyncio.ensure_future(ann.execute("t1", sit_out(number % 2 == 0)))
            for number in range(600)
        ]
        await house.append_waits()
        # One is on its way to the log, 512 wait.
        await eventually(lambda: sum(not call.done() for call in calls) <= 513)
    results = await asyncio.gather(*calls, return_exceptions=True)
    overloaded = [each for each in results if isinstance(each, CroupierError)]
    assert {each.reason for each in overloaded} == {"OVERLOADED"}
    answered = [each for each in results if isinstance(each, pb.ExecuteResponse)]
    assert len(answered) + len(overloaded) == 600
    assert len(answered) >= 513
    versions = sorted(each.version for each in answered)
    assert versions == list(range(before + 1, before + len(answered) + 1))
    assert len(await house.types()) == before + len(answered)


async def test_the_lobby_tells_all_tables_then_those_that_change(house: House) -> None:
    await house.open("t1")
    await house.open("t2", name="Two")
    eve = house.person("eve")
    lobby = eve.tables.WatchLobby(pb.WatchLobbyRequest(), metadata=eve.metadata)
    first = await lobby.read()
    assert [(each.table_id, each.name) for each in first.tables] == [("t1", "t1"), ("t2", "Two")]
    assert first.HasField("server_time")
    await eve.execute("t2", join())
    changed = await lobby.read()
    assert [(each.table_id, each.seated) for each in changed.tables] == [("t2", 1)]
    await house.open("t3")
    lines: dict[str, pb.TableSummary] = {}
    while not (lines.get("t3") and lines["t3"].node == "table-1"):
        lines |= {each.table_id: each for each in (await lobby.read()).tables}
    assert lines["t3"].status == pb.TABLE_STATUS_OPEN
    lobby.cancel()
    pages: list[list[str]] = []
    token = ""
    while not pages or token:
        answer = await eve.call("ListTables", pb.ListTablesRequest(page_size=2, page_token=token))
        pages.append([each.table_id for each in answer.tables])
        token = answer.next_page_token
    assert pages == [["t1", "t2"], ["t3"]]
    none = await eve.call("ListTables", pb.ListTablesRequest(game="battle"))
    assert not none.tables


async def test_hands_of_a_table_newest_first(house: House) -> None:
    await house.open()
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        settled = [(await play_hand(stream)).hand_id for _ in range(3)]
    pages: list[list[str]] = []
    token = ""
    while not pages or token:
        request = pb.ListHandsRequest(table_id="t1", page_size=2, page_token=token)
        answer = await ann.call("ListHands", request)
        pages.append([each.hand_id for each in answer.hands])
        token = answer.next_page_token
    assert pages == [settled[:0:-1], settled[:1]]
    hand = await ann.call("GetHand", pb.GetHandRequest(hand_id=settled[0]))
    assert (hand.hand.table_id, hand.hand.game, hand.hand.number) == ("t1", "baccarat", 1)
    dealt = [card for event in hand.events for card in event.cards_dealt.cards]
    # Four to six cards and the first of the burn are shown; the rest of the burn never is.
    shown = {card.position for card in dealt if card.card_plus_one}
    assert {proof.position for proof in hand.proofs} == shown
    assert len(dealt) > len(shown)
    assert len(hand.shoe_root) == 32


async def test_a_hand_with_its_clocks(house: House) -> None:
    """Nobody says that he is done, nobody cuts: the clocks see to it."""
    await house.open(clocks={"betting_ms": 1_000, "cut_ms": 100})
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        await stream.command("t1", bet(100))
        started = await stream.event("BettingClockStarted")
        assert stream.updates[-1].table.deadline == started.betting_clock_started.deadline
        await stream.event("HandSettled")
        kinds = [event.type for event in stream.events]
        assert kinds.count("ClockExpired") == 2
        assert "CutLeftToDealer" in kinds
        # What comes too late is refused.
        late = await stream.command("t1", cut())
        assert (await stream.answered(late)).refusal.reason == "CUT_NOT_OFFERED"


async def test_what_was_in_time_counts_though_the_log_was_slow(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrival at the owner counts (architecture, 5)."""
    # As slow as this it is an outage, after which the clock would get its grace.
    monkeypatch.setattr("services.table.owner.OUTAGE_S", 600.0)
    await house.open(clocks={"betting_ms": 3_000})
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        await stream.command("t1", bet(100))
        deadline = (await stream.event("BettingClockStarted")).betting_clock_started.deadline
        async with house.log_held():
            placed = [await stream.command("t1", bet(100, box=box)) for box in (2, 3, 4)]
            await stream.command("t1", command())
            await stream.until(lambda each: each.refusal.reason == "BAD_REQUEST")
            await eventually(lambda: _past(int(deadline.ToMicroseconds())))
        for each in placed:
            assert (await stream.answered(each)).HasField("acknowledgement")
        await stream.event("BettingClosed")
        late = await stream.command("t1", done())
        assert (await stream.answered(late)).refusal.reason == "BETTING_CLOSED"
    rows = await house.sql("SELECT payload FROM log.events WHERE type = 'BetPlaced'")
    assert len(rows) == 4


def _past(deadline_us: int) -> bool:
    return time.time_ns() > 1000 * deadline_us
