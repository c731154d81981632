"""Whether an input about the table, its seats or its chips may happen."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from shared.errors import CroupierError, RuleError, SettingError
from shared.games.registry import game
from shared.proofs.shoe_order import MAX_DECKS
from shared.table import events as e
from shared.table.state import MOST_CHIPS, Seat, Status, TableState, clocks, free_chips

PENALTIES = ("warning", "fine", "removal")
LOSSES = ("log_recovered", "shoe_retired")


def seated(state: TableState, player: str) -> Seat:
    """The player's seat; `NOT_SEATED` where he has none."""
    seat = state.seats.get(player)
    if seat is None:
        raise RuleError("NOT_SEATED", "you are not seated at this table", "table_id")
    return seat


def check_named(state: TableState, player: str, field: str) -> None:
    """`NOT_SEATED` where somebody whom a command names in `field` has no seat."""
    if player not in state.seats:
        raise RuleError("NOT_SEATED", "nobody of this name is seated here", field)


def in_time(state: TableState, clock: str, at: int, reason: str) -> None:
    """Arrival at the owner counts; what comes at the deadline or later is too late."""
    deadline = clocks(state).get(clock)
    if deadline is not None and at >= deadline:
        raise RuleError(reason, "the clock has run out")


def _always(state: TableState, fact: e.Input) -> None:
    """Nothing speaks against it."""


def _table_opened(state: TableState, fact: e.TableOpened) -> None:
    if state.config is not None:
        raise CroupierError("TABLE_EXISTS", "there is a table of this name", "table_id")
    rules = game(fact.game)
    if fact.rules_version != rules.VERSION:
        raise SettingError("game", f"{fact.game} is at rules version {rules.VERSION}")
    if rules.decks(rules.settings(json.loads(fact.rules_json))) > MAX_DECKS:
        raise SettingError("decks", f"a table's shoe has {MAX_DECKS} decks at most")
    if not rules.WAGERS and fact.ante <= 0:
        raise SettingError("ante", "at draw poker everyone puts in an ante")


def _table_claimed(state: TableState, fact: e.TableClaimed) -> None:
    if fact.epoch != state.epoch + 1:
        raise RuleError("STALE_EPOCH", f"the table is at epoch {state.epoch}", "epoch")


def _shoes_lost(state: TableState, fact: e.ShoesLost) -> None:
    if fact.why not in LOSSES:
        raise RuleError("BAD_REQUEST", f"shoes are lost by {', '.join(LOSSES)}", "why")
    at_hand = {shoe.shoe_id for shoe in (state.shoe, state.next_shoe) if shoe is not None}
    if fact.shoe_id and fact.shoe_id not in at_hand:
        raise RuleError("BAD_REQUEST", "the table has no such shoe any more", "shoe_id")


def _table_closing(state: TableState, fact: e.TableClosing) -> None:
    if state.status is not Status.OPEN:
        raise RuleError("TABLE_CLOSED", "the table is closing already", "table_id")


def _clock_expired(state: TableState, fact: e.ClockExpired) -> None:
    deadline = clocks(state).get(fact.clock)
    if deadline is None or fact.deadline != deadline or fact.at < deadline:
        raise RuleError("DECISION_NOT_DUE", "no such clock has run out", "deadline")


# ---- Joining and leaving


def _join_asked(state: TableState, fact: e.JoinAsked) -> None:
    if fact.player in state.seats:
        raise RuleError("ALREADY_SEATED", "you are seated at this table", "table_id")
    if fact.player in state.joining:
        raise RuleError("ALREADY_SEATED", "you have asked to join", "table_id")
    if fact.player in state.removed:
        raise RuleError("PLAYER_REMOVED", "the pit has removed you from this table", "table_id")
    if state.status is not Status.OPEN:
        raise RuleError("TABLE_CLOSED", "the table is closing", "table_id")
    if len(state.seats) + len(state.joining) >= state.table.seats:
        raise RuleError("TABLE_FULL", f"all {state.table.seats} seats are taken", "table_id")


def _join_objected(state: TableState, fact: e.JoinObjected) -> None:
    seated(state, fact.by)
    if f"join/{fact.player}" not in clocks(state):
        raise RuleError("DECISION_NOT_DUE", "nobody of this name waits for consent", "player")
    in_time(state, f"join/{fact.player}", fact.at, "DECISION_NOT_DUE")


def _has_seat(state: TableState, fact: e.LeaveRequested | e.SitOutChanged) -> None:
    seated(state, fact.player)


def _penalty_given(state: TableState, fact: e.PenaltyGiven) -> None:
    if fact.penalty not in PENALTIES:
        raise RuleError("BAD_REQUEST", f"penalties are {', '.join(PENALTIES)}", "penalty")
    check_named(state, fact.player, "player")
    if (fact.penalty == "fine") != (fact.amount > 0):
        raise RuleError("BAD_AMOUNT", "a fine, and nothing else, has an amount", "amount")


# ---- Chips


def between_hands(state: TableState) -> None:
    """`HAND_RUNNING` from the close of betting to the settlement."""
    if state.hand is not None or (state.betting is not None and state.betting.closed):
        raise RuleError("HAND_RUNNING", "that is done between hands (TAB-04)")


def _chips_requested(state: TableState, fact: e.ChipsRequested) -> None:
    seat = seated(state, fact.player)
    if not 0 < fact.amount <= MOST_CHIPS:
        raise RuleError("BAD_AMOUNT", f"an amount of chips is 1 to {MOST_CHIPS}", "amount")
    between_hands(state)
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
    between_hands(state)
    free = free_chips(state, fact.player)
    if fact.amount > free or free <= 0:
        raise RuleError("INSUFFICIENT_CHIPS", f"{max(free, 0)} chips may be cashed", "amount")


CHECK: Mapping[type[Any], Callable[[TableState, Any], None]] = {
    e.TableOpened: _table_opened,
    e.TableClaimed: _table_claimed,
    e.PlayResumed: _always,
    e.ShoesLost: _shoes_lost,
    e.TableClosing: _table_closing,
    e.ClockExpired: _clock_expired,
    e.JoinAsked: _join_asked,
    e.JoinObjected: _join_objected,
    e.LeaveRequested: _has_seat,
    e.SitOutChanged: _has_seat,
    e.PenaltyGiven: _penalty_given,
    e.ChipsRequested: _chips_requested,
    e.ChipsArrived: _chips_answered,
    e.ChipsDenied: _chips_answered,
    e.CashOutAsked: _cash_out_asked,
}
