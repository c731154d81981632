"""The pit over the wire: each cell of TAB-08's table, and management's rulings (TAB-12)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from croupier.table.v1 import table_pb2 as pb

from clients.api import commands
from clients.api.sight import Sight
from shared.cards import DECK, parse_card
from shared.proofs.shown_card import ShownCard, shown_card_holds
from shared.rpc.access import Role
from shared.table.follow_hand import OUTCOMES
from tests.integration.table.gamblers import WAGERS
from tests.integration.table.gate import Gate
from tests.integration.table.house import House
from tests.integration.table.people import bet, command, cut, eur
from tests.integration.table.together import Table


async def test_each_incident_leads_to_what_its_game_says(empty_house: House) -> None:
    house = empty_house
    shuffle = await house.shuffle()
    await house.wallet()
    await house.relay()
    may_deal = asyncio.Event()
    may_deal.set()

    async def passing(method: str, pass_on: Callable[[], Awaitable[bytes]]) -> bytes:
        if method.startswith("Deal"):
            await may_deal.wait()
        return await pass_on()

    async with Gate(shuffle.address) as gate:
        gate.passing = passing
        await house.node(shuffle_address=gate.address)
        for game in OUTCOMES:
            await Floor(house, game, may_deal).every_incident()
        await house.services["table-1"].stop()


async def test_a_hand_dealt_again_is_proven_by_the_shoe_it_was_played_from(house: House) -> None:
    await house.open(game="draw_poker", ante=100, open_joining=True)
    table = Table(house)
    await table.seat("ann", "bob")
    await table.do("ann", bet(100, 1, "entry"))
    await table.do("bob", bet(100, 2, "entry"))
    await table.until("ann", lambda sight: sight.options("decide"))
    first = [card for _, card in table.sight("ann").placed_cards("box1")]
    seen = pb.ReportIncident(incident="wrong_order")
    await house.person("dan", Role.DEALER).execute("t1", command(report_incident=seen))
    again = (await table.happens("ann", "HandOpened", 2)).hand_opened
    await table.until(
        "ann",
        lambda sight: (
            sight.options("decide") and [c for _, c in sight.placed_cards("box1")] != first
        ),
    )
    await table.do("ann", commands.decide(1, "bet", amount=eur(100)))
    await table.until("bob", lambda sight: sight.options("decide"))
    held = {
        name: dict(table.sight(name).placed_cards(box))
        for name, box in (("ann", "box1"), ("bob", "box2"))
    }
    await table.do("bob", commands.decide(2, "fold"))
    await table.happens("ann", "HandSettled")
    for name, cards in held.items():
        request = pb.GetHandRequest(hand_id=again.hand_id)
        hand = await house.person(name).call("GetHand", request)
        assert hand.shoe_id == again.shoe_id
        assert {proof.position: parse_card(proof.card) for proof in hand.proofs} == cards
        for proof in hand.proofs:
            shown = ShownCard(proof.position, parse_card(proof.card), proof.salt, tuple(proof.path))
            assert shown_card_holds(hand.shoe_root, hand.shoe_id, len(DECK), shown)
    await table.close()


class Floor:
    """A table of one game with two players, a dealer and the pit."""

    def __init__(self, house: House, game: str, may_deal: asyncio.Event) -> None:
        self._house = house
        self._game = game
        self._may_deal = may_deal
        self._table = Table(house, game)
        self._names = (f"ann-{game}", f"bob-{game}")

    async def every_incident(self) -> None:
        """Reports each during a hand of its own, a change of the dealer between two."""
        draw = self._game == "draw_poker"
        await self._house.open(
            self._game, game=self._game, ante=100 if draw else 0, open_joining=True
        )
        for box, name in enumerate(self._names, 1):
            await self._table.watch(await self._house.seat(name, self._game), box)
        for number, (incident, outcome) in enumerate(OUTCOMES[self._game].items(), 1):
            if incident == "dealer_change":
                await self._table.until(self._names[0], lambda sight: sight.options("place_bet"))
                burns = self._game == "battle"
                shoe = self._table.sight(self._names[0]).table.shoe
                used = burns and shoe.next_position > 0
                await self._reported(incident, "burn" if used else "go_on", number)
            else:
                await self._in_play()
                await self._reported(incident, outcome, number)
                await self._ends(outcome)
        await self._table.close()

    async def _reported(self, incident: str, outcome: str, number: int) -> None:
        table, ann = self._table, self._names[0]
        dealer, pit = self._house.person("dan", Role.DEALER), self._house.pit
        self._position = next(
            (hand.cards[0].position for hand in table.sight(ann).table.hands if hand.cards), 0
        )
        seen = pb.ReportIncident(incident=incident, position=self._position, note="as seen")
        await dealer.execute(self._game, command(report_incident=seen))
        if (self._game, incident) == ("battle", "card_exposed"):
            await table.until(ann, lambda sight: sight.table.HasField("incident"))
            assert len(table.events(ann, "IncidentResolved")) == number - 1
            await pit.execute(self._game, command(confirm_incident=pb.ConfirmIncident()))
        for name in self._names:
            resolved = (await table.happens(name, "IncidentResolved", number)).incident_resolved
        assert (resolved.incident, resolved.outcome) == (incident, outcome), self._game

    async def _in_play(self) -> None:
        """Both have bet, and cards are on their way or a decision is due."""
        table, ann = self._table, self._names[0]
        decides = self._game not in ("baccarat", "battle")
        if not decides:  # a hand before, so that the shoe is cut and burned
            played = len(table.events(ann, "HandSettled"))
            await self._bets()
            await self._cut()
            await self._surrendered(played + 1)
            self._may_deal.clear()
        await self._bets()
        await self._cut()
        if decides:
            await table.until(ann, lambda sight: sight.table.deciding_boxes)
        else:
            await table.until(ann, lambda sight: sight.table.table.phase == pb.PHASE_DEALING)

    async def _cut(self) -> None:
        """Whoever is asked to cut leaves it to the dealer."""
        for name in self._names:
            await self._table.until(name, _waits)
            if self._table.sight(name).options("cut_shoe"):
                await self._table.do(name, cut())

    async def _bets(self) -> None:
        for name in self._names:
            await self._table.until(name, lambda sight: sight.options("place_bet"))
            box = self._table.at[name].box
            await self._table.do(
                name, bet(100, box, WAGERS[self._game], done=self._game != "draw_poker")
            )

    async def _surrendered(self, hands: int) -> None:
        """Until so many hands are over, with nobody's fight."""
        table, ann = self._table, self._names[0]

        def settled() -> bool:
            return len(table.events(ann, "HandSettled")) >= hands

        def asked() -> list[str]:
            return [name for name in self._names if table.sight(name).options("decide")]

        while not settled():
            for name in asked():
                await table.do(name, commands.decide(table.at[name].box, "surrender"))
            await table.until(ann, lambda _: settled() or asked())

    async def _ends(self, outcome: str) -> None:
        table, ann = self._table, self._names[0]
        if outcome == "choice":
            (chooser,) = (name for name in self._names if table.sight(name).options("decide"))
            words = {one.word for one in table.sight(chooser).options("decide")}
            assert words == {"keep", "redeal"}
            await table.do(chooser, commands.decide(table.at[chooser].box, "keep"))
        voided = len(table.events(ann, "HandVoided")) + (outcome != "void")
        if outcome != "void":  # TAB-12: also while a hand waits to be dealt again
            await self._house.pit.execute(self._game, command(rule_void=pb.RuleVoid()))
        await table.happens(ann, "HandVoided", voided)
        self._may_deal.set()
        for name in self._names:
            await table.until(name, lambda sight: sight.you.free_chips == sight.you.chips)


def _waits(sight: Sight) -> bool:
    """Whether somebody is asked to cut, or the hand is on, or over."""
    return bool(sight.table.shoe.cut_player) or sight.table.table.phase != pb.PHASE_SHOE
