"""The audit service on the wire: lists, replays, raw events, progress, and who may ask."""

from __future__ import annotations

import json
from datetime import UTC

import pytest
from croupier.audit.v1 import audit_pb2 as pb
from google.protobuf.timestamp_pb2 import Timestamp

from shared.errors import CroupierError
from shared.rpc.access import Role
from shared.table import events as e
from tests.integration.audit.conftest import Client, RealHouse, refused


async def listed(client: Client, **wanted: object) -> list[str]:
    return [hand.hand_id for hand in (await client.hands(**wanted)).hands]


async def test_hands_are_listed_newest_first_page_by_page(real: RealHouse, client: Client) -> None:
    ids = (await real.play(5))[::-1]
    assert await listed(client) == ids
    first = await client.hands(page_size=2)
    second = await client.hands(page_size=2, page_token=first.next_page_token)
    last = await client.hands(page_size=2, page_token=second.next_page_token)
    assert [hand.hand_id for page in (first, second, last) for hand in page.hands] == ids
    assert last.next_page_token == ""
    [hand] = (await client.hands(page_size=1)).hands
    assert (hand.table_id, hand.game, hand.number) == ("t1", "baccarat", 5)
    assert list(hand.players) == ["ann", "bob"]
    assert hand.result in ("player", "banker")
    assert hand.opened_at.ToDatetime(UTC) < hand.ended_at.ToDatetime(UTC)
    assert not hand.voided


async def test_hands_are_found_by_table_player_game_and_time(
    real: RealHouse, client: Client
) -> None:
    await real.house.open_table("t2")
    await real.house.seat("t2", "cid", 50_000)
    of_t1 = await real.play(2)
    of_t2 = [await real.house.play("t2", ("cid", 3, "player", 1_000)) for _ in range(2)]
    await real.settle()
    assert await listed(client, table_id="t1") == of_t1[::-1]
    assert await listed(client, table_id="t2", game="baccarat") == of_t2[::-1]
    assert await listed(client, table_id="t2", game="battle") == []
    assert await listed(client, player="cid") == of_t2[::-1]
    assert await listed(client, player="ann", table_id="t2") == []
    assert await listed(client, player="ann", game="baccarat", page_size=1) == of_t1[1:]
    assert len(await listed(client, game="baccarat")) == 4
    assert await listed(client, game="draw_poker") == []
    opened = [hand.opened_at for hand in (await client.hands(table_id="t1")).hands][::-1]
    assert await listed(client, table_id="t1", until=opened[1]) == of_t1[:1]
    request = pb.ListHandsRequest(table_id="t1")
    getattr(request, "from").CopyFrom(opened[1])
    answer = await client.call("ListHands", request, pb.ListHandsResponse)
    assert [hand.hand_id for hand in answer.hands] == of_t1[1:]


async def test_pages_that_there_cannot_be_are_refused(client: Client) -> None:
    for token in ("x", "!!!!", "bm8gdGltZTp4", "OTk5OTk5OTk5OTk5OTk5OTk5OTk6eA=="):
        with pytest.raises(CroupierError) as error:
            await client.hands(page_token=token)
        assert refused(error) == ("BAD_PAGE_TOKEN", "page_token")
    with pytest.raises(CroupierError) as error:
        await client.hands(page_size=-1)
    assert refused(error) == ("BAD_REQUEST", "page_size")


async def test_times_that_there_are_not_are_refused(client: Client) -> None:
    for stamp in (Timestamp(seconds=10**18), Timestamp(nanos=2 * 10**9)):
        with pytest.raises(CroupierError) as error:
            await client.hands(until=stamp)
        assert refused(error) == ("BAD_REQUEST", "until")


async def test_a_replay_tells_a_hand_from_start_to_end(real: RealHouse, client: Client) -> None:
    [hand_id] = await real.play(1)
    answer = await client.replay(hand_id)
    assert answer.hand.hand_id == hand_id
    assert (answer.hand.game, answer.hand.result) == ("baccarat", "banker")
    assert list(answer.hand.players) == ["ann", "bob"]
    types = [step.type for step in answer.steps]
    assert types[0] == "BettingOpened"
    assert types[-1] == "TransferPosted"
    assert types.index("CardsDue") < types.index("CardsBurned") < types.index("CardsDealt")
    settled = answer.steps[types.index("HandSettled")]
    assert json.loads(settled.body_json)["result"] == "banker"
    sights = {sight.party: dict(sight.cards) for sight in settled.sights}
    assert sights["public"] == sights["auditor"]
    assert len(answer.shoe_root) == 32
    assert len(answer.proofs) >= 4


async def test_a_hand_still_being_played_is_told_as_far_as_it_is(
    real: RealHouse, client: Client
) -> None:
    await real.house.give("t1", e.BetPlaced("ann", 1, "tie", 100))
    betting = real.house.tables["t1"].betting
    assert betting is not None
    answer = await client.replay(betting.hand_id)
    types = [step.type for step in answer.steps]
    assert (types[0], *types[-2:]) == ("BettingOpened", "BetPlaced", "BettingClockStarted")
    assert (answer.hand.number, answer.hand.game, answer.hand.result) == (1, "", "")
    assert answer.shoe_root == b""
    assert (await client.verify(betting.hand_id)).verified


