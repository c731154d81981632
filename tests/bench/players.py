"""Players at baccarat tables of an open house, one a table, as light as they can be: the load."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from croupier.table.v1 import events_pb2, table_pb2_grpc
from croupier.table.v1 import table_pb2 as pb
from croupier.type.v1.money_pb2 import Money

from clients.api import commands
from clients.api.errors import RefusedError
from clients.api.house import House, Identity
from clients.api.table import TableClient
from clients.api.wallet import WalletClient

CURRENCY = "EUR"
BOUGHT_MINOR = 10**9
_STAKE = Money(currency=CURRENCY, minor_units=500)
_OPERATOR = Identity("bench", "operator")
_CLOCKS = events_pb2.Clocks(betting_ms=3_600_000)
_AT_ONCE = 20


@dataclass(slots=True)
class Player:
    """One player on a `Play` stream of his own."""

    table_id: str
    call: Any
    token: str
    waits: list[float] = field(default_factory=list)
    """Seconds from each bet to its acknowledgement."""
    hands: int = 0
    _hand: str = ""
    _cutting: bool = False

    async def say(self, command: pb.Command) -> None:
        """Sends a command."""
        await self.call.write(pb.PlayRequest(table_id=self.table_id, command=command))

    async def update(self) -> pb.Update:
        """The next update; everything else is passed over, a refusal is an error."""
        while True:
            response = await self.call.read()
            if response is grpc.aio.EOF:
                raise ConnectionError(f"{self.table_id}: the stream ended")
            match response.WhichOneof("response"):
                case "update":
                    update: pb.Update = response.update
                    return update
                case "refusal":
                    raise RuntimeError(f"{self.table_id}: {response.refusal}")

    async def acknowledged(self) -> None:
        """Waits for the next acknowledgement."""
        while True:
            response = await self.call.read()
            match response.WhichOneof("response"):
                case "acknowledgement":
                    return
                case "refusal":
                    raise RuntimeError(f"{self.table_id}: {response.refusal}")

    async def watch(self) -> None:
        """Begins to watch the table."""
        await self.call.write(pb.PlayRequest(table_id=self.table_id, watch=pb.WatchRequest()))
        await self.update()

    async def stop_watching(self) -> None:
        """Hears acknowledgements only from now on."""
        await self.call.write(pb.PlayRequest(table_id=self.table_id, stop=pb.StopWatching()))

    async def sit_down(self) -> None:
        """Watches, joins, buys chips and has the first shoe cut: bets are open then."""
        await self.watch()
        await self.say(commands.join())
        await self.say(commands.buy_chips(Money(currency=CURRENCY, minor_units=BOUGHT_MINOR)))
        while not await self._may_bet(await self.update()):
            pass

    async def play_until(self, until: float) -> None:
        """Plays hand after hand until the time (`time.perf_counter`)."""
        while time.perf_counter() < until:
            await self.play_one()

    async def play_at(
        self, began: float, first: float, every: float, seconds: float
    ) -> list[float]:
        """Hands at fixed times (the next at once where one took too long); how long each took."""
        waits: list[float] = []
        while (due := first + len(waits) * every) < seconds:
            await asyncio.sleep(began + due - time.perf_counter())
            if time.perf_counter() > began + seconds:
                break
            started = time.perf_counter()
            await self.play_one()
            waits.append(time.perf_counter() - started)
        return waits

    async def play_one(self) -> None:
        """One hand, from the bet until the next one can be bet on."""
        await self.say(commands.place_bet(1, "player", _STAKE, done=True))
        while not await self._may_bet(await self.update()):
            pass
        self.hands += 1

    async def bet_until(self, until: float) -> int:
        """Bets on the same hand again and again; how often it was acknowledged."""
        count = 0
        while time.perf_counter() < until:
            await self.say(commands.place_bet(1, "player", _STAKE))
            await self.acknowledged()
            count += 1
        return count

    async def bet_at(self, began: float, first: float, every: float, seconds: float) -> None:
        """Bets at fixed times, and notes how long each acknowledgement took."""
        turn = 0
        while (due := first + turn * every) < seconds:
            await asyncio.sleep(began + due - time.perf_counter())
            started = time.perf_counter()
            await self.say(commands.place_bet(1, "player", _STAKE))
            await self.acknowledged()
            self.waits.append(time.perf_counter() - started)
            turn += 1

    async def _may_bet(self, update: pb.Update) -> bool:
        """Whether another hand than the last can be bet on; cuts the shoe where that is asked."""
        words = {option.command for option in update.you.options}
        if "cut_shoe" in words and not self._cutting:
            await self.say(commands.cut_shoe(0))
        self._cutting = "cut_shoe" in words
        if "place_bet" not in words or update.table.hand_id == self._hand:
            return False
        self._hand = update.table.hand_id
        return True


async def execute_until(players: Iterable[Player], channel: grpc.aio.Channel, until: float) -> int:
    """The same as `bet_until` by unary calls, one under way a player; how many in all."""
    stub = table_pb2_grpc.TableServiceStub(channel)

    async def one(player: Player) -> int:
        metadata = (("authorization", f"Bearer {player.token}"),)
        count = 0
        while time.perf_counter() < until:
            command = commands.place_bet(1, "player", _STAKE)
            await stub.Execute(
                pb.ExecuteRequest(table_id=player.table_id, command=command), metadata=metadata
            )
            count += 1
        return count

    return sum(await asyncio.gather(*(one(player) for player in players)))


Choose = Callable[[str, TableClient], Awaitable[grpc.aio.Channel]]
"""The connection of a table's player."""


@asynccontextmanager
async def seated(
    house: House, tables: int, prefix: str = "bench", choose: Choose | None = None
) -> AsyncIterator[tuple[list[Player], grpc.aio.Channel]]:
    """So many tables with a player each who may bet, and the channel that they share unless one is
    chosen for each."""
    named = [(f"{prefix}-{number}", f"{prefix}_{number}") for number in range(tables)]
    limit = asyncio.Semaphore(_AT_ONCE)
    run = uuid.uuid4().hex[:4]
    async with (
        house.connect("table", _OPERATOR) as at_tables,
        house.connect("wallet", _OPERATOR) as at_wallet,
        grpc.aio.insecure_channel(house.addresses["table"][0]) as channel,
    ):
        wallet = WalletClient(at_wallet)
        floor = TableClient(at_tables)

        async def one(table_id: str, player: str) -> Player:
            async with limit:
                subject = f"{player}_{run}"
                await wallet.open_account(CURRENCY, subject)
                money = Money(currency=CURRENCY, minor_units=BOUGHT_MINOR)
                await wallet.deposit(subject, money, "bench")
                try:
                    await floor.open_table(table_id, "baccarat", CURRENCY, clocks=_CLOCKS)
                except RefusedError as refusal:
                    if refusal.reason != "TABLE_EXISTS":
                        raise
                token = house.make_token(Identity(subject, "player"))
                mine = channel if choose is None else await choose(table_id, floor)
                stub = table_pb2_grpc.TableServiceStub(mine)
                call = stub.Play(metadata=(("authorization", f"Bearer {token}"),))
                seated = Player(table_id, call, token)
                await seated.sit_down()
                return seated

        players = await asyncio.gather(*(one(*each) for each in named))
        try:
            yield players, channel
        finally:
            for player in players:
                player.call.cancel()
