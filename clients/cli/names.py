"""What players are called on the screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_SHOWN_LETTERS = 6


@dataclass(frozen=True, slots=True)
class Names:
    """`me` is "you"; others by the name that is known of them, else the start of their id."""

    me: str = ""
    known: Mapping[str, str] = field(default_factory=dict)

    def of(self, player: str) -> str:
        """`you`, `Ann`, `p_7f3k2a`."""
        if player and player == self.me:
            return "you"
        return self.known.get(player, player[: len("p_") + _SHOWN_LETTERS])

    def does(self, player: str, verb: str, third: str = "") -> str:
        """`You fold`, `Ann folds`: `third` where it is not just an s more."""
        if player == self.me:
            return f"You {verb}"
        return f"{self.of(player)} {third or verb + 's'}"
