"""Cards of many tables in one call: each request is answered for itself."""

from __future__ import annotations

import pytest
from croupier.shuffle.v1 import shuffle_pb2 as pb

from tests.integration.shuffle.conftest import HAND, Desk, refusal


def _deal(
    desk: Desk, *positions: int, shoe_id: str = "", again: str | None = None
) -> pb.DealRequest:
    draws = [pb.DealRequest.Draw(position=at, use=pb.USE_OPEN) for at in positions]
    return pb.DealRequest(**desk.common(again, shoe_id), hand_id=HAND, draws=draws)


async def _deal_many(desk: Desk, *deals: pb.DealRequest) -> list[pb.DealOutcome]:
    request = pb.DealManyRequest(deals=deals)
    return list((await desk.call("DealMany", request, pb.DealManyResponse)).outcomes)


async def test_each_shoe_gives_its_own_cards(desk: Desk) -> None:
    await desk.ready()
    other = f"{desk.shoe}-b"
    await desk.ready(other)
    first, second = await _deal_many(desk, _deal(desk, 0, 1), _deal(desk, 0, shoe_id=other))
    assert [card.position for card in first.dealt.cards] == [0, 1]
    assert [card.position for card in second.dealt.cards] == [0]
    alone = await desk.deal(pb.DealRequest.Draw(position=2, use=pb.USE_OPEN))
    assert [card.position for card in alone.cards] == [2]


async def test_one_that_is_refused_keeps_nobody_from_his_cards(desk: Desk) -> None:
    await desk.ready()
    wrong, nowhere, malformed, right = await _deal_many(
        desk,
        _deal(desk, 7),
        _deal(desk, 0, shoe_id="no-such-shoe"),
        _deal(desk, 0, again="no uuid"),
        _deal(desk, 0),
    )
    assert wrong.refused.reason == "BAD_POSITION"
    assert nowhere.refused.reason == "SHOE_NOT_FOUND"
    assert (malformed.refused.reason, malformed.refused.field) == ("BAD_REQUEST", "request_id")
    assert len(right.dealt.cards) == 1


async def test_a_request_is_the_same_alone_and_among_others(desk: Desk) -> None:
    await desk.ready()
    request = _deal(desk, 0, 1)
    alone = await desk.call("Deal", request, pb.DealResponse)
    [among_others] = await _deal_many(desk, request)
    assert among_others.dealt == alone


@pytest.mark.parametrize("count", [0, 65])
async def test_there_is_a_bound(desk: Desk, count: int) -> None:
    await desk.ready()
    deals = [_deal(desk, 0) for _ in range(count)]
    assert await refusal(_deal_many(desk, *deals)) == "BAD_REQUEST"
