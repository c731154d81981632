"""Whether an input may happen, and what the rules make of it.

`decide(state, fact)` checks a proposed input event against the table and returns it with all that
follows, as one append; it raises and changes nothing when the rules refuse. The audit calls the
same function with the logged inputs and compares (architecture, promise 7).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from shared.errors import CroupierError, RuleError, SettingError
from shared.games.play import Face
from shared.games.registry import game
from shared.table import events as e
from shared.table.evolve import decision_of, evolve, request_id
from shared.table.follow import OUTCOMES, next_derived
from shared.table.setup import proposed_setup
from shared.table.state import (
    Seat,
    Shoe,
    Status,
    TableState,
    free_chips,
    open_deadline,
)

MOST_DERIVED = 400
"""A bound on what one input may bring about; far above what five games and seven boxes can."""

MOST_SEEDS = 32
_WORDS = ("card_exposed", "wrong_card_count", "wrong_order", "dealer_change")


def decide(state: TableState, fact: e.Input) -> tuple[tuple[e.Event, ...], TableState]:
    """The input and the derived events that follow it, and the table after them.

    Raises `CroupierError` (most often `RuleError`) when the fact may not happen now. `fact.at` is
    the time, microseconds since 1970; nothing else tells the time.
    """
    if state.config is None and not isinstance(fact, e.TableOpened):
        raise CroupierError("TABLE_NOT_FOUND", "no such table", "table_id")
    if state.status is Status.CLOSED and not isinstance(fact, _AFTER_CLOSING):
        raise RuleError("TABLE_CLOSED", "the table is closed", "table_id")
    _CHECK[type(fact)](state, fact)
    events: list[e.Event] = [fact]
    state = evolve(state, fact)
    while (derived := next_derived(state)) is not None:
        events.append(derived)
        state = evolve(state, derived)
        if len(events) > MOST_DERIVED:
            raise AssertionError(f"{type(fact).__name__} brings about more than {MOST_DERIVED}")
    return tuple(events), state


_AFTER_CLOSING = (e.TableClaimed, e.ChipsArrived, e.ChipsDenied, e.ShoePutAway, e.PlayResumed)


def seated(state: TableState, player: str) -> Seat:
    """The player's seat; `NOT_SEATED` where he has none."""
    seat = state.seats.get(player)
    if seat is None:
        raise RuleError("NOT_SEATED", "you are not seated at this table", "table_id")
    return seat


# ---- The table itself


def _table_opened(state: TableState, fact: e.TableOpened) -> None:
    if state.config is not None:
        raise CroupierError("TABLE_EXISTS", "there is a table of this name", "table_id")
    rules = game(fact.game)
    if fact.rules_version != rules.VERSION:
        raise RuleError("BAD_SETTING", f"{fact.game} is at rules version {rules.VERSION}", "game")
    limits = rules.settings(json.loads(fact.rules_json)).limits
    if limits.min is not None and limits.max is not None and limits.min > limits.max:
        raise SettingError("max", "no stake is at least the minimum and at most the maximum")


def _table_claimed(state: TableState, fact: e.TableClaimed) -> None:
    if fact.epoch != state.epoch + 1:
        raise RuleError("STALE_EPOCH", f"the table is at epoch {state.epoch}", "epoch")


def _always(state: TableState, fact: e.Input) -> None:
    """Nothing speaks against it."""


def _table_closing(state: TableState, fact: e.TableClosing) -> None:
    if state.status is not Status.OPEN:
        raise RuleError("TABLE_CLOSED", "the table is closing already", "table_id")


def _clock_expired(state: TableState, fact: e.ClockExpired) -> None:
    deadline = open_deadline(state)
    if not deadline or fact.deadline != deadline or fact.at < deadline:
        raise RuleError("DECISION_NOT_DUE", "no clock has run out", "deadline")


# ---- Players and chips


def _player_joined(state: TableState, fact: e.PlayerJoined) -> None:
    if fact.player in state.seats:
        raise RuleError("ALREADY_SEATED", "you are seated at this table", "table_id")
    if state.status is not Status.OPEN:
        raise RuleError("TABLE_CLOSED", "the table is closing", "table_id")
    if len(state.seats) >= state.table.seats:
        raise RuleError("TABLE_FULL", f"all {state.table.seats} seats are taken", "table_id")


