"""Several players at one table, over the wire: shared boxes, the owner's decisions, clocks, looks,
exchanges, pots that are carried, joining by consent, cuts, the pit."""

from __future__ import annotations

from typing import Any

import pytest
from croupier.table.v1 import table_pb2 as pb

from clients.api import commands
from clients.api.sight import Sight
from tests.integration.table.house import House
from tests.integration.table.people import bet, command, cut, done, eur
from tests.integration.table.together import Table
from tests.polling import eventually

SHORT_MS = {"decision_warn_ms": 1_000, "decision_default_ms": 100}


@pytest.fixture
async def table(house: House) -> Any:
    made = Table(house)
    yield made
    await made.close()


def ante(stake: int, box: int, **rest: Any) -> pb.Command:
    return bet(stake, box, "ante", **rest)


def let_in(box: int, guest: str) -> pb.Command:
    return commands.admit_bettor(box, guest)


async def dealt(table: Table, cutter: str) -> None:
    """The shoe is cut by the dealer, and somebody must decide."""
    await cut_by(table, cutter)
    await table.until(cutter, lambda sight: sight.table.table.phase == pb.PHASE_DECIDING)


async def cut_by(table: Table, cutter: str) -> None:
    await table.until(cutter, lambda sight: sight.options("cut_shoe"))
    await table.do(cutter, cut())


async def test_a_box_is_shared_by_three_and_a_cut_too_near_costs_no_time(
    house: House, table: Table
) -> None:
    await house.open()
    await table.seat("ann", "bob", "cid", "dee")
    await table.do("ann", bet(100))
    assert await table.refused("bob", bet(100, wager="tie")) == "CONSENT_NEEDED"
    offered = {(one.box, one.word) for one in table.sight("ann").options("admit_bettor")}
    assert offered == {(1, "bob"), (1, "cid"), (1, "dee")}
    await table.do("ann", let_in(1, "bob"), let_in(1, "cid"), let_in(1, "dee"))
    await table.do("bob", bet(100, wager="tie", done=True))
    await table.do("cid", bet(100, wager="banker", done=True))
    assert await table.refused("dee", bet(100)) == "TOO_MANY_BETTORS"
    await table.do("dee", command(sit_out=pb.SitOut(sitting_out=True)))
    await table.do("ann", done())
    await table.until("ann", lambda sight: sight.options("cut_shoe"))
    before = table.sight("ann").table.deadline
    edge = await table.refused("ann", cut(416))
    assert (edge, table.sight("ann").table.deadline) == ("CUT_TOO_NEAR_EDGE", before)
    assert not table.sight("bob").options("cut_shoe")
    await table.do("ann", cut(200))
    settled = (await table.happens("ann", "HandSettled")).hand_settled
    assert {(line.box, line.player) for line in settled.lines} == {
        (1, "ann"),
        (1, "bob"),
        (1, "cid"),
    }
    (opened,) = table.events("dee", "HandOpened")
    assert opened.hand_opened.boxes[0].owner == "ann"


async def test_two_boxes_under_one_clock_then_one_after_the_other(
    house: House, table: Table
) -> None:
    await house.open(game="casino_holdem", clocks=SHORT_MS)
    await table.seat("ann", "bob")
    await table.do("ann", ante(100, 1, done=True))
    await table.do("bob", ante(100, 2, done=True))
    await cut_by(table, "ann")
    first = (await table.happens("ann", "DecisionsDue")).decisions_due
    assert list(first.boxes) == [1, 2]
    view = (await table.update("bob", "DecisionsDue")).table
    assert view.warn_at.ToNanoseconds() + 100_000_000 == view.deadline.ToNanoseconds()
    await table.happens("ann", "HandSettled")
    assert len(table.events("ann", "ClockExpired")) == 1
    folded = [event.decision_defaulted for event in table.events("ann", "DecisionDefaulted")]
    assert [(one.box, one.action) for one in folded] == [(1, "fold"), (2, "fold")]

    await house.open("t2", game="oasis_poker", clocks=SHORT_MS)
    other = Table(house, "t2")
    await other.seat("cid", "dee")
    await other.do("cid", ante(100, 1, done=True))
    await other.do("dee", ante(100, 2, done=True))
    await cut_by(other, "cid")
    await other.happens("cid", "HandSettled")
    due = [list(event.decisions_due.boxes) for event in other.events("cid", "DecisionsDue")]
    assert due == [[1], [2]]
    assert len(other.events("cid", "ClockExpired")) == 2
    await other.close()


