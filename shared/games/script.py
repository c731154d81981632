"""Hand scripts: one hand with its cards given, as JSON, run through the rules of its game.

The run keeps the discipline of a live table: the rules are told a card only when it is dealt face
up or shown, and the cards of the result are read from the deck by position.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from shared.cards import Card
from shared.errors import RuleError
from shared.games.play import Cell, Deal, Decision, Decisions, Done, Face, Show
from shared.games.registry import GAMES
from shared.games.script_draw import draw_result, read_draw
from shared.games.script_form import Json, Script, ScriptError, bad, read_house

_MOST_DIGITS = 1000
_LOOK = "look"
_TIMEOUT = "timeout"


def run_script(script: Json) -> dict[str, Any]:
    """The result of a script (a value of `json.loads`) as a JSON object: the hand's, or
    `{"error": {"reason", "message", "at"}}` with the first rule that it breaks."""
    try:
        return _play(_read(script))
    except ScriptError as fault:
        return _error(fault)
    except RecursionError:  # it could be read, but not be named in the message that refuses it
        return _error(bad("nested too deep"))


def run_lines(data: bytes) -> Iterator[dict[str, Any]]:
    """The results of the scripts in `data` (JSON, so UTF-8), in order: one script over many lines,
    or one a line."""
    try:
        whole = _loads(data)
    except ScriptError:
        for line in data.split(b"\n"):  # JSON may hold other line separators inside a string
            if line.strip():
                yield _run_line(line)
    else:
        yield run_script(whole)


def _run_line(line: bytes) -> dict[str, Any]:
    try:
        return run_script(_loads(line))
    except ScriptError as fault:
        return _error(fault)


def _loads(data: bytes) -> Json:
    try:
        return json.loads(
            data.decode(),
            object_pairs_hook=_object,
            parse_int=_whole,
            parse_constant=_no_constant,
        )
    except (ValueError, RecursionError) as fault:
        raise bad(f"not JSON: {fault}") from None


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """An object whose keys are all different: of two stakes, none may be dropped in silence."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key is there twice")
    return made


def _whole(digits: str) -> int:
    """A whole number, of which what it wins can be written too: Python writes 4300 digits."""
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has more than {_MOST_DIGITS} digits")
    return int(digits)


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _error(fault: ScriptError) -> dict[str, Any]:
    return {"error": {"reason": fault.reason, "message": fault.message, "at": fault.at}}


def _read(script: Json) -> Script:
    if not isinstance(script, dict):
        raise bad("a script must be an object")
    name = script.get("game")
    rules = GAMES.get(name) if isinstance(name, str) else None
    if rules is None:
        raise bad(f"no such game: {name!r}")
    return read_draw(rules, script) if name == "draw_poker" else read_house(rules, script)


def _play(script: Script) -> dict[str, Any]:
    """Play the hand to its end; the first fault counts."""
    rules, deck = script.rules, script.deck
    try:
        hand = rules.start(script.settings, script.setup)
    except RuleError as refusal:
        raise ScriptError(refusal.reason, refusal.message) from None
    used = taken = 0
    while not isinstance(step := rules.next_step(hand), Done):
        if isinstance(step, Deal):
            if used + len(step.slots) > len(deck):
                raise ScriptError("DECK_TOO_SHORT", f"the deck has only {len(deck)} cards")
            faces = enumerate((slot.face for slot in step.slots), used)
            hand = rules.dealt(hand, tuple(_cell(deck, at, face) for at, face in faces))
            used += len(step.slots)
        elif isinstance(step, Show):
            hand = rules.shown(
                hand, tuple(_cell(deck, turn.position, turn.face) for turn in step.turns)
            )
        else:
            if taken == len(script.decisions):
                raise ScriptError("DECISION_MISSING", f"{step.phase}: a decision is due")
            decision = script.decisions[taken]
            try:
                decision = _due(step, decision)
                if decision.do == _TIMEOUT:
                    default = rules.default(hand, decision.box)
                    decision = replace(default, insurance=decision.insurance)
                hand = rules.decide(hand, decision)
            except RuleError as refusal:
                raise ScriptError(refusal.reason, refusal.message, taken) from None
            taken += decision.do != _LOOK
    if taken < len(script.decisions):
        raise ScriptError("DECISION_NOT_DUE", "the hand is over", taken)
    return _result(script, hand, step, used)


def _cell(deck: tuple[Card, ...], position: int, face: Face) -> Cell:
    """A card as the table is told of it: nothing of one that lies face down."""
    return Cell(position, None if face is Face.DOWN else deck[position])


def _due(step: Decisions, decision: Decision) -> Decision:
    """The decision, if its box is the one due; before the first of an open box comes its look."""
    due = next((due for due in step.due if due.box == decision.box), None)
    if due is None or (step.together and due is not step.due[0]):
        raise RuleError("NOT_YOUR_TURN", f"it is box {step.due[0].box}'s turn", "box")
    if decision.do == _LOOK:
        raise RuleError("ILLEGAL_DECISION", "a script's boxes are looked at unasked", "do")
    if any(option.do == _LOOK for option in due.options):
        return Decision(decision.box, _LOOK)
    return decision


def _result(script: Script, hand: Any, done: Done, used: int) -> dict[str, Any]:
    cards = {
        name: [str(script.deck[cell.position]) for cell in cells]
        for name, cells in script.rules.cells(hand).items()
    }
    if script.rules.NAME == "draw_poker":
        return {**draw_result(script.setup, done), "cards": cards, "cards_used": used}
    boxes: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for line in done.lines:
        of_player = boxes.setdefault(str(line.box), {}).setdefault(line.player, [])
        of_player.append({"bet": line.bet, "stake": line.stake, "returned": line.returned})
    result = {"result": done.result, "cards": cards, "cards_used": used, "boxes": boxes}
    if script.rules.NAME == "baccarat":
        result["commission"] = dict(done.commission)
    return result
