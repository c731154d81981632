"""What follows by itself while a hand is played."""

from __future__ import annotations

from collections.abc import Mapping

from shared.games import draw_poker, play
from shared.games.play import Deal, Decisions, Done, Face, Show
from shared.table import events as e
from shared.table.apply_hand import BURN, EXPOSED
from shared.table.state import Hand, Incident, Shoe, TableState

_VOID = {"card_exposed": "void", "wrong_card_count": "void", "wrong_order": "void"}
OUTCOMES: Mapping[str, Mapping[str, str]] = {
    "baccarat": {**_VOID, "dealer_change": "go_on"},
    "battle": {**_VOID, "card_exposed": "burn", "dealer_change": "burn"},
    "casino_holdem": {
        "card_exposed": "go_on",
        "wrong_card_count": "redeal",
        "wrong_order": "void",
        "dealer_change": "go_on",
    },
    "oasis_poker": {**_VOID, "dealer_change": "go_on"},
    "draw_poker": {
        "card_exposed": "choice",
        "wrong_card_count": "redeal",
        "wrong_order": "redeal",
        "dealer_change": "go_on",
    },
}
"""What an incident leads to at each game (TAB-08, DRW-13, OAS-16)."""


def in_hand(state: TableState, hand: Hand) -> e.Derived | None:
    """The next step of the hand, unless it waits for cards or for somebody."""
    if state.cards is not None or state.shoe is None:
        return None
    if state.to_burn:
        return _if_there(state.shoe, hand, burn_next(state.shoe))
    incident = state.incident
    deciding = state.deciding
    if incident is not None and incident.choosing and deciding is None:
        return _choice(state, hand, incident.position)
    if deciding is not None and deciding.expired:
        box = min(deciding.players)  # TAB-06, in the order of the boxes
        if deciding.phase == EXPOSED:
            return e.DecisionDefaulted(box, "keep")
        return e.DecisionDefaulted(box, state.table.game.default(hand.play, box).do)
    if deciding is not None and deciding.phase == EXPOSED:
        return None
    match state.table.game.next_step(hand.play):
        case Deal(slots):
            return _if_there(state.shoe, hand, _cards_due(state.shoe, hand, slots))
        case Show(turns):
            return _cards_to_show(state.shoe, hand, turns)
        case Decisions() as decisions:
            return _decisions_due(state, decisions)
        case done:
            return _settled(hand, done)


def _if_there(shoe: Shoe, hand: Hand, due: e.CardsDue) -> e.CardsDue | e.HandVoided:
    """The cards from the next on, unless burns have left the shoe too few: a hand that cannot go on
    is void."""
    if due.slots[-1].position >= shoe.size:
        return e.HandVoided(hand.hand_id, "deck_too_short")
    return due


def _cards_due(shoe: Shoe, hand: Hand, slots: tuple[play.Slot, ...]) -> e.CardsDue:
    return e.CardsDue(
        shoe.shoe_id,
        tuple(
            [
                e.CardSlot(position, slot.hand, slot.face, _viewer(hand, slot.hand, slot.face))
                for position, slot in enumerate(slots, start=shoe.next_position)
            ]
        ),
    )


def _cards_to_show(shoe: Shoe, hand: Hand, turns: tuple[play.Turn, ...]) -> e.CardsDue:
    slots = tuple(
        e.CardSlot(turn.position, turn.hand, turn.face, _viewer(hand, turn.hand, turn.face))
        for turn in sorted(turns, key=lambda turn: turn.position)
    )
    return e.CardsDue(shoe.shoe_id, slots)


def burn_next(shoe: Shoe) -> e.CardsDue:
    """The next card goes face down out of play (TAB-08)."""
    return e.CardsDue(shoe.shoe_id, (e.CardSlot(shoe.next_position, BURN, Face.DOWN),))


def _viewer(hand: Hand, place: str, face: Face) -> str:
    """Who sees a card that only the owner of its box may see (TAB-05)."""
    if face is not Face.OWNER:
        return ""
    number = int(place.removeprefix("box"))
    return next(box.owner for box in hand.setup.boxes if box.number == number)


def _decisions_due(state: TableState, decisions: Decisions) -> e.DecisionsDue | None:
    """A clock for decisions newly due; one that runs, or waited for cards to be looked at, is not
    started again (TAB-06)."""
    players = {due.box: due.player for due in decisions.due}
    deciding = state.deciding
    if (
        deciding is not None
        and deciding.phase == decisions.phase
        and players.keys() <= deciding.players.keys()
    ):
        return None
    return _asked(state, decisions.phase, players, state.paused)


def _asked(
    state: TableState,
    phase: str,
    players: Mapping[int, str],
    left: tuple[int, int] | None = None,
) -> e.DecisionsDue:
    """`left`: microseconds to the warning and to the end, where they are not the table's."""
    if left is None:
        clocks = state.table.clocks
        warned = clocks.decision_warn_ms * 1000
        left = (warned, warned + clocks.decision_default_ms * 1000)
    return e.DecisionsDue(
        phase=phase,
        boxes=tuple(players),
        players=tuple(players.values()),
        warn_at=state.now + left[0],
        deadline=state.now + left[1],
    )


def _settled(hand: Hand, done: Done) -> e.HandSettled:
    return e.HandSettled(
        hand_id=hand.hand_id,
        result=done.result,
        lines=tuple(
            [
                e.SettledLine(line.box, line.player, line.bet, line.stake, line.returned)
                for line in done.lines
            ]
        ),
        commission=tuple([e.CommissionBooked(*booked) for booked in done.commission]),
        clauses=done.clauses,
        carried_pot=done.carried_pot,
        next_entry=done.next_entry or "",
        winners=done.winners,
        pot_change=done.carried_pot - hand.setup.carried_pot,
        rake=done.rake,
    )


# ---- The pit (TAB-08)


def on_incident(state: TableState, incident: Incident) -> e.IncidentResolved | None:
    """What the incident leads to; an exposed card in battle waits for the pit to confirm it, one in
    draw poker for cards that are on their way: it may be among them."""
    outcome = OUTCOMES[state.table.game.NAME][incident.name]
    shoe = state.shoe
    if incident.name == "card_exposed":
        if outcome == "burn" and not incident.confirmed:
            return None
        if outcome == "choice" and state.hand is not None:
            if state.cards is not None:
                return None
            if _box_of(state.hand, incident.position) is None:
                outcome = "go_on"  # nobody still in holds it
    elif outcome == "burn" and (shoe is None or not shoe.burn_started):
        outcome = "go_on"  # no card has left this shoe yet
    return e.IncidentResolved(incident.name, outcome)


def _box_of(hand: Hand, position: int) -> int | None:
    """The draw poker box that holds the card."""
    for box, cells in draw_poker.hidden_hands(hand.play).items():
        if any(cell.position == position for cell in cells):
            return box
    return None


def _choice(state: TableState, hand: Hand, position: int) -> e.DecisionsDue:
    """The player concerned keeps the card or asks for a redeal (DRW-13)."""
    number = _box_of(hand, position)
    owners = {box.number: box.owner for box in hand.setup.boxes if box.number == number}
    return _asked(state, EXPOSED, owners)
