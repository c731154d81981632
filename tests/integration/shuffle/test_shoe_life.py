"""A shoe from its opening to its retirement, over gRPC, on record in a real log."""

from __future__ import annotations

import pytest
from croupier.shuffle.v1 import events_pb2
from croupier.shuffle.v1 import shuffle_pb2 as pb
from croupier.type.v1.card_pb2 import CardProof
from google.protobuf.message import Message

from services.shuffle.server import Shuffle
from shared.proofs.sealed_shoe import SealedShoe
from shared.proofs.seeds import server_seed_commitment
from shared.proofs.shoe_order import dealer_cut
from shared.rpc.access import Role
from shared.sealing import Sealed, card_place, player_audience
from tests.integration.shuffle.conftest import (
    BURN,
    BURN_OPEN,
    DOWN,
    EXPOSED,
    FIELD_KEYS,
    HAND,
    OPEN,
    PLAYER,
    Desk,
    Draw,
    Process,
    events,
    holds,
    refusal,
    request_id,
    types,
)


async def test_a_shoe_lives_from_opening_to_retirement(process: Process, desk: Desk) -> None:
    opened = await desk.open()
    await desk.commit("ann", desk.seed("ann"))
    await desk.commit("bob", desk.seed("bob"))
    assert await desk.cut("ann", 100) == 100
    await desk.open_seed("ann", desk.seed("ann"))
    sealed = await desk.seal()
    assert (list(sealed.used), list(sealed.withheld)) == (["ann"], ["bob"])
    first = await desk.deal(Draw(position=0, use=BURN_OPEN), Draw(position=1, use=BURN), hand="")
    second = await desk.deal(*(Draw(position=at, use=OPEN) for at in range(2, 6)))
    seed = await desk.retire()
    assert await types(process) == [
        "ShoeOpened",
        "SeedCommitted",
        "SeedCommitted",
        "ShoeCut",
        "SeedOpened",
        "ShoeSealed",
        "CardsBurned",
        "CardsShown",
        "ShoeRetired",
    ]
    assert server_seed_commitment(desk.shoe, seed) == opened.commitment
    shoe = SealedShoe(seed, desk.shoe, [("ann", desk.seed("ann"))], 8, 100)
    assert shoe.root == sealed.root
    cards = [*first.cards, *second.cards]
    assert [card.position for card in cards] == [0, 2, 3, 4, 5]
    assert [card.card for card in cards] == [str(shoe.show(at).card) for at in (0, 2, 3, 4, 5)]
    assert all(holds(sealed.root, desk.shoe, card) for card in cards)
    retired = events_pb2.ShoeRetired.FromString((await events(process))[-1].payload)
    assert (retired.dealt_to, list(retired.burned)) == (6, [0, 1])


async def test_the_dealers_cut_is_that_of_the_server_seed(desk: Desk) -> None:
    await desk.open(cut_min_top=10, cut_min_bottom=20)
    at = await desk.cut()
    assert 10 <= at <= 396
    seed = await desk.retire()
    assert dealer_cut(seed, desk.shoe, 10, 396) == at


async def test_two_shoes_never_share_a_seed(desk: Desk) -> None:
    first, second = await desk.open(desk.shoe), await desk.open(f"{desk.shoe}-2")
    assert first.commitment != second.commitment
    assert await desk.retire() != await desk.retire(f"{desk.shoe}-2")


async def test_each_kind_of_card_is_answered_to_whom_it_is_shown(desk: Desk) -> None:
    root = await desk.ready()
    answer = await desk.deal(
        Draw(position=0, use=PLAYER, player="ann"),
        Draw(position=1, use=DOWN),
        Draw(position=2, use=OPEN),
        Draw(position=3, use=BURN),
        Draw(position=4, use=BURN_OPEN),
        Draw(position=5, use=EXPOSED),
    )
    assert [card.position for card in answer.cards] == [0, 2, 4, 5]
    assert all(holds(root, desk.shoe, card) for card in answer.cards)
    turned = await desk.deal(Draw(position=0, use=OPEN), Draw(position=1, use=OPEN))
    assert [card.position for card in turned.cards] == [0, 1]
    assert turned.cards[0] == answer.cards[0]


