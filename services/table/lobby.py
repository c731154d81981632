"""The lobby: a line for each table of this node, and who watches them change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from croupier.table.v1 import table_pb2

from shared.table.state import TableState
from shared.table.view import summary

TELL_EVERY_S = 0.25
"""A watcher of the lobby hears of a table's changes at most so often, then of the last one."""


class Lobby:
    """Knows the latest state of every table here; a slow watcher only misses what is past."""

    def __init__(self) -> None:
        self._states: dict[str, TableState] = {}
        self._changed: dict[asyncio.Event, set[str]] = {}

    def tell(self, state: TableState) -> None:
        """A table has changed."""
        table_id = state.table.table_id
        self._states[table_id] = state
        for news, changed in self._changed.items():
            changed.add(table_id)
            news.set()

    def forget(self, table_id: str) -> None:
        """A table is not on this node any more."""
        self._states.pop(table_id, None)

    def lines(self) -> list[table_pb2.TableSummary]:
        """All tables here, by id."""
        return [summary(self._states[table_id]) for table_id in sorted(self._states)]

    async def watch(self) -> AsyncIterator[list[table_pb2.TableSummary]]:
        """All tables, then those that changed."""
        news, changed = asyncio.Event(), set[str]()
        self._changed[news] = changed
        try:
            yield self.lines()
            while True:
                await news.wait()
                news.clear()
                fresh = [self._states[each] for each in sorted(changed) if each in self._states]
                changed.clear()
                if fresh:
                    yield [summary(state) for state in fresh]
                await asyncio.sleep(TELL_EVERY_S)
        finally:
            del self._changed[news]
