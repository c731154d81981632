"""A table changes its node while shuffle is away: nobody waits for ever, and nothing goes wrong."""

from __future__ import annotations

import asyncio

import pytest

from services.table import metrics, node
from services.table.owner import TableOwner
from shared.errors import CroupierError
from tests.integration.table.house import House
from tests.integration.table.people import bet, join, play_hand
from tests.polling import eventually


def fencing() -> float:
    [metric] = metrics.fencing.collect()
    return metric.samples[0].value


async def test_a_caller_does_not_wait_for_shuffle_without_end(
    empty_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new owner must tell shuffle before it decides anything, so it goes on trying, with one
    claim in the log; callers hear what is missing. When shuffle is back so is the table."""
    monkeypatch.setattr(node, "CLAIM_WAIT_S", 0.2)
    house = await empty_house.start()
    await house.open("t1")
    await house.services["shuffle-1"].stop()
    await house.services["table-1"].stop()
    await house.node("table-2")
    ann = house.person("ann", node="table-2")

    async def refusal() -> str:
        try:
            await ann.view("t1")
        except CroupierError as refused:
            return refused.reason
        return ""

    # Until the claim is in the log the table is nobody's.
    async def shuffle_is_missed() -> bool:
        return await refusal() == "SHUFFLE_UNAVAILABLE"

    await eventually(shuffle_is_missed)
    assert fencing() == 1
    with pytest.raises(CroupierError) as refused:
        await ann.execute("t1", bet(100))
    assert refused.value.reason == "SHUFFLE_UNAVAILABLE"
    stream = ann.play()
    await stream.watch("t1")
    asked = await stream.command("t1", join())
    assert (await stream.answered(asked)).refusal.reason == "SHUFFLE_UNAVAILABLE"
    stream.cancel()
    assert (await house.types("t1")).count("TableClaimed") == 2, "one for each node, no more"
    await house.services["shuffle-1"].start()

    async def served() -> bool:
        return not await refusal()

    await eventually(served)
    assert fencing() == 0
    assert (await house.types("t1")).count("TableClaimed") == 2
    bob = await house.seat("bob", node="table-2")
    async with bob.playing("t1") as playing:
        await play_hand(playing)


async def test_a_node_that_stops_while_shuffle_is_away_keeps_nobody_waiting(
    empty_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for its claim is sent elsewhere; the node ends."""
    house = await empty_house.start()
    await house.open("t1")
    await house.services["shuffle-1"].stop()
    await house.services["table-1"].stop()
    await house.node("table-2")
    await eventually(lambda: fencing() == 1)
    ann = house.person("ann", node="table-2")
    there, find = asyncio.Event(), node.Node.find

    async def noticed(asked: node.Node, table_id: str) -> TableOwner:
        there.set()
        return await find(asked, table_id)

    monkeypatch.setattr(node.Node, "find", noticed)
    waiting = asyncio.create_task(ann.view("t1"))
    await there.wait()  # before, nobody might listen any more when it comes
    await house.services["table-2"].stop()
    with pytest.raises(CroupierError) as refused:
        await waiting
    assert refused.value.reason in ("SHUFFLE_UNAVAILABLE", "NO_OWNER", "DRAINING")
