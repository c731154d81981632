"""The form of a hand script: JSON values into the words that the rules are played with.

Reading finds `BAD_SCRIPT` anywhere in the script first, then `UNKNOWN_CARD` and `DUPLICATE_CARD` in
its deck. A number that is no whole number of chips is read as -1: the rules refuse it with
`BAD_STAKE` in its turn among their checks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from shared.cards import Card, parse_card
from shared.errors import CroupierError, SettingError
from shared.games.play import Box, Decision, Game, Setup

Json = Any
"""A value that `json.loads` gives."""

NO_AMOUNT = -1
NO_CARD = Card(-1)

_BOX = re.compile(r"-?[0-9]{1,1000}", re.ASCII)


class ScriptError(CroupierError):
    """A script breaks a rule; `at` is the index of the decision at fault, or `None`."""

    def __init__(self, reason: str, message: str, at: int | None = None) -> None:
        super().__init__(reason, message)
        self.at = at


@dataclass(frozen=True, slots=True)
class Script:
    """A hand as it is about to be played: `deck` from the first card to leave the shoe."""

    rules: Game
    settings: Any
    setup: Setup
    deck: tuple[Card, ...]
    decisions: tuple[Decision, ...]


def bad(message: str) -> ScriptError:
    """The fault of a script that is not in the form."""
    return ScriptError("BAD_SCRIPT", message)


def keys(value: Json, what: str, needed: Collection[str], others: Collection[str] = ()) -> Json:
    """An object with all `needed` keys and, besides them, only some of the `others`."""
    if not isinstance(value, dict):
        raise bad(f"{what} must be an object")
    for key in needed:
        if key not in value:
            raise bad(f"{what} lacks {key!r}")
    for key in value:
        if key not in needed and key not in others:
            raise bad(f"{what} has an unknown key {key!r}")
    return value


def text(value: Json, what: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise bad(f"{what} must be a string")
    return value


def texts(value: Json, what: str) -> list[str]:
    """A list of strings."""
    if not isinstance(value, list):
        raise bad(f"{what} must be a list")
    return [text(entry, what) for entry in value]


def whole(value: Json, what: str) -> int:
    """A whole number: of a box, not of chips."""
    if type(value) is not int:
        raise bad(f"{what} must be a whole number")
    return value


def amount(value: Json, what: str) -> int:
    """A number of chips; `NO_AMOUNT` where the number is not whole."""
    if type(value) is float:
        return NO_AMOUNT
    if type(value) is not int:
        raise bad(f"{what} must be a number")
    return value


def amounts(value: Json, what: str) -> dict[str, int]:
    """Numbers of chips by name."""
    if not isinstance(value, dict):
        raise bad(f"{what} must be an object")
    return {name: amount(entry, what) for name, entry in value.items()}


def settings(rules: Game, value: Json) -> Any:
    """The settings that `rules` reads from the script's."""
    if not isinstance(value, dict):
        raise bad("rules must be an object")
    try:
        return rules.settings(value)
    except SettingError as fault:
        raise bad(fault.message) from None


def decisions(
    value: Json, known: Collection[str], needed: Mapping[str, str]
) -> tuple[Decision, ...]:
    """The decisions, which may have the keys `known` besides box and word; `needed` is the key that
    a word cannot do without."""
    if not isinstance(value, list):
        raise bad("decisions must be a list")
    return tuple(_decision(entry, known, needed) for entry in value)


def _decision(value: Json, known: Collection[str], needed: Mapping[str, str]) -> Decision:
    keys(value, "a decision", ("box", "do"), known)
    do = text(value["do"], "do")
    if do in needed and needed[do] not in value:
        raise bad(f"{do!r} lacks {needed[do]!r}")
    return Decision(
        box=whole(value["box"], "box"),
        do=do,
        amount=amount(value.get("amount", 0), "amount"),
        cards=tuple(_named(name) for name in texts(value.get("cards", []), "cards")),
        insurance=tuple(amounts(value.get("insurance", {}), "insurance").items()),
    )


def _named(name: str) -> Card:
    """A card named in an exchange: one that does not exist is one that nobody holds."""
    try:
        return parse_card(name)
    except ValueError:
        return NO_CARD


def deck(names: list[str], decks: int) -> tuple[Card, ...]:
    """The cards of a deck; `UNKNOWN_CARD`, then `DUPLICATE_CARD` for one too often in `decks`."""
    try:
        cards = tuple(parse_card(name) for name in names)
    except ValueError as fault:
        raise ScriptError("UNKNOWN_CARD", str(fault)) from None
    for card, times in Counter(cards).items():
        if times > decks:
            raise ScriptError("DUPLICATE_CARD", f"{card} is there {times} times in {decks} decks")
    return cards


# What a house game's script may say: the wager no bettor can do without, what an open box may be,
# what a decision may carry.
_NEEDED_WAGER = {"battle": ("stake",), "casino_holdem": ("ante",), "oasis_poker": ("ante",)}
_BOX_KEYS = {"oasis_poker": ("blind",)}
_DECISION_KEYS = {"oasis_poker": ("cards", "insurance")}
_DECISION_NEEDS = {"oasis_poker": {"exchange": "cards"}}


def read_house(rules: Game, value: Json) -> Script:
    """A house game's script."""
    keys(value, "the script", ("game", "deck", "boxes"), ("rules", "stacks", "decisions"))
    read = settings(rules, value.get("rules", {}))
    names = texts(value["deck"], "deck")
    boxes = value["boxes"]
    if not isinstance(boxes, dict) or not boxes:
        raise bad("boxes must be an object with at least one box")
    setup = Setup(
        boxes=tuple(
            sorted(
                (_box(rules, number, box) for number, box in boxes.items()),
                key=lambda box: box.number,
            )
        ),
        stacks=amounts(value.get("stacks", {}), "stacks"),
    )
    decided = decisions(
        value.get("decisions", []),
        _DECISION_KEYS.get(rules.NAME, ()),
        _DECISION_NEEDS.get(rules.NAME, {}),
    )
    return Script(rules, read, setup, deck(names, rules.decks(read)), decided)


def _box(rules: Game, number: str, value: Json) -> Box:
    what = f"box {number}"
    if _BOX.fullmatch(number) is None or str(int(number)) != number:
        raise bad(f"{number!r} is not the number of a box")
    keys(value, what, ("owner", "bets"), _BOX_KEYS.get(rules.NAME, ()))
    blind = value.get("blind", False)
    if type(blind) is not bool:
        raise bad(f"{what}: blind must be true or false")
    owner = text(value["owner"], f"{what}: owner")
    keys(value["bets"], f"{what}: bets", (owner,), value["bets"])
    bets: list[tuple[str, str, int]] = []
    needed = _NEEDED_WAGER.get(rules.NAME, ())
    for bettor, wagers in value["bets"].items():
        whose = f"{what}: the bets of {bettor}"
        if not keys(wagers, whose, needed, rules.WAGERS):
            raise bad(f"{whose} lack a stake")
        bets += [(bettor, wager, amount(stake, whose)) for wager, stake in wagers.items()]
    return Box(int(number), owner, tuple(bets), blind)
