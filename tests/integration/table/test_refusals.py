"""Every reason for which the table service refuses, as it comes over the wire: by `Execute` and in
a `Play` stream, with domain, status and field."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import grpc
import pytest
from croupier.table.v1 import table_pb2 as pb
from croupier.table.v1.events_pb2 import Clocks

from shared.rpc.access import Role
from tests.integration.table.house import House
from tests.integration.table.people import (
    Person,
    PlayCall,
    bet,
    command,
    cut,
    done,
    eur,
    join,
    told,
)
from tests.services import bearer

JOIN = {"join": pb.JoinTable()}
DONE = {"done_betting": pb.DoneBetting()}


def stake(amount: int, box: int = 1, wager: str = "player") -> dict[str, Any]:
    return {"place_bet": pb.PlaceBet(box=box, wager=wager, stake=eur(amount))}


def opening(**changes: Any) -> pb.OpenTableRequest:
    fields = {
        "command_id": str(uuid4()),
        "table_id": "t2",
        "game": "baccarat",
        "currency": "EUR",
    }
    return pb.OpenTableRequest(**(fields | changes))


async def test_who_may_not_call(house: House) -> None:
    await house.open()
    ann = house.person("ann")
    request = pb.GetTableRequest(table_id="t1")
    for metadata, reason in (
        ((), "UNAUTHENTICATED"),
        ((("authorization", "Bearer nonsense"),), "UNAUTHENTICATED"),
        (bearer(Role.PLAYER, "ann", -1), "TOKEN_EXPIRED"),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await ann.tables.GetTable(request, metadata=metadata)
        assert told(refused.value) == (reason, "")
    assert await ann.refused("OpenTable", opening()) == ("ROLE_NOT_ALLOWED", "")
    assert await house.operator.refused("Execute", pb.ExecuteRequest()) == ("ROLE_NOT_ALLOWED", "")
    assert await house.pit.may_not("t1", **JOIN) == ("ROLE_NOT_ALLOWED", "action")
    assert await ann.may_not("t1", rule_void=pb.RuleVoid()) == ("ROLE_NOT_ALLOWED", "action")


IMPOSSIBLE: tuple[tuple[dict[str, Any], str, str], ...] = (
    ({"table_id": "a/b"}, "BAD_REQUEST", "table_id"),
    ({"table_id": "a" * 41}, "BAD_REQUEST", "table_id"),
    ({"currency": "eur"}, "BAD_REQUEST", "currency"),
    ({"name": "n" * 81}, "BAD_REQUEST", "name"),
    ({"name": "Table\0one"}, "BAD_REQUEST", "name"),
    ({"command_id": "7"}, "BAD_REQUEST", "command_id"),
    ({"game": "whist"}, "BAD_SETTING", "game"),
    ({"rules_json": "{"}, "BAD_SETTING", "rules_json"),
    ({"rules_json": "[]"}, "BAD_SETTING", "rules_json"),
    ({"rules_json": '{"luck": 1}'}, "BAD_SETTING", "luck"),
    ({"rules_json": '{"\\ud800": 1}'}, "BAD_SETTING", "rules_json"),  # half of a character
    ({"rules_json": "[" * 100_000}, "BAD_SETTING", "rules_json"),
    ({"rules_json": '{"min": 100, "max": 99}'}, "BAD_SETTING", "max"),
    ({"seats": 65}, "BAD_SETTING", "seats"),
    ({"seats": -1}, "BAD_SETTING", "seats"),
    ({"clocks": Clocks(betting_ms=-1)}, "BAD_SETTING", "clocks.betting_ms"),
    ({"clocks": Clocks(grace_ms=3_600_001)}, "BAD_SETTING", "clocks.grace_ms"),
)


async def test_what_cannot_be_opened_or_asked_for(house: House) -> None:
    await house.open()
    olga = house.operator
    for changes, reason, field in IMPOSSIBLE:
        assert await olga.refused("OpenTable", opening(**changes)) == (reason, field), changes
    assert await olga.refused("OpenTable", opening(table_id="t1")) == ("TABLE_EXISTS", "table_id")
    for method, asked in (
        ("GetTable", pb.GetTableRequest(table_id="t\0")),
        ("ListHands", pb.ListHandsRequest(table_id="t\0")),
        ("GetHand", pb.GetHandRequest(hand_id="t\0-1")),
    ):
        assert await olga.refused(method, asked) == ("BAD_REQUEST", ""), method
    listing = pb.ListTablesRequest(page_size=-1)
    assert await olga.refused("ListTables", listing) == ("BAD_REQUEST", "page_size")
    for token in ("?", "dDE", "gIGB"):  # no base64, half of it, no text
        refusal = ("BAD_PAGE_TOKEN", "page_token")
        listing = pb.ListTablesRequest(page_token=token)
        assert await olga.refused("ListTables", listing) == refusal
        hands = pb.ListHandsRequest(table_id="t1", page_token=token)
        assert await olga.refused("ListHands", hands) == refusal
    for token in ("LTE=", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5"):  # -1, and more than any version
        hands = pb.ListHandsRequest(table_id="t1", page_token=token)
        assert await olga.refused("ListHands", hands) == refusal
    hands = pb.ListHandsRequest(table_id="t1", page_size=-1)
    assert await olga.refused("ListHands", hands) == ("BAD_REQUEST", "page_size")
    hand = pb.GetHandRequest(hand_id="t1-1")
    assert await olga.refused("GetHand", hand) == ("HAND_NOT_FOUND", "hand_id")


async def test_a_table_that_is_not_there(house: House) -> None:
    gone = ("TABLE_NOT_FOUND", "table_id")
    ann, olga = house.person("ann"), house.operator
    assert await ann.may_not("nowhere", **JOIN) == gone
    for method, request in (
        ("GetTable", pb.GetTableRequest(table_id="nowhere")),
        ("Watch", pb.WatchRequest(table_id="nowhere")),
        ("ListHands", pb.ListHandsRequest(table_id="nowhere")),
        ("CloseTable", pb.CloseTableRequest(table_id="nowhere", command_id=str(uuid4()))),
    ):
        assert await olga.refused(method, request) == gone, method
    stream = ann.play()
    await stream.watch("nowhere")
    refusal = (await stream.next()).refusal
    assert (refusal.reason, refusal.field, refusal.table_id) == (*gone, "nowhere")
    # The stream goes on.
    await house.open()
    await stream.watch("t1")
    assert (await stream.next()).update.table_id == "t1"
    stream.cancel()


async def test_malformed_commands(house: House) -> None:
    await house.open()
    ann = await house.seat("ann", chips=0)
    assert await ann.may_not("t1") == ("BAD_REQUEST", "action")
    bad_id = pb.ExecuteRequest(table_id="t1", command=command("not-a-uuid", **JOIN))
    assert await ann.refused("Execute", bad_id) == ("BAD_REQUEST", "command_id")
    many = pb.Decide(box=1, action="exchange", positions=range(17))
    assert await ann.may_not("t1", decide=many) == ("BAD_REQUEST", "positions")
    note = "n" * 501
    assert await house.pit.may_not("t1", rule_void=pb.RuleVoid(note=note)) == (
        "BAD_REQUEST",
        "note",
    )
    closing = pb.CloseTableRequest(table_id="t1", command_id=str(uuid4()), note=note)
    assert await house.operator.refused("CloseTable", closing) == ("BAD_REQUEST", "note")
    closing = pb.CloseTableRequest(table_id="t1", command_id="x")
    assert await house.operator.refused("CloseTable", closing) == ("BAD_REQUEST", "command_id")
    stream = ann.play()
    await stream.say("t1")
    refusal = (await stream.next()).refusal
    assert (refusal.reason, refusal.field) == ("BAD_REQUEST", "request")
    stream.cancel()


async def test_too_many_tables_in_one_stream(house: House) -> None:
    await house.open()
    stream = house.person("ann").play()
    await stream.watch("t1")
    await stream.until(lambda each: each.HasField("update"))
    # Watching one table again and again is watching one table.
    for _ in range(65):
        await stream.watch("t1")
    await stream.command("t1", asked := done())
    assert (await stream.answered(asked)).refusal.reason == "NOT_SEATED"
    stream.cancel()


async def test_seats_and_chips(house: House) -> None:
    await house.open(seats=2)
    ann = await house.seat("ann")
    bob, cid = house.person("bob"), house.person("cid")
    assert await ann.may_not("t1", **JOIN) == ("ALREADY_SEATED", "table_id")
    for action in (
        DONE,
        stake(100),
        {"leave": pb.LeaveTable()},
        {"sit_out": pb.SitOut(sitting_out=True)},
        {"buy_chips": pb.BuyChips(amount=eur(1))},
        {"cash_out": pb.CashOut()},
        {"take_back_bets": pb.TakeBackBets(box=1)},
        {"pledge_seed": pb.PledgeSeed(commitment=bytes(32))},
        {"decide": pb.Decide(box=1, action="bet")},
    ):
        assert await bob.may_not("t1", **action) == ("NOT_SEATED", "table_id"), action
    await bob.execute("t1", join())
    assert await cid.may_not("t1", **JOIN) == ("TABLE_FULL", "table_id")
    usd = eur(100)
    usd.currency = "USD"
    for action, field in (
        ({"buy_chips": pb.BuyChips(amount=usd)}, "amount"),
        ({"cash_out": pb.CashOut(amount=usd)}, "amount"),
        ({"place_bet": pb.PlaceBet(box=1, wager="player", stake=usd)}, "stake"),
        ({"decide": pb.Decide(box=1, action="bet", amount=usd)}, "amount"),
    ):
        assert await ann.may_not("t1", **action) == ("CURRENCY_MISMATCH", field), action
    for action in (
        {"buy_chips": pb.BuyChips(amount=eur(0))},
        {"buy_chips": pb.BuyChips(amount=eur(-1))},
        {"cash_out": pb.CashOut(amount=eur(0))},
        {"cash_out": pb.CashOut(amount=eur(-1))},
    ):
        assert await ann.may_not("t1", **action) == ("BAD_AMOUNT", "amount"), action
    poor = ("INSUFFICIENT_CHIPS", "amount")
    assert await ann.may_not("t1", cash_out=pb.CashOut(amount=eur(10_001))) == poor
    assert await bob.may_not("t1", cash_out=pb.CashOut()) == poor
    assert await ann.may_not("t1", **stake(10_001)) == ("INSUFFICIENT_CHIPS", "stake")
    assert await bob.may_not("t1", **stake(1)) == ("INSUFFICIENT_CHIPS", "stake")


async def test_chips_that_are_on_their_way(house: House) -> None:
    await house.open()
    await house.services["wallet-1"].stop()
    ann = await house.seat("ann", chips=0)
    await ann.execute("t1", command(buy_chips=pb.BuyChips(amount=eur(5))))
    pending = ("CHIPS_PENDING", "amount")
    assert await ann.may_not("t1", buy_chips=pb.BuyChips(amount=eur(5))) == pending
    assert (await ann.view("t1")).you.pending_chips == eur(5)


async def test_chips_that_the_wallet_refuses(house: House) -> None:
    await house.open()
    ann = await house.seat("ann", chips=100)
    async with ann.playing("t1") as stream:
        await stream.command("t1", command(buy_chips=pb.BuyChips(amount=eur(1))))
        assert (await stream.event("ChipsDenied")).chips_denied.reason == "INSUFFICIENT_FUNDS"
        # It may be asked for again.
        asked = await stream.command("t1", command(buy_chips=pb.BuyChips(amount=eur(1))))
        assert (await stream.answered(asked)).HasField("acknowledgement")


async def test_bets(house: House) -> None:
    rules = '{"min": 100, "max": 1000, "boxes": 3, "bettors_per_box": 2}'
    await house.open(rules_json=rules)
    ann, bob, cid = [await house.seat(name) for name in ("ann", "bob", "cid")]
    assert await ann.may_not("t1", **stake(100, wager="dragon")) == ("BAD_STAKE", "wager")
    assert await ann.may_not("t1", **stake(0)) == ("BAD_STAKE", "stake")
    assert await ann.may_not("t1", **stake(-5)) == ("BAD_STAKE", "stake")
    assert await ann.may_not("t1", **stake(100, box=4)) == ("TOO_MANY_BOXES", "box")
    assert await ann.may_not("t1", **stake(100, box=0)) == ("TOO_MANY_BOXES", "box")
    assert await ann.may_not("t1", **stake(1001)) == ("STAKE_ABOVE_MAXIMUM", "stake")
    odd = stake(101, wager="banker")
    assert await ann.may_not("t1", **odd) == ("STAKE_NOT_DIVISIBLE", "stake")
    assert await ann.may_not("t1", take_back_bets=pb.TakeBackBets(box=1)) == ("NO_BETS", "box")
    await ann.execute("t1", bet(50))
    assert await ann.may_not("t1", **stake(100, 2, "banker")) == ("BOTH_SIDES", "wager")
    assert await ann.may_not("t1", **DONE) == ("STAKE_BELOW_MINIMUM", "")
    assert await bob.may_not("t1", **stake(100)) == ("CONSENT_NEEDED", "box")
    admit = {"admit_bettor": pb.AdmitBettor(box=1, bettor="bob")}
    assert await bob.may_not("t1", **admit) == ("NOT_BOX_OWNER", "box")
    for bettor in ("bob", "cid"):
        await ann.execute("t1", command(admit_bettor=pb.AdmitBettor(box=1, bettor=bettor)))
    await bob.execute("t1", bet(100))
    assert await cid.may_not("t1", **stake(100)) == ("TOO_MANY_BETTORS", "box")
    nobody = {"admit_bettor": pb.AdmitBettor(box=1, bettor="dan")}
    assert await ann.may_not("t1", **nobody) == ("NOT_SEATED", "bettor")


async def _cutting(house: House, *names: str) -> tuple[list[Person], PlayCall]:
    """These sit at a table where the first of them, having bet, is asked to cut."""
    await house.open()
    people = [await house.seat(name) for name in names]
    stream = people[0].play()
    await stream.watch("t1")
    # Not by the stream: a call of its own may be quicker, and a bet takes back "done".
    await people[0].execute("t1", bet(100))
    for person in people:
        await person.execute("t1", done())
    await stream.event("CutOffered")
    return people, stream


async def test_while_the_shoe_is_cut_and_after(house: House) -> None:
    (ann, bob), stream = await _cutting(house, "ann", "bob")
    running = ("HAND_RUNNING", "")
    assert await ann.may_not("t1", buy_chips=pb.BuyChips(amount=eur(1))) == running
    assert await ann.may_not("t1", cash_out=pb.CashOut()) == running
    assert await bob.may_not("t1", **stake(100, 2)) == ("BETTING_CLOSED", "box")
    assert await ann.may_not("t1", take_back_bets=pb.TakeBackBets(box=1)) == (
        "BETTING_CLOSED",
        "box",
    )
    assert (await ann.may_not("t1", **DONE))[0] == "BETTING_CLOSED"
    admit = {"admit_bettor": pb.AdmitBettor(box=1, bettor="bob")}
    assert await ann.may_not("t1", **admit) == ("BETTING_CLOSED", "box")
    assert await bob.may_not("t1", cut_shoe=pb.CutShoe(place=9)) == ("CUT_NOT_OFFERED", "place")
    edge = ("CUT_TOO_NEAR_EDGE", "place")
    assert await ann.may_not("t1", cut_shoe=pb.CutShoe(place=416)) == edge
    assert await ann.may_not("t1", cut_shoe=pb.CutShoe(place=-1)) == edge
    reveal = {"reveal_seed": pb.RevealSeed(seed=bytes(32))}
    assert await ann.may_not("t1", **reveal) == ("SEED_REFUSED", "seed")
    pledge = {"pledge_seed": pb.PledgeSeed(commitment=bytes(32), shoe_id="t1-s2")}
    assert await ann.may_not("t1", **pledge) == ("SEED_REFUSED", "shoe_id")
    unknown = {"pledge_seed": pb.PledgeSeed(commitment=bytes(32), shoe_id="t2-s2")}
    assert await ann.may_not("t1", **unknown) == ("SHOE_NOT_FOUND", "shoe_id")
    assert (await ann.may_not("t1", decide=pb.Decide(box=1, action="bet"))) == (
        "DECISION_NOT_DUE",
        "box",
    )
    exposed = {"report_incident": pb.ReportIncident(incident="card_exposed")}
    assert await house.pit.may_not("t1", **exposed) == ("NO_HAND", "incident")
    rain = {"report_incident": pb.ReportIncident(incident="rain")}
    assert await house.pit.may_not("t1", **rain) == ("INCIDENT_NOT_ALLOWED", "incident")
    await stream.command("t1", cut())
    await stream.event("HandSettled")
    stream.cancel()


async def test_a_table_that_closes(house: House) -> None:
    (ann, bob), stream = await _cutting(house, "ann", "bob")
    closing = pb.CloseTableRequest(table_id="t1", command_id=str(uuid4()))
    await house.operator.call("CloseTable", closing)
    again = pb.CloseTableRequest(table_id="t1", command_id=str(uuid4()))
    closed = ("TABLE_CLOSED", "table_id")
    assert await house.operator.refused("CloseTable", again) == closed
    assert await house.person("cid").may_not("t1", **JOIN) == closed
    await stream.command("t1", cut())
    await stream.event("TableClosed")
    # All went home; the table is over, and stays so for those who ask.
    for person in (ann, bob):
        assert await person.may_not("t1", **JOIN) == closed
    stream.cancel()
