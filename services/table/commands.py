"""A client's command as the input that it proposes to a table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from croupier.table.v1 import table_pb2
from croupier.type.v1.money_pb2 import Money

from services.table.proposal import MakeFact, Proposal
from shared.errors import CroupierError
from shared.log import CommandKey
from shared.plain import plain
from shared.rpc.access import COMMANDS, Role
from shared.rpc.caller import Caller, correlation_id
from shared.rpc.caller import caller as calling
from shared.table import events as e

MOST_NOTE = 500
MOST_PLAYER = 64
MOST_CARDS_NAMED = 16


def proposal(caller: Caller, command: table_pb2.Command, currency: str) -> Proposal:
    """The proposal of a command at a table of this currency.

    Raises `BAD_REQUEST` for a malformed one and `ROLE_NOT_ALLOWED` where the caller's role may not
    give it.
    """
    kind = command.WhichOneof("action")
    if kind is None:
        raise CroupierError("BAD_REQUEST", "the command has no action", "action")
    if caller.role not in COMMANDS.get(kind, frozenset()):
        raise CroupierError("ROLE_NOT_ALLOWED", f"a {caller.role} may not {kind}", "action")
    action = getattr(command, kind)
    make = _MAKE[kind](caller.id, action, currency)
    body = kind.encode() + b"\0" + action.SerializeToString(deterministic=True)
    return Proposal(
        make=make,
        actor=f"{caller.role}:{caller.id}",
        correlation=correlation_id(),
        command=CommandKey(
            caller.id, command_uuid(command.command_id), hashlib.sha256(body).digest()
        ),
    )


def command_uuid(text: str) -> UUID:
    """A command's id; `BAD_REQUEST` where it is no UUID."""
    try:
        return UUID(text)
    except ValueError:
        raise CroupierError("BAD_REQUEST", "a command id is a UUID", "command_id") from None


def _amount(money: Money, currency: str, field: str) -> int:
    if money.currency != currency:
        raise CroupierError("CURRENCY_MISMATCH", f"this table plays in {currency}", field)
    return money.minor_units


def bounded_note(text: str) -> str:
    """Words of a person; `BAD_REQUEST` where they are too many, or no plain ones."""
    return plain(text, MOST_NOTE, "note")


def _join(who: str, action: Any, currency: str) -> MakeFact:
    return lambda at: e.JoinAsked(who, at)


def _leave(who: str, action: Any, currency: str) -> MakeFact:
    return lambda at: e.LeaveRequested(who, at)


def _sit_out(who: str, action: table_pb2.SitOut, currency: str) -> MakeFact:
    return lambda at: e.SitOutChanged(who, action.sitting_out, at)


def _buy_chips(who: str, action: table_pb2.BuyChips, currency: str) -> MakeFact:
    amount = _amount(action.amount, currency, "amount")
    return lambda at: e.ChipsRequested(who, amount, at)


def _cash_out(who: str, action: table_pb2.CashOut, currency: str) -> MakeFact:
    if not action.HasField("amount"):
        return lambda at: e.CashOutAsked(who, 0, at)  # all that may be cashed
    amount = _amount(action.amount, currency, "amount")
    if amount <= 0:
        raise CroupierError("BAD_AMOUNT", "an amount of chips is a positive number", "amount")
    return lambda at: e.CashOutAsked(who, amount, at)


def _place_bet(who: str, action: table_pb2.PlaceBet, currency: str) -> MakeFact:
    stake = _amount(action.stake, currency, "stake")
    return lambda at: e.BetPlaced(
        who, action.box, action.wager, stake, action.blind, at, action.done
    )


def _take_back_bets(who: str, action: table_pb2.TakeBackBets, currency: str) -> MakeFact:
    return lambda at: e.BetsTakenBack(who, action.box, at)


def _admit_bettor(who: str, action: table_pb2.AdmitBettor, currency: str) -> MakeFact:
    return lambda at: e.BettorAdmitted(who, action.box, action.bettor, at)


def _done_betting(who: str, action: Any, currency: str) -> MakeFact:
    return lambda at: e.BetsDone(who, at)


def _cut_shoe(who: str, action: table_pb2.CutShoe, currency: str) -> MakeFact:
    return lambda at: e.CutChosen(who, action.place, at)


def _pledge_seed(who: str, action: table_pb2.PledgeSeed, currency: str) -> MakeFact:
    return lambda at: e.SeedPledged(who, action.commitment, at, action.shoe_id)


def _reveal_seed(who: str, action: table_pb2.RevealSeed, currency: str) -> MakeFact:
    return lambda at: e.SeedRevealed(who, action.seed, at)


def _decide(who: str, action: table_pb2.Decide, currency: str) -> MakeFact:
    amount = _amount(action.amount, currency, "amount") if action.HasField("amount") else 0
    if len(action.positions) > MOST_CARDS_NAMED or len(action.insurance) > MOST_CARDS_NAMED:
        raise CroupierError("BAD_REQUEST", "more is named than a hand can hold", "positions")
    # Games without insurance do not look at it, and the log keeps what was said.
    insurance = tuple(
        e.InsuranceStake(plain(each.player, MOST_PLAYER, "insurance"), each.stake)
        for each in action.insurance
    )
    return lambda at: e.DecisionMade(
        who, action.box, action.action, amount, tuple(action.positions), insurance, at
    )


def _report_incident(who: str, action: table_pb2.ReportIncident, currency: str) -> MakeFact:
    note = bounded_note(action.note)
    by_pit = calling().role is Role.PIT
    return lambda at: e.IncidentReported(who, action.incident, action.position, note, at, by_pit)


def _confirm_incident(who: str, action: Any, currency: str) -> MakeFact:
    return lambda at: e.IncidentConfirmed(who, at)


def _penalise(who: str, action: table_pb2.Penalise, currency: str) -> MakeFact:
    amount = _amount(action.amount, currency, "amount") if action.HasField("amount") else 0
    if amount < 0:
        raise CroupierError("BAD_AMOUNT", "a fine, and nothing else, has an amount", "amount")
    note = bounded_note(action.note)
    return lambda at: e.PenaltyGiven(who, action.player, action.penalty, amount, note, at)


def _object_to_join(who: str, action: table_pb2.ObjectToJoin, currency: str) -> MakeFact:
    return lambda at: e.JoinObjected(who, action.player, at)


def _rule_void(who: str, action: table_pb2.RuleVoid, currency: str) -> MakeFact:
    note = bounded_note(action.note)
    return lambda at: e.HandRuledVoid(who, note, at)


_MAKE: Mapping[str, Callable[[str, Any, str], MakeFact]] = {
    "join": _join,
    "leave": _leave,
    "sit_out": _sit_out,
    "buy_chips": _buy_chips,
    "cash_out": _cash_out,
    "place_bet": _place_bet,
    "take_back_bets": _take_back_bets,
    "admit_bettor": _admit_bettor,
    "done_betting": _done_betting,
    "cut_shoe": _cut_shoe,
    "pledge_seed": _pledge_seed,
    "reveal_seed": _reveal_seed,
    "decide": _decide,
    "report_incident": _report_incident,
    "rule_void": _rule_void,
    "object_to_join": _object_to_join,
    "confirm_incident": _confirm_incident,
    "penalise": _penalise,
}
