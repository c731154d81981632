"""Shoes that tables lose: left open by nobody's table, or retired under one that deals from it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import grpc
import pytest
from croupier.shuffle.v1 import events_pb2
from croupier.shuffle.v1 import shuffle_pb2 as shuffle
from croupier.shuffle.v1.shuffle_pb2_grpc import ShuffleServiceStub
from croupier.table.v1 import table_pb2 as pb

from services.table import sweep
from shared.rpc.access import Role
from tests.integration.table.house import House
from tests.integration.table.people import bet, done, play_hand
from tests.polling import eventually
from tests.services import bearer


class Shuffle:
    """Shuffle, as any table node may speak to it."""

    def __init__(self, house: House) -> None:
        self._stub: Any = ShuffleServiceStub(house.channel("shuffle-1"))

    async def call(self, method: str, request: Any) -> Any:
        return await getattr(self._stub, method)(
            request, metadata=bearer(Role.TABLE_SERVICE, "test"), timeout=10
        )

    async def open(self, table_id: str, shoe_id: str, epoch: int = 1) -> None:
        await self.call(
            "OpenShoe",
            shuffle.OpenShoeRequest(
                request_id=str(uuid4()),
                shoe_id=shoe_id,
                table_id=table_id,
                epoch=epoch,
                decks=1,
                cut_min_top=1,
                cut_min_bottom=1,
            ),
        )

    async def retire(self, table_id: str, shoe_id: str, epoch: int = 1) -> None:
        await self.call(
            "RetireShoe",
            shuffle.RetireShoeRequest(
                request_id=str(uuid4()),
                shoe_id=shoe_id,
                table_id=table_id,
                epoch=epoch,
                retire_reason=events_pb2.RETIRE_REASON_ABORTED,
            ),
        )

    async def phase(self, shoe_id: str) -> shuffle.ShoePhase.ValueType:
        answer = await self.call("GetShoe", shuffle.GetShoeRequest(shoe_id=shoe_id))
        phase: shuffle.ShoePhase.ValueType = answer.shoe.phase
        return phase


async def reason_of(house: House, shoe_id: str) -> str:
    rows = await house.sql(
        "SELECT payload FROM log.events WHERE stream = $1 AND type = 'ShoeRetired'",
        f"shuffle/{shoe_id}",
    )
    [row] = rows
    number = events_pb2.ShoeRetired.FromString(row["payload"]).retire_reason
    return events_pb2.RetireReason.Name(number)


async def test_a_shoe_that_no_table_has_is_retired_and_counted_as_given_up(
    empty_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a table that is gone, of one that was closed, of one that goes on without it; those that
    the table has stay."""
    monkeypatch.setattr(sweep, "SWEEP_EVERY_S", 0.05)
    house = await empty_house.start()
    await house.open("t1")
    await house.open("t2")
    close = pb.CloseTableRequest(table_id="t2", command_id=str(uuid4()))
    await house.operator.call("CloseTable", close)

    async def closed() -> bool:
        return (await house.types("t2")).count("ShoePutAway") == 1

    await eventually(closed)
    at_shuffle = Shuffle(house)
    left_over = ["gone-s7", "t1-s900", "t2-s900"]
    for shoe_id in left_over:
        await at_shuffle.open(shoe_id.partition("-")[0], shoe_id)

    async def swept() -> bool:
        phases = [await at_shuffle.phase(shoe_id) for shoe_id in left_over]
        return phases == [shuffle.SHOE_PHASE_RETIRED] * 3

    await eventually(swept)
    assert {await reason_of(house, shoe_id) for shoe_id in left_over} == {"RETIRE_REASON_ABORTED"}
    assert await at_shuffle.phase("t1-s2") == shuffle.SHOE_PHASE_OPEN


async def test_a_table_whose_shoe_is_retired_under_it_voids_the_hand_and_goes_on(
    house: House,
) -> None:
    """As after `croupier log recover` at a table that no node could read then."""
    await house.open("t1")
    ann = await house.seat("ann")
    async with ann.playing("t1") as stream:
        await play_hand(stream)
        view = (await ann.view("t1")).table
        await Shuffle(house).retire("t1", view.shoe.shoe_id)
        await stream.command("t1", bet(100))
        await stream.command("t1", done())
        voided = await stream.event("HandVoided")
        assert voided.hand_voided.why == "shoe_retired"
        await play_hand(stream)
    assert (await ann.view("t1")).table.shoe.shoe_id != view.shoe.shoe_id


async def test_an_opening_that_comes_after_its_shoe_was_put_away_opens_nothing(
    house: House,
) -> None:
    """The table was closed while shuffle had not heard of its shoe; whoever retired it has opened
    it first, with the same request."""
    await house.services["shuffle-1"].stop()
    request = pb.OpenTableRequest(
        command_id=str(uuid4()), table_id="t1", game="baccarat", currency="EUR"
    )
    await house.operator.call("OpenTable", request)
    close = pb.CloseTableRequest(table_id="t1", command_id=str(uuid4()))
    await house.operator.call("CloseTable", close)
    await house.services["shuffle-1"].start()

    async def put_away() -> bool:
        return "ShoePutAway" in await house.types("t1")

    await eventually(put_away)
    assert await Shuffle(house).phase("t1-s2") == shuffle.SHOE_PHASE_RETIRED
    with pytest.raises(grpc.aio.AioRpcError, match="there is such a shoe already"):
        await Shuffle(house).open("t1", "t1-s2")
