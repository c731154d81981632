"""The pots of draw poker: who wins what, and what goes back (DRW-07, DRW-10, DRW-11).

Seats are indexes in ascending order of boxes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from shared.quick import quick


@quick
@dataclass(frozen=True, slots=True)
class Pot:
    """Chips in minor units, the seats that may win them, and what each seat put in."""

    amount: int
    seats: tuple[int, ...]
    paid: tuple[int, ...]


@quick
@dataclass(frozen=True, slots=True)
class Payout:
    """How a hand's pots went: `won` by seat, an unmatched excess included; `carried` to the next
    hand, with what each seat `left` in it; `rake` to the house; `winners` of the lowest pot, the
    one that all could win (DRW-03)."""

    won: tuple[int, ...]
    carried: int
    rake: int
    winners: tuple[int, ...]
    left: tuple[int, ...]


@quick
@dataclass(frozen=True, slots=True)
class Rake:
    """The house's part: a percentage of each pot in whole minor units, at most `cap` (DRW-01)."""

    percent: Fraction
    cap: int | None

    def of(self, amount: int, taken: int) -> int:
        """The rake of a pot of `amount` when the hand's other pots have already given `taken`."""
        if not self.percent:
            return 0
        rake = amount * self.percent.numerator // (100 * self.percent.denominator)
        return rake if self.cap is None else min(rake, self.cap - taken)


def excess(put: Sequence[int], seat: int) -> int:
    """What the seat put in beyond what any other seat did: nobody matched it (DRW-11)."""
    return max(0, put[seat] - max([other for at, other in enumerate(put) if at != seat]))


def pots(put: Sequence[int], live: Sequence[int], carried: int) -> list[Pot]:
    """One pot for each distinct amount put in by the `live` seats, the lowest first (DRW-11).

    The carried pot joins the lowest. What seats that folded put in beyond the highest is matched
    among them only: dead money, which joins the highest.
    """
    levels = sorted({put[seat] for seat in live})
    if len(levels) == 1:  # nobody still in went all in for less
        return [Pot(carried + sum(put), tuple(live), tuple(put))]
    made: list[Pot] = []
    amount, below = carried, 0
    for level in levels:
        top = level == levels[-1]
        paid = [max(0, (chips if top else min(chips, level)) - below) for chips in put]
        seats = tuple([seat for seat in live if put[seat] >= level])
        made.append(Pot(amount + sum(paid), seats, tuple(paid)))
        amount, below = 0, level
    return made


def showdown(
    put: Sequence[int],
    strengths: Mapping[int, int],
    carried: int,
    rake: Rake,
    ties_carry: bool,
) -> Payout:
    """Settle a showdown between the seats of `strengths` (DRW-11); with `ties_carry` a pot whose
    best hands are equal is not split but stays for the next hand (DRW-10). What nobody could match
    returns even to one who folded."""
    matched = list(put)
    won = [0] * len(put)
    top = matched.index(max(matched))
    won[top] = excess(put, top)
    matched[top] -= won[top]
    still_carried = taken = 0
    left = [0] * len(put)
    main_winners: tuple[int, ...] | None = None
    for pot in pots(matched, tuple(strengths), carried):
        best = max([strengths[seat] for seat in pot.seats])
        winners = tuple([seat for seat in pot.seats if strengths[seat] == best])
        if ties_carry and len(winners) > 1:
            still_carried += pot.amount
            left = [before + paid for before, paid in zip(left, pot.paid, strict=True)]
            winners = ()
        else:
            cut = rake.of(pot.amount, taken)
            taken += cut
            for seat, share in zip(winners, split(pot.amount - cut, len(winners)), strict=True):
                won[seat] += share
        if main_winners is None:
            main_winners = winners
    return Payout(tuple(won), still_carried, taken, main_winners or (), tuple(left))


def uncontested(put: Sequence[int], seat: int, carried: int, rake: Rake) -> Payout:
    """The last seat still in takes all (DRW-07); no rake is taken of what nobody matched."""
    own = excess(put, seat)
    pot = sum(put) + carried - own
    cut = rake.of(pot, 0)
    won = [0] * len(put)
    won[seat] = pot - cut + own
    return Payout(tuple(won), 0, cut, (seat,), (0,) * len(put))


def split(amount: int, ways: int) -> list[int]:
    """Equal parts; odd units one each to the first, those with the lowest boxes (DRW-11)."""
    part, odd = divmod(amount, ways)
    return [part + (at < odd) for at in range(ways)]
