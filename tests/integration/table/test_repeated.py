"""A command that comes again, whatever happened in between, is carried out once and gets the first
answer."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from croupier.table.v1 import table_pb2 as pb

from tests.integration.table.house import House
from tests.integration.table.people import bet, command, cut, done, eur, join, play_hand


async def test_the_same_command_again_gets_the_first_answer(house: House) -> None:
    await house.open()
    ann = await house.seat("ann")
    first = {}
    sent = [
        command(sit_out=pb.SitOut(sitting_out=True)),
        command(sit_out=pb.SitOut(sitting_out=False)),
        command(buy_chips=pb.BuyChips(amount=eur(1))),
        bet(100, box=1),
        bet(200, box=2),
        command(take_back_bets=pb.TakeBackBets(box=2)),
    ]
    for each in sent:
        first[each.command_id] = await ann.execute("t1", each)
    types = await house.types()
    # Some would be refused now, others would be allowed: it makes no difference.
    for each in reversed(sent):
        again = await ann.execute("t1", each)
        assert again == first[each.command_id]
        async with ann.playing("t1") as stream:
            answer = (await stream.answered(await stream.command("t1", each))).acknowledgement
            assert (answer.first_version, answer.version) == (again.first_version, again.version)
    assert [kind for kind in await house.types() if not kind.startswith("Chips")] == [
        kind for kind in types if not kind.startswith("Chips")
    ]
    assert (await house.types()).count("ChipsRequested") == 2


async def test_another_body_under_the_same_id_is_refused(house: House) -> None:
    await house.open()
    ann = await house.seat("ann")
    placed = bet(100)
    await ann.execute("t1", placed)
    refusal = ("COMMAND_BODY_DIFFERS", "command_id")
    for other in (
        bet(200),  # allowed by the rules
        bet(100, box=99),  # not allowed by them
        join(),
    ):
        other.command_id = placed.command_id
        request = pb.ExecuteRequest(table_id="t1", command=other)
        assert await ann.refused("Execute", request) == refusal
        async with ann.playing("t1") as stream:
            told = (await stream.answered(await stream.command("t1", other))).refusal
            assert (told.reason, told.field) == refusal
    # Ids are a caller's own, and a table's own.
    bob = await house.seat("bob")
    theirs = bet(100, box=2)
    theirs.command_id = placed.command_id
    await bob.execute("t1", theirs)
    await house.open("t2")
    sitting = join()
    sitting.command_id = placed.command_id
    await ann.execute("t2", sitting)


async def test_a_refused_command_is_not_remembered(house: House) -> None:
    await house.open()
    await house.open("t2")
    ann = await house.seat("ann")
    too_much = bet(10_001)
    request = pb.ExecuteRequest(table_id="t1", command=too_much)
    assert await ann.refused("Execute", request) == ("INSUFFICIENT_CHIPS", "stake")
    await house.deposit("ann", 2)
    async with ann.playing("t1") as stream:
        await stream.command("t1", command(buy_chips=pb.BuyChips(amount=eur(2))))
        await stream.event("ChipsArrived")
    answer = await ann.execute("t1", too_much)
    assert answer.version >= answer.first_version > 0
    # Neither is the id of one: with another body it is free.
    other = pb.ExecuteRequest(table_id="t1", command=bet(10_001, box=2))
    assert await ann.refused("Execute", other) == ("INSUFFICIENT_CHIPS", "stake")
    changed = command(other.command.command_id, sit_out=pb.SitOut(sitting_out=True))
    await ann.execute("t1", changed)


async def test_at_once_from_two_connections(house: House) -> None:
    await house.open()
    ann = await house.seat("ann")
    elsewhere = house.person("ann", connection="second")
    for number in range(1, 6):
        placed = bet(100, box=number)
        answers = await asyncio.gather(
            *(each.execute("t1", placed) for each in (ann, elsewhere) for _ in range(4))
        )
        assert len({(each.first_version, each.version) for each in answers}) == 1
    # The same with a stream each, several times over, before anything is answered.
    async with ann.playing("t1") as one, elsewhere.playing("t1") as two:
        placed = bet(100, box=6)
        for stream in (one, two, one, two):
            await stream.command("t1", placed)
        told = [(await stream.answered(placed)).acknowledgement for stream in (one, one, two, two)]
    assert len({(each.first_version, each.version) for each in told}) == 1
    assert (await house.types()).count("BetPlaced") == 6


async def test_after_the_node_was_started_again(house: House) -> None:
    await house.open()
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        placed, finished = bet(100), done()
        await stream.command("t1", placed)
        await stream.command("t1", finished)
        await stream.event("CutOffered")
        await stream.command("t1", chosen := cut())
        await stream.event("HandSettled")
        for each in (placed, finished, chosen):
            await stream.command("t1", each)
        first = {}
        for each in (placed, finished, chosen):
            answer = (await stream.answered(each)).acknowledgement
            first[each.command_id] = (answer.first_version, answer.version)
    node = house.services["table-1"]
    await node.stop()
    await node.start()
    await ann.view("t1")
    for each in (chosen, placed, finished):
        again = await ann.execute("t1", each)
        assert (again.first_version, again.version) == first[each.command_id]
    async with ann.playing("t1") as stream:
        await play_hand(stream)
    assert (await house.types()).count("HandSettled") == 2


async def test_opening_and_closing_again(house: House) -> None:
    olga = house.operator
    opening = pb.OpenTableRequest(
        command_id=str(uuid4()), table_id="t1", game="baccarat", currency="EUR"
    )
    first = await olga.call("OpenTable", opening)
    assert await olga.call("OpenTable", opening) == first
    ann = await house.seat("ann", chips=0)
    assert await olga.call("OpenTable", opening) == first
    other = pb.OpenTableRequest()
    other.CopyFrom(opening)
    other.name = "Another"
    assert await olga.refused("OpenTable", other) == ("COMMAND_BODY_DIFFERS", "command_id")
    other.command_id = str(uuid4())
    assert await olga.refused("OpenTable", other) == ("TABLE_EXISTS", "table_id")
    closing = pb.CloseTableRequest(table_id="t1", command_id=str(uuid4()), note="late")
    closed = await olga.call("CloseTable", closing)
    # Also when the table is over and nobody has it any more.
    gone = command(leave=pb.LeaveTable())
    async with ann.playing("t1"):
        pass
    assert await olga.call("CloseTable", closing) == closed
    node = house.services["table-1"]
    await node.stop()
    await node.start()
    assert await olga.call("CloseTable", closing) == closed
    closing.note = "early"
    assert await olga.refused("CloseTable", closing) == ("COMMAND_BODY_DIFFERS", "command_id")
    request = pb.ExecuteRequest(table_id="t1", command=gone)
    assert await ann.refused("Execute", request) == ("TABLE_CLOSED", "table_id")