async def test_oasis_poker_looked_at_in_order_exchanged_when_all_have_decided(
    house: House, table: Table
) -> None:
    await house.open(game="oasis_poker")
    await table.seat("ann", "bob")
    await table.do("ann", ante(100, 1), bet(10, 1, "bonus"), ante(100, 2, blind=True, done=True))
    await table.do("bob", ante(100, 3, done=True))
    await dealt(table, "ann")
    assert table.sight("ann").cards("box1") == []
    assert table.words("ann", 1) == {"look", "bet", "fold"}
    assert await table.refused("bob", commands.decide(3, "look")) == "NOT_YOUR_TURN"
    await table.do("ann", commands.decide(1, "look"))
    await table.until("ann", lambda sight: len(sight.cards("box1")) == 5)
    assert table.sight("bob").cards("box1") == []
    held = table.sight("ann").placed_cards("box1")
    await table.do("ann", commands.decide(1, "exchange", positions=[held[0][0]]))
    assert table.words("ann", 2) == {"bet", "fold"}  # played blind
    await table.do("ann", commands.decide(2, "bet"))
    await table.do("bob", commands.decide(3, "look"))
    await table.until("bob", lambda sight: len(sight.cards("box3")) == 5)
    # Nothing is dealt in exchange before all have decided.
    assert table.sight("ann").placed_cards("box1") == held
    await table.do("bob", commands.decide(3, "fold"))
    await table.until("ann", lambda sight: "bet" in {o.word for o in sight.options("decide")})
    now = table.sight("ann").placed_cards("box1")
    assert sorted(set(held) - set(now)) == [held[0]]
    assert len(now) == 5
    await table.do("ann", commands.decide(1, "fold"))
    settled = (await table.happens("ann", "HandSettled")).hand_settled
    lost = {(line.box, line.wager): line.returned for line in settled.lines}
    assert lost[1, "bonus"] == lost[1, "exchange"] == lost[1, "ante"] == 0  # OAS-13
    assert (2, "bet") in lost


async def test_the_owner_decides_and_insures_and_the_next_bettor_only_while_he_is_away(
    house: House, table: Table
) -> None:
    await house.open(game="oasis_poker", clocks={"grace_ms": 1})
    await table.seat("ann", "bob")
    for hand in range(1, 30):  # until the box holds a game, which may be insured (OAS-14)
        await table.until("ann", lambda sight: sight.options("place_bet"))
        await table.do("ann", ante(100, 1), let_in(1, "bob"))
        await table.do("bob", ante(50, 1, done=True))
        await table.do("ann", done())
        await dealt(table, "ann")
        assert not table.sight("bob").options("decide")
        assert await table.refused("bob", commands.decide(1, "fold")) == "NOT_BOX_OWNER"
        await table.do("ann", commands.decide(1, "look"))
        await table.until("ann", lambda sight: sight.cards("box1"))
        (betting,) = (one for one in table.sight("ann").options("decide") if one.word == "bet")
        if betting.insurance_max:
            break
        await table.do("ann", commands.decide(1, "fold"))
        await table.happens("ann", "HandSettled", hand)
    most = {one.player: one.stake for one in betting.insurance_max}
    assert most.keys() == {"ann", "bob"}
    insured = commands.decide(1, "bet", insurance={"ann": most["ann"], "bob": most["bob"]})
    await table.leave("ann")
    await eventually(lambda: decides(table, "bob", insured))
    settled = (await table.happens("bob", "HandSettled", hand)).hand_settled
    stakes = {(line.player, line.wager): line.stake for line in settled.lines}
    assert (stakes["ann", "bet"], stakes["bob", "bet"]) == (200, 100)
    assert (stakes["ann", "insurance"], stakes["bob", "insurance"]) == (most["ann"], most["bob"])
    made = table.events("bob", "DecisionMade")[-1].decision_made
    assert (made.player, made.owner_away) == ("bob", True)


async def decides(table: Table, name: str, what: pb.Command) -> bool:
    """Whether the decision is taken; the house learns in its own time that somebody hung up."""
    again = pb.Command()
    again.CopyFrom(what)
    again.command_id = commands.done_betting().command_id
    reason = await table.refused(name, again)
    assert reason in ("", "NOT_BOX_OWNER")
    return not reason


