"""Whether bets and boxes of an oasis poker table may stand as they are (OAS-01, OAS-03, OAS-04)."""

from __future__ import annotations

from collections.abc import Mapping

from shared.errors import RuleError
from shared.games import boxes
from shared.games.oasis_settings import Settings
from shared.games.play import Setup


def check_bets(settings: Settings, setup: Setup, complete: bool = True) -> None:
    """Raise the first reason, in the order of the hand script, why these bets cannot stand.

    How many boxes a player may own is asked of `complete` bets only: who counts is fixed as betting
    closes (OAS-04).
    """
    boxes.check_stakes(setup)
    boxes.check_numbers(setup, settings.boxes)
    several = _several(setup)
    if complete and several:
        _check_owned(setup, several)
    boxes.check_bettors(setup, settings.bettors_per_box)
    _check_stakes(settings, setup)
    boxes.check_limits(setup, settings.limits, ("ante",), complete)
    _check_bonus_maximum(settings, setup)
    for owner, numbers in several.items():  # OAS-03
        for box in setup.boxes:
            if box.owner != owner and min(numbers) < box.number < max(numbers):
                raise RuleError(
                    "BOXES_NOT_ADJACENT", f"box {box.number} lies between {owner}'s boxes", "box"
                )
    for owner in several:
        if sum(1 for box in setup.boxes if box.owner == owner and not box.blind) > 2:
            raise RuleError("TOO_MANY_OPEN_BOXES", f"{owner} may look at two boxes", "blind")
    boxes.check_chips(setup)


def _several(setup: Setup) -> Mapping[str, list[int]]:
    """The boxes of those who own several."""
    owned: dict[str, list[int]] = {}
    if len({box.owner for box in setup.boxes}) < len(setup.boxes):
        for box in setup.boxes:
            owned.setdefault(box.owner, []).append(box.number)
    return {owner: numbers for owner, numbers in owned.items() if len(numbers) > 1}


def _check_owned(setup: Setup, several: Mapping[str, list[int]]) -> None:
    """OAS-04: alone at the table any number of boxes, else three. Everyone with a stake counts."""
    if len({player for box in setup.boxes for player, _, _ in box.bets}) > 1:
        for owner, numbers in several.items():
            if len(numbers) > 3:
                raise RuleError("TOO_MANY_BOXES", f"{owner} may play three boxes", "box")


def _check_stakes(settings: Settings, setup: Setup) -> None:
    """Whole exchange prices of every ante (OAS-07); a bonus only beside an ante, and its own
    minimum (OAS-01)."""
    unit = settings.ante_unit
    for box in setup.boxes:
        for player, wager, stake in box.bets:
            if wager == "ante" and stake % unit:
                raise RuleError(
                    "STAKE_NOT_DIVISIBLE", f"a price of {player}'s {stake} is not whole", "stake"
                )
    for box in setup.boxes:
        for player, wager, stake in box.bets:
            if wager == "bonus" and (
                stake < (settings.bonus_min or 0) or not boxes.stake_of(box, player, ("ante",))
            ):
                raise RuleError(
                    "STAKE_BELOW_MINIMUM",
                    f"{player}'s bonus needs an ante and {settings.bonus_min or 1} at least",
                    "stake",
                )


def _check_bonus_maximum(settings: Settings, setup: Setup) -> None:
    if settings.bonus_max is not None:
        for box in setup.boxes:
            for player, wager, stake in box.bets:
                if wager == "bonus" and stake > settings.bonus_max:
                    raise RuleError(
                        "STAKE_ABOVE_MAXIMUM",
                        f"{player}'s bonus is more than {settings.bonus_max}",
                        "stake",
                    )
