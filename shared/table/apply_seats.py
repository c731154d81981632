"""What events do to the table as a whole, to its seats and to the chips on it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from shared.games.registry import game
from shared.ids import event_id
from shared.table import events as e
from shared.table.replace import replace
from shared.table.state import (
    ASKED,
    Config,
    Seat,
    Shoe,
    Status,
    TableState,
    clocks,
    free_chips,
    there,
)


def with_seat(state: TableState, seat: Seat) -> TableState:
    """The table with this seat in place of the player's earlier one."""
    return replace(state, seats={**state.seats, seat.player: seat})


def request_id(state: TableState, version: int) -> str:
    """The id of the event at `version` of this table's stream (its UUID as text)."""
    return str(event_id(f"table/{state.table.table_id}", version))


def _table_opened(state: TableState, event: e.TableOpened) -> TableState:
    rules = game(event.game)
    settings = rules.settings(json.loads(event.rules_json))
    return replace(
        state,
        config=Config(
            table_id=event.table_id,
            name=event.name,
            game=rules,
            rules_json=event.rules_json,
            settings=settings,
            currency=event.currency,
            clocks=event.clocks,
            seats=event.seats,
            decks=rules.decks(settings),
            shoe_rules=rules.SHOE,
            ante=event.ante,
            open_joining=event.open_joining,
        ),
    )


def _table_claimed(state: TableState, event: e.TableClaimed) -> TableState:
    return _graced(replace(state, node=event.node, epoch=event.epoch), event.at)


def _play_resumed(state: TableState, event: e.PlayResumed) -> TableState:
    return _graced(state, event.at)


def _shoes_lost(state: TableState, event: e.ShoesLost) -> TableState:
    betting = state.betting
    open_hand = state.hand is not None or (betting is not None and bool(betting.bets))
    return replace(
        state,
        lost=event.why if state.shoe is not None else "",
        voided=event.why if open_hand else state.voided,
    )


def _graced(state: TableState, at: int) -> TableState:
    """Nobody is folded, or let in unasked, by our outage: each running clock gets the grace at
    least, from now on."""
    grace = state.table.clocks.grace_ms * 1000
    least = at + grace
    if state.paused is not None:
        warn_left, left = state.paused
        state = replace(state, paused=(warn_left, max(left, grace)))
    moved = []
    for clock, deadline in clocks(state).items():
        if deadline < least:
            deciding = state.deciding if clock == "decision" else None
            moved.append((clock, least, max(deciding.warn_at, at) if deciding is not None else 0))
    return replace(state, moved=tuple(moved))


def _deadline_moved(state: TableState, event: e.DeadlineMoved) -> TableState:
    state = replace(state, moved=state.moved[1:])
    deadline = event.deadline
    match event.clock:
        case "decision":
            moved = replace(there(state.deciding), deadline=deadline, warn_at=event.warn_at)
            return replace(state, deciding=moved)
        case "betting":
            return replace(state, betting=replace(there(state.betting), deadline=deadline))
        case "cut":
            return replace(state, shoe=replace(there(state.shoe), cut_deadline=deadline))
        case "seeds":
            return replace(state, shoe=replace(there(state.shoe), seeds_deadline=deadline))
        case _:
            player = event.clock.partition("/")[2]
            return replace(state, joining={**state.joining, player: deadline})


def _table_closing(state: TableState, event: e.TableClosing) -> TableState:
    return replace(state, status=Status.CLOSING)


def _table_closed(state: TableState, event: e.TableClosed) -> TableState:
    return replace(state, status=Status.CLOSED)


def _clock_expired(state: TableState, event: e.ClockExpired) -> TableState:
    match event.clock:
        case "decision":
            return replace(state, deciding=replace(there(state.deciding), expired=True))
        case "betting":
            return replace(state, betting=replace(there(state.betting), expired=True))
        case "seeds":
            return replace(state, shoe=replace(there(state.shoe), seeds_over=True))
        case "cut":
            return replace(state, shoe=replace(there(state.shoe), cut_deadline=0))
        case _:
            player = event.clock.partition("/")[2]
            return replace(state, joining={**state.joining, player: 0})


# ---- Joining and leaving


def _join_asked(state: TableState, event: e.JoinAsked) -> TableState:
    return replace(state, joining={**state.joining, event.player: ASKED})


def _consent_asked(state: TableState, event: e.ConsentAsked) -> TableState:
    return replace(state, joining={**state.joining, event.player: event.deadline})


def _join_objected(state: TableState, event: e.JoinObjected) -> TableState:
    return replace(state, objections={**state.objections, event.player: "objected"})


def _no_longer_joining(state: TableState, player: str) -> TableState:
    return replace(
        state,
        joining={who: deadline for who, deadline in state.joining.items() if who != player},
        objections={who: why for who, why in state.objections.items() if who != player},
    )


def _join_failed(state: TableState, event: e.JoinFailed) -> TableState:
    return _no_longer_joining(state, event.player)


def _player_joined(state: TableState, event: e.PlayerJoined) -> TableState:
    return with_seat(_no_longer_joining(state, event.player), Seat(event.player))


