"""Bots that play in a house while a test does things to it, and what must hold afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from clients.api.house import House, find_house
from clients.bots.closing import settle, verify_everything
from clients.bots.progress import Ledger, Progress, Summary, Verified
from clients.bots.run import open_tables, play_hands
from tests.e2e.houses import HouseOnDisk
from tests.polling import eventually

PATIENCE_S = 60.0


@dataclass
class Playing:
    """A run of bots, seen from the test."""

    house: House
    hands: int = 0
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[Summary] | None = None

    def see(self, progress: Progress) -> None:
        """Takes the run's newest word."""
        self.hands = max(self.hands, progress.hands)

    async def more_hands(self, count: int) -> None:
        """Waits until so many more hands are settled."""
        wanted = self.hands + count

        def enough() -> bool:
            assert self.task is not None
            if self.task.done():
                raise RuntimeError("the bots have gone home") from self.task.exception()
            return self.hands >= wanted

        await eventually(enough, within_s=PATIENCE_S)

    async def finish(self) -> tuple[Summary, Ledger, Verified]:
        """Lets the bots leave, closes the books, verifies everything that was ever played."""
        self.stop.set()
        assert self.task is not None
        summary = await self.task
        ledger = await settle(self.house)
        return summary, ledger, await verify_everything(self.house, lambda _: None)


@asynccontextmanager
async def playing(on_disk: HouseOnDisk, seats: int = 3) -> AsyncIterator[Playing]:
    """Bots at a baccarat table of an open house."""
    house = find_house(on_disk.file)
    run = Playing(house)
    tables = await open_tables(house)
    run.task = asyncio.create_task(
        play_hands(house, tables, None, run.see, stop=run.stop, seats=seats)
    )
    try:
        yield run
    finally:
        run.stop.set()
        run.task.cancel()
        await asyncio.wait({run.task})
