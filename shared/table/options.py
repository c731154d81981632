"""What a viewer may do now, by the checks that will judge it (architecture, 5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from croupier.table.v1 import table_pb2
from croupier.table.v1.events_pb2 import InsuranceStake

from shared.errors import RuleError
from shared.games.play import Decisions
from shared.table.apply_hand import EXPOSED
from shared.table.checks_hand import CHOICES, check_own_bets
from shared.table.checks_shoe import MOST_SEEDS
from shared.table.codec import timestamp
from shared.table.setup import BONUS, bettors_on, entry_price, most_bettors
from shared.table.state import (
    ENTRY,
    MOST_CHIPS,
    Betting,
    Deciding,
    Hand,
    Seat,
    Status,
    TableState,
    free_chips,
)


def options(state: TableState, player: str) -> Iterator[table_pb2.Option]:
    """Every command the player may give now, with its bounds and its clock."""
    if state.status is Status.CLOSED:
        return
    seat = state.seats.get(player)
    if seat is None:
        if _may_join(state, player):
            yield table_pb2.Option(command="join")
        return
    if state.hand is not None:
        yield from _decisions(state, state.hand, player)
    elif state.betting is not None and not state.betting.closed:
        yield from _between_hands(state, state.betting, seat)
    yield from _shoe(state, player)
    for asking, deadline in state.joining.items():
        yield table_pb2.Option(command="object_to_join", word=asking, deadline=timestamp(deadline))
    if not seat.leaving:
        yield table_pb2.Option(command="leave")
    yield table_pb2.Option(command="sit_out")


def _may_join(state: TableState, player: str) -> bool:
    return (
        state.status is Status.OPEN
        and player not in state.joining
        and player not in state.removed
        and len(state.seats) + len(state.joining) < state.table.seats
    )


def _between_hands(state: TableState, betting: Betting, seat: Seat) -> Iterator[table_pb2.Option]:
    free = free_chips(state, seat.player)
    if state.status is Status.OPEN and not seat.requests and not seat.leaving:
        yield table_pb2.Option(command="buy_chips", minimum=1, maximum=MOST_CHIPS)
    if free > 0:
        yield table_pb2.Option(command="cash_out", minimum=1, maximum=free)
    deadline = timestamp(betting.deadline) if betting.deadline else None
    if state.status is Status.OPEN and not seat.leaving and not seat.sitting_out:
        for option in _bets(state, betting, seat, free):
            if deadline is not None:
                option.deadline.CopyFrom(deadline)
            yield option
    for box in sorted({box for box, player, _, _ in betting.bets if player == seat.player}):
        yield table_pb2.Option(command="take_back_bets", box=box, deadline=deadline)
    for box, bettor in _guests(state, betting, seat.player):
        yield table_pb2.Option(command="admit_bettor", box=box, word=bettor, deadline=deadline)
    if not seat.done and _may_be_done(state, betting, seat):
        yield table_pb2.Option(command="done_betting", deadline=deadline)


def _may_be_done(state: TableState, betting: Betting, seat: Seat) -> bool:
    if all(player != seat.player for _, player, _, _ in betting.bets):
        return True
    try:
        check_own_bets(state, seat.player)
    except RuleError:
        return False
    return True


def _guests(state: TableState, betting: Betting, owner: str) -> Iterator[tuple[int, str]]:
    """Whom the player may let bet on which of his boxes, and has not yet (TAB-02)."""
    most = most_bettors(state)
    if most == 1:
        return
    for box in sorted([box for box, player in betting.owners.items() if player == owner]):
        bettors = bettors_on(betting, box)
        if len(bettors) >= most:
            continue
        for guest in state.seats.values():
            if (
                guest.player not in bettors
                and not (guest.leaving or guest.sitting_out)
                and (box, guest.player) not in betting.admitted
            ):
                yield box, guest.player


def _bets(state: TableState, betting: Betting, seat: Seat, free: int) -> Iterator[table_pb2.Option]:
    table = state.table
    if table.between_players:
        if seat.player in betting.owners.values():
            return
        taken = {other.box for other in state.seats.values() if other.player != seat.player}
        boxes = [seat.box] if seat.box else range(1, table.seats + 1)
        for box in boxes:
            price = entry_price(state, seat.player, box)
            if box not in taken and price <= free:
                yield table_pb2.Option(
                    command="place_bet", box=box, word=ENTRY, minimum=price, maximum=price
                )
        return
    limits = table.settings.limits
    mine = {wager for _, player, wager, _ in betting.bets if player == seat.player}
    for wager in table.game.WAGERS:
        least, most = limits.min, limits.max
        if _OTHER_SIDE.get(wager) in mine or (wager == BONUS and not mine):
            continue
        if wager == BONUS:
            least, most = table.settings.bonus_min, table.settings.bonus_max
        unit = _unit(table.settings, wager)
        low = -(-(least or 1) // unit) * unit
        top = min(free, MOST_CHIPS, MOST_CHIPS if most is None else most) // unit * unit
        if low <= top:
            yield table_pb2.Option(command="place_bet", word=wager, minimum=low, maximum=top)


_OTHER_SIDE = {"player": "banker", "banker": "player"}
"""BAC-01: nobody bets on both. (A bonus, OAS-01, is bet beside an ante.)"""


def _unit(settings: Any, wager: str) -> int:
    """What every stake of the wager is a multiple of (BAC-09b, OAS-07)."""
    if wager == "banker":
        return int((settings.commission_percent / 100).denominator)
    return int(getattr(settings, "ante_unit", 1)) if wager == "ante" else 1


def _decisions(state: TableState, hand: Hand, player: str) -> Iterator[table_pb2.Option]:
    deciding = state.deciding
    if deciding is None:
        return
    if deciding.phase == EXPOSED:
        for box, owner in deciding.players.items():
            if owner == player:
                for word in CHOICES:
                    yield _decide(deciding, table_pb2.Option(box=box, word=word))
        return
    for due in cast(Decisions, state.table.game.next_step(hand.play)).due:
        if deciding.players.get(due.box) != player:
            continue
        for option in due.options:
            yield _decide(
                deciding,
                table_pb2.Option(
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
                ),
            )


def _decide(deciding: Deciding, option: table_pb2.Option) -> table_pb2.Option:
    option.command = "decide"
    option.warn_at.CopyFrom(timestamp(deciding.warn_at))
    option.deadline.CopyFrom(timestamp(deciding.deadline))
    return option


def _pledges(state: TableState, player: str) -> Iterator[table_pb2.Option]:
    for shoe in (state.shoe, state.next_shoe):
        if shoe is None or not shoe.offered or shoe.cut_offered:
            continue
        if len(shoe.pledges) < MOST_SEEDS and all(who != player for who, _ in shoe.pledges):
            yield table_pb2.Option(command="pledge_seed", word=shoe.shoe_id)


def _shoe(state: TableState, player: str) -> Iterator[table_pb2.Option]:
    yield from _pledges(state, player)
    shoe = state.shoe
    if shoe is None or not shoe.offered or shoe.sealed:
        return
    if shoe.cut_deadline and shoe.cut_player == player:
        low, high = state.table.shoe_rules.cut_range(state.table.decks * 52)
        yield table_pb2.Option(
            command="cut_shoe", minimum=low, maximum=high, deadline=timestamp(shoe.cut_deadline)
        )
    pledged = any(who == player for who, _ in shoe.pledges)
    revealed = any(who == player for who, _ in shoe.reveals)
    if shoe.seeds_deadline and pledged and not revealed and not shoe.seeds_over:
        yield table_pb2.Option(command="reveal_seed", deadline=timestamp(shoe.seeds_deadline))
