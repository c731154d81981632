"""How many commands a node takes on: what cannot be carried out soon is refused at once."""

from __future__ import annotations

from services.table.proposal import Proposal
from shared.errors import CroupierError
from shared.table.state import TableState

MOST_AT_ONCE = 2_000
"""Commands of players and staff that are under way on a node, over all its tables."""
MOST_NEW = 1_500
"""With so many under way nothing new is begun: what is left of the room is for running hands."""


class Admission:
    """Counts the commands under way on a node. What the house itself does (clocks, cards, chips
    that arrive) is never refused: without it no hand would come to its end."""

    def __init__(self, most_at_once: int = MOST_AT_ONCE, most_new: int = MOST_NEW) -> None:
        self._most_at_once = most_at_once
        self._most_new = most_new
        self._under_way = 0
        self.taken = 0
        """Commands that were taken so far."""

    def enter(self, proposal: Proposal, state: TableState) -> None:
        """Lets a proposal in until it is done; raises `OVERLOADED`, which changes nothing."""
        if proposal.command is None:
            return
        most = self._most_at_once if in_play(state) else self._most_new
        if self._under_way >= most:
            raise CroupierError("OVERLOADED", "too much at once on this node")
        self._under_way += 1
        self.taken += 1
        proposal.done.add_done_callback(self._leave)

    def _leave(self, _: object) -> None:
        self._under_way -= 1


def in_play(state: TableState) -> bool:
    """Whether stakes are at risk that only further commands, or clocks, bring to an end."""
    return state.hand is not None or (state.betting is not None and state.betting.closed)
