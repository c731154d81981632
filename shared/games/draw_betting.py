"""One betting round of draw poker: whose turn it is, what he may do, and what it changes (DRW-05,
DRW-12).

Seats are indexes in dealing order. All amounts are minor units; a bet's amount is what the player
has in this round after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from shared.errors import RuleError
from shared.games.play import Decision, Option
from shared.quick import quick

NOBODY = -1
NOT_ACTED = -1


@quick
@dataclass(frozen=True, slots=True)
class Round:
    """By seat: `chips` and `live` (still in) as the round goes on, `bets` of this round, and how
    high the betting stood when the seat last `acted`, `NOT_ACTED` before.

    `level` is the highest bet, `full` the least that a bet or a further raise must add, `turn` the
    seat to act, `NOBODY` once all who remain are level.
    """

    chips: tuple[int, ...]
    live: tuple[bool, ...]
    bets: tuple[int, ...]
    acted: tuple[int, ...]
    level: int
    full: int
    turn: int
    side_pots: bool


def open_round(
    chips: tuple[int, ...], live: tuple[bool, ...], first: int, min_bet: int, side_pots: bool
) -> Round:
    """A round in which `first`, or the next seat that can, acts first.

    With fewer than two seats still in that have chips it is over before it begins (DRW-12).
    """
    seats = len(chips)
    zeros = (0,) * seats
    fresh = (NOT_ACTED,) * seats
    turn = NOBODY
    if len([1 for still_in, left in zip(live, chips, strict=True) if still_in and left]) >= 2:
        turn = _next(chips, live, zeros, fresh, 0, first - 1, side_pots)
    return Round(chips, live, zeros, fresh, 0, min_bet, turn, side_pots)


def _next(
    chips: Sequence[int],
    live: Sequence[bool],
    bets: Sequence[int],
    acted: Sequence[int],
    level: int,
    after: int,
    side_pots: bool,
) -> int:
    """The next seat that must act, going round from `after`; a seat without chips is passed over
    under `side_pots` (DRW-12)."""
    seat = after
    for _ in chips:
        seat = seat + 1 if seat + 1 < len(chips) else 0
        if (
            live[seat]
            and (bets[seat] < level or acted[seat] == NOT_ACTED)
            and (chips[seat] or not side_pots)
        ):
            return seat
    return NOBODY


def act(now: Round, decision: Decision) -> Round:
    """The round after the decision of the seat whose turn it is; `RuleError` `ILLEGAL_DECISION`,
    `BAD_STAKE`, `NOT_REOPENED`, `BET_TOO_SMALL` or `INSUFFICIENT_CHIPS`, asked in that order."""
    do = decision.do
    if do not in words(now):
        raise RuleError("ILLEGAL_DECISION", f"{do!r} is not allowed now", "action")
    seat = now.turn
    match do:
        case "fold":
            return fold(now)
        case "check":
            return _advance(now, now.bets[seat])
        case "call":
            return _advance(now, _call(now))
    amount = decision.amount
    _check_amount(now, do, amount)
    return _advance(now, amount)


def words(now: Round) -> tuple[str, ...]:
    """What the seat whose turn it is may do at all; whether a `raise` is open to it is for
    `NOT_REOPENED` to say."""
    if now.chips[now.turn]:
        return ("fold", "call", "raise") if now.level else ("check", "bet")
    # DRW-12: without chips under `match_or_fold`.
    return ("fold",) if now.level else ("check",)


def fold(now: Round) -> Round:
    """The seat whose turn it is leaves the hand; the next is to act."""
    live = _with(now.live, now.turn, False)
    turn = _next(now.chips, live, now.bets, now.acted, now.level, now.turn, now.side_pots)
    return Round(now.chips, live, now.bets, now.acted, now.level, now.full, turn, now.side_pots)


def leave(now: Round, seat: int) -> Round:
    """The seat is no longer in the hand; what it has bet stays (DRW-07)."""
    return replace(now, live=_with(now.live, seat, False))


def _call(now: Round) -> int:
    """The caller's bet: the level or, under `side_pots`, all he has (DRW-12)."""
    have = now.bets[now.turn] + now.chips[now.turn]
    if have < now.level and not now.side_pots:
        raise RuleError("INSUFFICIENT_CHIPS", f"{now.level} is more than {have}", "action")
    return min(have, now.level)


def _check_amount(now: Round, do: str, amount: int) -> None:
    """Whether the seat may bet, or raise to, this amount."""
    if amount <= 0:
        raise RuleError("BAD_STAKE", f"{amount} is no bet", "amount")
    if do == "raise" and not _reopened(now):
        raise RuleError("NOT_REOPENED", "the short bets since do not add up to a raise", "action")
    have = now.bets[now.turn] + now.chips[now.turn]
    least = now.level + now.full
    short = now.side_pots and amount == have and amount > now.level
    if amount < least and not short:
        raise RuleError("BET_TOO_SMALL", f"{amount} is less than {least}", "amount")
    if amount > have:
        raise RuleError("INSUFFICIENT_CHIPS", f"{amount} is more than {have}", "amount")


def _reopened(now: Round) -> bool:
    """Whether the seat may raise: it has not acted, or the betting has since gone up by a full bet
    or raise, be it in short ones (DRW-12)."""
    acted = now.acted[now.turn]
    return acted == NOT_ACTED or now.level - acted >= now.full


def _advance(now: Round, bet: int) -> Round:
    """The seat has `bet` in the round now; the next is to act."""
    seat = now.turn
    chips, bets, level, full = now.chips, now.bets, now.level, now.full
    if bet != bets[seat]:
        chips = _with(chips, seat, chips[seat] + bets[seat] - bet)
        bets = _with(bets, seat, bet)
    if bet > level:
        # A short bet or raise leaves what a full one is as it was.
        full = max(full, bet - level)
        level = bet
    acted = _with(now.acted, seat, level)
    turn = _next(chips, now.live, bets, acted, level, seat, now.side_pots)
    return Round(chips, now.live, bets, acted, level, full, turn, now.side_pots)


_Value = TypeVar("_Value")


def _with(values: tuple[_Value, ...], seat: int, value: _Value) -> tuple[_Value, ...]:
    after = list(values)
    after[seat] = value
    return tuple(after)


_FOLD, _CHECK = (Option("fold"),), (Option("check"),)


def options(now: Round) -> tuple[Option, ...]:
    """What the seat whose turn it is may do, with its price or bounds: just what `act` accepts."""
    seat = now.turn
    chips, level = now.chips[seat], now.level
    made: tuple[Option, ...] = _FOLD if level else _CHECK
    if not chips:  # DRW-12: under `match_or_fold`
        return made
    have = now.bets[seat] + chips
    if level and (have >= level or now.side_pots):
        made = (*made, Option("call", min(have, level) - now.bets[seat]))
    least = level + now.full
    if now.side_pots and have > level:
        least = min(least, have)
    if have >= least and _reopened(now):
        made = (*made, Option("raise" if level else "bet", 0, least, have))
    return made
