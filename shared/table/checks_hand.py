"""Whether an input about bets, cards, decisions or the pit may happen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shared.errors import RuleError
from shared.games import battle, oasis_poker
from shared.games.play import Face
from shared.table import events as e
from shared.table.apply_hand import EXPOSED, decision_of
from shared.table.apply_seats import request_id
from shared.table.checks_seats import between_hands, check_named, in_time, seated
from shared.table.setup import bettors_on, entry_price, most_bettors, proposed_setup
from shared.table.state import (
    ENTRY,
    MOST_CHIPS,
    Betting,
    Hand,
    Seat,
    Status,
    TableState,
    free_chips,
)

INCIDENTS = ("card_exposed", "wrong_card_count", "wrong_order", "dealer_change")
CHOICES = ("keep", "redeal")


# ---- Betting


def _open_window(state: TableState, at: int, field: str = "box") -> Betting:
    betting = state.betting
    if betting is None or betting.closed:
        raise RuleError("BETTING_CLOSED", "betting is not open (TAB-03)", field)
    in_time(state, "betting", at, "BETTING_CLOSED")
    return betting


def _bet_placed(state: TableState, fact: e.BetPlaced) -> None:
    seat = seated(state, fact.player)
    betting = _open_window(state, fact.at)
    if state.status is not Status.OPEN:
        raise RuleError("BETTING_CLOSED", "the table is closing", "box")
    if seat.leaving or seat.sitting_out:
        raise RuleError("NOT_SEATED", "you are sitting out or leaving", "box")
    table = state.table
    if table.between_players:
        return _entered(state, seat, betting, fact)
    if fact.wager not in table.game.WAGERS:
        raise RuleError("BAD_STAKE", f"wagers here are {', '.join(table.game.WAGERS)}", "wager")
    if not 0 < fact.stake <= MOST_CHIPS:
        raise RuleError("BAD_STAKE", f"a stake is 1 to {MOST_CHIPS}", "stake")
    owner = betting.owners.get(fact.box, fact.player)
    if owner != fact.player and (fact.box, fact.player) not in betting.admitted:
        raise RuleError("CONSENT_NEEDED", "the owner of the box has not let you in", "box")
    table.game.check_bets(table.settings, proposed_setup(state, fact), False)
    if fact.done:
        own = proposed_setup(state, fact, only=fact.player)
        table.game.check_bets(table.settings, own)
    return None


def _entered(state: TableState, seat: Seat, betting: Betting, fact: e.BetPlaced) -> None:
    """A draw poker player pays to be dealt in, exactly what is asked, at his own box (DRW-01)."""
    if fact.wager != ENTRY:
        raise RuleError("BAD_STAKE", f"the wager here is {ENTRY}", "wager")
    if not 1 <= fact.box <= state.table.seats:
        raise RuleError("TOO_MANY_BOXES", f"the table has boxes 1 to {state.table.seats}", "box")
    others = [other for other in state.seats.values() if other.player != seat.player]
    if seat.box not in (0, fact.box) or any(other.box == fact.box for other in others):
        raise RuleError("NOT_BOX_OWNER", "one box a player, for as long as he is seated", "box")
    if any(owner == fact.player for owner in betting.owners.values()):
        raise RuleError("BETTING_CLOSED", "you are in", "box")
    price = entry_price(state, fact.player, fact.box)
    if fact.stake != price:
        raise RuleError("BAD_STAKE", f"to be dealt in costs {price}", "stake")
    if price > free_chips(state, fact.player):
        raise RuleError("INSUFFICIENT_CHIPS", f"to be dealt in costs {price}", "stake")


def _bets_taken_back(state: TableState, fact: e.BetsTakenBack) -> None:
    seated(state, fact.player)
    betting = _open_window(state, fact.at)
    if not any((box, player) == (fact.box, fact.player) for box, player, _, _ in betting.bets):
        raise RuleError("NO_BETS", "you have no bets on that box", "box")


def _bettor_admitted(state: TableState, fact: e.BettorAdmitted) -> None:
    betting = _open_window(state, fact.at)
    if betting.owners.get(fact.box) != fact.owner:
        raise RuleError("NOT_BOX_OWNER", "only its owner lets others on a box (TAB-02)", "box")
    check_named(state, fact.bettor, "bettor")
    if len(bettors_on(betting, fact.box) - {fact.bettor}) >= most_bettors(state):
        raise RuleError("TOO_MANY_BETTORS", "no more people may bet on this box (TAB-02)", "box")


def _bets_done(state: TableState, fact: e.BetsDone) -> None:
    seat = seated(state, fact.player)
    _open_window(state, fact.at, "")
    if seat.done:
        raise RuleError("BETTING_CLOSED", "you have said so already")
    try:
        check_own_bets(state, fact.player)
    except RuleError as refused:  # the bets are at fault, none of which this command names
        raise RuleError(refused.reason, refused.message) from None


def check_own_bets(state: TableState, player: str) -> None:
    """Raises what speaks against the player's bets by themselves, were betting to close now."""
    table = state.table
    if not table.between_players:
        table.game.check_bets(table.settings, proposed_setup(state, None, only=player))


