"""`croupier run`: a house, bots that play in it, their hands live, and everything verified."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from rich.console import Console

from clients.api.errors import RefusedError
from clients.api.house import house_at
from clients.bots.closing import settle, verify_everything
from clients.bots.run import open_tables, play_hands
from clients.bots.strategies import STRATEGIES
from clients.cli.live import LiveScreen, print_summary
from deploy.folder import HouseFolder

HANDS_WITHOUT_A_TERMINAL = 200
INTERRUPTED = 130

T = TypeVar("T")


async def play_and_verify(
    folder: HouseFolder, console: Console, hands: int | None, stopping: asyncio.Event
) -> int:
    """Lets bots play `hands` hands (None: until `stopping`) at the open house in `folder`, closes
    the books, verifies everything and says how it went.

    Returns the exit status: 0 if all that was asked for was played and everything verified. A
    `stopping` that is set again while the books are closed leaves that undone.
    """
    house = house_at(folder.file)
    try:
        tables = await open_tables(house, tuple(STRATEGIES))
        with LiveScreen(console) as screen:
            summary = await play_hands(house, tables, hands, screen.update, stop=stopping)
        stopping.clear()
        console.print("closing the books and verifying every hand; Ctrl-C to leave that")
        ledger = await _unless(stopping, settle(house))
        verified = await _unless(stopping, verify_everything(house, lambda _: None))
    except RefusedError as refusal:
        console.print(f"the house refused: {refusal}", markup=False)
        return 1
    if ledger is None or verified is None:
        return INTERRUPTED
    print_summary(console, summary, ledger, verified, house)
    return 0 if summary.ok(ledger, verified) else 1


async def _unless(stopping: asyncio.Event, work: Awaitable[T]) -> T | None:
    """What `work` gives, or None as soon as `stopping` is set."""
    working, told = asyncio.ensure_future(work), asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait({working, told}, return_when=asyncio.FIRST_COMPLETED)
        return await working if working.done() else None
    finally:
        working.cancel()
        told.cancel()
