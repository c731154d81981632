"""Between the hands of draw poker: who pays what to be dealt in, who cuts, who is dealt first, and
where a pot goes that nobody plays for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from shared.errors import RuleError
from shared.games import boxes
from shared.games.draw_settings import Settings
from shared.games.play import Setup

BOXES = 5


def check_bets(settings: Settings, setup: Setup, complete: bool = True) -> None:
    """Raise the first reason, in the order of the hand script, why these players cannot begin."""
    amounts = [setup.carried_pot, *setup.stacks.values(), *[chips for _, chips in setup.entries]]
    if setup.ante <= 0 or min(amounts) < 0:
        raise RuleError("BAD_STAKE", "an amount is not a positive whole number", "stake")
    if complete and len(setup.boxes) < 2:
        raise RuleError("BAD_SCRIPT", "a hand needs two players", "seats")
    boxes.check_numbers(setup, BOXES)
    if len({box.owner for box in setup.boxes}) < len(setup.boxes):
        raise RuleError("TOO_MANY_BOXES", "a player plays one box", "box")
    for box, entry in zip(setup.boxes, paid_in(setup), strict=True):
        if entry > setup.stacks[box.owner]:
            raise RuleError(
                "INSUFFICIENT_CHIPS", f"{box.owner} has {setup.stacks[box.owner]} chips", "stake"
            )


def half_pot(carried_pot: int) -> int:
    """The entry for a pot that stayed unplayed after the exchange, rounded up (DRW-10)."""
    return (carried_pot + 1) // 2


def paid_in(setup: Setup) -> list[int]:
    """What each box pays into the pot: its own entry, else the common one (DRW-01, DRW-10)."""
    common = setup.ante if setup.entry == "ante" else half_pot(setup.carried_pot)
    if not setup.entries:
        return [common] * len(setup.boxes)
    own = dict(setup.entries)
    return [own.get(box.number, common) for box in setup.boxes]


def entries(
    settings: Settings,
    ante: int,
    carried_pot: int,
    entry: str | None,
    players: Mapping[int, str],
    paid: Collection[str],
) -> dict[int, int]:
    """What each box pays to be dealt in (DRW-01, DRW-06, DRW-10).

    `entry` is the last hand's `next_entry`, `players` who wants to play by box, `paid` who has paid
    into the carried pot: with `half_pot_paid_by` `newcomers` those pay nothing more.
    """
    if entry != "half_pot":
        return dict.fromkeys(players, ante)
    return {
        box: 0 if settings.newcomers_only and player in paid else half_pot(carried_pot)
        for box, player in players.items()
    }


def first_dealt(boxes: Sequence[int], winners: Collection[int], carried: bool) -> int:
    """Which of the occupied `boxes` is dealt first (DRW-03): that of the last pot's winner, of a
    split pot the lowest, or, if he left, the next one on; in the first hand and after a carried
    one the lowest."""
    if carried or not winners:
        return min(boxes)
    winner = min(winners)
    return min(boxes, key=lambda box: (box < winner, box))


def cutting_box(boxes: Sequence[int], winners: Collection[int]) -> int | None:
    """Which of the occupied `boxes` is offered the cut (DRW-02): the next lower one from the last
    pot's winner, wrapping; `None` in the first hand: the dealer cuts."""
    if not winners:
        return None
    winner = min(winners)
    return max(boxes, key=lambda box: (box < winner, box))


def in_proportion(pot: int, paid: Mapping[str, int]) -> dict[str, int]:
    """A pot that goes back to those who paid it (DRW-10): each his part rounded down, the odd units
    one each in the order of `paid`."""
    total = sum(paid.values())
    back = {player: pot * amount // total for player, amount in paid.items()}
    odd = pot - sum(back.values())
    for player in list(paid)[:odd]:
        back[player] += 1
    return back