async def test_a_hand_that_is_not_there(client: Client) -> None:
    for call in (client.replay, client.verify):
        for hand_id in ("", "t1-999"):
            with pytest.raises(CroupierError) as error:
                await call(hand_id)
            assert refused(error) == ("HAND_NOT_FOUND", "hand_id")


async def test_a_hand_the_wallet_has_not_come_to_is_not_judged(
    real: RealHouse, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.audit.check_hand.WAIT_FOR_WALLET_S", 0.0)
    hand_id = await real.house.play("t1", ("ann", 1, "banker", 2_000), ("bob", 2, "player", 500))
    with pytest.raises(CroupierError) as error:
        await client.verify(hand_id)
    assert refused(error) == ("NOT_INDEXED_YET", "")
    await real.settle()
    assert (await client.verify(hand_id)).verified


async def test_one_table_alone_can_be_verified(real: RealHouse, client: Client) -> None:
    await real.house.open_table("t2")
    await real.house.seat("t2", "cid", 50_000)
    await real.play(2)
    await real.house.play("t2", ("cid", 3, "player", 1_000))
    await real.settle()
    *_, last = await client.verify_all("t2")
    assert (last.hands_verified, last.hands_total, list(last.findings)) == (1, 1, [])
    assert pb.CHECK_LEDGER not in last.checks_done
    with pytest.raises(CroupierError) as error:
        await client.verify_all("t3")
    assert refused(error) == ("TABLE_NOT_FOUND", "table_id")


async def test_what_the_wallet_has_parked_is_told(real: RealHouse, client: Client) -> None:
    await real.play(1)
    await real.root.execute(
        """
        INSERT INTO wallet.parked_events
               (consumer, stream, version, partition, position, type, error)
        VALUES ('wallet', 'table/t1', 99, 'table.0', 99, 'HandSettled', 'BAD_AMOUNT')
        """
    )
    [found] = await client.findings()
    assert (found.stream, found.message) == (
        "table/t1",
        "the wallet has parked events of this table",
    )


async def test_a_table_can_be_verified_while_it_plays(real: RealHouse, client: Client) -> None:
    """Whatever moment the snapshot takes, nothing is wrong: also before the wallet has come."""
    await real.play(1)
    for fact in (
        e.BetPlaced("ann", 1, "banker", 2_000),
        e.BetsDone("ann"),
        e.BetPlaced("bob", 2, "player", 500),
        e.BetsDone("bob"),
        e.LeaveRequested("bob"),
        e.CashOutAsked("ann", 3_000),
    ):
        await real.house.give("t1", fact)
        assert await client.findings() == []
    await real.settle()
    assert await client.findings() == []


async def test_raw_events_by_partition_and_by_stream(real: RealHouse, client: Client) -> None:
    await real.play(1)
    seen: list[pb.ListEventsResponse.Event] = []
    after = 0
    while True:
        page = await client.events(partition="table.0", after=after, page_size=10)
        seen.extend(page.events)
        if not page.next_after:
            break
        after = page.next_after
    assert [event.position for event in seen] == list(range(1, len(seen) + 1))
    assert json.loads(seen[0].body_json)["table_id"] == "t1"
    assert len(seen[0].hash) == 32
    whole = await client.events(stream="table/t1", page_size=500)
    assert [event.position for event in whole.events] == [event.position for event in seen]
    assert whole.next_after == 0
    tail = await client.events(stream="table/t1", after=len(seen) - 1)
    assert [event.version for event in tail.events] == [len(seen)]


async def test_an_event_that_cannot_be_read_is_still_listed(
    real: RealHouse, client: Client
) -> None:
    await real.tamper(
        "UPDATE log.events SET payload = '\\xff' WHERE partition = 'table.0' AND position = 2"
    )
    page = await client.events(partition="table.0", page_size=2)
    assert page.events[1].body_json == "null"


async def test_a_page_of_events_stays_below_what_a_message_may_hold(
    real: RealHouse, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.audit.server.MAX_PAGE_BYTES", 1_000)
    page = await client.events(partition="table.0")
    assert 1 < len(page.events) < 10
    assert page.next_after == page.events[-1].position


async def test_events_that_cannot_be_asked_for(client: Client) -> None:
    refusals: list[tuple[dict[str, object], str]] = [
        ({}, "partition"),
        ({"partition": "table.0", "stream": "table/t1"}, "partition"),
        ({"partition": "table.0", "after": -1}, "after"),
        ({"partition": "table.0", "page_size": -1}, "page_size"),
    ]
    for wanted, field in refusals:
        with pytest.raises(CroupierError) as error:
            await client.events(**wanted)
        assert refused(error) == ("BAD_REQUEST", field)


async def test_progress_is_indexed_positions_against_heads(real: RealHouse, client: Client) -> None:
    async def progress() -> dict[str, tuple[int, int]]:
        answer = await client.call("GetProgress", pb.GetProgressRequest(), pb.GetProgressResponse)
        return {each.partition: (each.indexed, each.head) for each in answer.partitions}

    before = await progress()
    assert before["table.0"][0] == 0 < before["table.0"][1]
    await real.settle()
    assert all(indexed == head for indexed, head in (await progress()).values())


async def test_only_auditors_are_let_in(real: RealHouse, client: Client) -> None:
    for role in Role:
        stranger = Client(client.channel, role)
        if role is Role.AUDITOR:
            continue
        with pytest.raises(CroupierError) as error:
            await stranger.hands()
        assert error.value.reason == "ROLE_NOT_ALLOWED"
