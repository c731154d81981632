"""The games by name."""

from __future__ import annotations

from collections.abc import Mapping

from shared.errors import SettingError
from shared.games import baccarat, battle, casino_holdem, draw_poker, oasis_poker
from shared.games.play import Game

GAMES: Mapping[str, Game] = {
    rules.NAME: rules for rules in (baccarat, battle, casino_holdem, draw_poker, oasis_poker)
}


def game(name: str) -> Game:
    """The rules called `name`; `SettingError` where there are none."""
    rules = GAMES.get(name)
    if rules is None:
        raise SettingError("game", f"no such game: {name!r}")
    return rules
