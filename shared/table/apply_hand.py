"""What events do to the running hand, and what the pit does to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from shared.cards import Card
from shared.games import oasis_poker
from shared.games.play import Box, Cell, Decision, Done, Face, Setup
from shared.table import events as e
from shared.table.replace import replace
from shared.table.state import (
    ENTRY,
    Betting,
    CardsAwaited,
    Deciding,
    Hand,
    Incident,
    Pot,
    Shoe,
    TableState,
    there,
)

BURN = "burn"
"""The place of cards burned at the start of a shoe or by the pit."""

EXPOSED = "exposed_card"
"""The phase in which a draw poker player keeps an exposed card or asks for a redeal (DRW-13)."""


def setup_of(opened: e.HandOpened) -> Setup:
    """What the game starts from, out of the event that carries it all."""
    return Setup(
        boxes=tuple(
            Box(
                box.box,
                box.owner,
                tuple((bet.player, bet.wager, bet.stake) for bet in box.bets),
                box.blind,
            )
            for box in opened.boxes
        ),
        stacks={stack.player: stack.chips for stack in opened.stacks},
        ante=opened.ante,
        first=opened.first,
        carried_pot=opened.carried_pot,
        entries=tuple((entry.box, entry.amount) for entry in opened.entries),
        entry=opened.entry or "ante",
    )


def decision_of(state: TableState, event: e.DecisionMade) -> Decision:
    """The decision in the game's words: cards named by position become the cards that lie there."""
    cards: dict[int, Card | None] = {}
    if event.positions:
        held = state.table.game.cells(there(state.hand).play).get(f"box{event.box}", ())
        cards = {cell.position: cell.card for cell in held}
    return Decision(
        box=event.box,
        do=event.action,
        amount=event.amount,
        cards=tuple(_named(cards.get(position)) for position in event.positions),
        insurance=tuple((stake.player, stake.stake) for stake in event.insurance),
    )


def _named(card: Card | None) -> Card:
    return Card(-1) if card is None else card  # a card nobody holds: the game says BAD_EXCHANGE


def _hand_opened(state: TableState, event: e.HandOpened) -> TableState:
    setup = setup_of(event)
    table = state.table
    return replace(
        state,
        betting=None,
        hand=Hand(event.hand_id, event.number, setup, table.game.start(table.settings, setup)),
        last_boxes=event.boxes,
        last_result=None,
        last_cells={},
    )


def _cards_due(state: TableState, event: e.CardsDue) -> TableState:
    cards = CardsAwaited(state.version + 1, event.slots)
    return replace(state, deciding=None, cards=cards, to_burn=max(0, state.to_burn - 1))


def _cards_dealt(state: TableState, event: e.CardsDealt) -> TableState:
    shoe, hand = there(state.shoe), state.hand
    state = replace(state, cards=None)
    cells = tuple([Cell(card.position, card.card) for card in event.cards])
    burned = event.cards[0].hand == BURN
    fresh = event.cards[0].position >= shoe.next_position
    if fresh:
        shoe = replace(shoe, next_position=event.cards[-1].position + 1)
        if burned and hand is None:
            shoe = _burned(state, shoe, event.cards)
        state = replace(state, shoe=shoe)
    if hand is None or burned:
        return state
    rules = state.table.game
    play = rules.dealt(hand.play, cells) if fresh else rules.shown(hand.play, cells)
    seen = hand.public | {card.position for card in event.cards if card.face is Face.UP}
    return replace(state, hand=replace(hand, play=play, public=seen))


def _burned(state: TableState, shoe: Shoe, cards: tuple[e.DealtCard, ...]) -> Shoe:
    """The burn at the start of a shoe: a first card turned up says how many follow (BAC-03)."""
    burn_by = state.table.shoe_rules.burn_by
    first = cards[0].card
    if burn_by is not None and not shoe.burn_started and first is not None:
        return replace(shoe, burn_started=True, burn_left=burn_by(first))
    return replace(shoe, burn_started=True, burn_left=0)


# ---- Decisions


def _decisions_due(state: TableState, event: e.DecisionsDue) -> TableState:
    players: Mapping[int, str] = dict(zip(event.boxes, event.players, strict=True))
    deciding = Deciding(event.phase, players, event.warn_at, event.deadline)
    # A choice about a card has a clock of its own, beside the one that waits for it.
    paused = state.paused if event.phase == EXPOSED else None
    return replace(state, deciding=deciding, paused=paused)


def _decided(state: TableState, decision: Decision) -> TableState:
    hand, deciding = there(state.hand), there(state.deciding)
    if deciding.phase == EXPOSED:
        redealt = EXPOSED if decision.do == "redeal" else ""
        return replace(state, deciding=None, incident=None, redealt=redealt)
    left = {box: player for box, player in deciding.players.items() if box != decision.box}
    return replace(
        state,
        hand=replace(hand, play=state.table.game.decide(hand.play, decision)),
        deciding=replace(deciding, players=left) if left else None,
    )


def _decision_made(state: TableState, event: e.DecisionMade) -> TableState:
    after = _decided(state, decision_of(state, event))
    clock = there(state.deciding)
    if event.action == oasis_poker.LOOK:
        paused = (clock.warn_at - event.at, clock.deadline - event.at)
        return replace(after, paused=paused)
    return after


