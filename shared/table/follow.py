"""What the house does by itself: the one derived event that a state calls for next, if any.

`decide` asks until there is none, so a table never rests in a state in which something is due that
needs nobody. Order matters and is the order below.
"""

from __future__ import annotations

from shared.table import events as e
from shared.table.envelope import running_hand
from shared.table.follow_between import between_hands, shoe_over
from shared.table.follow_deal import before_deal, shoe_requested
from shared.table.follow_hand import in_hand, on_incident
from shared.table.state import ASKED, Status, TableState, free_chips


def next_derived(state: TableState) -> e.Derived | None:
    """The derived event that comes next, or None: the table waits for someone or something."""
    if state.moved:
        clock, deadline, warn_at = state.moved[0]
        return e.DeadlineMoved(deadline, warn_at, clock)
    if state.going_back:
        return e.CashOutRequested(*state.going_back[0])
    if state.fines and state.hand is None:  # in a hand his chips are those it started with
        player, amount = state.fines[0]
        return e.FineTaken(player, max(0, min(amount, free_chips(state, player))))
    joined = _joining(state)
    if joined is not None:
        return joined
    if state.voided:
        return e.HandVoided(running_hand(state), state.voided)
    if state.lost and state.shoe is not None:
        return shoe_over(state, state.shoe, state.lost)
    if state.redealt:
        return e.HandRedealt(running_hand(state), state.redealt)
    if state.incident is not None and not state.incident.choosing:
        resolved = on_incident(state, state.incident)
        if resolved is not None:
            return resolved
    if _next_shoe_due(state):
        return shoe_requested(state)
    if state.hand is not None:
        return in_hand(state, state.hand)
    if state.betting is not None and state.betting.closed:
        return before_deal(state, state.betting)
    return between_hands(state)


def _next_shoe_due(state: TableState) -> bool:
    """Two shoes alternate: as soon as one is sealed the next is asked for, so that no hand waits
    for a shuffle."""
    sealed = state.shoe is not None and state.shoe.sealed
    return sealed and state.next_shoe is None and state.status is Status.OPEN


def _joining(state: TableState) -> e.Derived | None:
    """TAB-10: house games need no consent; at draw poker silence of those seated is consent."""
    table = state.table
    for player, deadline in state.joining.items():
        if player in state.objections:
            return e.JoinFailed(player, state.objections[player])
        if state.status is not Status.OPEN:
            return e.JoinFailed(player, "table_closed")
        if deadline > 0:
            continue
        asks = table.between_players and not table.open_joining and bool(state.seats)
        if deadline == ASKED and asks:
            return e.ConsentAsked(player, state.now + table.clocks.consent_ms * 1000)
        return e.PlayerJoined(player)
    return None
