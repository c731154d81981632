"""Every shoe is accounted for; secret ones are derived again; who looks at one is seen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast
from uuid import uuid4

import pytest
from croupier.audit.v1 import audit_pb2 as pb
from croupier.audit.v1 import events_pb2

from clients.cli.whole_shoe import WholeShoe, of_answer
from services.audit.shoe_checker import ShoeChecker
from services.shuffle.decide import Asker
from services.shuffle.shoe import RetireReason
from services.shuffle.shoes import Request
from shared.cards import parse_card
from shared.errors import CroupierError
from shared.log import PostgresLog, open_pool
from shared.proofs.seeds import player_seed_commitment
from shared.proofs.shown_card import ShownCard, shown_card_holds
from shared.rpc.access import Role
from shared.table import events as e
from tests.integration.audit.conftest import Client, RealHouse, refused
from tests.integration.audit.forging import forge
from tests.playing import FIELD_KEYS
from tests.servers import Database

SEED = bytes(range(16))


@pytest.fixture
async def checker(real: RealHouse, database: Database) -> AsyncIterator[ShoeChecker]:
    pool = await open_pool(database.dsn("croupier_audit"), 2)
    async with PostgresLog(pool) as log:
        yield ShoeChecker(log, pool, FIELD_KEYS, real.disclose)
    await pool.close()


async def fold(real: RealHouse, player: str = "cid", table_id: str = "t2") -> str:
    """A hand of casino hold'em that is folded; its shoe is over."""
    hand_id = await real.house.play(table_id, (player, 3, "ante", 1_000))
    await real.house.give(table_id, e.DecisionMade(player, 3, "fold"), f"player:{player}")
    await real.settle()
    return hand_id


async def at_holdem(real: RealHouse) -> str:
    await real.house.open_table("t2", "casino_holdem")
    await real.house.seat("t2", "cid", 50_000)
    return await fold(real)


async def shoes(client: Client, **wanted: object) -> pb.ListShoesResponse:
    request = pb.ListShoesRequest(**wanted)  # type: ignore[arg-type]
    return await client.call("ListShoes", request, pb.ListShoesResponse)


async def disclosures(client: Client, **wanted: object) -> list[pb.Disclosure]:
    request = pb.ListDisclosuresRequest(**wanted)  # type: ignore[arg-type]
    answer = await client.call("ListDisclosures", request, pb.ListDisclosuresResponse)
    return list(answer.disclosures)


async def look(
    client: Client, shoe_id: str, why: str = "complaint 17", again: str = ""
) -> pb.DiscloseShoeResponse:
    request = pb.DiscloseShoeRequest(command_id=again or str(uuid4()), shoe_id=shoe_id, why=why)
    return await client.call("DiscloseShoe", request, pb.DiscloseShoeResponse)


def sums_up(totals: pb.ShoeTotals) -> bool:
    """Every opened shoe is open or retired for one of the reasons."""
    ended = totals.played + totals.redeal + totals.table_closed
    ended += totals.aborted + totals.log_recovered
    return totals.opened == totals.open + ended


# ---- Accounts


async def test_every_shoe_that_was_opened_is_accounted_for(real: RealHouse, client: Client) -> None:
    await real.play(1)
    await at_holdem(real)
    answer = await shoes(client)
    assert sums_up(answer.totals)
    assert (answer.totals.requested, answer.totals.opened, answer.totals.open) == (4, 4, 3)
    assert answer.totals.played == 1
    over = next(shoe for shoe in answer.shoes if shoe.retire_reason == "played")
    assert (over.table_id, over.decks, over.publish, over.hands) == ("t2", 1, False, 1)
    assert over.dealt + over.never_dealt == 52
    assert over.HasField("requested_at")
    in_use, following = (await shoes(client, table_id="t1")).shoes[::-1]
    assert (in_use.HasField("sealed_at"), following.HasField("sealed_at")) == (True, False)
    assert in_use.hands == 1


