"""Who watches a table: bounded queues of what was committed, each viewer's picture made apart."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from croupier.table.v1 import table_pb2

from services.table.proposal import now_us
from shared.errors import CroupierError
from shared.rpc.access import Role
from shared.rpc.caller import Caller
from shared.table import events as e
from shared.table.codec import timestamp
from shared.table.state import TableState
from shared.table.view import is_private, player_view, public_view, write_event_view

MOST_WAITING = 256
"""A viewer who is this many changes behind is dropped; it may resume where it stopped."""

MOST_IN_ONE = 64
"""Changes that are told in one update when a viewer is behind."""


@dataclass(slots=True)
class Change:
    """One append of a table, committed: its events, their versions and hands, the state after.

    What all viewers see of it is encoded once; an update is these bytes and the viewer's own, one
    behind the other, which is how protobuf says that both belong to one message.
    """

    events: Sequence[tuple[int, str, e.Event]]
    state: TableState
    _table: bytes | None = field(default=None, repr=False)
    _events: bytes | None = field(default=None, repr=False)

    @property
    def table(self) -> bytes:
        """The part of an update that shows the table."""
        if self._table is None:
            self._table = table_pb2.Update(table=public_view(self.state)).SerializeToString()
        return self._table

    def events_for(self, viewer: str) -> bytes:
        """The part of an update that tells the events."""
        if any(is_private(event) for _, _, event in self.events):
            return self._encoded(viewer)
        if self._events is None:
            self._events = self._encoded("")
        return self._events

    def _encoded(self, viewer: str) -> bytes:
        update = table_pb2.Update()
        for version, hand_id, event in self.events:
            write_event_view(event, version, hand_id, viewer, update.events.add())
        return update.SerializeToString()


def picture(changes: Sequence[Change], viewer: str, previous: int) -> bytes:
    """The `Update` that tells `viewer` of these changes, in order; `previous` is what he has seen.
    A viewer without a name is no player: there is nothing that he alone may see or do."""
    last = changes[-1]
    update = table_pb2.Update(
        table_id=last.state.table.table_id,
        version=last.state.version,
        previous=previous,
        you=player_view(last.state, viewer) if viewer else None,
        server_time=timestamp(now_us()),
    )
    told = [change.events_for(viewer) for change in changes]
    return b"".join((update.SerializeToString(), *told, last.table))


def as_response(update: bytes) -> bytes:
    """The answer of `Play`, `Watch` or `GetTable` that brings an update: field 1 of all three."""
    return b"\x0a" + _varint(len(update)) + update


def _varint(number: int) -> bytes:
    """A length as protobuf writes it: seven bits a byte, the last byte below 128."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


class GoneError(Exception):
    """The table is not on this node any more: look for it again."""


class Mailbox:
    """What waits to be written to one client, in order; bounded, so that who does not read costs
    no memory and slows nobody. One who is too far behind is told so at the end of what waits."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._items: deque[Any] = deque()
        self._news = asyncio.Event()
        self._over = False

    def put(self, item: Any) -> bool:
        """Queues an item; False when there is no room, which ends the stream, or it has ended."""
        if len(self._items) >= self._most:
            self.end(CroupierError("SLOW_WATCHER", "you read too slowly: resume where you are"))
        if self._over:
            return False
        self._add(item)
        return True

    def put_lost(self, viewer: Viewer) -> None:
        """A viewer's table has left; that is told also where there is no room for more."""
        if not self._over:
            self._add(Lost(viewer))

    def end(self, why: Exception | None) -> None:
        """The last item, whatever waits: an error, or None for a good end."""
        if not self._over:
            self._over = True
            self._add(End(why))

    def _add(self, item: Any) -> None:
        self._items.append(item)
        self._news.set()

    async def get(self) -> Any:
        """The next item."""
        while not self._items:
            self._news.clear()
            await self._news.wait()
        return self._items.popleft()

    def more_of(self, viewer: Viewer, most: int) -> Iterator[Change]:
        """The changes for `viewer` that come next without anything between."""
        while most > 0 and self._items:
            first = self._items[0]
            if not isinstance(first, Told) or first.viewer is not viewer:
                return
            self._items.popleft()
            most -= 1
            yield first.change


@dataclass(frozen=True, slots=True)
class End:
    """Nothing comes after this."""

    why: Exception | None


@dataclass(frozen=True, slots=True)
class Enough:
    """The client has nothing more to say, and everything is answered."""


def viewer_name(caller: Caller) -> str:
    """Whose cards the caller may see: his own, if he is a player. Dealers, pit, auditors and
    operators see what everybody sees, whatever they are called."""
    return caller.id if caller.role is Role.PLAYER else ""


class Viewer:
    """One client's look at one table. The owner tells it every change and never waits for it."""

    def __init__(self, name: str, table_id: str, mailbox: Mailbox) -> None:
        self.name = name
        self.table_id = table_id
        self.seen = 0
        self._mailbox = mailbox

    def begin(self, change: Change, seen: int) -> bool:
        """The first picture, after which every change is told; False: see `tell`."""
        self.seen = seen
        return self.tell(change)

    def tell(self, change: Change) -> bool:
        """Queues a change; False when the client is too far behind and has been cut off."""
        return self._mailbox.put(Told(self, change))

    def end(self) -> None:
        """The table has left this node."""
        self._mailbox.put_lost(self)

    def update(self, change: Change) -> bytes:
        """The `Update` that tells of this change and of those that wait right behind it; a snapshot
        comes alone, for it would have some of the events that led to it and not the others."""
        behind = MOST_IN_ONE - 1 if self.seen else 0
        changes = [change, *self._mailbox.more_of(self, behind)]
        update = picture(changes, self.name, self.seen)
        self.seen = changes[-1].state.version
        return update


@dataclass(frozen=True, slots=True)
class Told:
    """A change for a viewer."""

    viewer: Viewer
    change: Change


@dataclass(frozen=True, slots=True)
class Lost:
    """A viewer's table has left this node."""

    viewer: Viewer


@dataclass(frozen=True, slots=True)
class Heard:
    """An update as another node gave it: of which table, up to which version."""

    table_id: str
    version: int
    response: bytes
