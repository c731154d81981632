"""The hand that would be if betting closed now: what bets are checked against when placed."""

from __future__ import annotations

from shared.games import draw_entries
from shared.games.play import Box, Setup
from shared.table import events as e
from shared.table.replace import replace
from shared.table.state import Betting, TableState

BONUS = "bonus"
"""Oasis poker's wager beside an ante (OAS-01)."""


def with_bet(betting: Betting, bet: e.BetPlaced) -> Betting:
    """The window with the bet; placed anew, it keeps its place among the others, as who bet first
    on a box owns it (TAB-02). The owner's ante says whether a box is played blind."""
    key = (bet.box, bet.player, bet.wager)
    bets = betting.bets
    at = next((at for at, other in enumerate(bets) if other[:3] == key), len(bets))
    owners = dict(betting.owners)
    owners.setdefault(bet.box, bet.player)
    blind = betting.blind
    if owners[bet.box] == bet.player:
        if bet.blind:
            blind = blind | {bet.box}
        elif bet.wager != BONUS:
            blind = blind - {bet.box}
    bets = (*bets[:at], (*key, bet.stake), *bets[at + 1 :])
    return replace(betting, bets=bets, owners=owners, blind=blind)


def proposed_setup(state: TableState, bet: e.BetPlaced | None, only: str = "") -> Setup:
    """The open window's bets as a set-up, with `bet` in place of the same wager's earlier one; with
    `only`, just that player's bets."""
    betting = state.betting or Betting("", 0)
    if bet is not None:
        betting = with_bet(betting, bet)
    bets, owners, seats = betting.bets, betting.owners, state.seats
    if only:
        bets = tuple([other for other in bets if other[1] == only])
        seats = {only: seats[only]}
    boxes = tuple(
        Box(
            number,
            owners[number],
            tuple([(player, wager, stake) for box, player, wager, stake in bets if box == number]),
            number in betting.blind,
        )
        for number in sorted({box for box, _, _, _ in bets})
    )
    stacks = {player: seat.chips - seat.owed for player, seat in seats.items()}
    return Setup(boxes=boxes, stacks=stacks)


def most_bettors(state: TableState) -> int:
    """How many may bet on a box (TAB-02); hold'em and draw poker have no setting for it: one."""
    most: int = getattr(state.table.settings, "bettors_per_box", 1)
    return most


def bettors_on(betting: Betting, box: int) -> set[str]:
    """Who bets on the box now."""
    return {player for number, player, _, _ in betting.bets if number == box}


def entry_price(state: TableState, player: str, box: int) -> int:
    """What a draw poker player pays to be dealt in now (DRW-01, DRW-06, DRW-10)."""
    pot = state.pot
    settings = state.table.settings
    due = draw_entries.entries(
        settings, state.table.ante, pot.carried, pot.entry, {box: player}, pot.paid
    )
    return due[box]
