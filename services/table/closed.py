"""Tables where nothing can happen any more: any node may show them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from services.table.loading import load
from services.table.owner import TableOwner
from shared.errors import CroupierError
from shared.log import EventLog
from shared.table.codec import TableCodec
from shared.table.state import TableState

MOST_KEPT = 64
"""Closed tables that are kept at hand for those who still ask about them."""


class ClosedTables:
    """They need no owner, and have one that `make` makes: it shows them, and says again what became
    of an old command. Nothing it could append is allowed by the rules."""

    def __init__(
        self, log: EventLog, codec: TableCodec, make: Callable[[TableState], TableOwner]
    ) -> None:
        self._log = log
        self._codec = codec
        self._make = make
        self._kept: OrderedDict[str, TableOwner] = OrderedDict()

    def get(self, table_id: str) -> TableOwner | None:
        """One that is at hand."""
        return self._kept.get(table_id)

    async def show(self, table_id: str) -> TableOwner:
        """A closed table from the log."""
        state = await load(self._log, self._codec, table_id)
        shown = self._kept.get(table_id)
        if shown is None:
            shown = self._kept[table_id] = self._make(state)
            if len(self._kept) > MOST_KEPT:
                _, oldest = self._kept.popitem(last=False)
                await oldest.release(CroupierError("NO_OWNER", "ask again", "table_id"))
        return shown

    @property
    def kept(self) -> list[TableOwner]:
        """All that are at hand."""
        return list(self._kept.values())