async def test_shoes_that_the_house_gives_up_are_reported(real: RealHouse, client: Client) -> None:
    """A shoe cannot be got rid of: whatever is opened and not played shows."""
    await real.play(1)
    shoe = real.house.tables["t1"].shoe
    assert shoe is not None
    await real.house.give("t1", e.ShoesLost("shoe_retired"), "house")
    for player in ("ann", "bob"):
        await real.house.give("t1", e.LeaveRequested(player))
    await real.house.give("t1", e.TableClosing("pit", "late"))
    await real.settle()
    aborted = (await shoes(client, filter=pb.SHOE_FILTER_ABORTED)).shoes
    given_up = {each.shoe_id: (each.retire_reason, each.dealt) for each in aborted}
    assert shoe.shoe_id in given_up
    assert given_up[shoe.shoe_id][0] == "aborted"
    never_dealt = [reason for reason, dealt in given_up.values() if dealt == 0]
    totals = (await shoes(client)).totals
    assert len(never_dealt) == totals.never_dealt == 2
    assert totals.aborted == 2
    assert sums_up(totals)


async def test_a_shoe_that_no_table_asked_for_is_found(real: RealHouse, client: Client) -> None:
    """A house that opens shoes on the side, to choose among them."""
    await real.play(1)
    assert await client.findings() == []
    request = Request(uuid4(), bytes(32), "table/t1", "node-1", uuid4(), "t1-s999")
    await real.house.shoes.open(request, Asker("t1", 1), 8, (1, 1), 7, True)
    retire = replace(request, id=uuid4())
    await real.house.shoes.retire(retire, Asker("t1", 1), RetireReason.ABORTED)
    await real.settle()
    [found] = await client.findings()
    assert (found.check, found.stream) == (pb.CHECK_SHOE, "shuffle/t1-s999")
    [failed] = (await shoes(client, filter=pb.SHOE_FILTER_FAILED)).shoes
    assert failed.shoe_id == "t1-s999"
    assert not failed.HasField("requested_at")
    assert (await shoes(client)).totals.not_requested == 1


async def test_withheld_seeds_are_counted(real: RealHouse, client: Client) -> None:
    shoe = real.house.tables["t1"].shoe
    assert shoe is not None
    await real.house.give("t1", e.SeedPledged("ann", bytes(32), shoe_id=shoe.shoe_id))
    await real.house.play("t1", ("ann", 1, "banker", 2_000), ("bob", 2, "player", 500))
    clock = next(iter(real.house.tables["t1"].seats))
    assert clock == "ann"
    state = real.house.tables["t1"]
    assert state.shoe is not None
    deadline = state.shoe.seeds_deadline
    real.house.now = lambda: deadline
    await real.house.give("t1", e.ClockExpired(deadline, clock="seeds"), "house")
    await real.settle()
    totals = (await shoes(client)).totals
    assert (totals.seeds_used, totals.seeds_withheld) == (0, 1)
    sealed = (await shoes(client, table_id="t1")).shoes[1]
    assert list(sealed.seeds_withheld) == ["ann"]


async def test_pages_of_shoes_join(real: RealHouse, client: Client) -> None:
    await at_holdem(real)
    for _ in range(3):
        await fold(real)
    whole = await shoes(client)
    found: list[str] = []
    token = ""
    while True:
        page = await shoes(client, page_size=2, page_token=token)
        assert page.HasField("totals") == (token == "")
        found += [shoe.shoe_id for shoe in page.shoes]
        token = page.next_page_token
        if not token:
            break
    assert found == [shoe.shoe_id for shoe in whole.shoes]
    assert len(found) == len(set(found)) == 6
    for bad in ({"page_size": -1}, {"page_token": "?"}, {"filter": 99}):
        with pytest.raises(CroupierError):
            await shoes(client, **bad)


# ---- Derived again


async def test_a_secret_shoe_is_checked_once_it_is_over_and_only_once(
    real: RealHouse, client: Client, checker: ShoeChecker
) -> None:
    await at_holdem(real)
    [due] = (await shoes(client, filter=pb.SHOE_FILTER_UNCHECKED)).shoes
    assert await checker.once() == 1
    assert await checker.once() == 0
    await checker.check(due.shoe_id)  # as another replica would, at the same time
    await real.settle()
    rows = await real.root.fetch(
        "SELECT payload FROM log.events WHERE stream = $1", f"audit/{due.shoe_id}"
    )
    [row] = rows
    checked = events_pb2.ShoeChecked.FromString(row["payload"])
    assert (checked.holds, list(checked.findings), checked.root) == (True, [], due.root)
    [shoe] = [each for each in (await shoes(client)).shoes if each.shoe_id == due.shoe_id]
    assert shoe.HasField("checked_at")
    assert shoe.holds
    assert (await shoes(client)).totals.unchecked == 0
    assert await client.findings() == []
    asked = await real.root.fetchval("SELECT count(*) FROM log.events WHERE type = 'ShoeDisclosed'")
    assert asked == 1