def _leave_requested(state: TableState, fact: e.LeaveRequested) -> None:
    seated(state, fact.player)


def _sit_out_changed(state: TableState, fact: e.SitOutChanged) -> None:
    seated(state, fact.player)


def _in_time(deadline: int, at: int, reason: str) -> None:
    """Arrival at the owner counts; what comes at the deadline or later is too late."""
    if deadline and at >= deadline:
        raise RuleError(reason, "the clock has run out")


def _between_hands(state: TableState) -> None:
    if state.hand is not None or (state.betting is not None and state.betting.closed):
        raise RuleError("HAND_RUNNING", "chips are bought and cashed between hands (TAB-04)")


def _chips_requested(state: TableState, fact: e.ChipsRequested) -> None:
    seat = seated(state, fact.player)
    if fact.amount <= 0:
        raise RuleError("BAD_AMOUNT", "an amount of chips is a positive number", "amount")
    _between_hands(state)
    if seat.leaving or state.status is not Status.OPEN:
        raise RuleError("TABLE_CLOSED", "no more chips for one who leaves", "amount")
    if seat.requests:
        raise RuleError("CHIPS_PENDING", "an earlier request is under way", "amount")


def _chips_answered(state: TableState, fact: e.ChipsArrived | e.ChipsDenied) -> None:
    seat = state.seats.get(fact.player)
    requests = dict(seat.requests) if seat is not None else {}
    late = {request: amount for request, _, amount in state.late_chips}
    amount = requests.get(fact.request_id, late.get(fact.request_id))
    if amount != fact.amount:
        raise RuleError("BAD_REQUEST", "no such chips are awaited", "request_id")


def _cash_out_asked(state: TableState, fact: e.CashOutAsked) -> None:
    seated(state, fact.player)
    if fact.amount < 0:
        raise RuleError("BAD_AMOUNT", "an amount of chips is a positive number", "amount")
    _between_hands(state)
    free = free_chips(state, fact.player)
    if fact.amount > free or free <= 0:
        raise RuleError("INSUFFICIENT_CHIPS", f"{max(free, 0)} chips may be cashed", "amount")


# ---- The shoe


def _shoe_in_use(state: TableState, shoe_id: str) -> Shoe:
    if state.shoe is None or state.shoe.shoe_id != shoe_id:
        raise RuleError("SHOE_NOT_FOUND", "that shoe is not in use here", "shoe_id")
    return state.shoe


def _shoe_offered(state: TableState, fact: e.ShoeOffered) -> None:
    if _shoe_in_use(state, fact.shoe_id).offered:
        raise RuleError("SHOE_EXISTS", "the shoe has been offered", "shoe_id")


def _seed_pledged(state: TableState, fact: e.SeedPledged) -> None:
    seated(state, fact.player)
    shoe = state.shoe
    if len(fact.commitment) != 32:
        raise RuleError("SEED_REFUSED", "a commitment is 32 bytes", "commitment")
    if shoe is None or not shoe.offered or shoe.cut_box:
        raise RuleError("SEED_REFUSED", "no shoe takes seeds now", "commitment")
    if any(player == fact.player for player, _ in shoe.pledges):
        raise RuleError("SEED_REFUSED", "one seed a player and shoe", "commitment")
    if len(shoe.pledges) >= MOST_SEEDS:
        raise RuleError("SEED_REFUSED", f"{MOST_SEEDS} seeds a shoe at most", "commitment")


def _seed_revealed(state: TableState, fact: e.SeedRevealed) -> None:
    shoe = state.shoe
    if shoe is None or not shoe.cut_recorded or shoe.seeds_over:
        raise RuleError("SEED_REFUSED", "no seeds are asked for now", "seed")
    _in_time(shoe.seeds_deadline, fact.at, "SEED_REFUSED")
    if not any(player == fact.player for player, _ in shoe.pledges):
        raise RuleError("SEED_REFUSED", "you have pledged no seed", "seed")
    if any(player == fact.player for player, _ in shoe.reveals):
        raise RuleError("SEED_REFUSED", "your seed is here already", "seed")
    if not 16 <= len(fact.seed) <= 64:
        raise RuleError("SEED_REFUSED", "a seed is 16 to 64 bytes", "seed")