def _decision_defaulted(state: TableState, event: e.DecisionDefaulted) -> TableState:
    return _decided(state, Decision(event.box, event.action))


# ---- The end of a hand


def _hand_settled(state: TableState, event: e.HandSettled) -> TableState:
    change: dict[str, int] = {}
    for line in event.lines:
        change[line.player] = change.get(line.player, 0) + line.returned - line.stake
    owed = {booked.player: booked.amount for booked in event.commission}
    seats = {
        player: replace(
            seat,
            chips=seat.chips + change.get(player, 0),
            owed=seat.owed + owed.get(player, 0),
        )
        for player, seat in state.seats.items()
    }
    hand = there(state.hand)
    return replace(
        _hand_over(state),
        seats=seats,
        hands_played=state.hands_played + 1,
        last_result=event,
        last_cells=state.table.game.cells(hand.play),
        last_public=hand.public,
        pot=_pot_after(state, event) if state.table.between_players else state.pot,
    )


def _pot_after(state: TableState, event: e.HandSettled) -> Pot:
    """What is carried on: a pot nobody played for, and who has paid into it (DRW-06, DRW-10). Of
    several pots the lowest, which has all that was carried before, may be won and another left."""
    pot = state.pot
    if not event.next_entry:
        return replace(pot, carried=0, entry="ante", paid={}, windows=0, winners=event.winners)
    paid = {} if event.winners else dict(pot.paid)
    done = cast(Done, state.table.game.next_step(there(state.hand).play))
    for player, left in done.carried_by:
        if left or not event.winners:
            paid[player] = paid.get(player, 0) + left
    return Pot(
        carried=event.carried_pot,
        entry=event.next_entry,
        paid=paid,
        winners=event.winners or pot.winners,
    )


def _hand_voided(state: TableState, event: e.HandVoided) -> TableState:
    """All stakes of the hand go back; the shoe that was cut for it is changed."""
    shoe = there(state.shoe)
    return replace(_hand_over(state), shoe=replace(shoe, spoiled=shoe.cut_offered))


def _hand_over(state: TableState) -> TableState:
    return replace(
        state,
        hand=None,
        betting=None,
        deciding=None,
        paused=None,
        cards=None,
        voided="",
        redealt="",
        incident=None,
        to_burn=0,
    )


def _hand_redealt(state: TableState, event: e.HandRedealt) -> TableState:
    """Back to the moment in which betting closed: first stakes stay, a new shoe comes (TAB-08)."""
    hand = there(state.hand)
    bets = tuple(
        (box.number, player, wager, stake)
        for box in hand.setup.boxes
        for player, wager, stake in box.bets
    )
    entries = dict(hand.setup.entries)
    if state.table.between_players:
        bets = tuple(
            (box.number, box.owner, ENTRY, entries[box.number]) for box in hand.setup.boxes
        )
    betting = Betting(
        hand.hand_id,
        hand.number,
        bets=bets,
        blind=frozenset(box.number for box in hand.setup.boxes if box.blind),
        owners={box.number: box.owner for box in hand.setup.boxes},
        closed=True,
        entry=hand.setup.entry if state.table.between_players else "",
    )
    shoe = replace(there(state.shoe), spoiled=True)
    return replace(_hand_over(state), betting=betting, shoe=shoe)


# ---- The pit


def _incident_reported(state: TableState, event: e.IncidentReported) -> TableState:
    incident = Incident(event.incident, event.position, event.by_pit)
    return replace(state, incident=incident)


def _incident_confirmed(state: TableState, event: e.IncidentConfirmed) -> TableState:
    return replace(state, incident=replace(there(state.incident), confirmed=True))


def _interrupted(state: TableState) -> TableState:
    """What the pit has to see to first takes nothing from a running decision clock, and adds
    nothing to it."""
    clock = state.deciding
    if clock is None:
        return state
    return replace(state, paused=(clock.warn_at - state.now, clock.deadline - state.now))


def _incident_resolved(state: TableState, event: e.IncidentResolved) -> TableState:
    match event.outcome:
        case "void":
            return replace(state, incident=None, voided=event.incident)
        case "redeal":
            return replace(state, incident=None, redealt=event.incident)
        case "burn":
            return replace(_interrupted(state), incident=None, to_burn=state.to_burn + 1)
        case "choice":
            incident = replace(there(state.incident), choosing=True)
            return replace(_interrupted(state), deciding=None, incident=incident)
        case _:
            return replace(state, incident=None)


def _hand_ruled_void(state: TableState, event: e.HandRuledVoid) -> TableState:
    return replace(state, voided="management")


APPLY: Mapping[type[Any], Callable[[TableState, Any], TableState]] = {
    e.HandOpened: _hand_opened,
    e.CardsDue: _cards_due,
    e.CardsDealt: _cards_dealt,
    e.DecisionsDue: _decisions_due,
    e.DecisionMade: _decision_made,
    e.DecisionDefaulted: _decision_defaulted,
    e.HandSettled: _hand_settled,
    e.HandVoided: _hand_voided,
    e.HandRedealt: _hand_redealt,
    e.IncidentReported: _incident_reported,
    e.IncidentConfirmed: _incident_confirmed,
    e.IncidentResolved: _incident_resolved,
    e.HandRuledVoid: _hand_ruled_void,
}
