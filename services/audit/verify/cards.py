"""A table's cards against their shoe: due first, then shown, then dealt (promise 2).

A table's events come as the dataclasses of `shared.table.events`, private cards opened; what was
due after them is what `next_step` says, which is what a table's owner asks shuffle for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from services.audit.verify.findings import Check, Finding, Read
from services.audit.verify.shoe import Request, ShoeRecord, Use
from shared.games.play import Face
from shared.proofs.seeds import player_seed_commitment, player_seed_fingerprint
from shared.quick import quick
from shared.table import events as table
from shared.table.apply_hand import BURN
from shared.table.next_step import Cards, Errand, OpenShoe, PutAway, RecordCut, SealShoe

_USES = {Face.UP: "open", Face.OWNER: "player", Face.DOWN: "down"}
_BURN_USES = {Face.UP: "burn_open", Face.DOWN: "burn"}


@quick
@dataclass(frozen=True, slots=True)
class Due:
    """Cards that are due: what was to be asked, the event that made them so, and its id."""

    cards: Cards
    since: Read
    cause: UUID


@dataclass(slots=True)
class CardsWalk:
    """A walk over a table's stream that compares what it says of cards with the shoes.

    `shoes` must hold every shoe that the walk meets, read after the table's events were: then all
    that an event refers to is in it. With a `hand_id` the walk is over that hand alone, and only
    what left the shoes for it is asked after.
    """

    shoes: Mapping[str, ShoeRecord]
    due: dict[str, Due] = field(default_factory=dict)
    """By request id: cards due and not yet dealt."""
    asked: dict[str, set[UUID]] = field(default_factory=dict)
    """By shoe in use: the requests for cards that were due."""
    met: set[tuple[type[Errand], str]] = field(default_factory=set)
    """Errands of the last step: one that stays due is compared once."""
    hand_id: str = ""
    reused: list[tuple[bytes, Read]] = field(default_factory=list)
    """Fingerprints of seeds that were left out because some shoe has had them, and the seal that
    left them out."""

    def step(self, group: Sequence[Read], errands: Sequence[Errand]) -> Iterator[Finding]:
        """One append of the table, and what was due after it."""
        for read in group:
            told = _TOLD.get(type(read.body))
            if told is not None:
                yield from told(self, read)
        for errand in errands:
            begun = _BEGUN.get(type(errand))
            if begun is not None and (type(errand), errand.request_id) not in self.met:
                yield from begun(self, errand, group[-1])
        self.meet(errands)

    def meet(self, errands: Iterable[Errand]) -> None:
        """These are due, and have been compared or are not to be."""
        self.met = {(type(errand), errand.request_id) for errand in errands}

    def end(self, last: Read) -> Iterator[Finding]:
        """The walk is over: what shuffle dealt up to `last` and no table event had made due."""
        for shoe_id in self.asked:
            for request in self.never_due(shoe_id):
                # What came later may be due in events that were appended after the walk began.
                if request.first.event.recorded_at <= last.event.recorded_at:
                    yield _not_due(request)

    def never_due(self, shoe_id: str) -> list[Request]:
        """The requests of a shoe for cards that were never due."""
        shoe = self.shoes.get(shoe_id)
        asked = self.asked[shoe_id]
        requests = shoe.requests.items() if shoe is not None else ()
        return [
            request
            for cause, request in requests
            if cause not in asked and self.hand_id in ("", request.first.event.hand_id)
        ]


def _not_due(request: Request) -> Finding:
    return request.first.finding(Check.CARDS_DUE, "cards left the shoe that were not due")


def _early(answer: Read, since: Read) -> Iterator[Finding]:
    if answer.event.recorded_at < since.event.recorded_at:
        yield answer.finding(Check.CARDS_DUE, "shuffle was asked before this was due")


# ---- What is due, against what shuffle wrote


def _open_shoe(walk: CardsWalk, errand: OpenShoe, since: Read) -> Iterator[Finding]:
    walk.asked.setdefault(errand.shoe_id, set())
    shoe = walk.shoes.get(errand.shoe_id)
    if shoe is None or shoe.opening is None:
        return  # Not opened yet; ShoeOffered asks for it.
    opened = shoe.opened
    yield from _early(shoe.opening, since)
    if (
        f"table/{opened.table_id}" != since.event.stream
        or (opened.decks, opened.publish) != (errand.decks, errand.publish)
        or (opened.cut_min_top, shoe.cards - opened.cut_min_bottom)
        != (errand.cut_low, errand.cut_high)
        or opened.behind_cut_card != errand.behind_cut_card
    ):
        yield shoe.opening.finding(Check.SHOE, "another shoe was opened than was due")


def _cut(walk: CardsWalk, errand: RecordCut, since: Read) -> Iterator[Finding]:
    shoe = walk.shoes.get(errand.shoe_id)
    if shoe is None or shoe.cut is None:
        return  # Not cut yet; ShoeReady asks for it.
    yield from _early(shoe.cut, since)
    cut = shoe.cut.body
    if cut.by != errand.player or (errand.player and cut.at != errand.place):
        yield shoe.cut.finding(Check.SHOE, "the shoe was cut by another, or in another place")
    if tuple(shoe.commitments.items()) != errand.pledges:
        yield shoe.cut.finding(Check.SHOE, "other seeds were committed to than players pledged")


def _seal(walk: CardsWalk, errand: SealShoe, since: Read) -> Iterator[Finding]:
    shoe = walk.shoes.get(errand.shoe_id)
    if shoe is None or shoe.sealed is None:
        return  # Not sealed yet; ShoeReady asks for it.
    yield from _early(shoe.sealed, since)
    if errand.record is not None:
        yield from _cut(walk, errand.record, since)
    for player, seed in errand.reveals:
        if _in_the_shoe(shoe, player, seed):
            continue
        if player in shoe.reused:
            walk.reused.append((player_seed_fingerprint(player, seed), shoe.sealed))
        else:
            yield shoe.sealed.finding(Check.SHOE, f"the seed that {player} revealed was left out")


def _in_the_shoe(shoe: ShoeRecord, player: str, seed: bytes) -> bool:
    """Or rightly left out: it is another than was pledged."""
    pledged = shoe.commitments.get(player) == player_seed_commitment(shoe.shoe_id, player, seed)
    return shoe.seeds.get(player) == seed or not pledged


def _cards(walk: CardsWalk, errand: Cards, since: Read) -> Iterator[Finding]:
    cause = UUID(errand.request_id)
    walk.due[errand.request_id] = Due(errand, since, cause)
    walk.asked.setdefault(errand.shoe_id, set()).add(cause)
    shoe = walk.shoes.get(errand.shoe_id)
    request = shoe.requests.get(cause) if shoe is not None else None
    if request is None:
        return  # Not asked for yet, or never: CardsDealt tells.
    yield from _early(request.first, since)
    uses = tuple([_use(slot) for slot in errand.slots])
    # Most often in the same order.
    if request.uses != uses and sorted(request.uses) != sorted(uses):
        yield request.first.finding(Check.CARDS_DUE, "other cards left the shoe than were due")
    if request.first.event.hand_id != errand.hand_id:
        yield request.first.finding(Check.CARDS_DUE, "cards left the shoe for another hand")


def _use(slot: table.CardSlot) -> Use:
    uses = _BURN_USES if slot.hand == BURN else _USES
    return Use(slot.position, uses.get(slot.face, ""), slot.viewer)


def _put_away(walk: CardsWalk, errand: PutAway, since: Read) -> Iterator[Finding]:
    shoe = walk.shoes.get(errand.shoe_id)
    if shoe is not None and shoe.retired is not None:
        yield from _early(shoe.retired, since)


# ---- What the table then told its players, against what shuffle wrote


def _shoe_offered(walk: CardsWalk, read: Read) -> Iterator[Finding]:
    offered: table.ShoeOffered = read.body
    shoe = walk.shoes.get(offered.shoe_id)
    if shoe is None or shoe.opening is None:
        yield read.finding(Check.SHOE, f"shuffle has no shoe {offered.shoe_id}")
    elif shoe.opened.commitment != offered.commitment:
        yield read.finding(Check.SHOE, "players were told another commitment to the server seed")


def _shoe_ready(walk: CardsWalk, read: Read) -> Iterator[Finding]:
    ready: table.ShoeReady = read.body
    shoe = walk.shoes.get(ready.shoe_id)
    if shoe is None or shoe.sealed is None or shoe.cut is None:
        yield read.finding(Check.SHOE, "shuffle has sealed no such shoe")
        return
    if shoe.sealed.event.recorded_at > read.event.recorded_at:
        yield read.finding(Check.SHOE, "the shoe was sealed only after the table went on")
    told = (ready.root, ready.size, ready.cut_place, ready.seeds_used, ready.seeds_left_out)
    seal = shoe.sealed.body
    true = (shoe.root, shoe.cards, shoe.cut.body.at, tuple(seal.used), tuple(seal.withheld))
    if told != true:
        yield read.finding(Check.SHOE, "players were told another seal, cut or seeds")


def _shoe_finished(walk: CardsWalk, read: Read) -> Iterator[Finding]:
    shoe_id = read.body.shoe_id
    if shoe_id in walk.asked:
        for request in walk.never_due(shoe_id):
            yield _not_due(request)
        del walk.asked[shoe_id]


def _shoe_put_away(walk: CardsWalk, read: Read) -> Iterator[Finding]:
    shoe = walk.shoes.get(read.body.shoe_id)
    if shoe is None or shoe.opening is None:
        return  # A table may close before its next shoe is opened.
    if shoe.retired is None or shoe.retired.event.recorded_at > read.event.recorded_at:
        yield read.finding(Check.SHOE, "shuffle had not retired the shoe")


def _cards_dealt(walk: CardsWalk, read: Read) -> Iterator[Finding]:
    dealt: table.CardsDealt = read.body
    due = walk.due.pop(dealt.request_id, None)
    if due is None:
        yield read.finding(Check.CARDS_DUE, "cards were dealt that were not due")
        return
    places = [(card.position, card.hand, card.face, card.viewer) for card in dealt.cards]
    if places != [(slot.position, slot.hand, slot.face, slot.viewer) for slot in due.cards.slots]:
        yield read.finding(Check.CARDS_DUE, "other cards were dealt than were due")
    shoe = walk.shoes.get(due.cards.shoe_id)
    request = shoe.requests.get(due.cause) if shoe is not None else None
    if shoe is None or request is None:
        yield read.finding(Check.PROOFS, "cards were dealt that shuffle has not given")
        return
    if request.first.event.recorded_at > read.event.recorded_at:
        yield read.finding(Check.PROOFS, "cards were dealt before shuffle put them on record")
    for card in dealt.cards:
        shown = None if card.face is Face.DOWN else shoe.value(card.position, card.viewer)
        if card.card != shown or (shown is None and card.face is not Face.DOWN):
            yield read.finding(
                Check.PROOFS, f"the card at position {card.position} is not the one shuffle showed"
            )


_Begun = Callable[[CardsWalk, Any, Read], Iterator[Finding]]
_BEGUN: Mapping[type[Errand], _Begun] = {
    OpenShoe: _open_shoe,
    RecordCut: _cut,
    SealShoe: _seal,
    Cards: _cards,
    PutAway: _put_away,
}
_Told = Callable[[CardsWalk, Read], Iterator[Finding]]
_TOLD: Mapping[type[Any], _Told] = {
    table.ShoeOffered: _shoe_offered,
    table.ShoeReady: _shoe_ready,
    table.ShoeFinished: _shoe_finished,
    table.ShoePutAway: _shoe_put_away,
    table.CardsDealt: _cards_dealt,
}
