"""What an operator asks for when a table is opened, with the house's defaults filled in."""

from __future__ import annotations

import hashlib
import json
import re

from croupier.table.v1 import table_pb2
from croupier.table.v1.events_pb2 import Clocks

from services.table.commands import command_uuid
from services.table.proposal import Proposal
from shared.errors import CroupierError, SettingError
from shared.games import draw_entries
from shared.games.registry import GAMES
from shared.log import CommandKey
from shared.plain import plain
from shared.rpc.caller import caller, correlation_id
from shared.table import events as e

TABLE_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
CURRENCY = re.compile(r"[A-Z]{3}")
MOST_NAME = 80
MOST_SEATS = 64
SEATS = 7
LONGEST_CLOCK_MS = 3_600_000


def default_clocks(grace_s: float) -> e.Clocks:
    """The clocks of a table that is opened without clocks of its own. The grace, of 0.001 s at
    least, is a setting of the node."""
    # TAB-06, DRW-10, TAB-10; betting, cut and seeds are the house's own.
    return e.Clocks(
        betting_ms=15_000,
        decision_warn_ms=180_000,
        decision_default_ms=120_000,
        cut_ms=10_000,
        seed_ms=5_000,
        entry_ms=30_000,
        consent_ms=15_000,
        grace_ms=round(grace_s * 1000),
    )


def opening(request: table_pb2.OpenTableRequest, defaults: e.Clocks) -> Proposal:
    """The proposal that opens the table.

    Raises `BAD_REQUEST` or `BAD_SETTING` with the field at fault.
    """
    if not TABLE_ID.fullmatch(request.table_id):
        raise CroupierError("BAD_REQUEST", "an id is 1 to 40 of A-Z a-z 0-9 _ -", "table_id")
    if not CURRENCY.fullmatch(request.currency):
        raise CroupierError("BAD_REQUEST", "a currency is three capital letters", "currency")
    name = plain(request.name, MOST_NAME, "name")
    game = GAMES.get(request.game)
    if game is None:
        raise SettingError("game", f"games are {', '.join(sorted(GAMES))}")
    rules = _rules(request.rules_json)
    game.settings(rules)
    most = MOST_SEATS if game.WAGERS else draw_entries.BOXES
    seats = request.seats or min(SEATS, most)
    if not 1 <= seats <= most:
        raise SettingError("seats", f"1 to {most} seats")
    clocks = _clocks(request.clocks, defaults)
    who = caller()
    body = hashlib.sha256(request.SerializeToString(deterministic=True)).digest()
    return Proposal(
        make=lambda at: e.TableOpened(
            table_id=request.table_id,
            name=name or request.table_id,
            game=game.NAME,
            rules_version=game.VERSION,
            rules_json=json.dumps(rules, sort_keys=True, separators=(",", ":")),
            currency=request.currency,
            clocks=clocks,
            seats=seats,
            at=at,
            ante=request.ante,
            open_joining=request.open_joining or bool(game.WAGERS),
        ),
        actor=f"{who.role}:{who.id}",
        correlation=correlation_id(),
        command=CommandKey(who.id, command_uuid(request.command_id), body),
    )


def _rules(text: str) -> dict[str, object]:
    try:
        rules = json.loads(text or "{}")
        # JSON may escape what is no character, and no answer can name such a setting.
        json.dumps(rules, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise SettingError("rules_json", "settings are a JSON object") from None
    if not isinstance(rules, dict):
        raise SettingError("rules_json", "settings are a JSON object")
    return rules


def _clocks(asked: Clocks, defaults: e.Clocks) -> e.Clocks:
    values = {}
    for name in e.Clocks.__slots__:
        value = getattr(asked, name) or getattr(defaults, name)
        if not 0 < value <= LONGEST_CLOCK_MS:
            raise SettingError(f"clocks.{name}", f"1 to {LONGEST_CLOCK_MS} milliseconds")
        values[name] = value
    return e.Clocks(**values)
