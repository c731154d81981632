"""Where tables of other nodes are, for calls and streams that depend on it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from services.table.directory import Directory, Place
from shared.errors import CroupierError

LOOK_WAITED_S = 0.05
LOOK_RELIED_S = 1.0

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class There:
    """A table at another node: where, and under which claim."""

    address: str
    epoch: int


class Whereabouts:
    """Looks into the directory for all who wait for a table, with one query for all of them, and
    not at all while nobody does."""

    def __init__(self, directory: Directory, node: str) -> None:
        self._directory = directory
        self._node = node
        self._waiting: dict[asyncio.Future[None], tuple[str, There | None]] = {}
        self._relied: dict[object, tuple[str, str, Callable[[], object]]] = {}
        self._wanted = asyncio.Event()

    def rely(self, table_id: str, address: str, lost: Callable[[], object]) -> Callable[[], object]:
        """Until what it returns is called, `lost` is called when the table is not at this address
        any more: a node that is cut off or held up does not tell."""
        key = object()
        self._relied[key] = (table_id, address, lost)
        return lambda: self._relied.pop(key, None)

    async def moved(self, table_id: str, tried: There | None, within_s: float) -> None:
        """Waits until the table is at this node, or at another one that has not been `tried` yet,
        but not longer than `within_s`."""
        moved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[moved] = (table_id, tried)
        self._wanted.set()
        try:
            await asyncio.wait({moved}, timeout=within_s)
        finally:
            del self._waiting[moved]

    def arrived(self, table_id: str) -> None:
        """The table is at this node now."""
        for moved, (awaited, _) in self._waiting.items():
            if awaited == table_id and not moved.done():
                moved.set_result(None)

    async def run(self) -> None:
        """Looks, until it is cancelled."""
        while True:
            try:
                await self._look()
            except CroupierError as error:
                _log.warning("tables_not_looked_up", reason=error.reason)
            except Exception as error:
                _log.error("tables_not_looked_up", exc_info=error)
            await asyncio.sleep(LOOK_WAITED_S)
            if not self._waiting:
                self._wanted.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_RELIED_S):
                        await self._wanted.wait()

    async def _look(self) -> None:
        ids = {table_id for table_id, _ in self._waiting.values()}
        ids.update(table_id for table_id, _, _ in self._relied.values())
        if not ids:
            return
        places = await self._directory.places(list(ids))
        for moved, (table_id, tried) in self._waiting.items():
            if not moved.done() and self._is_elsewhere(places.get(table_id), tried):
                moved.set_result(None)
        for table_id, address, lost in list(self._relied.values()):
            place = places.get(table_id)
            if place is not None and place.address != address:
                lost()

    def _is_elsewhere(self, place: Place | None, tried: There | None) -> bool:
        if place is None or place.address is None or place.owner == self._node:
            return place is not None and place.closed
        return There(place.address, place.epoch) != tried