async def test_a_shoe_that_does_not_hold_is_put_on_record(
    real: RealHouse, client: Client, checker: ShoeChecker
) -> None:
    await at_holdem(real)
    real.instead = bytes(32)
    assert await checker.once() == 1
    await real.settle()
    [failed] = (await shoes(client, filter=pb.SHOE_FILTER_FAILED)).shoes
    assert list(failed.findings) == ["the server seed is not the one that was committed to"]
    assert (await shoes(client)).totals.failed == 1


async def test_while_shuffle_does_not_tell_nothing_is_put_on_record(
    real: RealHouse, client: Client, checker: ShoeChecker
) -> None:
    """And the others are checked all the same."""
    await at_holdem(real)
    real.instead = CroupierError("INTERNAL", "something went wrong on our side")
    assert await checker.once() == 0
    real.instead = None
    await fold(real)
    assert await checker.once() == 1
    await real.settle()
    assert (await shoes(client)).totals.unchecked == 1
    assert (await shoes(client)).totals.failed == 0


async def test_a_shoe_that_cannot_be_checked_at_all_holds_up_no_other(
    real: RealHouse, client: Client, checker: ShoeChecker
) -> None:
    await at_holdem(real)
    real.instead = cast(Any, 7)
    assert await checker.once() == 0
    real.instead = None
    await fold(real)
    assert await checker.once() == 1
    await real.settle()
    assert (await shoes(client)).totals.unchecked == 1


async def test_limits_that_leave_no_place_to_cut_are_told(real: RealHouse, client: Client) -> None:
    def tighten(body: Any) -> None:
        body.cut_min_top = 53 - body.cut_min_bottom

    await at_holdem(real)
    [shoe] = (await shoes(client, filter=pb.SHOE_FILTER_UNCHECKED)).shoes
    [opened] = await real.wallet.log.read_stream(f"shuffle/{shoe.shoe_id}", 0, 1)
    await forge(real, opened, tighten)
    messages = {found.message for found in await client.findings()}
    assert "the dealer's cut does not follow from the server seed" in messages


async def test_a_shoe_that_was_never_sealed_is_checked_as_far_as_it_came(
    real: RealHouse, client: Client, checker: ShoeChecker
) -> None:
    await at_holdem(real)
    await real.house.give("t2", e.LeaveRequested("cid"))
    await real.house.give("t2", e.TableClosing("pit", "late"))
    await real.settle()
    assert await checker.once() == 2
    await real.settle()
    totals = (await shoes(client)).totals
    assert (totals.unchecked, totals.failed, totals.never_dealt) == (0, 0, 1)


# ---- Looked at by people


async def test_an_auditor_opens_a_shoe_and_the_players_concerned_see_it(
    real: RealHouse, client: Client
) -> None:
    hand_id = await at_holdem(real)
    [over] = (await shoes(client, filter=pb.SHOE_FILTER_UNCHECKED)).shoes
    cid = replace(client, role=Role.PLAYER, subject="cid")
    ann = replace(client, role=Role.PLAYER, subject="ann")
    assert await disclosures(cid) == []
    asked = str(uuid4())
    opened = await look(client, over.shoe_id, again=asked)
    assert await look(client, over.shoe_id, again=asked) == opened
    assert [proof.position for proof in opened.cards] == list(range(52))
    for proof in opened.cards:
        shown = ShownCard(proof.position, parse_card(proof.card), proof.salt, tuple(proof.path))
        assert shown_card_holds(over.root, over.shoe_id, 52, shown)
    await real.settle()
    [seen] = await disclosures(cid)
    assert (seen.shoe_id, seen.table_id, seen.to, seen.why) == (
        over.shoe_id,
        "t2",
        "ina",
        "complaint 17",
    )
    assert list(seen.hand_ids) == [hand_id]
    assert await disclosures(ann) == []  # no hand of hers was dealt from it
    assert await disclosures(client) == [seen]
    assert await disclosures(client, shoe_id="t1-s2") == []
    assert [s.disclosures for s in (await shoes(client)).shoes if s.shoe_id == over.shoe_id] == [1]


