"""More than a node can do: it says so at once, and what runs comes to its end."""

from __future__ import annotations

from functools import partial

import grpc
import pytest
from croupier.table.v1 import table_pb2 as pb
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from services.table.admission import Admission
from tests.integration.table.house import House
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


async def refusal_of(person: Person, table_id: str, asked: pb.Command) -> grpc.aio.AioRpcError:
    request = pb.ExecuteRequest(table_id=table_id, command=asked)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await person.tables.Execute(request, metadata=person.metadata)
    return refused.value


async def all_taken(stream: PlayCall, table_id: str) -> None:
    """Until the node has read what was said before: this comes behind it, and goes no further."""
    answer = await stream.answered(await stream.command(table_id, command()))
    assert answer.refusal.reason == "BAD_REQUEST"


async def test_a_full_node_begins_nothing_new_and_ends_what_runs(
    empty_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "services.table.node.Admission", partial(Admission, most_at_once=4, most_new=2)
    )
    house = await empty_house.start()
    await house.open("t1")
    await house.open("t2")
    ann, bob = await house.seat("ann", "t1"), await house.seat("bob", "t2")
    async with ann.playing("t1") as at_one, bob.playing("t2") as at_two:
        await at_two.command("t2", bet(100))
        await at_two.command("t2", done())
        await at_two.event("CutOffered")
        async with house.log_held():
            placed = [await at_one.command("t1", bet(100, box=box)) for box in (1, 2)]
            await all_taken(at_one, "t1")
            # No room for new bets, by either way, and that is told before the log answers.
            refused = await refusal_of(ann, "t1", late := bet(100, box=3))
            assert told(refused) == ("OVERLOADED", "")
            assert refused.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            hint = error_details_pb2.RetryInfo()
            status = rpc_status.from_call(refused)  # type: ignore[arg-type]
            assert status is not None
            assert any(detail.Unpack(hint) for detail in status.details)
            assert hint.retry_delay.ToMilliseconds() == 500
            answer = (await at_one.answered(await at_one.command("t1", late))).refusal
            assert answer.reason == "OVERLOADED"
            assert answer.retry_after.ToMilliseconds() == 500
            # A running hand has its room.
            chosen = await at_two.command("t2", cut())
            spare = await at_two.command("t2", cut())
            await all_taken(at_two, "t2")
            assert told(await refusal_of(bob, "t2", cut())) == ("OVERLOADED", "")
        for each in placed:
            assert (await at_one.answered(each)).acknowledgement.version
        assert (await at_two.answered(chosen)).acknowledgement.version
        assert (await at_two.answered(spare)).refusal.reason == "CUT_NOT_OFFERED"
        await at_two.event("HandSettled")
        # The same command, later.
        assert (await at_one.answered(await at_one.command("t1", late))).acknowledgement.version
        await play_hand(at_one, "t1")
        assert_seamless(at_one.updates)
        assert_seamless(at_two.updates)
