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
from shared.table.view import event_view, player_view, public_view

MOST_WAITING = 256
"""A viewer who is this many changes behind is dropped; it may resume where it stopped."""

MOST_IN_ONE = 64
"""Changes that are told in one update when a viewer is behind."""


@dataclass(slots=True)
class Change:
    """One append of a table, committed: its events, their versions and hands, the state after."""

    events: Sequence[tuple[int, str, e.Event]]
    state: TableState
    _public: table_pb2.TableView | None = field(default=None, repr=False)
    _told: list[table_pb2.TableEvent] | None = field(default=None, repr=False)

    @property
    def public(self) -> table_pb2.TableView:
        """What everybody sees, made once for all viewers."""
        if self._public is None:
            self._public = public_view(self.state)
        return self._public

    def told(self, viewer: str) -> Sequence[table_pb2.TableEvent]:
        """The events as `viewer` may see them: made once for all, unless one shows a card to one
        player only."""
        if any(isinstance(event, e.CardsDealt) and _private(event) for _, _, event in self.events):
            return self._seen_by(viewer)
        if self._told is None:
            self._told = self._seen_by("")
        return self._told

    def _seen_by(self, viewer: str) -> list[table_pb2.TableEvent]:
        return [event_view(event, version, hand, viewer) for version, hand, event in self.events]


def _private(dealt: e.CardsDealt) -> bool:
    return any(card.viewer for card in dealt.cards)


def picture(changes: Sequence[Change], viewer: str, previous: int) -> table_pb2.Update:
    """The update that tells `viewer` of these changes, in order; `previous` is what he has seen.
    A viewer without a name is no player: there is nothing that he alone may see or do."""
    last = changes[-1]
    update = table_pb2.Update(
        table_id=last.state.table.table_id,
        version=last.state.version,
        previous=previous,
        events=[event for change in changes for event in change.told(viewer)],
        table=last.public,
        you=player_view(last.state, viewer) if viewer else None,
    )
    update.server_time.CopyFrom(timestamp(now_us()))
    return update


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

    def update(self, change: Change) -> table_pb2.Update:
        """What the client is told of this change and of those that wait right behind it."""
        changes = [change, *self._mailbox.more_of(self, MOST_IN_ONE - 1)]
        update = picture(changes, self.name, self.seen)
        self.seen = update.version
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
