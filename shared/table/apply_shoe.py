"""What events do to the shoe in use and to an open betting window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shared.table import events as e
from shared.table.apply_seats import with_seat
from shared.table.replace import replace
from shared.table.setup import bettors_on, with_bet
from shared.table.state import Betting, Shoe, TableState, there

LONE_ENTRANT = "lone_entrant"
"""Why a pot is paid to the only one who paid to play for it (DRW-10)."""


def _shoe_requested(state: TableState, event: e.ShoeRequested) -> TableState:
    shoe = Shoe(event.shoe_id, state.version + 1)
    return replace(state, shoe=shoe) if state.shoe is None else replace(state, next_shoe=shoe)


def _shoe(change: Callable[[Shoe, Any], Shoe]) -> Callable[[TableState, Any], TableState]:
    """Apply an event to the shoe in use."""

    def apply(state: TableState, event: Any) -> TableState:
        return replace(state, shoe=change(there(state.shoe), event))

    return apply


def _named(change: Callable[[Shoe, Any], Shoe]) -> Callable[[TableState, Any], TableState]:
    """Apply an event to the shoe that it names, in use or next."""

    def apply(state: TableState, event: Any) -> TableState:
        shoe = there(state.shoe)
        if shoe.shoe_id == event.shoe_id:
            return replace(state, shoe=change(shoe, event))
        return replace(state, next_shoe=change(there(state.next_shoe), event))

    return apply


def _shoe_offered(shoe: Shoe, event: e.ShoeOffered) -> Shoe:
    return replace(shoe, offered=True, commitment=event.commitment)


def _seed_pledged(shoe: Shoe, event: e.SeedPledged) -> Shoe:
    return replace(shoe, pledges=(*shoe.pledges, (event.player, event.commitment)))


def _seed_revealed(shoe: Shoe, event: e.SeedRevealed) -> Shoe:
    reveals = (*shoe.reveals, (event.player, event.seed))
    return replace(shoe, reveals=reveals, seeds_over=len(reveals) == len(shoe.pledges))


def _cut_offered(state: TableState, event: e.CutOffered) -> TableState:
    shoe = replace(
        there(state.shoe), cut_offered=True, cut_player=event.player, cut_deadline=event.deadline
    )
    return replace(state, shoe=shoe, last_cut_box=event.box)


def _cut_chosen(shoe: Shoe, event: e.CutChosen) -> Shoe:
    return replace(shoe, cut_deadline=0, cut_place=event.place, cut_decided=event.place > 0)


def _cut_left_to_dealer(shoe: Shoe, event: e.CutLeftToDealer) -> Shoe:
    return replace(
        shoe, cut_offered=True, cut_player="", cut_deadline=0, cut_place=0, cut_decided=True
    )


def _cut_recorded(shoe: Shoe, event: e.CutRecorded) -> Shoe:
    return replace(shoe, cut_recorded=True, cut_place=event.place)


def _seeds_due(shoe: Shoe, event: e.SeedsDue) -> Shoe:
    return replace(shoe, seeds_deadline=event.deadline)


def _shoe_ready(shoe: Shoe, event: e.ShoeReady) -> Shoe:
    return replace(
        shoe, root=event.root, size=event.size, cut_place=event.cut_place, seeds_over=True
    )


def _shoe_finished(state: TableState, event: e.ShoeFinished) -> TableState:
    over = (event.shoe_id, event.why, state.version + 1)
    return replace(
        state,
        shoe=state.next_shoe,
        next_shoe=None,
        lost=state.lost if state.next_shoe is not None else "",
        cards=None,
        to_burn=0,
        putting_away=(*state.putting_away, over),
    )


def _shoe_put_away(state: TableState, event: e.ShoePutAway) -> TableState:
    left = tuple(over for over in state.putting_away if over[0] != event.shoe_id)
    return replace(state, putting_away=left)


# ---- Betting


def _betting_opened(state: TableState, event: e.BettingOpened) -> TableState:
    seats = {player: replace(seat, done=False) for player, seat in state.seats.items()}
    betting = Betting(
        event.hand_id, event.number, entry=event.entry, entry_amount=event.entry_amount
    )
    return replace(state, seats=seats, betting=betting)


def _betting(change: Callable[[Betting, Any], Betting]) -> Callable[[TableState, Any], TableState]:
    """Apply an event to the betting window."""

    def apply(state: TableState, event: Any) -> TableState:
        return replace(state, betting=change(there(state.betting), event))

    return apply


def _bet_placed(state: TableState, event: e.BetPlaced) -> TableState:
    betting = with_bet(there(state.betting), event)
    box = event.box if state.table.between_players else 0
    seat = replace(state.seats[event.player], done=event.done, box=box)
    return with_seat(replace(state, betting=betting), seat)


def _betting_clock_started(betting: Betting, event: e.BettingClockStarted) -> Betting:
    return replace(betting, deadline=event.deadline, expired=False)


def _bets_taken_back(state: TableState, event: e.BetsTakenBack | e.BetsReturned) -> TableState:
    betting = there(state.betting)
    bets = tuple(bet for bet in betting.bets if bet[:2] != (event.box, event.player))
    owners: dict[int, str] = {}
    for box, player, _, _ in bets:
        owners.setdefault(box, player)  # the next first bettor owns the box (TAB-02)
    before, betting = betting, replace(betting, bets=bets, owners=owners)
    # Whom the former owner let in, the next has not: who bets already stays (TAB-02).
    admitted = [
        (box, who)
        for box, who in before.admitted
        if owners.get(box) == before.owners.get(box) or who in bettors_on(betting, box)
    ]
    to_next = owners.get(event.box, "") not in ("", before.owners[event.box])
    betting = replace(
        betting,
        admitted=frozenset(admitted),
        blind=before.blind & owners.keys(),
        passed_on=event.box if to_next else 0,
    )
    if bets:
        return replace(state, betting=betting)
    seats = {player: replace(seat, done=False) for player, seat in state.seats.items()}
    deadline = betting.deadline if betting.entry == "half_pot" else 0
    return replace(state, betting=replace(betting, deadline=deadline, expired=False), seats=seats)


def _bettor_admitted(betting: Betting, event: e.BettorAdmitted) -> Betting:
    return replace(betting, admitted=betting.admitted | {(event.box, event.bettor)})


def _bets_done(state: TableState, event: e.BetsDone) -> TableState:
    return with_seat(state, replace(state.seats[event.player], done=True))


def _betting_closed(betting: Betting, event: e.BettingClosed) -> Betting:
    return replace(betting, closed=True, deadline=0)


def _window_passed(state: TableState, event: e.WindowPassed) -> TableState:
    seats = {player: replace(seat, done=False) for player, seat in state.seats.items()}
    pot = replace(state.pot, windows=event.windows)
    betting = replace(there(state.betting), deadline=0, expired=False)
    return replace(state, seats=seats, betting=betting, pot=pot)


def _pot_paid(state: TableState, event: e.PotPaid) -> TableState:
    """The carried pot is gone; who has left gets his share through the wallet at once."""
    seats = dict(state.seats)
    back = list(state.going_back)
    for share in event.shares:
        seat = seats.get(share.player)
        if seat is None:
            back.append((share.player, share.amount))
        else:
            seats[share.player] = replace(seat, chips=seat.chips + share.amount)
    pot = replace(state.pot, carried=0, entry="ante", paid={}, windows=0)
    if event.why == LONE_ENTRANT:  # he has won it (DRW-02, DRW-03)
        pot = replace(pot, winners=tuple(there(state.betting).owners))
    return replace(state, seats=seats, going_back=tuple(back), pot=pot, betting=None)


APPLY: Mapping[type[Any], Callable[[TableState, Any], TableState]] = {
    e.ShoeRequested: _shoe_requested,
    e.ShoeOffered: _named(_shoe_offered),
    e.SeedPledged: _named(_seed_pledged),
    e.SeedRevealed: _shoe(_seed_revealed),
    e.CutOffered: _cut_offered,
    e.CutChosen: _shoe(_cut_chosen),
    e.CutRecorded: _shoe(_cut_recorded),
    e.CutLeftToDealer: _shoe(_cut_left_to_dealer),
    e.SeedsDue: _shoe(_seeds_due),
    e.ShoeReady: _shoe(_shoe_ready),
    e.ShoeFinished: _shoe_finished,
    e.ShoePutAway: _shoe_put_away,
    e.BettingOpened: _betting_opened,
    e.BetPlaced: _bet_placed,
    e.BettingClockStarted: _betting(_betting_clock_started),
    e.BetsTakenBack: _bets_taken_back,
    e.BetsReturned: _bets_taken_back,
    e.BettorAdmitted: _betting(_bettor_admitted),
    e.BetsDone: _bets_done,
    e.BettingClosed: _betting(_betting_closed),
    e.WindowPassed: _window_passed,
    e.PotPaid: _pot_paid,
}
