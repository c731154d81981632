"""Which players the bots of a house are: the same ones again after a run that was killed.

A bot that was killed is still seated, with chips on the table; the next run takes its seat up again
instead of leaving it to hold up every hand.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clients.api.house import new_player_id

ROSTER_FILE = "bots.json"


class Roster:
    """Ids of the bots by table, remembered in a file where there is one."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._ids: dict[str, list[str]] = {}
        if file is not None and file.exists() and file.read_text():
            self._ids = json.loads(file.read_text())

    def players(self, table_id: str, count: int) -> list[str]:
        """The ids of `count` bots of a table; new ones are made and remembered."""
        ids = self._ids.setdefault(table_id, [])
        while len(ids) < count:
            ids.append(new_player_id())
        if self._file is not None:
            self._file.write_text(json.dumps(self._ids))
        return ids[:count]


@contextmanager
def roster_of(folder: Path | None) -> Iterator[Roster]:
    """The roster kept in the house's folder, for one run at a time; another that runs meanwhile, or
    away from the house, has bots of its own."""
    if folder is None:
        yield Roster()
        return
    file = folder / ROSTER_FILE
    with file.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield Roster()
        else:
            yield Roster(file)
