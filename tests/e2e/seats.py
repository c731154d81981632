"""Players with chips at a real house's tables, for tests that need a hand to be played."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from croupier.type.v1.money_pb2 import Money

from clients.api import TableClient, WalletClient, commands
from clients.api.house import Identity, find_house
from clients.api.seat import Seat
from clients.api.sight import Sight
from tests.e2e.houses import HouseOnDisk

CHIPS = 50_000


@asynccontextmanager
async def seated(house: HouseOnDisk, player: str, table: str) -> AsyncIterator[Seat]:
    """A player with chips at a table."""
    found, who, operator = find_house(house.file), Identity(player, "player"), "operator"
    async with found.connect("wallet", Identity("op", operator)) as connection:
        wallet = WalletClient(connection)
        await wallet.open_account("CHF", player)
        await wallet.deposit(player, Money(currency="CHF", minor_units=CHIPS), "e2e")
    async with (
        found.connect("table", who) as connection,
        TableClient(connection, player) as client,
    ):
        seat = await client.seat(table)
        await seat.execute(commands.join())
        await seat.execute(commands.buy_chips(Money(currency="CHF", minor_units=CHIPS)))
        yield seat


async def until(seat: Seat, so: Callable[[Sight], bool]) -> Sight:
    """Waits until the seat's view is so; a cut that is offered goes to the dealer."""
    async with asyncio.timeout(60):
        while not so(seat.sight()):
            if seat.sight().options("cut_shoe"):
                await seat.execute(commands.cut_shoe(0))
            else:
                await seat.next_update()
    return seat.sight()


async def bet(seat: Seat, wager: str) -> None:
    """Bets on box 1, once betting is open, and has no more."""
    sight = await until(seat, lambda sight: bool(sight.options("place_bet")))
    await seat.execute(commands.place_bet(1, wager, sight.money(1_000), done=True))


def deciding(sight: Sight) -> bool:
    """Whether the player has to decide."""
    return bool(sight.options("decide"))
