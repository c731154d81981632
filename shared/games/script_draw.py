"""The form of a draw poker script, and of its result."""

from __future__ import annotations

from typing import Any

from shared.games.play import Box, Done, Game, Setup
from shared.games.script_form import (
    Json,
    Script,
    amount,
    bad,
    decisions,
    deck,
    keys,
    settings,
    text,
    texts,
    whole,
)

_ENTRIES = ("ante", "half_pot")
_OTHER_KEYS = ("carried_pot", "entry", "first", "rules", "decisions")
_DECISION_KEYS = ("amount", "cards")
_DECISION_NEEDS = {"bet": "amount", "raise": "amount", "exchange": "cards"}


def read_draw(rules: Game, value: Json) -> Script:
    """A draw poker script. Amounts are not judged here: ante, stacks, carried pot and entries may
    be negative in the set-up, and `check_bets` refuses them."""
    keys(value, "the script", ("game", "ante", "seats", "deck"), _OTHER_KEYS)
    read = settings(rules, value.get("rules", {}))
    names = texts(value["deck"], "deck")
    seats = value["seats"]
    if not isinstance(seats, list) or len(seats) < 2:
        raise bad("seats must be a list of at least two")
    boxes: dict[int, Box] = {}
    stacks: dict[str, int] = {}
    entries: list[tuple[int, int]] = []
    for seat in seats:
        keys(seat, "a seat", ("box", "player", "stack"), ("entry",))
        box, player = whole(seat["box"], "box"), text(seat["player"], "player")
        if box in boxes or player in stacks:
            raise bad(f"box {box} or {player} is there twice")
        boxes[box] = Box(box, player, ())
        stacks[player] = amount(seat["stack"], "stack")
        if "entry" in seat:
            entries.append((box, amount(seat["entry"], "entry")))
    first = whole(value.get("first", min(boxes)), "first")
    if first not in boxes:
        raise bad(f"nobody sits at box {first}")
    entry = text(value.get("entry", "ante"), "entry")
    if entry not in _ENTRIES:
        raise bad(f"entry must be one of {', '.join(_ENTRIES)}")
    setup = Setup(
        boxes=tuple(boxes[number] for number in sorted(boxes)),
        stacks=stacks,
        ante=amount(value["ante"], "ante"),
        first=first,
        carried_pot=amount(value.get("carried_pot", 0), "carried_pot"),
        entries=tuple(sorted(entries)),
        entry=entry,
    )
    decided = decisions(value.get("decisions", []), _DECISION_KEYS, _DECISION_NEEDS)
    return Script(rules, read, setup, deck(names, rules.decks(read)), decided)


def draw_result(setup: Setup, done: Done) -> dict[str, Any]:
    """What a draw poker script gives besides the cards: one line a seat is what he put in the pots
    and what came back."""
    return {
        "result": done.result,
        "carried_pot": done.carried_pot,
        "next_entry": done.next_entry,
        "seats": {
            line.player: {
                "put": line.stake,
                "won": line.returned,
                "stack": setup.stacks[line.player] - line.stake + line.returned,
            }
            for line in done.lines
        },
    }
