"""A bot at a table, from sitting down to leaving."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from random import Random

from croupier.table.v1.table_pb2 import Command, TableView, Update

from clients.api import commands
from clients.api.errors import RefusedError, UnansweredError
from clients.api.seat import Seat
from clients.api.sight import Sight
from clients.api.table import TableClient
from clients.bots.strategies import Strategy

_REBUY_SHARE = 4


class Bot:
    """Plays one table through the public API until it is told to stop.

    `may_bet` is asked before the first bet on a hand. It buys `buy_in_minor` of chips whenever less
    than a quarter of that is left; `top_up` is awaited when its account could not pay for them.
    """

    def __init__(
        self,
        client: TableClient,
        strategy: Strategy,
        random: Random,
        buy_in_minor: int,
        may_bet: Callable[[TableView], bool],
        top_up: Callable[[str], Awaitable[None]],
    ) -> None:
        self.client = client
        self.refusals: Counter[str] = Counter()
        """Reasons of the commands that were refused."""
        self._strategy = strategy
        self._random = random
        self._buy_in_minor = buy_in_minor
        self._may_bet = may_bet
        self._top_up = top_up

    async def play(self, table_id: str, stop: asyncio.Event) -> None:
        """Sits down and plays; once `stop` is set, leaves with the hand that runs and returns when
        the seat is free."""
        seat = await self.client.seat(table_id)
        stopping = asyncio.create_task(stop.wait())
        try:
            while not (stop.is_set() and not seat.seated):
                for update in seat.unread():
                    await self._look(update, seat.player)
                command = self.next_command(seat, stop.is_set())
                if command is None or not await self._do(seat, command):
                    await _change(seat, stopping)
        finally:
            stopping.cancel()
            await seat.close()

    def next_command(self, seat: Seat, stopping: bool) -> Command | None:
        """What to do now, `None` to wait for something to change."""
        sight = seat.sight()
        if not seat.seated:
            return commands.join() if sight.options("join") and not stopping else None
        cut = sight.options("cut_shoe")
        if cut:
            return commands.cut_shoe(self._random.randint(cut[0].minimum, cut[0].maximum))
        due = sight.options("decide")
        if due:
            first = [option for option in due if option.box == due[0].box]
            decision = self._strategy.decide(sight, first)
            if decision is not None:
                return decision
        if stopping:
            return commands.leave() if sight.options("leave") else None
        return self._chips(sight) or self._bets(sight)

    def _chips(self, sight: Sight) -> Command | None:
        has = sight.you.free_chips.minor_units + sight.staked()
        has += sight.you.pending_chips.minor_units
        if has * _REBUY_SHARE >= self._buy_in_minor or not sight.options("buy_chips"):
            return None
        return commands.buy_chips(sight.money(self._buy_in_minor))

    def _bets(self, sight: Sight) -> Command | None:
        if not sight.options("done_betting") or not sight.options("place_bet"):
            return None
        guest = _without_a_box(sight)
        if guest is not None:
            return guest
        if not self._may_bet(sight.table):
            return None
        bet = self._strategy.bet(sight)
        if bet is not None:
            return bet
        return commands.done_betting() if sight.staked() else None

    async def _do(self, seat: Seat, command: Command) -> bool:
        try:
            await seat.execute(command)
        except UnansweredError as error:
            self.refusals[error.reason] += 1
            return False
        except RefusedError as refusal:
            # The view it was made from may have been overtaken: look again.
            self.refusals[refusal.reason] += 1
            return False
        return True

    async def _look(self, update: Update, player: str) -> None:
        for event in update.events:
            if event.HasField("chips_denied") and event.chips_denied.player == player:
                await self._top_up(player)


def _without_a_box(sight: Sight) -> Command | None:
    """Where every box has an owner, a bot lets those in who have no bet yet (TAB-02)."""
    if len({box.box for box in sight.table.boxes}) < sight.table.table.seats:
        return None
    bettors = {bet.player for box in sight.table.boxes for bet in box.bets}
    for option in sight.options("admit_bettor"):
        if option.word not in bettors:
            return commands.admit_bettor(option.box, option.word)
    return None


async def _change(seat: Seat, stopping: asyncio.Task[bool]) -> None:
    """Waits until the view changes or the bot is told to stop, whichever comes first."""
    change = asyncio.create_task(seat.changed())
    if not stopping.done():
        await asyncio.wait({change, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not change.done():
            change.cancel()
            return
    await change
