"""What follows by itself between hands: leaving, closing, a new shoe, the betting window."""

from __future__ import annotations

from shared.errors import RuleError
from shared.games import baccarat, draw_entries
from shared.games.play import Box, Setup
from shared.table import events as e
from shared.table.apply_hand import setup_of
from shared.table.apply_shoe import LONE_ENTRANT
from shared.table.follow_deal import boxes_of, shoe_requested
from shared.table.follow_hand import burn_next
from shared.table.setup import entry_price, proposed_setup
from shared.table.state import Betting, Seat, Shoe, Status, TableState, free_chips

MOST_WINDOWS = 10
"""After so many entry windows in which nobody entered the pot goes back (DRW-10)."""


def between_hands(state: TableState) -> e.Derived | None:
    """The next thing to do while no hand is played, unless the table waits for somebody."""
    betting, shoe = state.betting, state.shoe
    for seat in state.seats.values():
        if seat.leaving and not _is_in(betting, seat.player):
            return _leaving(state, seat)
    if state.status is not Status.OPEN:
        return _closing(state)
    if betting is not None and state.table.between_players:
        entered = _entries(state, betting)
        if entered is not None:
            return entered
    elif betting is not None and betting.bets:
        return _while_betting(state, betting)
    if state.cards is not None:
        return None
    if shoe is not None and shoe.spoiled:
        return shoe_over(state, shoe, "void")
    if shoe is None:
        return shoe_requested(state)
    if shoe.sealed and not state.table.shoe_rules.another_hand(shoe.size - shoe.next_position):
        return shoe_over(state, shoe, "played")
    if state.to_burn:
        return burn_next(shoe)
    if betting is None:
        return _betting_opened(state, shoe)
    return None


def _is_in(betting: Betting | None, player: str) -> bool:
    """Whether the player has a bet in the window: an entry may cost nothing (DRW-10)."""
    return betting is not None and any(bettor == player for _, bettor, _, _ in betting.bets)


def _betting_opened(state: TableState, shoe: Shoe) -> e.BettingOpened:
    pot = state.pot
    between = state.table.between_players
    return e.BettingOpened(
        hand_id=f"{state.table.table_id}-{state.version + 1}",
        number=state.hands_played + 1,
        shoe_id=shoe.shoe_id,
        next_position=shoe.next_position,
        entry=pot.entry if between else "",
        entry_amount=_entry_amount(state) if between else 0,
        carried_pot=pot.carried,
    )


def _entry_amount(state: TableState) -> int:
    if state.pot.entry == "half_pot":
        return draw_entries.half_pot(state.pot.carried)
    return state.table.ante


def _leaving(state: TableState, seat: Seat) -> e.Derived:
    """A player goes: his commission is settled, his chips go back, the seat is free (TAB-05)."""
    if seat.owed:
        return _commission(state, seat, leaving=True)
    if seat.chips:
        return e.CashOutRequested(seat.player, seat.chips)
    return e.PlayerLeft(seat.player)


def _commission(state: TableState, seat: Seat, leaving: bool) -> e.CommissionTaken:
    unit = state.table.settings.commission_unit
    taken = baccarat.settle_commission(seat.owed, unit, leaving, seat.chips)
    return e.CommissionTaken(seat.player, seat.owed, taken)


def shoe_over(state: TableState, shoe: Shoe, why: str) -> e.Derived:
    """The shoe is put away, after what players owe for it."""
    for seat in state.seats.values():  # BAC-10: settled when the shoe ends
        if seat.owed:
            return _commission(state, seat, leaving=False)
    return e.ShoeFinished(shoe.shoe_id, why)


def _closing(state: TableState) -> e.Derived | None:
    """Bets that were made are played for; then pot, players and shoe go, in that order."""
    betting = state.betting
    if state.status is Status.CLOSED:
        return None
    if betting is not None and betting.bets:
        if not state.table.between_players:
            return _while_betting(state, betting)
        box, player, _, _ = betting.bets[0]
        return e.BetsReturned(player, box, "TABLE_CLOSED")
    if state.pot.carried:
        return _pot_back(state, "table_closed")
    for seat in state.seats.values():
        if seat.owed:  # BAC-11: the shoe ends, no player has left
            return _commission(state, seat, leaving=False)
        return _leaving(state, seat)
    if state.shoe is not None:
        return e.ShoeFinished(state.shoe.shoe_id, "table_closed")
    return e.TableClosed()


