"""One betting round of draw poker: whose turn it is, what he may do, and what it changes (DRW-05,
DRW-12).

Seats are indexes in dealing order. All amounts are minor units; a bet's amount is what the player
has in this round after it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from operator import sub

from shared.errors import RuleError
from shared.games.play import Decision, Option
from shared.quick import quick

NOT_ACTED = -1


@quick
@dataclass(frozen=True, slots=True)
class Round:
    """By seat: the `chips` as the round began, who is still in (`live`), the `bets` of this round,
    which are still counted in `chips`, and, where bets may be short (`side_pots`), how high the
    betting stood when the seat last `acted`, `NOT_ACTED` before.

    `level` is the highest bet, `full` the least that a bet or a further raise must add. `to_act`
    are the seats that have to act, in their order; none once all who remain are level.
    """

    chips: tuple[int, ...]
    live: tuple[bool, ...]
    bets: tuple[int, ...]
    acted: tuple[int, ...]
    level: int
    full: int
    to_act: tuple[int, ...]
    side_pots: bool


def open_round(
    chips: tuple[int, ...], live: tuple[bool, ...], first: int, min_bet: int, side_pots: bool
) -> Round:
    """A round in which `first`, or the next seat that can, acts first.

    With fewer than two seats still in that have chips it is over before it begins (DRW-12).
    """
    seats = len(chips)
    to_act = [seat for seat in going_round(seats, first) if live[seat]]
    able = [seat for seat in to_act if chips[seat]] if 0 in chips else to_act
    if len(able) < 2:
        to_act = []
    elif side_pots:
        to_act = able
    bets, acted = (0,) * seats, (NOT_ACTED,) * seats
    return Round(chips, live, bets, acted, 0, min_bet, tuple(to_act), side_pots)


def next_round(last: Round, first: int, min_bet: int) -> Round:
    """The round after `last`, with the chips that it left."""
    chips = tuple(map(sub, last.chips, last.bets))
    return open_round(chips, last.live, first, min_bet, last.side_pots)


@lru_cache(maxsize=64)
def going_round(seats: int, first: int) -> tuple[int, ...]:
    """The seats from `first` on, round the table."""
    return (*range(first, seats), *range(first))


def act(now: Round, decision: Decision) -> Round:
    """The round after the decision of the seat whose turn it is; `RuleError` `ILLEGAL_DECISION`,
    `BAD_STAKE`, `NOT_REOPENED`, `BET_TOO_SMALL` or `INSUFFICIENT_CHIPS`, asked in that order."""
    do, seat = decision.do, now.to_act[0]
    has_chips = now.chips[seat] != now.bets[seat]  # DRW-12: not always, under `match_or_fold`
    if now.level:
        if do == "fold":
            return fold(now)
        if do == "call" and has_chips:
            return _call(now, seat)
        if do == "raise" and has_chips:
            return _bet(now, seat, decision.amount)
    elif do == "check":
        return _passed(now, now.live, now.bets)
    elif do == "bet" and has_chips:
        return _bet(now, seat, decision.amount)
    raise RuleError("ILLEGAL_DECISION", f"{do!r} is not allowed now", "action")


def fold(now: Round) -> Round:
    """The seat whose turn it is leaves the hand; the next is to act."""
    return _passed(now, _without(now.live, now.to_act[0]), now.bets)


def leave(last: Round, seat: int) -> Round:
    """The seat leaves the hand between the rounds; what it has bet stays (DRW-07)."""
    return replace(last, live=_without(last.live, seat))


def _without(live: tuple[bool, ...], seat: int) -> tuple[bool, ...]:
    still = list(live)
    still[seat] = False
    return tuple(still)


def _call(now: Round, seat: int) -> Round:
    """The caller goes up to the level or, under `side_pots`, puts in all he has (DRW-12)."""
    bets, have = list(now.bets), now.chips[seat]
    if have >= now.level:
        bets[seat] = now.level
    elif now.side_pots:
        bets[seat] = have
    else:
        raise RuleError("INSUFFICIENT_CHIPS", f"{now.level} is more than {have}", "action")
    return _passed(now, now.live, tuple(bets))


def _passed(now: Round, live: tuple[bool, ...], bets: tuple[int, ...]) -> Round:
    """The seat has folded, checked or called; the next is to act."""
    acted = _acted(now, now.level) if now.side_pots else now.acted
    return Round(now.chips, live, bets, acted, now.level, now.full, now.to_act[1:], now.side_pots)


def _acted(now: Round, level: int) -> tuple[int, ...]:
    acted = list(now.acted)
    acted[now.to_act[0]] = level
    return tuple(acted)


def _bet(now: Round, seat: int, amount: int) -> Round:
    """A bet or a raise to this amount: all others who are in, and have chips, are to act again."""
    chips, live, level, full, side_pots = now.chips, now.live, now.level, now.full, now.side_pots
    if amount <= 0:
        raise RuleError("BAD_STAKE", f"{amount} is no bet", "amount")
    if not may_raise(now, seat):
        raise RuleError("NOT_REOPENED", "the short bets since do not add up to a raise", "action")
    have = chips[seat]
    if amount < level + full:
        if not (side_pots and amount == have and amount > level):
            raise RuleError("BET_TOO_SMALL", f"{amount} is less than {level + full}", "amount")
        # A short bet or raise leaves what a full one is as it was.
    elif amount > have:
        raise RuleError("INSUFFICIENT_CHIPS", f"{amount} is more than {have}", "amount")
    else:
        full = amount - level
    bets = list(now.bets)
    bets[seat] = amount
    acted = now.acted
    to_act = [other for other in going_round(len(live), seat)[1:] if live[other]]
    if side_pots:
        acted = _acted(now, amount)
        to_act = [other for other in to_act if chips[other] != bets[other]]
    return Round(chips, live, tuple(bets), acted, amount, full, tuple(to_act), side_pots)


def may_raise(now: Round, seat: int) -> bool:
    """Whether the seat has not acted, or the betting has since gone up by a full bet or raise, be
    it in short ones (DRW-12). Where no bet can be short a raise is always open."""
    if not now.side_pots:
        return True
    acted = now.acted[seat]
    return acted == NOT_ACTED or now.level - acted >= now.full


_FOLD, _CHECK = (Option("fold"),), (Option("check"),)


def options(
    level: int, full: int, bet: int, chips: int, may_raise: bool, side_pots: bool
) -> tuple[Option, ...]:
    """What a seat with this bet and these chips may do, with its price or bounds: just what `act`
    accepts. All is as in `Round`."""
    made: tuple[Option, ...] = _FOLD if level else _CHECK
    if bet == chips:  # DRW-12: under `match_or_fold`
        return made
    if level and (chips >= level or side_pots):
        made = (*made, Option("call", min(chips, level) - bet))
    least = level + full
    if side_pots and chips > level:
        least = min(least, chips)
    if chips >= least and may_raise:
        made = (*made, Option("raise" if level else "bet", 0, least, chips))
    return made
