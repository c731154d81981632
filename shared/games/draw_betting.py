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

    `level` is the highest bet, `full` the least that a bet or a further raise must add. `ring` are
    the seats that can act, round the table from the one whose turn it is; the first `to_act` of
    them have to: none once all who remain are level.
    """

    chips: tuple[int, ...]
    live: tuple[bool, ...]
    bets: tuple[int, ...]
    acted: tuple[int, ...]
    level: int
    full: int
    ring: tuple[int, ...]
    to_act: int
    side_pots: bool


def open_round(
    chips: tuple[int, ...], live: tuple[bool, ...], first: int, min_bet: int, side_pots: bool
) -> Round:
    """A round in which `first`, or the next seat that can, acts first.

    With fewer than two seats still in that have chips it is over before it begins (DRW-12).
    """
    seats = len(chips)
    ring = [seat for seat in going_round(seats, first) if live[seat]]
    able = [seat for seat in ring if chips[seat]] if 0 in chips else ring
    if side_pots:
        ring = able
    to_act = len(ring) if len(able) >= 2 else 0
    bets, acted = (0,) * seats, (NOT_ACTED,) * seats
    return Round(chips, live, bets, acted, 0, min_bet, tuple(ring), to_act, side_pots)


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
    do, seat = decision.do, now.ring[0]
    has_chips = now.chips[seat] != now.bets[seat]  # DRW-12: not always, under `match_or_fold`
    if now.level:
        if do == "fold":
            return fold(now)
        if do == "call" and has_chips:
            return _call(now, seat)
        if do == "raise" and has_chips:
            return _bet(now, seat, decision.amount)
    elif do == "check":
        return _passed(now, now.live, now.bets, (*now.ring[1:], seat))
    elif do == "bet" and has_chips:
        return _bet(now, seat, decision.amount)
    raise RuleError("ILLEGAL_DECISION", f"{do!r} is not allowed now", "action")


def fold(now: Round) -> Round:
    """The seat whose turn it is leaves the hand; the next is to act."""
    return _passed(now, _without(now.live, now.ring[0]), now.bets, now.ring[1:])


def leave(last: Round, seat: int) -> Round:
    """The seat leaves the hand between the rounds; what it has bet stays (DRW-07)."""
    return replace(last, live=_without(last.live, seat))


def _without(live: tuple[bool, ...], seat: int) -> tuple[bool, ...]:
    still = list(live)
    still[seat] = False
    return tuple(still)


def _call(now: Round, seat: int) -> Round:
    """The caller goes up to the level or, under `side_pots`, puts in all he has (DRW-12)."""
    bets, have, ring = list(now.bets), now.chips[seat], now.ring[1:]
    if have >= now.level:
        bets[seat] = now.level
    elif now.side_pots:
        bets[seat] = have
    else:
        raise RuleError("INSUFFICIENT_CHIPS", f"{now.level} is more than {have}", "action")
    if have > now.level or not now.side_pots:
        ring = (*ring, seat)
    return _passed(now, now.live, tuple(bets), ring)


def _passed(
    now: Round, live: tuple[bool, ...], bets: tuple[int, ...], ring: tuple[int, ...]
) -> Round:
    """The seat has folded, checked or called; the next is to act."""
    level, to_act, side_pots = now.level, now.to_act - 1, now.side_pots
    acted = _acted(now, level) if side_pots else now.acted
    return Round(now.chips, live, bets, acted, level, now.full, ring, to_act, side_pots)


def _acted(now: Round, level: int) -> tuple[int, ...]:
    acted = list(now.acted)
    acted[now.ring[0]] = level
    return tuple(acted)


def _bet(now: Round, seat: int, amount: int) -> Round:
    """A bet or a raise to this amount: all others who can are to act again."""
    level, full, side_pots = now.level, now.full, now.side_pots
    if amount <= 0:
        raise RuleError("BAD_STAKE", f"{amount} is no bet", "amount")
    if side_pots and not _reopened(now, seat):
        raise RuleError("NOT_REOPENED", "the short bets since do not add up to a raise", "action")
    have = now.chips[seat]
    if amount < level + full:
        if not (side_pots and amount == have and amount > level):
            raise RuleError("BET_TOO_SMALL", f"{amount} is less than {level + full}", "amount")
        # A short bet or raise leaves what a full one is as it was.
    elif amount > have:
        raise RuleError("INSUFFICIENT_CHIPS", f"{amount} is more than {have}", "amount")
    else:
        full = amount - level
    bets, acted, ring = list(now.bets), now.acted, now.ring[1:]
    bets[seat] = amount
    to_act = len(ring)
    if side_pots:
        acted = _acted(now, amount)
    if amount < have or not side_pots:
        ring = (*ring, seat)
    return Round(now.chips, now.live, tuple(bets), acted, amount, full, ring, to_act, side_pots)


def _reopened(now: Round, seat: int) -> bool:
    """Whether the seat may raise: it has not acted, or the betting has since gone up by a full bet
    or raise, be it in short ones (DRW-12). Without short bets it always has."""
    acted = now.acted[seat]
    return acted == NOT_ACTED or now.level - acted >= now.full


_FOLD, _CHECK = Option("fold"), Option("check")


def options(now: Round) -> tuple[Option, ...]:
    """What the seat whose turn it is may do, with its price or bounds: just what `act` accepts."""
    seat, level, side_pots = now.ring[0], now.level, now.side_pots
    bet, chips = now.bets[seat], now.chips[seat]
    if bet == chips:  # DRW-12: under `match_or_fold`
        return (_FOLD,) if level else (_CHECK,)
    least = level + now.full
    if side_pots and level < chips < least:
        least = chips
    raises = chips >= least and (not side_pots or _reopened(now, seat))
    if not level:
        return (_CHECK, Option("bet", 0, least, chips)) if raises else (_CHECK,)
    if chips < level and not side_pots:
        return (_FOLD,)
    call = Option("call", (level if level < chips else chips) - bet)
    return (_FOLD, call, Option("raise", 0, least, chips)) if raises else (_FOLD, call)