async def test_battle_is_fought_or_surrendered_and_who_leaves_goes_after_the_hand(
    house: House, table: Table
) -> None:
    await house.open(game="battle")
    await table.seat("ann", "bob")
    played = 0
    while True:  # most often somebody's first card is not the highest
        await table.until("ann", lambda sight: sight.options("place_bet"))
        await table.do("ann", *(bet(10, box, "stake") for box in range(1, 5)), done())
        await table.do("bob", bet(10, 5, "stake"), bet(10, 6, "stake", done=True))
        played += 1

        def under_way(sight: Sight, hands: int = played) -> bool:
            # The only boxes that have to decide may be bob's.
            return bool(sight.table.deciding_boxes) or table.settled("ann") >= hands

        await table.until("ann", lambda sight: sight.options("cut_shoe") or under_way(sight))
        if table.sight("ann").options("cut_shoe"):
            await table.do("ann", cut())
        await table.until("ann", under_way)
        if len(table.sight("ann").options("decide")) > 2:
            break
        await surrender_all(table, played)
    await table.do("ann", commands.leave())
    assert table.sight("ann").seat is not None
    first, *others = sorted(
        {one.box for one in table.sight("ann").options("decide") if one.word == "fight"}
    )
    await table.do("ann", commands.decide(first, "fight"))
    for box in others:
        await table.do("ann", commands.decide(box, "surrender"))
    await surrender_all(table, played)
    await table.until("ann", lambda sight: sight.seat is None)
    settled = table.events("bob", "HandSettled")[-1].hand_settled
    fought = {line.box: line.stake for line in settled.lines if line.player == "ann"}
    assert fought[first] >= 20


async def surrender_all(table: Table, hands: int) -> None:
    """Until so many hands have ended for both; either may be behind the other in what he heard."""
    while min(table.settled("ann"), table.settled("bob")) < hands:
        heard = table.heard
        for name in ("ann", "bob"):
            for box in list(table.sight(name).table.deciding_boxes):
                if table.words(name, box):
                    await table.do(name, commands.decide(box, "surrender"))
        await table.until("bob", lambda _, before=heard: table.heard > before)


async def test_draw_poker_is_joined_by_consent_and_its_pot_carried_to_a_lone_entrant(
    house: House, table: Table
) -> None:
    await house.open(
        game="draw_poker", ante=100, seats=4, clocks={"consent_ms": 4_000, "entry_ms": 4_000}
    )
    await table.seat("ann")
    await house.fund("bob", 10_000)
    await table.watch(house.person("bob"), 2)
    await table.do("bob", commands.join())
    await table.until("bob", lambda sight: sight.seat)  # silence is consent
    asked = (await table.happens("bob", "ConsentAsked")).consent_asked
    assert asked.player == "bob"
    await table.do("bob", commands.buy_chips(eur(10_000)))
    await table.happens("bob", "ChipsArrived")
    await table.watch(house.person("cid"))
    await table.do("cid", commands.join())
    await table.until("ann", lambda sight: sight.options("object_to_join"))
    await table.do("ann", commands.object_to_join("cid"))
    assert (await table.happens("cid", "JoinFailed")).join_failed.why == "objected"
    assert [event.consent_asked.player for event in table.events("ann", "ConsentAsked")][-1:] == [
        "cid"
    ]

    await table.do("ann", bet(100, 1, "entry"))
    await table.do("bob", bet(100, 2, "entry"))
    await table.until("ann", lambda sight: sight.options("decide") or sight.options("cut_shoe"))
    played = AtDraw(table)
    await played.act("ann", "bet", 100)
    await played.act("bob", "call")
    await played.act("ann", "exchange")
    await played.act("bob", "exchange")
    assert [one.in_hand.minor_units for one in played.stakes()] == [200, 200]
    await played.act("ann", "check")
    await played.act("bob", "check")
    settled = (await table.happens("ann", "HandSettled")).hand_settled
    assert (settled.result, settled.carried_pot) == ("carried", 400)
    opened = table.events("ann", "BettingOpened")[-1].betting_opened
    assert (opened.entry, opened.entry_amount, opened.carried_pot) == ("half_pot", 200, 400)
    await table.do("bob", commands.sit_out(True))
    await table.do("ann", bet(200, 1, "entry"))
    paid = (await table.happens("ann", "PotPaid")).pot_paid
    assert paid.why == "lone_entrant"
    assert [(one.player, one.amount) for one in paid.shares] == [("ann", 400)]
    await table.until("ann", lambda sight: sight.you.free_chips.minor_units == 10_200)


class AtDraw:
    """Two at draw poker, who decide in turn."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def act(self, name: str, word: str, amount: int = 0) -> None:
        await self._table.until(
            name, lambda sight: word in {o.word for o in sight.options("decide")}
        )
        (option,) = (o for o in self._table.sight(name).options("decide") if o.word == word)
        money = eur(amount) if amount else None
        await self._table.do(name, commands.decide(option.box, word, amount=money))

    def stakes(self) -> list[pb.StakeView]:
        return list(self._table.sight("ann").table.betting_round.stakes)
