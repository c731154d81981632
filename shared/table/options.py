"""What a viewer may do now, by the checks that will judge it (architecture, 5)."""

from __future__ import annotations

from collections.abc import Iterator

from croupier.table.v1 import table_pb2
from croupier.table.v1.events_pb2 import InsuranceStake

from shared.games.play import Decisions
from shared.table.codec import timestamp
from shared.table.state import Seat, Status, TableState, free_chips

MOST_CHIPS = 2**53
"""The largest amount ever offered: exact in every client's numbers."""


def options(state: TableState, player: str) -> Iterator[table_pb2.Option]:
    """Every command the player may give now, with its bounds and its clock."""
    if state.status is Status.CLOSED:
        return
    seat = state.seats.get(player)
    if seat is None:
        if state.status is Status.OPEN and len(state.seats) < state.table.seats:
            yield table_pb2.Option(command="join")
        return
    if state.hand is not None:
        yield from _decisions(state, player)
    elif state.betting is not None and not state.betting.closed:
        yield from _between_hands(state, seat)
    yield from _shoe(state, player)
    if not seat.leaving:
        yield table_pb2.Option(command="leave")
    yield table_pb2.Option(command="sit_out")


def _between_hands(state: TableState, seat: Seat) -> Iterator[table_pb2.Option]:
    betting = state.betting
    free = free_chips(state, seat.player)
    if state.status is not Status.OPEN or betting is None:
        return
    if not seat.requests and not seat.leaving:
        yield table_pb2.Option(command="buy_chips", minimum=1, maximum=MOST_CHIPS)
    if free > 0:
        yield table_pb2.Option(command="cash_out", minimum=1, maximum=free)
    if betting.expired or seat.leaving or seat.sitting_out:
        return
    deadline = timestamp(betting.deadline) if betting.deadline else None
    limits = state.table.settings.limits
    if free > 0:
        top = free if limits.max is None else min(free, limits.max)
        for wager in state.table.game.WAGERS:
            yield table_pb2.Option(
                command="place_bet",
                word=wager,
                minimum=limits.min or 1,
                maximum=top,
                deadline=deadline,
            )
    for box in sorted({box for box, player, _, _ in betting.bets if player == seat.player}):
        yield table_pb2.Option(command="take_back_bets", box=box, deadline=deadline)
    if not seat.done:
        yield table_pb2.Option(command="done_betting", deadline=deadline)


def _decisions(state: TableState, player: str) -> Iterator[table_pb2.Option]:
    hand, deciding = state.hand, state.deciding
    if hand is None or deciding is None or deciding.expired:
        return
    step = state.table.game.next_step(hand.play)
    if not isinstance(step, Decisions):
        return
    for due in step.due:
        if deciding.players.get(due.box) != player:
            continue
        for option in due.options:
            yield table_pb2.Option(
                command="decide",
                box=due.box,
                word=option.do,
                minimum=option.minimum,
                maximum=option.maximum,
                price=option.price,
                counts=option.counts,
                prices=option.prices,
                insurance_max=[
                    InsuranceStake(player=bettor, stake=most)
                    for bettor, most in option.insurance_max
                ],
                warn_at=timestamp(deciding.warn_at),
                deadline=timestamp(deciding.deadline),
            )


def _shoe(state: TableState, player: str) -> Iterator[table_pb2.Option]:
    shoe = state.shoe
    if shoe is None or not shoe.offered or shoe.sealed:
        return
    if shoe.cut_deadline and shoe.cut_player == player:
        low, high = state.table.shoe_rules.cut_range(state.table.decks * 52)
        yield table_pb2.Option(
            command="cut_shoe", minimum=low, maximum=high, deadline=timestamp(shoe.cut_deadline)
        )
    pledged = any(who == player for who, _ in shoe.pledges)
    if not shoe.cut_box and not pledged:
        yield table_pb2.Option(command="pledge_seed")
    revealed = any(who == player for who, _ in shoe.reveals)
    if shoe.cut_recorded and pledged and not revealed and not shoe.seeds_over:
        yield table_pb2.Option(command="reveal_seed", deadline=timestamp(shoe.seeds_deadline))
