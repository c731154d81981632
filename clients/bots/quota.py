"""How many hands the bots of a run still may start, all tables together."""

from __future__ import annotations

from croupier.table.v1.table_pb2 import TableView


class Quota:
    """Gives out `hands` hands (`None`: without end). A table's hand is claimed by the first bot
    that wants to bet on it and is then open to all of them; a voided one is not counted."""

    def __init__(self, hands: int | None) -> None:
        self._hands = hands
        self._before: dict[str, int] = {}
        self._played: dict[str, int] = {}
        self._claimed: dict[str, tuple[str, int]] = {}

    def see(self, table: TableView) -> None:
        """Learns how many hands a table has played; what it had when first seen is not counted."""
        table_id, played = table.table.table_id, table.table.hands_played
        self._before.setdefault(table_id, played)
        self._played[table_id] = max(self._played.get(table_id, 0), played)

    def may_bet(self, table: TableView) -> bool:
        """Whether the hand that the table takes bets for belongs to this run."""
        self.see(table)
        if self._hands is None:
            return True
        table_id = table.table.table_id
        if self._claimed.get(table_id, ("", 0))[0] == table.hand_id:
            return True
        running = sum(
            at == self._played[other]
            for other, (_, at) in self._claimed.items()
            if other != table_id
        )
        if self.played + running >= self._hands:
            return False
        self._claimed[table_id] = (table.hand_id, self._played[table_id])
        return True

    @property
    def played(self) -> int:
        """Hands settled since the run began."""
        return sum(self._played[table_id] - before for table_id, before in self._before.items())

    @property
    def used_up(self) -> bool:
        """Whether all of them are settled."""
        return self._hands is not None and self.played >= self._hands