def _leave_requested(state: TableState, event: e.LeaveRequested) -> TableState:
    return with_seat(state, replace(state.seats[event.player], leaving=True))


def _player_left(state: TableState, event: e.PlayerLeft) -> TableState:
    seat = state.seats[event.player]
    late = tuple((request, seat.player, amount) for request, amount in seat.requests)
    seats = {player: other for player, other in state.seats.items() if player != event.player}
    return replace(
        state,
        seats=seats,
        late_chips=state.late_chips + late,
        shoe=_unpledged(state.shoe, event.player),
        next_shoe=_unpledged(state.next_shoe, event.player),
    )


def _unpledged(shoe: Shoe | None, player: str) -> Shoe | None:
    """Nobody waits for the seed of a player who left before the cut: shuffle never hears of it."""
    if shoe is None or shoe.cut_offered:
        return shoe
    kept = tuple(pledge for pledge in shoe.pledges if pledge[0] != player)
    return replace(shoe, pledges=kept)


def _sit_out_changed(state: TableState, event: e.SitOutChanged) -> TableState:
    return with_seat(state, replace(state.seats[event.player], sitting_out=event.sitting_out))


def _penalty_given(state: TableState, event: e.PenaltyGiven) -> TableState:
    match event.penalty:
        case "fine":
            return replace(state, fines=(*state.fines, (event.player, event.amount)))
        case "removal":
            state = replace(state, removed=state.removed | {event.player})
            return with_seat(state, replace(state.seats[event.player], leaving=True))
        case _:
            return state


def _fine_taken(state: TableState, event: e.FineTaken) -> TableState:
    seat = state.seats[event.player]
    state = replace(state, fines=state.fines[1:])
    return with_seat(state, replace(seat, chips=seat.chips - event.amount))


# ---- Chips


def _chips_requested(state: TableState, event: e.ChipsRequested) -> TableState:
    seat = state.seats[event.player]
    request = (request_id(state, state.version + 1), event.amount)
    return with_seat(state, replace(seat, requests=(*seat.requests, request)))


def _chips_arrived(state: TableState, event: e.ChipsArrived) -> TableState:
    if any(request == event.request_id for request, _, _ in state.late_chips):
        late = tuple(chips for chips in state.late_chips if chips[0] != event.request_id)
        back = (*state.going_back, (event.player, event.amount))
        return replace(state, late_chips=late, going_back=back)
    seat = state.seats[event.player]
    kept = tuple(request for request in seat.requests if request[0] != event.request_id)
    return with_seat(state, replace(seat, chips=seat.chips + event.amount, requests=kept))


def _chips_denied(state: TableState, event: e.ChipsDenied) -> TableState:
    late = tuple(chips for chips in state.late_chips if chips[0] != event.request_id)
    state = replace(state, late_chips=late)
    seat = state.seats.get(event.player)
    if seat is None:
        return state
    kept = tuple(request for request in seat.requests if request[0] != event.request_id)
    return with_seat(state, replace(seat, requests=kept))


def _cash_out_asked(state: TableState, event: e.CashOutAsked) -> TableState:
    seat = state.seats[event.player]
    amount = event.amount or free_chips(state, event.player)
    back = (*state.going_back, (event.player, amount))
    return with_seat(replace(state, going_back=back), replace(seat, chips=seat.chips - amount))


def _cash_out_requested(state: TableState, event: e.CashOutRequested) -> TableState:
    if state.going_back and state.going_back[0] == (event.player, event.amount):
        return replace(state, going_back=state.going_back[1:])
    seat = state.seats[event.player]
    return with_seat(state, replace(seat, chips=seat.chips - event.amount))


def _commission_taken(state: TableState, event: e.CommissionTaken) -> TableState:
    seat = state.seats[event.player]
    return with_seat(state, replace(seat, chips=seat.chips - event.taken, owed=0))


APPLY: Mapping[type[Any], Callable[[TableState, Any], TableState]] = {
    e.TableOpened: _table_opened,
    e.TableClaimed: _table_claimed,
    e.PlayResumed: _play_resumed,
    e.ShoesLost: _shoes_lost,
    e.DeadlineMoved: _deadline_moved,
    e.TableClosing: _table_closing,
    e.TableClosed: _table_closed,
    e.ClockExpired: _clock_expired,
    e.JoinAsked: _join_asked,
    e.ConsentAsked: _consent_asked,
    e.JoinObjected: _join_objected,
    e.JoinFailed: _join_failed,
    e.PlayerJoined: _player_joined,
    e.LeaveRequested: _leave_requested,
    e.PlayerLeft: _player_left,
    e.SitOutChanged: _sit_out_changed,
    e.PenaltyGiven: _penalty_given,
    e.FineTaken: _fine_taken,
    e.ChipsRequested: _chips_requested,
    e.ChipsArrived: _chips_arrived,
    e.ChipsDenied: _chips_denied,
    e.CashOutAsked: _cash_out_asked,
    e.CashOutRequested: _cash_out_requested,
    e.CommissionTaken: _commission_taken,
}