# ---- The betting window


def _while_betting(state: TableState, betting: Betting) -> e.Derived | None:
    if betting.passed_on and (unfit := _unfit(state, betting)) is not None:
        return unfit
    if not betting.deadline and not betting.expired:
        return e.BettingClockStarted(state.now + state.table.clocks.betting_ms * 1000)
    if not betting.expired and not all_done(state):
        return None
    offender = _offender(state, betting)
    return offender if offender is not None else e.BettingClosed()


def _unfit(state: TableState, betting: Betting) -> e.BetsReturned | None:
    """The bets of a box's next owner, who may not own it besides his other boxes (OAS-03, OAS-04):
    as long as they stood, every other bet would be refused for them."""
    table = state.table
    try:
        table.game.check_bets(table.settings, proposed_setup(state, None), False)
    except RuleError as refused:
        box = betting.passed_on
        return e.BetsReturned(betting.owners[box], box, refused.reason)
    return None


def all_done(state: TableState) -> bool:
    """Whether nobody who could still bet wants to: the window closes before its deadline."""
    return all(
        seat.done or seat.sitting_out or seat.leaving or free_chips(state, seat.player) <= 0
        for seat in state.seats.values()
    )


def _offender(state: TableState, betting: Betting) -> e.BetsReturned | None:
    """The first bets that cannot stand now that no more come: too small by themselves, else of the
    player with the most boxes, his highest first (OAS-04)."""
    table = state.table
    whole = setup_of(e.HandOpened(boxes=boxes_of(betting)))
    try:
        table.game.check_bets(table.settings, whole)
    except RuleError as refused:
        why = refused.reason
    else:
        return None
    for box in whole.boxes:
        for player in dict.fromkeys(bettor for bettor, _, _ in box.bets):
            own = tuple(bet for bet in box.bets if bet[0] == player)
            alone = Setup(boxes=(Box(box.number, player, own, box.blind),))
            try:
                table.game.check_bets(table.settings, alone)
            except RuleError as refused:
                return e.BetsReturned(player, box.number, refused.reason)
    owned: dict[str, list[int]] = {}
    for box in whole.boxes:
        owned.setdefault(box.owner, []).append(box.number)
    player = max(owned, key=lambda owner: (len(owned[owner]), owner))
    return e.BetsReturned(player, max(owned[player]), why)


# ---- Draw poker: who is dealt in (DRW-01, DRW-06, DRW-10)


def _entries(state: TableState, betting: Betting) -> e.Derived | None:
    entrants = list(betting.owners.values())
    half_pot = betting.entry == "half_pot"
    if not betting.deadline and not betting.expired and (half_pot or len(entrants) >= 2):
        clocks = state.table.clocks
        window_ms = clocks.entry_ms if half_pot else clocks.betting_ms
        return e.BettingClockStarted(state.now + window_ms * 1000)
    if len(entrants) >= 2:
        return e.BettingClosed() if betting.expired or _all_entered(state, betting) else None
    if not half_pot:
        for box, player, _, _ in betting.bets:  # no hand will come that he could stay for
            if state.seats[player].leaving:
                return e.BetsReturned(player, box, "NOT_SEATED")
    if not betting.expired:
        return None
    if not half_pot:  # somebody took his entry back: no deal until two are in
        return e.WindowPassed(state.pot.windows)
    if entrants:  # a lone entrant takes the pot and keeps his entry
        return e.PotPaid((e.PotShare(entrants[0], state.pot.carried),), LONE_ENTRANT)
    if state.pot.windows + 1 >= MOST_WINDOWS:
        return _pot_back(state, "windows_passed")
    return e.WindowPassed(state.pot.windows + 1)


def _all_entered(state: TableState, betting: Betting) -> bool:
    """Whether all are in who may come to be: for half a pot chips are bought meanwhile, and new
    players come (DRW-10)."""
    entrants = set(betting.owners.values())
    ante = betting.entry == "ante"
    return (ante or not state.joining) and all(
        seat.player in entrants
        or seat.done
        or seat.sitting_out
        or seat.leaving
        or (ante and free_chips(state, seat.player) < entry_price(state, seat.player, seat.box))
        for seat in state.seats.values()
    )


def _pot_back(state: TableState, why: str) -> e.PotPaid:
    shares = draw_entries.in_proportion(state.pot.carried, state.pot.paid)
    return e.PotPaid(tuple(e.PotShare(*share) for share in shares.items()), why)
