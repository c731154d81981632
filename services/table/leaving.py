"""Tables of this node that belong to another one, which takes them: they go between two hands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

import structlog

from services.table.directory import Directory, Peer, Placed, home
from services.table.nudges import Nudges
from services.table.owner import TableOwner
from shared.errors import CroupierError

_log = structlog.get_logger()


class Leaving:
    """Lets them go as soon as each may, and tells their new nodes. `gone` is called after that, and
    where the directory could not be told."""

    def __init__(
        self, node: str, directory: Directory, nudges: Nudges, gone: Callable[[], None]
    ) -> None:
        self._node = node
        self._directory = directory
        self._nudges = nudges
        self._gone = gone
        self._places: dict[str, str] = {}
        self._parting: dict[asyncio.Task[None], frozenset[str]] = {}

    def __bool__(self) -> bool:
        """Whether a table waits for the end of its hand."""
        return bool(self._places)

    def see(
        self, placed: Iterable[Placed], takers: Sequence[Peer], owners: Mapping[str, TableOwner]
    ) -> None:
        """Works out anew which of `owners` leave; those between hands do so at once."""
        homes = {each.table_id: home(each, takers) for each in placed if each.table_id in owners}
        self._places = {
            table_id: place
            for table_id, place in homes.items()
            if place is not None and place != self._node
        }
        ready = [owners[table_id] for table_id in self._places]
        self._part_with([owner for owner in ready if owner.between_hands])

    def changed(self, owner: TableOwner) -> None:
        """Now, if the table is to leave and may: the next bet may come at any moment."""
        if owner.table_id in self._places and owner.between_hands:
            self._part_with([owner])

    def parts_with(self, table_id: str) -> bool:
        """Whether the table has been let go, and that is not entered yet."""
        return any(table_id in table_ids for table_ids in self._parting.values())

    def forget(self, table_id: str) -> None:
        """The table is not here any more."""
        self._places.pop(table_id, None)

    async def parted(self) -> None:
        """Until whatever has been let go is entered as gone."""
        if self._parting:
            await asyncio.wait(self._parting)

    def _part_with(self, leaving: Sequence[TableOwner]) -> None:
        """Lets these tables go before anything else can happen at them."""
        if leaving:
            nodes = {self._places[owner.table_id] for owner in leaving}
            for owner in leaving:
                owner.let_go(CroupierError("NO_OWNER", "the table moves to another node"))
            parting = asyncio.create_task(self._hand_to(nodes, leaving), name="parting")
            self._parting[parting] = frozenset(owner.table_id for owner in leaving)
            parting.add_done_callback(self._parted)

    async def _hand_to(self, nodes: Iterable[str], leaving: Sequence[TableOwner]) -> None:
        await asyncio.gather(*(owner.ended() for owner in leaving))
        await self._directory.released([owner.table_id for owner in leaving])
        for node in nodes:
            self._nudges.nudge(node)

    def _parted(self, parting: asyncio.Task[None]) -> None:
        del self._parting[parting]
        error = None if parting.cancelled() else parting.exception()
        if isinstance(error, CroupierError):
            # The directory is set right at the next heartbeat.
            _log.warning("tables_not_handed_over", reason=error.reason)
        elif error is not None:
            _log.error("tables_not_handed_over", exc_info=error)
        self._gone()
