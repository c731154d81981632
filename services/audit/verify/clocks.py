"""Deadlines: nobody acts for a player before his time is up, nobody acts after it (TAB-06)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from services.audit.verify.findings import Check, Finding, Read
from shared.table import events as table
from shared.table.state import TableState, clocks

SKEW_US = 2_000_000
"""How far the clock of a table's owner may be ahead of the database's."""

_BOUND_BY_A_CLOCK: Mapping[type[Any], str] = {
    table.BetPlaced: "betting",
    table.BetsTakenBack: "betting",
    table.BetsDone: "betting",
    table.CutChosen: "cut",
    table.SeedRevealed: "seeds",
    table.DecisionMade: "decision",
}


def check_clock(state: TableState, read: Read, recorded_us: int) -> Iterator[Finding]:
    """An input against the clock that ran when it came.

    `recorded_us` is when it was recorded, by the database's clock: a second witness for what the
    owner says of the time. Microseconds since 1970.
    """
    if getattr(read.body, "at", state.now) < state.now:
        yield read.finding(Check.CLOCKS, "the table's time runs backwards here")
    if isinstance(read.body, table.ClockExpired):
        deadline = clocks(state).get(read.body.clock, 0)
        if not deadline or read.body.deadline != deadline or read.body.at < deadline:
            yield read.finding(Check.CLOCKS, "no clock had run out")
        elif recorded_us + SKEW_US < deadline:
            yield read.finding(Check.CLOCKS, "the clock was said to be over before it was")
        return
    clock = _BOUND_BY_A_CLOCK.get(type(read.body))
    deadline = clocks(state).get(clock, 0) if clock is not None else 0
    if deadline and read.body.at > deadline:
        yield read.finding(Check.CLOCKS, "accepted after its deadline")