async def test_a_private_card_is_sealed_in_the_log(process: Process, desk: Desk) -> None:
    await desk.ready()
    answer = await desk.deal(Draw(position=0, use=PLAYER, player="ann"))
    recorded = (await events(process))[-1]
    [shown] = events_pb2.CardsShown.FromString(recorded.payload).cards
    sealed = Sealed(shown.sealed.key_id, shown.sealed.nonce, shown.sealed.ciphertext)
    opened = FIELD_KEYS.unseal_field(sealed, HAND, player_audience("ann"), card_place(desk.shoe, 0))
    assert CardProof.FromString(opened) == answer.cards[0]
    assert answer.cards[0].salt not in recorded.payload


async def test_events_name_their_hand_their_cause_and_who_asked(
    process: Process, desk: Desk
) -> None:
    await desk.ready()
    asked = request_id()
    await desk.deal(Draw(position=0, use=OPEN), again=asked)
    recorded = await events(process)
    assert recorded[0].hand_id is None
    assert recorded[-1].hand_id == HAND
    assert str(recorded[-1].causation_id) == asked
    assert recorded[-1].correlation_id is not None
    assert {event.actor for event in recorded} == {"table-service/node-1"}


async def test_the_cut_card_is_told_once(process: Process, desk: Desk) -> None:
    await desk.ready(decks=1, behind_cut_card=7)
    first = await desk.deal(*(Draw(position=at, use=DOWN) for at in range(45)))
    reached = await desk.deal(Draw(position=45, use=DOWN))
    after = await desk.deal(Draw(position=46, use=DOWN))
    told = [answer.cut_card_reached for answer in (first, reached, after)]
    assert told == [False, True, False]
    assert (await types(process)).count("CutCardReached") == 1
    assert (await desk.get()).cut_card_reached


async def test_what_anyone_may_know_of_a_shoe(desk: Desk) -> None:
    opened = await desk.open(decks=6)
    await desk.commit("ann", desk.seed("ann"))
    shoe = await desk.get()
    assert (shoe.phase, shoe.decks, shoe.commitment) == (pb.SHOE_PHASE_OPEN, 6, opened.commitment)
    assert (shoe.seeds[0].player, shoe.seeds[0].seed) == ("ann", b"")
    await desk.cut("ann", 9)
    await desk.open_seed("ann", desk.seed("ann"))
    root = (await desk.seal()).root
    await desk.deal(Draw(position=0, use=DOWN))
    shoe = await desk.at(role=Role.AUDIT_SERVICE).get()
    assert (shoe.phase, shoe.cut_at, shoe.root) == (pb.SHOE_PHASE_SEALED, 9, root)
    assert (shoe.seeds[0].seed, shoe.next_position, shoe.server_seed) == (desk.seed("ann"), 1, b"")
    seed = await desk.retire()
    shoe = await desk.get()
    assert (shoe.phase, shoe.server_seed) == (pb.SHOE_PHASE_RETIRED, seed)
    assert await refusal(desk.get("another")) == "SHOE_NOT_FOUND"


async def test_an_unpublished_shoe_is_disclosed_to_the_audit_once_it_is_over(
    process: Process, desk: Desk
) -> None:
    audit = desk.at(role=Role.AUDIT_SERVICE, subject="audit-1")
    root = await desk.ready(publish=False, decks=1)
    assert await refusal(audit.disclose()) == "SHOE_NOT_RETIRED"
    cut_at = (await desk.get()).cut_at
    assert await desk.retire() == b""
    assert (await desk.get()).server_seed == b""
    asked = request_id()
    seed = await audit.disclose(again=asked)
    assert SealedShoe(seed, desk.shoe, [], 1, cut_at).root == root
    assert await audit.disclose(again=asked) == seed
    person = events_pb2.DISCLOSURE_PURPOSE_PERSON
    assert await audit.disclose(purpose=person, person="inspector", why="claim 9") == seed
    disclosed = [
        events_pb2.ShoeDisclosed.FromString(event.payload)
        for event in await events(process)
        if event.type == "ShoeDisclosed"
    ]
    assert [(each.to, each.why) for each in disclosed] == [
        ("audit-1", "derive it again"),
        ("inspector", "claim 9"),
    ]
    assert await refusal(audit.disclose(purpose=person)) == "BAD_REQUEST"
    assert await refusal(audit.disclose(person="inspector")) == "BAD_REQUEST"
    assert await refusal(desk.disclose()) == "ROLE_NOT_ALLOWED"


