"""Several nodes over one log: any of them serves anybody, any of them may die, and a table is only
ever in one pair of hands."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import grpc
import pytest
from croupier.table.v1 import table_pb2 as pb

from services.table.admission import Admission
from services.table.loading import load
from services.table.owner import TableOwner
from services.table.presence import Presence
from services.table.proposal import Proposal
from services.table.watching import Lost, Mailbox, Viewer
from shared.errors import CroupierError
from shared.log import PostgresLog, open_pool
from shared.rpc.access import Role
from shared.rpc.errors import from_rpc_error
from shared.sealing import Keyring
from shared.table import events as e
from shared.table.codec import TableCodec
from shared.table.sealer import KeyringSealer
from tests.integration.table.gate import Gate
from tests.integration.table.house import House
from tests.integration.table.nodes import NODES, at, epoch_of, owned_by, table_of
from tests.integration.table.people import (
    Person,
    PlayCall,
    assert_seamless,
    bet,
    command,
    cut,
    done,
    play_hand,
    told,
)
from tests.polling import eventually

PAUSED_LEASE_S = 3.0
"""Of a node that is paused: somebody waits for its end, and it must not be over before."""


async def test_every_node_serves_every_table(pair: House) -> None:
    house = pair
    here, there = table_of("node-a"), table_of("node-b")
    for table_id in (here, there):
        await house.open(table_id, node="node-a")
    await owned_by(house, here, "node-a")
    await owned_by(house, there, "node-b")
    for node in NODES:
        ann = at(house, node, f"ann-{node}")
        for table_id in (here, there):
            view = await ann.view(table_id)
            assert view.table.table.node == ("node-a" if table_id == here else "node-b")
    # One who plays at both tables, and one who only looks, each at the node without the table.
    ann = await house.seat("ann", there, node="node-a")
    await ann.execute(here, command(join=pb.JoinTable()))
    olga = at(house, "node-a", "olga", Role.OPERATOR)
    watching = olga.watch(there)
    seen = [(await watching.read()).update]
    async with ann.playing(here, there) as stream:
        await stream.command(here, command(sit_out=pb.SitOut(sitting_out=True)))
        settled = await play_hand(stream, there)
        await stream.next_shoe(there)
        # Refusals and acknowledgements come through as well, behind what they follow from.
        again = await stream.command(there, bet(100, box=99))
        refusal = (await stream.answered(again)).refusal
        assert (refusal.reason, refusal.field, refusal.table_id) == ("TOO_MANY_BOXES", "box", there)
        placed = await stream.command(there, bet(100))
        answer = (await stream.answered(placed)).acknowledgement
        assert stream.updates[-1].version >= answer.version
        for table_id in (here, there):
            assert_seamless([each for each in stream.updates if each.table_id == table_id])
        while seen[-1].version < answer.version:
            seen.append((await watching.read()).update)
        assert_seamless(seen)
        assert not seen[-1].HasField("you")
        # To stop, and to begin again.
        await stream.say(there, stop=pb.StopWatching())
        heard = len(stream.updates)
        await stream.answered(await stream.command(there, bet(200)))
        assert len(stream.updates) == heard
        await stream.watch(there, answer.version)
        update = (await stream.until(lambda each: each.HasField("update"))).update
        assert (update.previous, update.table_id) == (answer.version, there)
    watching.cancel()
    hand = await ann.call("GetHand", pb.GetHandRequest(hand_id=settled.hand_id))
    assert hand.hand.table_id == there
    closing = pb.CloseTableRequest(table_id=there, command_id=str(uuid4()))
    assert (await olga.call("CloseTable", closing)).version
    nowhere = ("TABLE_NOT_FOUND", "table_id")
    assert await ann.may_not("nowhere", join=pb.JoinTable()) == nowhere


async def test_a_half_closed_stream_over_two_nodes_gets_every_answer(pair: House) -> None:
    there = table_of("node-b")
    await pair.open(there, node="node-b")
    ann = await pair.seat("ann", there, node="node-a")
    async with ann.playing(there) as stream:
        sent = [await stream.command(there, bet(100, box=box)) for box in range(1, 8)]
        await stream.done_sending()
        with pytest.raises(EOFError):
            await stream.until(lambda each: False)
    acknowledged = [each.acknowledgement.command_id for each in stream.heard]
    for each in sent:
        assert acknowledged.count(each.command_id) == 1


async def test_the_lobby_of_every_node_has_all_tables(pair: House) -> None:
    tables = sorted(table_of(node, number=number) for node in NODES for number in (1, 2))
    lobbies = []
    for node in NODES:
        eve = at(pair, node, "eve")
        lobbies.append(eve.tables.WatchLobby(pb.WatchLobbyRequest(), metadata=eve.metadata))
    for table_id in tables:
        await pair.open(table_id, node="node-a")
    for lobby in lobbies:
        lines: dict[str, pb.TableSummary] = {}
        while sorted(lines) != tables:
            lines |= {each.table_id: each for each in (await lobby.read()).tables}
        lobby.cancel()
    for node in NODES:
        eve = at(pair, node, "eve")

        async def all_pages(eve: Person = eve) -> bool:
            pages: list[str] = []
            token = ""
            while not pages or token:
                request = pb.ListTablesRequest(page_size=3, page_token=token)
                answer = await eve.call("ListTables", request)
                pages += [each.table_id for each in answer.tables]
                token = answer.next_page_token
            return pages == tables

        await eventually(all_pages)


async def test_a_call_is_passed_on_once(pair: House) -> None:
    there = table_of("node-b")
    await pair.open(there, node="node-b")
    await owned_by(pair, there, "node-b")
    ann = at(pair, "node-a", "ann")
    passed_on = (*ann.metadata, ("croupier-forwarded", "1"))
    request = pb.GetTableRequest(table_id=there)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await ann.tables.GetTable(request, metadata=passed_on)
    assert told(refused.value) == ("NOT_OWNER", "table_id")
    facts = from_rpc_error(refused.value).facts
    assert (facts["owner"], facts["epoch"]) == ("node-b", str(await epoch_of(pair, there)))
    stream = PlayCall(ann.tables.Play(metadata=passed_on))
    await stream.watch(there)
    assert (await stream.next()).refusal.reason == "NOT_OWNER"
    await stream.command(there, asked := command(join=pb.JoinTable()))
    assert (await stream.answered(asked)).refusal.reason == "NOT_OWNER"
    stream.cancel()


async def test_tables_move_to_a_new_node_between_hands(empty_house: House) -> None:
    house = empty_house
    await house.shuffle()
    await house.wallet()
    await house.relay()
    await house.node("node-a")
    idle, busy = table_of("node-b"), table_of("node-b", number=2)
    for table_id in (idle, busy):
        await house.open(table_id, node="node-a")
    ann = await house.seat("ann", busy, node="node-a")
    async with ann.playing(idle, busy) as stream:
        await stream.command(busy, bet(100))
        await stream.event("BetPlaced")
        epoch = await epoch_of(house, busy)
        await house.node("node-b")
        await owned_by(house, idle, "node-b")
        assert await epoch_of(house, busy) == epoch
        await play_hand(stream, busy)
        await owned_by(house, busy, "node-b")
        # The stream goes on where the tables are now.
        await stream.until(
            lambda each: (each.update.table_id, each.update.table.table.node) == (busy, "node-b")
        )
        await play_hand(stream, busy)
        await stream.answered(await stream.command(idle, command(join=pb.JoinTable())))
        for table_id in (idle, busy):
            assert_seamless([each for each in stream.updates if each.table_id == table_id])
    assert await epoch_of(house, busy) > epoch


async def hand_in_progress(house: House, table_id: str) -> tuple[PlayCall, pb.Command]:
    """Ann, at node b, is asked to cut at a table of node a. The clock is shorter than the grace."""
    clocks = {"cut_ms": 60_000, "grace_ms": 600_000}
    await house.open(table_id, node="node-b", clocks=clocks)
    await owned_by(house, table_id, "node-a")
    ann = await house.seat("ann", table_id, node="node-b")
    stream = ann.play()
    await stream.watch(table_id)
    placed = await stream.command(table_id, bet(100))
    await stream.command(table_id, done())
    await stream.event("CutOffered")
    return stream, placed


async def test_a_killed_node_s_tables_go_on_with_the_hand_and_its_clock(empty_house: House) -> None:
    house = empty_house
    await house.shuffle()
    await house.wallet()
    await house.relay()
    await house.node_process("node-a")
    await house.node("node-b")
    table_id = table_of("node-a")
    stream, placed = await hand_in_progress(house, table_id)
    offered = stream.updates[-1].table.deadline.ToMicroseconds()
    epoch = await epoch_of(house, table_id)
    await house.kill_node("node-a")
    claimed = (await stream.event("TableClaimed")).table_claimed
    while claimed.epoch <= epoch:
        claimed = (await stream.event("TableClaimed")).table_claimed
    assert claimed.node == "node-b"
    assert stream.updates[-1].table.deadline.ToMicroseconds() > offered
    # What was asked of the dead node has its answer here.
    answer = (await stream.answered(await stream.command(table_id, placed))).acknowledgement
    assert (await house.types(table_id))[answer.first_version - 1] == "BetPlaced"
    await stream.command(table_id, cut())
    await stream.event("HandSettled")
    await play_hand(stream, table_id)
    assert_seamless(stream.updates)
    stream.cancel()


async def test_a_node_that_was_held_up_finds_its_tables_gone(empty_house: House) -> None:
    """Stopped and continued, as a virtual machine is: it believes that it still has them."""
    house = empty_house
    await house.shuffle()
    await house.wallet()
    await house.relay()
    paused = await house.node_process("node-a", lease_ttl_s=PAUSED_LEASE_S)
    await house.node("node-b")
    table_id = table_of("node-a")
    stream, _ = await hand_in_progress(house, table_id)
    at_a = at(house, "node-a", "ann").play()
    await at_a.watch(table_id)
    await at_a.next()
    watching = at(house, "node-a", "eve").watch(table_id)
    seen = [(await watching.read()).update]
    paused.pause()
    await stream.event("TableClaimed")
    # Both believe now that they have it; what the old one is told first is refused by the log.
    paused.go_on()
    chosen = await at_a.command(table_id, cut(200))
    answer = await at_a.answered(chosen)
    assert answer.HasField("acknowledgement")
    await stream.event("HandSettled")
    await at_a.event("HandSettled")
    assert_seamless(stream.updates)
    while not any(event.type == "HandSettled" for event in seen[-1].events):
        seen.append((await watching.read()).update)
    for updates in (at_a.updates, seen):
        assert_seamless(updates)
    stream.cancel()
    at_a.cancel()
    watching.cancel()
    types = await house.types(table_id)
    assert types.count("CutChosen") == 1


async def test_what_was_under_way_at_a_node_that_dies_is_carried_out_once_and_in_order(
    empty_house: House,
) -> None:
    house = empty_house
    await house.shuffle()
    await house.wallet()
    await house.relay()
    dying = await house.node_process("node-a", lease_ttl_s=PAUSED_LEASE_S)
    await house.node("node-b")
    table_id = table_of("node-a")
    await house.open(table_id, node="node-b")
    await owned_by(house, table_id, "node-a")
    ann = await house.seat("ann", table_id, node="node-b")
    async with ann.playing(table_id) as stream:
        await stream.answered(await stream.command(table_id, bet(100, box=1)))
        epoch = await epoch_of(house, table_id)
        dying.pause()
        # All of it goes to a node that does not answer any more.
        sent = [await stream.command(table_id, bet(100, box=box)) for box in (2, 3)]
        sent.append(await stream.command(table_id, bet(200, box=2)))
        calling = asyncio.create_task(ann.execute(table_id, alone := bet(100, box=4)))
        answers = [(await stream.answered(each)).acknowledgement.version for each in sent]
        assert answers == sorted(answers)
        assert answers[0] > 0
        await calling
        dying.kill()
        # Whatever came first, what was sent one behind the other was placed so.
        placed = [event.bet_placed for event in stream.events if event.type == "BetPlaced"]
        assert [(each.box, each.stake) for each in placed if each.box != 4] == [
            (1, 100),
            (2, 100),
            (3, 100),
            (2, 200),
        ]
        assert await ann.execute(table_id, alone) == calling.result()
        assert_seamless(stream.updates)
    assert (await house.types(table_id)).count("BetPlaced") == 5
    assert await epoch_of(house, table_id) == epoch + 1


async def test_the_log_refuses_an_owner_that_is_not_the_last(house: House) -> None:
    await house.open()
    ann = await house.seat("ann", chips=0)
    pool = await open_pool(house.database.dsn("croupier_table"))
    keys = Keyring("k1", {"k1": bytes(range(32))})
    async with PostgresLog(pool) as log:
        codec = TableCodec(KeyringSealer(keys))
        state = await load(log, codec, "t1")

        def an_owner() -> TableOwner:
            told = (lambda owner: None, lambda state: None)
            return TableOwner(state, log, codec, Admission(), Presence(), *told)

        stale = an_owner()
        mailbox = Mailbox()
        await stale.watch(Viewer("ann", "t1", mailbox), 0)
        await mailbox.get()
        await ann.execute("t1", command(sit_out=pb.SitOut(sitting_out=True)))

        def proposal() -> Proposal:
            return Proposal(lambda at: e.SitOutChanged("ann", False, at), "player:ann", uuid4())

        waiting = [stale.propose(proposal()) for _ in range(3)]
        for each in waiting:
            with pytest.raises(CroupierError) as refused:
                await each
            assert refused.value.reason == "NOT_OWNER"
        assert stale.released
        with pytest.raises(CroupierError) as refused:
            stale.propose(proposal())
        assert refused.value.reason == "NOT_OWNER"
        assert isinstance(await mailbox.get(), Lost)
        # Nor can it claim what another has claimed since.
        late = an_owner()
        with pytest.raises(CroupierError) as refused:
            await late.claim("node-x")
        assert refused.value.reason == "NOT_OWNER"
        assert late.released
    await pool.close()
    assert (await house.types()).count("SitOutChanged") == 1
    assert (await house.types()).count("TableClaimed") == 1


async def test_an_owner_that_shuffle_calls_stale_lets_go(empty_house: House) -> None:
    house = empty_house
    shuffle = await house.shuffle()
    await house.wallet()
    await house.relay()
    stale = ["DealMany"]

    async def passing(method: str, pass_on: Callable[[], Awaitable[bytes]]) -> bytes:
        if method in stale:
            stale.remove(method)
            raise CroupierError("STALE_EPOCH", "a newer owner has spoken")
        return await pass_on()

    async with Gate(shuffle.address) as gate:
        gate.passing = passing
        await house.node(shuffle_address=gate.address)
        await house.open()
        ann = await house.seat("ann")
        async with ann.playing("t1") as stream:
            await play_hand(stream)
            assert not stale
            assert_seamless(stream.updates)
            claims = [event.table_claimed.epoch for event in stream.events]
            assert max(claims) == 2
        await house.services["table-1"].stop()


async def test_a_node_that_stops_hands_its_tables_over_at_once(empty_house: House) -> None:
    house = empty_house
    await house.shuffle()
    await house.wallet()
    await house.relay()
    # Nobody waits for this lease to end.
    leaving = await house.node_process("node-a", lease_ttl_s=60)
    await house.node("node-b")
    table_id = table_of("node-a")
    stream, _ = await hand_in_progress(house, table_id)
    at_a = at(house, "node-a", "ann").play()
    await at_a.watch(table_id)
    await at_a.next()
    chosen = await at_a.command(table_id, cut(200))
    await at_a.answered(chosen)
    epoch = await epoch_of(house, table_id)
    await leaving.stop()
    with pytest.raises(CroupierError) as ended:
        await at_a.until(lambda each: False)
    assert ended.value.reason == "DRAINING"
    await stream.event("HandSettled")
    await stream.until(lambda each: each.update.table.table.node == "node-b")
    await play_hand(stream, table_id)
    assert_seamless(stream.updates)
    stream.cancel()
    assert await epoch_of(house, table_id) == epoch + 1
    live: list[Any] = await house.sql("SELECT node FROM tables.nodes")
    assert [row["node"] for row in live] == ["node-b"]


async def test_a_node_that_starts_again_takes_its_tables_back_without_waiting(house: House) -> None:
    await house.open()
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        await stream.command("t1", bet(100))
        await stream.event("BetPlaced")
    node = house.services["table-1"]
    await node.stop()
    await node.start()
    async with ann.playing("t1") as stream:
        assert [box.box for box in stream.updates[0].table.boxes] == [1]
        await stream.command("t1", done())
        await stream.event("CutOffered")
        await stream.command("t1", cut())
        await stream.event("HandSettled")
