"""Shoes whose seed is never published are derived again; private cards stay private."""

from __future__ import annotations

import json

import pytest
from croupier.audit.v1 import audit_pb2 as pb
from croupier.shuffle.v1.shuffle_pb2_grpc import (
    ShuffleServiceStub,
    add_ShuffleServiceServicer_to_server,
)

from services.audit.disclosure import Disclosure
from services.shuffle.server import Shuffle
from shared.errors import CroupierError
from shared.rpc.access import Role
from shared.rpc.channel import connect
from shared.rpc.server import Server
from shared.table import events as e
from tests.integration.audit.conftest import Client, RealHouse, refused
from tests.services import settings_without_servers, token


async def played(real: RealHouse) -> str:
    """A hand of casino hold'em, folded; its shoe is retired after it."""
    await real.house.open_table("t2", "casino_holdem")
    await real.house.seat("t2", "cid", 50_000)
    hand_id = await real.house.play("t2", ("cid", 3, "ante", 1_000))
    await real.house.give("t2", e.DecisionMade("cid", 3, "fold"))
    await real.settle()
    return hand_id


async def test_a_secret_shoe_is_derived_again_and_the_asking_is_on_record_once(
    real: RealHouse, client: Client
) -> None:
    hand_id = await played(real)
    for _ in range(2):
        assert list((await client.verify(hand_id)).findings) == []
        assert await client.findings() == []
    [shoe_id] = set(real.disclosed)
    assert len(real.disclosed) == 4
    asked = await real.root.fetchval(
        "SELECT count(*) FROM log.events WHERE type = 'ShoeDisclosed' AND stream = $1",
        f"shuffle/{shoe_id}",
    )
    assert asked == 1


async def test_another_seed_than_the_committed_one_is_told(real: RealHouse, client: Client) -> None:
    hand_id = await played(real)
    real.instead = bytes(32)
    [found] = (await client.verify(hand_id)).findings
    assert (found.check, found.message) == (
        pb.CHECK_SHOE,
        "the server seed is not the one that was committed to",
    )


async def test_a_seed_that_shuffle_has_no_more_is_told(real: RealHouse, client: Client) -> None:
    hand_id = await played(real)
    real.instead = CroupierError("INTERNAL", "something went wrong on our side")
    [found] = (await client.verify(hand_id)).findings
    assert found.message == (
        "shuffle does not tell the seed of the shoe: INTERNAL: something went wrong on our side"
    )


async def test_without_shuffle_nothing_is_judged(real: RealHouse, client: Client) -> None:
    hand_id = await played(real)
    for reason in ("DRAINING", "OVERLOADED", "LOG_CONFLICT"):
        real.instead = CroupierError(reason, "not now")
        with pytest.raises(CroupierError) as error:
            await client.verify(hand_id)
        assert refused(error) == (reason, "")


async def test_private_cards_are_opened_for_the_auditor_alone(
    real: RealHouse, client: Client
) -> None:
    hand_id = await played(real)
    answer = await client.replay(hand_id)
    dealt = next(
        step
        for step in answer.steps
        if step.type == "CardsDealt" and "FACE_OWNER" in step.body_json
    )
    sights = {sight.party: dict(sight.cards) for sight in dealt.sights}
    assert sights["player:cid"]["box3"] == sights["auditor"]["box3"]
    assert sights["public"]["box3"] == "?? ??"
    assert sights["public"]["dealer"] == sights["auditor"]["dealer"] == "?? ??"
    opened = [card.get("opened") for card in json.loads(dealt.body_json)["cards"]]
    assert [card for card in opened if card] == sights["player:cid"]["box3"].split()
    # Neither the index nor the log holds them in the clear.
    private = await real.root.fetch(
        "SELECT card FROM audit.card WHERE hand_id = $1 AND face = 'owner'", hand_id
    )
    assert [row["card"] for row in private] == [None, None]


async def test_shuffle_discloses_to_the_audit_service(real: RealHouse) -> None:
    await played(real)
    retired = await real.root.fetchval(
        "SELECT stream FROM log.events WHERE type = 'ShoeRetired' LIMIT 1"
    )
    shoe_id = retired.removeprefix("shuffle/")
    server = Server(settings_without_servers())
    add_ShuffleServiceServicer_to_server(Shuffle(real.house.shoes), server.grpc)
    port = await server.start()
    async with connect(f"127.0.0.1:{port}") as channel:
        stub = ShuffleServiceStub(channel)
        disclose = Disclosure(stub, token(Role.AUDIT_SERVICE))
        assert len(await disclose(shoe_id)) == 32
        assert await disclose(shoe_id) == await real.disclose(shoe_id)
        with pytest.raises(CroupierError) as error:
            await disclose("t9-s9")
        assert error.value.reason == "SHOE_NOT_FOUND"
        with pytest.raises(CroupierError) as error:
            await Disclosure(stub, token(Role.AUDITOR))(shoe_id)
        assert error.value.reason == "ROLE_NOT_ALLOWED"
    await server.drain()
