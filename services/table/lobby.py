"""The lobby: a line for each table, here or at another node, and who watches them change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field

from croupier.table.v1 import table_pb2

from shared.table.state import Status, TableState
from shared.table.view import summary

TELL_EVERY_S = 0.25
"""A watcher of the lobby hears of a table's changes at most so often, then of the last one."""

MOST_IN_ONE = 500
"""Lines in one message, which is bounded; ten thousand tables are told in twenty."""

MOST_CLOSED = 10_000

Line = table_pb2.TableSummary


@dataclass(slots=True, eq=False)
class _Watcher:
    """Who is told what has changed; `last` are lines of tables that are closed, and gone."""

    own: bool
    news: asyncio.Event = field(default_factory=asyncio.Event)
    changed: set[str] = field(default_factory=set)
    last: dict[str, Line] = field(default_factory=dict)


class Lobby:
    """Knows the latest state of every table; a slow watcher only misses what is past."""

    def __init__(self) -> None:
        self._here: dict[str, TableState] = {}
        self._there: dict[str, dict[str, Line]] = {}
        # Which a node that has lost one, and does not know it yet, may still tell of.
        self._closed: dict[str, None] = {}
        self._watchers: list[_Watcher] = []

    def tell(self, state: TableState) -> None:
        """A table of this node has changed."""
        self._here[state.table.table_id] = state
        self._news(state.table.table_id)

    def forget(self, table_id: str) -> None:
        """A table is not on this node any more; one that is closed is nowhere."""
        state = self._here.pop(table_id, None)
        if state is not None and state.status is Status.CLOSED:
            self._gone(summary(state), here=True)

    def hear(self, node: str, lines: Iterable[Line]) -> None:
        """What another node says about its tables."""
        there = self._there.setdefault(node, {})
        for line in lines:
            if line.table_id in self._closed:
                continue
            if line.status == table_pb2.TABLE_STATUS_CLOSED:
                self._gone(line, here=False)
                continue
            others = [known for other, known in self._there.items() if other != node]
            told = [known[line.table_id] for known in others if line.table_id in known]
            if any(_age(each) > _age(line) for each in told):
                continue  # it has lost the table, and does not know it yet
            there[line.table_id] = line
            for known in others:
                known.pop(line.table_id, None)  # it has moved
            self._news(line.table_id)

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
        if own:
            return summary(state) if state is not None else None
        there = (there[table_id] for there in self._there.values() if table_id in there)
        line = next(there, None)
        if state is None or (line is not None and _age(line) > (state.epoch, state.version)):
            return line
        return summary(state)

    def _news(self, table_id: str) -> None:
        for watcher in self._watchers:
            watcher.changed.add(table_id)
            watcher.news.set()

    def _gone(self, line: Line, here: bool) -> None:
        self._closed[line.table_id] = None
        if len(self._closed) > MOST_CLOSED:
            del self._closed[next(iter(self._closed))]
        self._here.pop(line.table_id, None)
        for known in self._there.values():
            known.pop(line.table_id, None)
        for watcher in self._watchers:
            if here or not watcher.own:
                watcher.last[line.table_id] = line
        self._news(line.table_id)

    async def watch(self, own: bool) -> AsyncIterator[list[Line]]:
        """All tables (or this node's `own`), in parts, then those that changed."""
        watcher = _Watcher(own)
        self._watchers.append(watcher)
        try:
            for some in _parts(self.ids(own=own)):
                yield self.lines(some, own)
            while True:
                await watcher.news.wait()
                watcher.news.clear()
                told, last = sorted(watcher.changed), dict(watcher.last)
                watcher.changed.clear()
                watcher.last.clear()
                for some in _parts(told):
                    gone = [last[table_id] for table_id in some if table_id in last]
                    if fresh := self.lines(some, own) + gone:
                        yield fresh
                await asyncio.sleep(TELL_EVERY_S)
        finally:
            self._watchers.remove(watcher)


def _age(line: Line) -> tuple[int, int]:
    return line.epoch, line.version


def _parts(table_ids: Sequence[str]) -> list[Sequence[str]]:
    """At least one part, be it empty."""
    count = max(len(table_ids), 1)
    return [table_ids[first : first + MOST_IN_ONE] for first in range(0, count, MOST_IN_ONE)]
