"""Tables as they were at the end of a hand, so that a claim reads only what came after.

Only a cache (architecture, 3): a snapshot counts for nothing unless the log still has the event it
was taken at, and the very sources that are running wrote it. It is sealed with the deployment key,
which also shows that a table node made it.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import pickle
from collections import OrderedDict
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import structlog

import shared
from shared.errors import CroupierError
from shared.games.registry import game
from shared.log import on_connection
from shared.log.patience import Pool
from shared.sealing import Keyring, Sealed, UnsealError
from shared.table.state import TableState

EVERY_EVENTS = 200
"""A table is taken again when it has so many events more."""
MOST_WAITING = 1_000
MOST_AT_ONCE = 50
GIVE_UP_AFTER_S = 2.0

_COLUMN = "tables.snapshots.state"
_STATE = ("shared/table", "shared/games", "shared/cards.py", "shared/money.py")
"""What a state is made of: a change to any of these sources makes the snapshots of before void."""

_GET = """
SELECT s.version, s.key_id, s.nonce, s.ciphertext
FROM tables.snapshots s
JOIN log.events e ON e.stream = 'table/' || s.table_id AND e.version = s.version AND e.hash = s.hash
WHERE s.table_id = $1 AND s.written_by = $2
"""

_PUT = """
INSERT INTO tables.snapshots (table_id, version, hash, written_by, key_id, nonce, ciphertext)
SELECT $1, $2, e.hash, $3, $4, $5, $6 FROM log.events e
WHERE e.stream = 'table/' || $1 AND e.version = $2
ON CONFLICT (table_id) DO UPDATE SET
    version = excluded.version, hash = excluded.hash, written_by = excluded.written_by,
    key_id = excluded.key_id, nonce = excluded.nonce, ciphertext = excluded.ciphertext
"""

_log = structlog.get_logger()


class Snapshots:
    """Takes and gives snapshots. None is ever needed: what goes wrong here costs time only."""

    def __init__(self, pool: Pool, keyring: Keyring) -> None:
        self._pool = pool
        self._keyring = keyring
        self._taken: dict[str, int] = {}
        self._waiting: OrderedDict[str, TableState] = OrderedDict()
        self._news = asyncio.Event()

    async def get(self, table_id: str) -> TableState:
        """The table at its last snapshot; the empty table where there is none of use."""
        try:
            row = await on_connection(
                self._pool,
                lambda connection: connection.fetchrow(_GET, table_id, writer()),
                GIVE_UP_AFTER_S,
            )
            if row is None:
                return TableState()
            sealed = Sealed(row["key_id"], row["nonce"], row["ciphertext"])
            state = read_state(self._keyring.unseal_at_rest(sealed, _COLUMN, table_id))
        except (CroupierError, UnsealError, pickle.UnpicklingError, AttributeError) as error:
            _log.warning("snapshot_of_no_use", table=table_id, error=type(error).__name__)
            return TableState()
        self._taken[table_id] = state.version
        return state

    def offer(self, state: TableState) -> None:
        """Takes the table as it is, if no hand runs and enough has happened since the last time."""
        table_id = state.table.table_id
        due = state.version >= self._taken.get(table_id, 0) + EVERY_EVENTS
        if state.hand is not None or not due or len(self._waiting) >= MOST_WAITING:
            return
        self._taken[table_id] = state.version
        self._waiting[table_id] = state
        self._news.set()

    def forget(self, table_id: str) -> None:
        """The table is not on this node any more."""
        self._taken.pop(table_id, None)

    async def run(self) -> None:
        """Writes what is offered, until it is cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                most = min(MOST_AT_ONCE, len(self._waiting))
                await self._write([self._waiting.popitem(last=False)[1] for _ in range(most)])

    async def _write(self, states: list[TableState]) -> None:
        try:
            rows = [self._row(state) for state in states]
            await on_connection(
                self._pool,
                lambda connection: connection.executemany(_PUT, rows),
                GIVE_UP_AFTER_S,
            )
        except CroupierError as error:
            _log.warning("snapshots_not_written", reason=error.reason)
        except Exception as error:
            _log.error("snapshots_not_written", exc_info=error)

    def _row(self, state: TableState) -> tuple[Any, ...]:
        table_id = state.table.table_id
        sealed = self._keyring.seal_at_rest(write_state(state), _COLUMN, table_id)
        place = (table_id, state.version, writer())
        return (*place, sealed.key_id, sealed.nonce, sealed.ciphertext)


@cache
def writer() -> bytes:
    """Who writes and reads snapshots: a digest over the sources of all that a state is made of."""
    [package] = shared.__path__
    root = Path(package).parent
    digest = hashlib.sha256()
    for place in _STATE:
        top = root / place
        for file in sorted(top.rglob("*.py")) if top.is_dir() else (top,):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.digest()


class _Pickler(pickle.Pickler):
    """Games are modules: they are written by name."""

    def __init__(self, out: io.BytesIO) -> None:
        super().__init__(out, pickle.HIGHEST_PROTOCOL)
        self.dispatch_table = {ModuleType: lambda rules: (game, (rules.NAME,))}


class _Unpickler(pickle.Unpickler):
    """Takes nothing but what a state is made of."""

    def find_class(self, module: str, name: str) -> Any:
        whole = module.startswith(("shared.table.", "shared.games.")) or module == "shared.cards"
        if whole or (module, name) == ("fractions", "Fraction"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a table")


def write_state(state: TableState) -> bytes:
    """The table in bytes; for `read_state` of the same sources only."""
    out = io.BytesIO()
    _Pickler(out).dump(state)
    return out.getvalue()


def read_state(written: bytes) -> TableState:
    """The table that was written; raises `pickle.UnpicklingError` for anything else."""
    state = _Unpickler(io.BytesIO(written)).load()
    if not isinstance(state, TableState):
        raise pickle.UnpicklingError("no table")
    return state
