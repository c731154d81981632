"""Shoes in memory: caches of their streams, boundedly many, one request at a time each."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from prometheus_client import Gauge

from services.shuffle import codec
from services.shuffle.shoe import Event, Shoe, evolve
from shared.log import EventLog
from shared.proofs.sealed_shoe import SealedShoe

MAX_LIVE_SHOES = 2_048
_PAGE_EVENTS = 1_000

_live_shoes = Gauge("croupier_shuffle_live_shoes", "Shoes held in memory")


def stream_of(shoe_id: str) -> str:
    """The stream that holds all there is to know of the shoe, except its secrets."""
    return f"shuffle/{shoe_id}"


class LiveShoe:
    """A shoe as of `version` of its stream (`None`: no such shoe), and its cards once needed."""

    __slots__ = ("_shoe_id", "cards", "lock", "shoe", "version")

    def __init__(self, shoe_id: str) -> None:
        self._shoe_id = shoe_id
        self.lock = asyncio.Lock()
        self.forget()

    def forget(self) -> None:
        """Whatever is here may be wrong: the next use reads the stream again."""
        self.shoe: Shoe | None = None
        self.version = 0
        self.cards: SealedShoe | None = None

    def apply(self, events: Iterable[Event]) -> None:
        """Takes events that are in the log now, as the next of the stream."""
        for event in events:
            self.shoe = evolve(self.shoe, event)
            self.version += 1

    async def catch_up(self, log: EventLog) -> bool:
        """Reads what is new in the stream; whether there was anything."""
        before = self.version
        while True:
            page = await log.read_stream(stream_of(self._shoe_id), self.version, _PAGE_EVENTS)
            self.apply(codec.read(event.type, event.payload) for event in page)
            if len(page) < _PAGE_EVENTS:
                return self.version > before


class LiveShoes:
    """The shoes used last, at most `most` of them."""

    def __init__(self, most: int = MAX_LIVE_SHOES) -> None:
        self._most = most
        self._shoes: OrderedDict[str, LiveShoe] = OrderedDict()

    @asynccontextmanager
    async def locked(self, shoe_id: str) -> AsyncIterator[LiveShoe]:
        """The shoe, for one request alone. One that turns out not to exist is not kept."""
        live = self._shoes.get(shoe_id)
        if live is None:
            live = self._shoes[shoe_id] = LiveShoe(shoe_id)
            while len(self._shoes) > self._most:
                # One in use loses nothing but its place: the log's version check still holds.
                self._shoes.popitem(last=False)
        self._shoes.move_to_end(shoe_id)
        async with live.lock:
            try:
                yield live
            finally:
                if live.shoe is None and self._shoes.get(shoe_id) is live:
                    self.drop(shoe_id)
                _live_shoes.set(len(self._shoes))

    def drop(self, shoe_id: str) -> None:
        """Keeps the shoe no longer."""
        self._shoes.pop(shoe_id, None)
