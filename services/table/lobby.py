"""The lobby: a line for each table, here or at another node, and who watches them change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence

from croupier.table.v1 import table_pb2

from shared.table.state import TableState
from shared.table.view import summary

TELL_EVERY_S = 0.25
"""A watcher of the lobby hears of a table's changes at most so often, then of the last one."""

MOST_IN_ONE = 500
"""Lines in one message, which is bounded; ten thousand tables are told in twenty."""

Line = table_pb2.TableSummary


class Lobby:
    """Knows the latest state of every table; a slow watcher only misses what is past."""

    def __init__(self) -> None:
        self._here: dict[str, TableState] = {}
        self._there: dict[str, dict[str, Line]] = {}
        self._changed: dict[asyncio.Event, set[str]] = {}

    def tell(self, state: TableState) -> None:
        """A table of this node has changed."""
        self._here[state.table.table_id] = state
        self._news((state.table.table_id,))

    def forget(self, table_id: str) -> None:
        """A table is not on this node any more."""
        self._here.pop(table_id, None)

    def hear(self, node: str, lines: Iterable[Line]) -> None:
        """What another node says about its tables."""
        there = self._there.setdefault(node, {})
        for line in lines:
            there[line.table_id] = line
            for other, known in self._there.items():
                if other != node:
                    known.pop(line.table_id, None)  # it has moved
        self._news(line.table_id for line in lines)

    def forget_node(self, node: str) -> None:
        """Another node is gone, and nobody says anything about its tables."""
        self._there.pop(node, None)

    def ids(self, game: str = "", own: bool = False) -> list[str]:
        """The tables by id; of one game alone, or this node's `own` alone."""
        ids = set(self._here)
        if not own:
            ids.update(*self._there.values())
        return sorted(table_id for table_id in ids if game in ("", self._game(table_id)))

    def lines(self, table_ids: Iterable[str], own: bool = False) -> list[Line]:
        """The lines of these tables, as far as they are there."""
        return [line for table_id in table_ids if (line := self._line(table_id, own))]

    def _game(self, table_id: str) -> str:
        state = self._here.get(table_id)
        if state is not None:
            return state.table.game.NAME
        return next(there[table_id].game for there in self._there.values() if table_id in there)

    def _line(self, table_id: str, own: bool) -> Line | None:
        state = self._here.get(table_id)
        if state is not None:
            return summary(state)
        if own:
            return None
        return next((there[table_id] for there in self._there.values() if table_id in there), None)

    def _news(self, table_ids: Iterable[str]) -> None:
        for table_id in table_ids:
            for news, changed in self._changed.items():
                changed.add(table_id)
                news.set()

    async def watch(self, own: bool) -> AsyncIterator[list[Line]]:
        """All tables (or this node's `own`), in parts, then those that changed."""
        news, changed = asyncio.Event(), set[str]()
        self._changed[news] = changed
        try:
            for some in _parts(self.ids(own=own)):
                yield self.lines(some, own)
            while True:
                await news.wait()
                news.clear()
                told = sorted(changed)
                changed.clear()
                for some in _parts(told):
                    if fresh := self.lines(some, own):
                        yield fresh
                await asyncio.sleep(TELL_EVERY_S)
        finally:
            del self._changed[news]


def _parts(table_ids: Sequence[str]) -> list[Sequence[str]]:
    """At least one part, be it empty."""
    count = max(len(table_ids), 1)
    return [table_ids[first : first + MOST_IN_ONE] for first in range(0, count, MOST_IN_ONE)]