# ---- The hand


def _cards_dealt(state: TableState, fact: e.CardsDealt) -> None:
    awaited = state.cards
    if awaited is None or fact.request_id != request_id(state, awaited.version):
        raise RuleError("BAD_POSITION", "these cards are not awaited", "request_id")
    asked = [(s.position, s.hand, s.face, s.viewer) for s in awaited.slots]
    given = [(c.position, c.hand, c.face, c.viewer) for c in fact.cards]
    if asked != given:
        raise RuleError("BAD_POSITION", "other cards were asked for", "cards")
    if any((card.card is None) != (card.face is Face.DOWN) for card in fact.cards):
        raise RuleError("AUDIENCE_NOT_ALLOWED", "a card is shown to those who may see it", "cards")


def _decision_made(state: TableState, fact: e.DecisionMade) -> None:
    seated(state, fact.player)
    deciding, hand = state.deciding, state.hand
    if deciding is None or hand is None:
        raise RuleError("DECISION_NOT_DUE", "nothing is to be decided now", "box")
    in_time(state, "decision", fact.at, "DECISION_NOT_DUE")
    owner = deciding.players.get(fact.box)
    if owner is None:
        raise RuleError("NOT_YOUR_TURN", "that box has nothing to decide now", "box")
    if owner != fact.player and not (fact.owner_away and _next_bettor(hand, fact)):
        raise RuleError("NOT_BOX_OWNER", "only its owner decides for a box (TAB-02)", "box")
    if deciding.phase == EXPOSED:
        if fact.action not in CHOICES:
            raise RuleError("ILLEGAL_DECISION", f"decide {' or '.join(CHOICES)}", "action")
        return
    if fact.action == "timeout":
        raise RuleError("ILLEGAL_DECISION", "that is the clock's word", "action")
    state.table.game.decide(hand.play, decision_of(state, fact))


def _next_bettor(hand: Hand, fact: e.DecisionMade) -> bool:
    """Whether the player is the first of the box's other bettors who have not lost their shares
    (TAB-06)."""
    box = next(box for box in hand.setup.boxes if box.number == fact.box)
    of_game = _STAYING.get(type(hand.play))
    staying = of_game(hand.play, fact.box) if of_game is not None else ()
    return [bettor for bettor in staying if bettor != box.owner][:1] == [fact.player]


_STAYING: Mapping[type[Any], Callable[[Any, int], tuple[str, ...]]] = {
    battle.Hand: battle.staying,
    oasis_poker.Hand: oasis_poker.staying,
}
"""The games that let others bet on a box for which there is something to decide."""


# ---- The pit (TAB-08, TAB-12)


def _incident_reported(state: TableState, fact: e.IncidentReported) -> None:
    if fact.incident not in INCIDENTS:
        raise RuleError("INCIDENT_NOT_ALLOWED", f"incidents are {', '.join(INCIDENTS)}", "incident")
    if state.incident is not None:
        raise RuleError("INCIDENT_NOT_ALLOWED", "an earlier incident is not over", "incident")
    shoe = state.shoe
    if fact.incident == "dealer_change":
        uncut = shoe is not None and not shoe.cut_decided
        if not (state.table.game.NAME == "oasis_poker" and state.hand is None and uncut):
            between_hands(state)
    elif state.hand is None:
        raise RuleError("NO_HAND", "no hand is being played", "incident")


def _incident_confirmed(state: TableState, fact: e.IncidentConfirmed) -> None:
    if state.incident is None or state.incident.confirmed:
        raise RuleError("INCIDENT_NOT_ALLOWED", "nothing waits to be confirmed")


def _hand_ruled_void(state: TableState, fact: e.HandRuledVoid) -> None:
    betting = state.betting
    if state.hand is None and (betting is None or not betting.closed):
        raise RuleError("NO_HAND", "only an unsettled hand can be voided (TAB-12)")


CHECK: Mapping[type[Any], Callable[[TableState, Any], None]] = {
    e.BetPlaced: _bet_placed,
    e.BetsTakenBack: _bets_taken_back,
    e.BettorAdmitted: _bettor_admitted,
    e.BetsDone: _bets_done,
    e.CardsDealt: _cards_dealt,
    e.DecisionMade: _decision_made,
    e.IncidentReported: _incident_reported,
    e.IncidentConfirmed: _incident_confirmed,
    e.HandRuledVoid: _hand_ruled_void,
}