def _cut_chosen(state: TableState, fact: e.CutChosen) -> None:
    shoe = state.shoe
    if shoe is None or not shoe.cut_deadline or shoe.cut_player != fact.player:
        raise RuleError("CUT_NOT_OFFERED", "the cut is not offered to you", "place")
    _in_time(shoe.cut_deadline, fact.at, "CUT_NOT_OFFERED")
    size = state.table.decks * 52
    if fact.place and not state.table.shoe_rules.cut_allowed(fact.place, size):  # TAB-09
        low, high = state.table.shoe_rules.cut_range(size)
        raise RuleError("CUT_TOO_NEAR_EDGE", f"cut between {low} and {high}", "place")


def _cut_recorded(state: TableState, fact: e.CutRecorded) -> None:
    shoe = _shoe_in_use(state, fact.shoe_id)
    if not shoe.cut_decided or shoe.cut_recorded:
        raise RuleError("SHOE_NOT_CUT", "no cut waits to be recorded", "shoe_id")


def _shoe_ready(state: TableState, fact: e.ShoeReady) -> None:
    shoe = _shoe_in_use(state, fact.shoe_id)
    if shoe.sealed or not shoe.cut_decided:
        raise RuleError("SHOE_SEALED", "the shoe does not wait to be sealed", "shoe_id")


def _shoe_put_away(state: TableState, fact: e.ShoePutAway) -> None:
    if not any(shoe_id == fact.shoe_id for shoe_id, _, _ in state.putting_away):
        raise RuleError("SHOE_NOT_FOUND", "that shoe is not being put away", "shoe_id")


# ---- Betting


def _bet_placed(state: TableState, fact: e.BetPlaced) -> None:
    seat = seated(state, fact.player)
    betting = state.betting
    if betting is None or betting.closed or betting.expired or state.status is not Status.OPEN:
        raise RuleError("BETTING_CLOSED", "betting is not open (TAB-03)", "box")
    _in_time(betting.deadline, fact.at, "BETTING_CLOSED")
    if seat.leaving or seat.sitting_out:
        raise RuleError("NOT_SEATED", "you are sitting out or leaving", "box")
    table = state.table
    if fact.wager not in table.game.WAGERS:
        raise RuleError("BAD_STAKE", f"wagers here are {', '.join(table.game.WAGERS)}", "wager")
    if fact.stake <= 0:
        raise RuleError("BAD_STAKE", "a stake is a positive number", "stake")
    owner = betting.owners.get(fact.box, fact.player)
    if owner != fact.player and (fact.box, fact.player) not in betting.admitted:
        raise RuleError("CONSENT_NEEDED", "the owner of the box has not let you in", "box")
    table.game.check_bets(table.settings, proposed_setup(state, fact), False)


def _bets_taken_back(state: TableState, fact: e.BetsTakenBack) -> None:
    seated(state, fact.player)
    betting = state.betting
    if betting is None or betting.closed or betting.expired:
        raise RuleError("BETTING_CLOSED", "betting is not open (TAB-03)", "box")
    _in_time(betting.deadline, fact.at, "BETTING_CLOSED")
    if not any((box, player) == (fact.box, fact.player) for box, player, _, _ in betting.bets):
        raise RuleError("NO_BETS", "you have no bets on that box", "box")


def _bettor_admitted(state: TableState, fact: e.BettorAdmitted) -> None:
    betting = state.betting
    if betting is None or betting.closed:
        raise RuleError("BETTING_CLOSED", "betting is not open (TAB-03)", "box")
    if betting.owners.get(fact.box) != fact.owner:
        raise RuleError("NOT_BOX_OWNER", "only its owner lets others on a box (TAB-02)", "box")
    seated(state, fact.bettor)


