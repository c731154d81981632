"""What holds for boxes and first stakes at every house game (TAB-02), in the order of the reasons.

A game's `check_bets` calls `check_shape`, its own checks, `check_limits`, more of its own, then
`check_chips`; each looks at all boxes before the next reason is asked.
"""

from __future__ import annotations

from collections.abc import Collection

from shared.errors import RuleError
from shared.games.play import Box, Setup
from shared.games.settings import Limits


def check_shape(setup: Setup, boxes: int, bettors_per_box: int) -> None:
    """`BAD_STAKE`, then `TOO_MANY_BOXES`, then `TOO_MANY_BETTORS`."""
    check_stakes(setup)
    check_numbers(setup, boxes)
    check_bettors(setup, bettors_per_box)


def check_stakes(setup: Setup) -> None:
    """`BAD_STAKE` where a stake is not above zero or a stack is below."""
    for box in setup.boxes:
        for player, wager, stake in box.bets:
            if stake <= 0:
                raise RuleError(
                    "BAD_STAKE", f"{player}'s {wager} on box {box.number} is not a stake", "stake"
                )
    for player, stack in setup.stacks.items():
        if stack < 0:
            raise RuleError("BAD_STAKE", f"{player}'s {stack} is not a stack", "stacks")


def check_numbers(setup: Setup, boxes: int) -> None:
    """`TOO_MANY_BOXES` where a box's number is outside 1…`boxes`."""
    for box in setup.boxes:
        if not 1 <= box.number <= boxes:
            raise RuleError("TOO_MANY_BOXES", f"the table has boxes 1 to {boxes}", "box")


def check_bettors(setup: Setup, bettors_per_box: int) -> None:
    """`TOO_MANY_BETTORS` where a box has more (TAB-02)."""
    for box in setup.boxes:
        if len(box.bets) > bettors_per_box and len(bettors(box)) > bettors_per_box:
            raise RuleError(
                "TOO_MANY_BETTORS",
                f"box {box.number} takes {bettors_per_box} bettors at most",
                "box",
            )


def check_limits(
    setup: Setup, limits: Limits, wagers: Collection[str], complete: bool = True
) -> None:
    """`STAKE_BELOW_MINIMUM` where a bettor's sum over `wagers` on a box is less (only when the bets
    are `complete`), then `STAKE_ABOVE_MAXIMUM` for the box's sum over them (TAB-02, BAC-01)."""
    if complete and limits.min is not None:
        for box in setup.boxes:
            for player in bettors(box):
                if stake_of(box, player, wagers) < limits.min:
                    raise RuleError(
                        "STAKE_BELOW_MINIMUM",
                        f"{player} stakes less than {limits.min} on box {box.number}",
                        "stake",
                    )
    if limits.max is not None:
        for box in setup.boxes:
            if sum(stake for _, wager, stake in box.bets if wager in wagers) > limits.max:
                raise RuleError(
                    "STAKE_ABOVE_MAXIMUM",
                    f"the stakes on box {box.number} are more than {limits.max}",
                    "stake",
                )


def check_chips(setup: Setup) -> None:
    """`INSUFFICIENT_CHIPS` where a player's first stakes are more than his chips."""
    if not setup.stacks:
        return
    for player, staked in first_stakes(setup).items():
        if staked > setup.stacks.get(player, staked):
            raise RuleError(
                "INSUFFICIENT_CHIPS", f"{player} has {setup.stacks[player]} chips", "stake"
            )


def bettors(box: Box) -> tuple[str, ...]:
    """Who has a stake on the box, in the order of the first bets."""
    return tuple(dict.fromkeys(player for player, _, _ in box.bets))


def stake_of(box: Box, player: str, wagers: Collection[str]) -> int:
    """What the player has on the box in these wagers together, in minor units."""
    return sum(stake for bettor, wager, stake in box.bets if bettor == player and wager in wagers)


def first_stakes(setup: Setup) -> dict[str, int]:
    """What each player has staked as betting closes, all boxes and wagers together."""
    staked: dict[str, int] = {}
    for box in setup.boxes:
        for player, _, stake in box.bets:
            staked[player] = staked.get(player, 0) + stake
    return staked


def chips_left(setup: Setup) -> dict[str, int]:
    """What the players who can run out of chips have left once the first stakes are taken."""
    if not setup.stacks:
        return {}
    staked = first_stakes(setup)
    return {player: stack - staked.get(player, 0) for player, stack in setup.stacks.items()}
