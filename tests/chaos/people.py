"""People who play and people who watch over the play: they do what they are offered, now and then
what they are not, and go on through whatever breaks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from croupier.table.v1.table_pb2 import Command

from clients.api import commands
from clients.api.connection import Connection
from clients.api.errors import RefusedError, UnansweredError
from clients.api.seat import Seat
from clients.api.table import TableClient
from clients.bots.bot import Bot
from clients.bots.random_play import RandomLegal, any_illegal, any_legal
from clients.bots.strategies import STRATEGIES, Strategy
from shared.rpc.access import Role
from tests.chaos.recorder import HeardStream, Recorder

BUY_IN = 200_000
PURSE = 100_000_000
INCIDENTS = ("card_exposed", "wrong_card_count", "wrong_order", "dealer_change")
LOOK_AGAIN_S = 1.0
ANSWER_WITHIN_S = 20.0

Connect: TypeAlias = Callable[[str, Role], Connection]
"""Connects somebody, in a role, to the tables."""


def client_of(
    connect: Connect, recorder: Recorder, who: str, role: Role, dice: Random
) -> TableClient:
    """Somebody's client, listened in to."""
    connection = connect(who, role)
    client = TableClient(connection, who, dice)
    client.stream = HeardStream(connection, who, recorder, dice)
    return client


async def _no_top_up(player: str) -> None:
    """They are rich."""


@dataclass
class Player:
    """Plays at one table until `stop`. `sober` ones do sensible things only."""

    connect: Connect
    recorder: Recorder
    name: str
    table_id: str
    game: str
    dice: Random
    sober: bool = False
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def play(self) -> None:
        """With a memory that is empty: a seat at the table may be there from before."""
        client = client_of(self.connect, self.recorder, self.name, Role.PLAYER, self.dice)
        try:
            await self._at(client, await self._seat(client))
        finally:
            await client.stream.close()

    async def _at(self, client: TableClient, seat: Seat) -> None:
        strategy: Strategy = (
            RandomLegal(self.dice) if self.dice.random() < 0.5 else STRATEGIES[self.game](self.dice)
        )
        bot = Bot(client, strategy, self.dice, BUY_IN, lambda _: True, _no_top_up)
        while not (self.stop.is_set() and not seat.seated):
            seat.unread()
            command = self._next(bot, strategy, seat)
            if command is None or not await self._do(seat, command):
                await self._look(seat)
            if self.dice.random() < 0.1:
                await asyncio.sleep(self.dice.uniform(0.0, 3.0))

    async def _seat(self, client: TableClient) -> Seat:
        while True:
            try:
                return await client.seat(self.table_id)
            except RefusedError:
                await asyncio.sleep(LOOK_AGAIN_S)

    def _next(self, bot: Bot, strategy: Strategy, seat: Seat) -> Command | None:
        dice = 1.0 if self.sober or self.stop.is_set() else self.dice.random()
        if dice < 0.04:
            return any_illegal(seat.sight(), self.dice)
        if dice < 0.12:
            return any_legal(seat.sight(), self.dice)
        own = seat.sight().seat
        if own is not None and own.sitting_out and not self.stop.is_set():
            return commands.sit_out(False)
        command = bot.next_command(seat, self.stop.is_set())
        if command is None and own is not None and own.done_betting and not seat.sight().staked():
            # He said that he was done without a bet: he may bet all the same.
            return strategy.bet(seat.sight())
        return command

    async def _do(self, seat: Seat, command: Command) -> bool:
        try:
            await seat.execute(command, timeout_s=ANSWER_WITHIN_S)
        except (RefusedError, UnansweredError):
            return False
        return True

    async def _look(self, seat: Seat) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_AGAIN_S):
                await seat.changed()


@dataclass
class Pit:
    """Reports, confirms, warns and voids, at any of the tables (with their players)."""

    connect: Connect
    recorder: Recorder
    tables: dict[str, list[str]]
    dice: Random

    async def watch_over(self) -> None:
        """Until it is cancelled."""
        client = client_of(self.connect, self.recorder, "pete", Role.PIT, self.dice)
        try:
            while True:
                await asyncio.sleep(self.dice.uniform(2.0, 10.0))
                table_id = self.dice.choice(sorted(self.tables))
                with contextlib.suppress(RefusedError, UnansweredError):
                    await client.stream.execute(table_id, self._word(table_id), timeout_s=10.0)
        finally:
            await client.stream.close()

    def _word(self, table_id: str) -> Command:
        dice = self.dice.random()
        if dice < 0.3:
            return commands.rule_void("the pit says so")
        if dice < 0.7:
            return commands.report_incident(self.dice.choice(INCIDENTS), self.dice.randint(0, 12))
        if dice < 0.8:
            return commands.confirm_incident()
        return commands.penalise(self.dice.choice(self.tables[table_id]), "warning")
