"""The games by name."""

from __future__ import annotations

from collections.abc import Mapping

from shared.errors import RuleError
from shared.games import baccarat
from shared.games.play import Game

GAMES: Mapping[str, Game] = {rules.NAME: rules for rules in (baccarat,)}


def game(name: str) -> Game:
    """The rules called `name`; `RuleError` `UNKNOWN_GAME` where there are none."""
    rules = GAMES.get(name)
    if rules is None:
        raise RuleError("UNKNOWN_GAME", f"no such game: {name!r}", "game")
    return rules