async def test_a_published_shoe_may_be_disclosed_too(desk: Desk) -> None:
    await desk.ready()
    seed = await desk.retire()
    assert await desk.at(role=Role.AUDIT_SERVICE).disclose() == seed


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("OpenShoe", pb.OpenShoeRequest(request_id="7", shoe_id="shoe-1", table_id="t", epoch=1)),
        ("GetShoe", pb.GetShoeRequest(shoe_id="a/b")),
        ("GetShoe", pb.GetShoeRequest(shoe_id="")),
        ("GetShoe", pb.GetShoeRequest(shoe_id="ü")),
        ("GetShoe", pb.GetShoeRequest(shoe_id="x" * 65)),
        ("RetireShoe", pb.RetireShoeRequest(request_id=request_id(), shoe_id="shoe-1")),
        ("Deal", pb.DealRequest(request_id=request_id(), shoe_id="shoe-1", draws=[Draw()])),
    ],
)
async def test_what_cannot_be_meant_is_refused(desk: Desk, method: str, request_: Message) -> None:
    assert await refusal(desk.call(method, request_, Message)) == "BAD_REQUEST"


async def test_a_dealer_draws_his_place(desk: Desk) -> None:
    await desk.open()
    assert await refusal(desk.cut("", 5)) == "BAD_REQUEST"


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.TABLE_SERVICE])
async def test_nobody_but_the_table_service_gets_a_card(desk: Desk, role: Role) -> None:
    await desk.ready()
    stranger = desk.at(role=role)
    assert await refusal(stranger.deal(Draw(position=0, use=OPEN))) == "ROLE_NOT_ALLOWED"
    assert await refusal(stranger.retire()) == "ROLE_NOT_ALLOWED"


def test_every_method_of_the_proto_is_served() -> None:
    service = pb.DESCRIPTOR.services_by_name["ShuffleService"]
    assert {method.name for method in service.methods} <= set(vars(Shuffle))


async def test_a_table_may_be_called_by_a_number(desk: Desk) -> None:
    shoe = f"7-s{desk.shoe.removeprefix('shoe-')[:20]}"
    await desk.at(table_id="7").ready(shoe)
    assert (await desk.get(shoe)).table_id == "7"


async def test_open_shoes_are_listed_until_they_are_retired(desk: Desk) -> None:
    """Published or not; a page goes on behind the last one."""
    shoes = [f"{desk.shoe}-{number}" for number in range(4)]
    for number, shoe in enumerate(shoes):
        await desk.open(shoe, publish=number % 2 == 0)
    assert await open_shoes(desk, page_size=3) == shoes
    await desk.retire(shoes[0])
    await desk.retire(shoes[1])
    assert await open_shoes(desk, page_size=2) == shoes[2:]
    backwards = pb.ListOpenShoesRequest(page_size=-1)
    assert await refusal(desk.call("ListOpenShoes", backwards, pb.ListOpenShoesResponse)) == (
        "BAD_REQUEST"
    )


async def open_shoes(desk: Desk, page_size: int) -> list[str]:
    """Those of this test."""
    found: list[str] = []
    token = ""
    while True:
        request = pb.ListOpenShoesRequest(page_size=page_size, page_token=token)
        page = await desk.call("ListOpenShoes", request, pb.ListOpenShoesResponse)
        assert len(page.shoe_ids) <= page_size
        found += page.shoe_ids
        token = page.next_page_token
        if not token:
            return [shoe_id for shoe_id in found if shoe_id.startswith(desk.shoe)]
