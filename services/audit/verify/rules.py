"""The rules run again: each logged input, at its time, gives the logged events (promise 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from services.audit.verify.findings import Check, Finding, Read
from shared.errors import CroupierError
from shared.table import events as table
from shared.table.decide import decide
from shared.table.envelope import hand_ids
from shared.table.evolve import evolve
from shared.table.state import TableState


class LostError(Exception):
    """After a broken event the table's state is not known any more. `findings` led up to it."""

    def __init__(self, message: str, findings: list[Finding]) -> None:
        super().__init__(message)
        self.findings = findings


def check_rules(state: TableState, group: Sequence[Read]) -> tuple[TableState, list[Finding]]:
    """One append (an input and what the table's owner derived from it) on top of `state`.

    Returns the table after it, which is what the log says, whatever the rules say: what is in the
    log has happened. Raises `LostError` where not even that can be followed.
    """
    first = group[0]
    findings = list(_envelopes(state, group))
    logged = tuple(read.body for read in group)
    try:
        decided, after = decide(state, first.body)
    except CroupierError as refusal:
        findings.append(first.finding(Check.RULES, f"the rules refuse this: {refusal}"))
    except Exception as fault:
        findings.append(first.finding(Check.RULES, f"the rules cannot take this: {fault!r}"))
    else:
        if decided == logged:
            return after, findings
        findings.extend(_difference(group, decided))
    return _followed(state, group, findings), findings


def _envelopes(state: TableState, group: Sequence[Read]) -> Iterator[Finding]:
    """Which hand each event says it belongs to, and that the derived ones name their input."""
    hands = hand_ids(state, [read.body for read in group])
    cause = group[0].event.id if len(group) > 1 else None
    for read, hand_id in zip(group, hands, strict=True):
        event = read.event
        if (event.hand_id or "") != hand_id:
            yield read.finding(Check.RULES, f"the event belongs to hand {hand_id or 'none'}")
        if read is not group[0] and event.causation_id != cause:
            yield read.finding(Check.RULES, "the event does not name the input it follows from")


def _difference(group: Sequence[Read], decided: Sequence[table.Event]) -> Iterator[Finding]:
    """The first event that is not what the rules give."""
    for read, due in zip(group, decided, strict=False):
        if read.body != due:
            yield read.finding(Check.RULES, f"the rules give another {type(due).__name__} here")
            return
    if len(decided) > len(group):
        missing = type(decided[len(group)]).__name__
        yield group[-1].finding(Check.RULES, f"the rules give {missing} after this")
    else:
        yield group[len(decided)].finding(Check.RULES, "the rules give no such event here")


def _followed(state: TableState, group: Sequence[Read], findings: list[Finding]) -> TableState:
    for read in group:
        try:
            state = evolve(state, read.body)
        except Exception as fault:
            message = f"{read.event.type} fits no table as it was: {fault!r}"
            raise LostError(message, findings) from fault
    return state
