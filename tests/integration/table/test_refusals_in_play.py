"""Refusals of decisions, of further bets at the poker tables, and of the pit, over the wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from croupier.table.v1 import table_pb2 as pb
from croupier.table.v1.events_pb2 import InsuranceStake

from shared.rpc.access import Role
from tests.integration.table.house import House
from tests.integration.table.people import Person, PlayCall, command, cut, done, eur


def stake(amount: int, box: int, wager: str = "ante", **rest: Any) -> dict[str, Any]:
    return {"place_bet": pb.PlaceBet(box=box, wager=wager, stake=eur(amount), **rest)}


def decide(box: int, action: str, **rest: Any) -> dict[str, Any]:
    return {"decide": pb.Decide(box=box, action=action, **rest)}


def sees_cards(update: pb.Update) -> bool:
    """Whether the viewer sees a card of his own."""
    return any(card.card for hand in update.you.hands for card in hand.cards)


async def deciding(house: House, people: Sequence[Person], table_id: str) -> PlayCall:
    """The stream of the first of them, who cuts, as the first decision is due."""
    stream = people[0].play()
    await stream.watch(table_id)
    for person in people:
        await person.execute(table_id, done())
    await stream.event("CutOffered")
    await stream.command(table_id, cut())
    await stream.phase(pb.PHASE_DECIDING)
    return stream


async def test_hold_em(house: House) -> None:
    await house.open(game="casino_holdem")
    ann, bob = await house.seat("ann"), await house.seat("bob")
    await ann.execute("t1", command(**stake(100, 1)))
    await bob.execute("t1", command(**stake(100, 2)))
    stream = await deciding(house, (ann, bob), "t1")
    assert await ann.may_not("t1", **decide(2, "bet")) == ("NOT_BOX_OWNER", "box")
    assert await ann.may_not("t1", **decide(7, "bet")) == ("NOT_YOUR_TURN", "box")
    assert await ann.may_not("t1", **decide(1, "dance")) == ("ILLEGAL_DECISION", "action")
    assert await ann.may_not("t1", buy_chips=pb.BuyChips(amount=eur(1))) == ("HAND_RUNNING", "")
    for person, box in ((ann, 1), (bob, 2)):
        await person.execute("t1", command(**decide(box, "fold")))
    await stream.event("HandSettled")
    assert await ann.may_not("t1", **decide(1, "bet")) == ("DECISION_NOT_DUE", "box")
    stream.cancel()


async def test_oasis(house: House) -> None:
    await house.open(game="oasis_poker", rules_json='{"min": 100, "max": 1000}')
    ann, bob = await house.seat("ann"), await house.seat("bob")
    assert await ann.may_not("t1", **stake(100, 1, "bonus")) == ("STAKE_BELOW_MINIMUM", "stake")
    await ann.execute("t1", command(**stake(100, 1)))
    await ann.execute("t1", command(**stake(100, 2)))
    assert await ann.may_not("t1", **stake(100, 3)) == ("TOO_MANY_OPEN_BOXES", "blind")
    await bob.execute("t1", command(**stake(100, 4)))
    assert await ann.may_not("t1", **stake(100, 5, blind=True)) == ("BOXES_NOT_ADJACENT", "box")
    stream = await deciding(house, (ann, bob), "t1")
    box = stream.updates[-1].table.deciding_boxes[0]
    owner = bob if box == 4 else ann
    other = ann if owner is bob else bob
    assert await other.may_not("t1", **decide(box, "bet")) == ("NOT_BOX_OWNER", "box")
    words = {each.word for each in (await owner.view("t1")).you.options if each.box == box}
    if "look" in words:
        await owner.execute("t1", command(**decide(box, "look")))
        async with owner.playing("t1") as looking:
            if not sees_cards(looking.updates[-1]):
                await looking.until(lambda each: sees_cards(each.update))
    assert await owner.may_not("t1", **decide(box, "exchange")) == ("BAD_EXCHANGE", "positions")
    unknown = decide(box, "exchange", positions=[9_999])
    assert await owner.may_not("t1", **unknown) == ("BAD_EXCHANGE", "positions")
    insured = decide(box, "fold", insurance=[InsuranceStake(player=owner.name, stake=5)])
    assert await owner.may_not("t1", **insured) == ("INSURANCE_NOT_ALLOWED", "insurance")
    assert await owner.may_not("t1", **decide(box, "raise")) == ("ILLEGAL_DECISION", "action")
    stream.cancel()


async def test_the_pit(house: House) -> None:
    await house.open(game="casino_holdem")
    ann = await house.seat("ann")
    pit, dealer = house.pit, house.person("dan", Role.DEALER)
    nothing = ("INCIDENT_NOT_ALLOWED", "")
    assert await pit.may_not("t1", confirm_incident=pb.ConfirmIncident()) == nothing
    assert (await dealer.may_not("t1", rule_void=pb.RuleVoid()))[0] == "ROLE_NOT_ALLOWED"
    assert await pit.may_not("t1", rule_void=pb.RuleVoid()) == ("NO_HAND", "")
    bad = pb.Penalise(player="ann", penalty="flogging")
    assert await pit.may_not("t1", penalise=bad) == ("BAD_REQUEST", "penalty")
    nobody = pb.Penalise(player="eve", penalty="warning")
    assert await pit.may_not("t1", penalise=nobody) == ("NOT_SEATED", "player")
    fined = pb.Penalise(player="ann", penalty="warning", amount=eur(5))
    assert await pit.may_not("t1", penalise=fined) == ("BAD_AMOUNT", "amount")
    gone = pb.ObjectToJoin(player="eve")
    assert await ann.may_not("t1", object_to_join=gone) == ("DECISION_NOT_DUE", "player")
    await pit.execute("t1", command(penalise=pb.Penalise(player="ann", penalty="removal")))
    removed = ("PLAYER_REMOVED", "table_id")
    assert await ann.may_not("t1", join=pb.JoinTable()) == removed