async def test_a_shoe_is_opened_for_nobody_before_it_is_over(
    real: RealHouse, client: Client
) -> None:
    await real.play(1)
    shoe = real.house.tables["t1"].shoe
    assert shoe is not None
    for shoe_id, reason in ((shoe.shoe_id, "SHOE_NOT_RETIRED"), ("t9-s9", "SHOE_NOT_FOUND")):
        with pytest.raises(CroupierError) as error:
            await look(client, shoe_id)
        assert refused(error) == (reason, "shoe_id")
    with pytest.raises(CroupierError) as error:
        await look(client, shoe.shoe_id, again="17")
    assert refused(error) == ("BAD_REQUEST", "command_id")
    told = await real.root.fetchval("SELECT count(*) FROM log.events WHERE type = 'ShoeDisclosed'")
    assert told == 0


async def test_a_reason_must_be_given(real: RealHouse, client: Client) -> None:
    await at_holdem(real)
    [over] = (await shoes(client, filter=pb.SHOE_FILTER_UNCHECKED)).shoes
    with pytest.raises(CroupierError) as error:
        await look(client, over.shoe_id, why="")
    assert refused(error) == ("BAD_REQUEST", "why")


@pytest.mark.parametrize("role", [Role.PLAYER, Role.OPERATOR, Role.PIT, Role.TABLE_SERVICE])
async def test_only_an_auditor_opens_a_shoe(real: RealHouse, client: Client, role: Role) -> None:
    await at_holdem(real)
    [over] = (await shoes(client, filter=pb.SHOE_FILTER_UNCHECKED)).shoes
    with pytest.raises(CroupierError) as error:
        await look(replace(client, role=role, subject="cid"), over.shoe_id)
    assert error.value.reason == "ROLE_NOT_ALLOWED"


# ---- Made again by anybody


async def published(client: Client, shoe_id: str) -> WholeShoe:
    request = pb.GetPublishedShoeRequest(shoe_id=shoe_id)
    return of_answer(await client.call("GetPublishedShoe", request, pb.GetPublishedShoeResponse))


async def test_anybody_makes_a_published_shoe_again(real: RealHouse, client: Client) -> None:
    """A player who was not even there, and nobody before the shoe is over."""
    shoe = real.house.tables["t1"].shoe
    assert shoe is not None
    eve = replace(client, role=Role.PLAYER, subject="eve")
    pledges = {name: player_seed_commitment(shoe.shoe_id, name, SEED) for name in ("ann", "bob")}
    for name, commitment in pledges.items():
        await real.house.give("t1", e.SeedPledged(name, commitment, shoe_id=shoe.shoe_id))
    await real.house.play("t1", ("ann", 1, "banker", 2_000), ("bob", 2, "player", 500))
    await real.house.give("t1", e.SeedRevealed("ann", SEED))
    state = real.house.tables["t1"]
    assert state.shoe is not None
    deadline = state.shoe.seeds_deadline
    real.house.now = lambda: deadline
    await real.house.give("t1", e.ClockExpired(deadline, clock="seeds"), "house")
    await real.settle()
    with pytest.raises(CroupierError) as error:
        await published(eve, shoe.shoe_id)
    assert refused(error) == ("SHOE_NOT_RETIRED", "shoe_id")
    await real.house.give("t1", e.ShoesLost("shoe_retired"), "house")
    await real.settle()
    whole = await published(eve, shoe.shoe_id)
    assert list(whole.problems()) == []
    assert [(part.player, part.commitment, part.seed) for part in whole.parts] == [
        ("ann", pledges["ann"], SEED),
        ("bob", pledges["bob"], None),
    ]
    root = await real.root.fetchval("SELECT root FROM audit.shoe WHERE shoe_id = $1", shoe.shoe_id)
    assert whole.root == root
    for other in (
        replace(whole, server_seed=bytes(32)),
        replace(whole, parts=whole.parts[1:]),
        replace(whole, cut_at=whole.cut_at - 1),
    ):
        assert list(other.problems()) != []


async def test_a_secret_shoe_is_made_again_by_nobody(real: RealHouse, client: Client) -> None:
    await at_holdem(real)
    [over] = (await shoes(client, filter=pb.SHOE_FILTER_UNCHECKED)).shoes
    for role in (Role.PLAYER, Role.AUDITOR, Role.OPERATOR):
        with pytest.raises(CroupierError) as error:
            await published(replace(client, role=role, subject="cid"), over.shoe_id)
        assert refused(error) == ("AUDIENCE_NOT_ALLOWED", "shoe_id")
    with pytest.raises(CroupierError) as error:
        await published(client, "t9-s9")
    assert refused(error) == ("SHOE_NOT_FOUND", "shoe_id")
