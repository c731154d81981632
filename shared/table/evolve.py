"""What each event does to a table. `evolve` never judges: whatever is in the log has happened."""

from __future__ import annotations

from shared.table import apply_hand, apply_seats, apply_shoe
from shared.table.events import Event
from shared.table.replace import replace
from shared.table.state import TableState

_APPLY = {**apply_seats.APPLY, **apply_shoe.APPLY, **apply_hand.APPLY}


def evolve(state: TableState, event: Event) -> TableState:
    """The table after `event`, which is the next of its stream (version `state.version + 1`)."""
    changed = _APPLY[type(event)](state, event)
    return replace(changed, version=state.version + 1, now=getattr(event, "at", state.now))