def _bets_done(state: TableState, fact: e.BetsDone) -> None:
    seat = seated(state, fact.player)
    betting = state.betting
    if betting is None or betting.closed or seat.done:
        raise RuleError("BETTING_CLOSED", "betting is not open for you", "")
    _in_time(betting.deadline, fact.at, "BETTING_CLOSED")
    table = state.table
    own = proposed_setup(state, None, only=fact.player)
    table.game.check_bets(table.settings, own)


# ---- The hand


def _cards_dealt(state: TableState, fact: e.CardsDealt) -> None:
    awaited = state.cards
    if awaited is None or fact.request_id != request_id(state, awaited.version):
        raise RuleError("BAD_POSITION", "these cards are not awaited", "request_id")
    asked = tuple((s.position, s.hand, s.face, s.viewer) for s in awaited.slots)
    given = tuple((c.position, c.hand, c.face, c.viewer) for c in fact.cards)
    if asked != given:
        raise RuleError("BAD_POSITION", "other cards were asked for", "cards")
    if any((card.card is None) != (card.face is Face.DOWN) for card in fact.cards):
        raise RuleError("AUDIENCE_NOT_ALLOWED", "a card is shown to those who may see it", "cards")


def _decision_made(state: TableState, fact: e.DecisionMade) -> None:
    seated(state, fact.player)
    deciding, hand = state.deciding, state.hand
    if deciding is None or hand is None:
        raise RuleError("DECISION_NOT_DUE", "nothing is to be decided now", "box")
    _in_time(deciding.deadline, fact.at, "DECISION_NOT_DUE")
    owner = deciding.players.get(fact.box)
    if owner is None:
        raise RuleError("NOT_YOUR_TURN", "that box has nothing to decide now", "box")
    if owner != fact.player:
        raise RuleError("NOT_BOX_OWNER", "only its owner decides for a box (TAB-02)", "box")
    state.table.game.decide(hand.play, decision_of(state, fact))


# ---- The pit (TAB-08, TAB-12)


def _incident_reported(state: TableState, fact: e.IncidentReported) -> None:
    if fact.incident not in _WORDS:
        raise RuleError("INCIDENT_NOT_ALLOWED", f"incidents are {', '.join(_WORDS)}", "incident")
    if fact.incident == "dealer_change":
        _between_hands(state)
    elif state.hand is None:
        raise RuleError("NO_HAND", "no hand is being played", "incident")
    if state.table.game.NAME not in OUTCOMES:
        raise RuleError("INCIDENT_NOT_ALLOWED", "incidents are not ruled on at this game", "")


def _hand_ruled_void(state: TableState, fact: e.HandRuledVoid) -> None:
    if state.hand is None:
        raise RuleError("NO_HAND", "only an unsettled hand can be voided (TAB-12)", "")


_CHECK: Mapping[type[Any], Callable[[TableState, Any], None]] = {
    e.TableOpened: _table_opened,
    e.TableClaimed: _table_claimed,
    e.PlayResumed: _always,
    e.TableClosing: _table_closing,
    e.ClockExpired: _clock_expired,
    e.PlayerJoined: _player_joined,
    e.LeaveRequested: _leave_requested,
    e.SitOutChanged: _sit_out_changed,
    e.ChipsRequested: _chips_requested,
    e.ChipsArrived: _chips_answered,
    e.ChipsDenied: _chips_answered,
    e.CashOutAsked: _cash_out_asked,
    e.ShoeOffered: _shoe_offered,
    e.SeedPledged: _seed_pledged,
    e.SeedRevealed: _seed_revealed,
    e.CutChosen: _cut_chosen,
    e.CutRecorded: _cut_recorded,
    e.ShoeReady: _shoe_ready,
    e.ShoePutAway: _shoe_put_away,
    e.BetPlaced: _bet_placed,
    e.BetsTakenBack: _bets_taken_back,
    e.BettorAdmitted: _bettor_admitted,
    e.BetsDone: _bets_done,
    e.CardsDealt: _cards_dealt,
    e.DecisionMade: _decision_made,
    e.IncidentReported: _incident_reported,
    e.HandRuledVoid: _hand_ruled_void,
}
