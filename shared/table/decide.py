"""Whether an input may happen, and what the rules make of it.

`decide(state, fact)` checks a proposed input event against the table and returns it with all that
follows, as one append; it raises and changes nothing when the rules refuse. The audit calls the
same function with the logged inputs and compares (architecture, promise 7).
"""

from __future__ import annotations

from shared.errors import CroupierError, RuleError
from shared.table import checks_hand, checks_seats, checks_shoe
from shared.table import events as e
from shared.table.evolve import evolve
from shared.table.follow import next_derived
from shared.table.state import Status, TableState

MOST_DERIVED = 10_000
"""A bound on what one input may bring about: every bet of every seat on each of a hundred boxes may
go back as betting closes."""

_CHECK = {**checks_seats.CHECK, **checks_shoe.CHECK, **checks_hand.CHECK}
_AFTER_CLOSING = (e.TableClaimed, e.ChipsArrived, e.ChipsDenied, e.ShoePutAway, e.PlayResumed)


def decide(state: TableState, fact: e.Input) -> tuple[tuple[e.Event, ...], TableState]:
    """The input and the derived events that follow it, and the table after them.

    Raises `CroupierError` (most often `RuleError`) when the fact may not happen now. `fact.at` is
    the time, microseconds since 1970; nothing else tells the time.
    """
    if state.config is None and not isinstance(fact, e.TableOpened):
        raise CroupierError("TABLE_NOT_FOUND", "no such table", "table_id")
    if state.status is Status.CLOSED and not isinstance(fact, _AFTER_CLOSING):
        raise RuleError("TABLE_CLOSED", "the table is closed", "table_id")
    _CHECK[type(fact)](state, fact)
    events: list[e.Event] = [fact]
    state = evolve(state, fact)
    while (derived := next_derived(state)) is not None:
        events.append(derived)
        state = evolve(state, derived)
        if len(events) > MOST_DERIVED:
            raise AssertionError(f"{type(fact).__name__} brings about more than {MOST_DERIVED}")
    return tuple(events), state
