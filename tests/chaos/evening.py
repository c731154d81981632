"""An evening of five games in a house that is broken meanwhile, and what must hold after it.

What every client was told is kept; at the end all is mended, every table must go on and close, and
what was told is compared with the log, the log with itself, the books with the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import BinaryIO

import asyncpg
from croupier.table.v1.events_pb2 import Clocks

from clients.api.errors import RefusedError
from clients.api.table import TableClient
from services.table.loading import load
from services.table.node import over
from shared.log import EventLog, PostgresLog, open_pool
from shared.rpc.access import Role
from shared.table.codec import TableCodec
from shared.table.sealer import KeyringSealer
from shared.table.state import TableState
from tests.chaos.checker import compare
from tests.chaos.house import ChaosHouse
from tests.chaos.people import PURSE, Pit, Player
from tests.chaos.recorder import Recorder
from tests.chaos.verified import log_verified
from tests.ledger import assert_books_hold
from tests.playing import FIELD_KEYS

GAMES = ("baccarat", "battle", "casino_holdem", "draw_poker", "oasis_poker")
CODEC = TableCodec(KeyringSealer(FIELD_KEYS))
CLOCKS = Clocks(
    betting_ms=4_000,
    decision_warn_ms=3_000,
    decision_default_ms=2_000,
    cut_ms=2_000,
    seed_ms=2_000,
    entry_ms=3_000,
    consent_ms=2_000,
    grace_ms=3_000,
)
MENDING_S = 180.0
PROGRESS_S = 120.0
ENOUGH_HANDS = 2
LOOK_S = 0.5


@dataclass
class Outcome:
    """How it went, and how to have it again."""

    again: str
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def told(self) -> str:
        """In words."""
        what = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        found = "\n".join(f"  {finding[:1000]}" for finding in self.findings)
        verdict = f"{len(self.findings)} findings\n{found}" if found else "nothing found"
        return f"{what}\n{verdict}\nagain: {self.again}"


class Evening:
    """Players and a pit at the tables of `house`, one table a game."""

    def __init__(
        self,
        house: ChaosHouse,
        games: tuple[str, ...],
        dice: Random,
        spool: BinaryIO,
        outcome: Outcome,
    ) -> None:
        self._house = house
        self._games = games
        self._dice = dice
        self._outcome = outcome
        self._recorder = Recorder(spool)
        self._players = {
            game: [self._player(game, number) for number in range(3 if "draw" in game else 2)]
            for game in games
        }

    def _player(self, game: str, number: int) -> Player:
        dice = Random(self._dice.getrandbits(64))
        name = f"{game}-p{number}"
        return Player(self._house.connect, self._recorder, name, game, game, dice)

    async def play(
        self, break_: Callable[[], Awaitable[None]], mend: Callable[[], Awaitable[None]]
    ) -> None:
        """Opens, plays while `break_` runs, has all mended, closes, looks back. Whatever is found
        is in the outcome."""
        await self._open()
        everybody = [player for players in self._players.values() for player in players]
        playing = [asyncio.create_task(player.play()) for player in everybody]
        tables = {game: [each.name for each in self._players[game]] for game in self._games}
        pit = Pit(self._house.connect, self._recorder, tables, Random(self._dice.getrandbits(64)))
        watching = asyncio.create_task(pit.watch_over())
        try:
            await break_()
            watching.cancel()
            async with asyncio.timeout(MENDING_S):
                await mend()
            async with self._log() as log:
                await self._go_on(log, everybody)
                for player in everybody:
                    player.stop.set()
                await self._close(log)
                await self._look_back(log)
        finally:
            for task in (*playing, watching):
                task.cancel()
            ended = await asyncio.gather(*playing, return_exceptions=True)
        self._outcome.findings += [
            f"a player's client ended with {each!r}"
            for each in ended
            if isinstance(each, Exception)
        ]

    @property
    def _operator(self) -> TableClient:
        return TableClient(self._house.connect("olga", Role.OPERATOR), "olga")

    async def _open(self) -> None:
        olga = self._operator
        for game in self._games:
            ante = 100 if game == "draw_poker" else 0
            await olga.open_table(game, game, "EUR", clocks=CLOCKS, ante=ante, open_joining=True)
            for player in self._players[game]:
                await self._house.fund(player.name, PURSE)

    # ---- What must hold

    @asynccontextmanager
    async def _log(self) -> AsyncIterator[EventLog]:
        pool = await open_pool(self._house.database.dsn())
        try:
            async with PostgresLog(pool) as log:
                yield log
        finally:
            await pool.close()

    async def _states(self, log: EventLog) -> dict[str, TableState]:
        return {game: await load(log, CODEC, game) for game in self._games}

    async def _go_on(self, log: EventLog, everybody: list[Player]) -> None:
        for player in everybody:
            player.sober = True
        before = {game: state.hands_played for game, state in (await self._states(log)).items()}

        def waits(states: dict[str, TableState]) -> list[str]:
            return [
                game
                for game, state in states.items()
                if state.hands_played < before[game] + ENOUGH_HANDS
            ]

        for game in await self._until_none(log, waits):
            self._outcome.findings.append(f"{game} is stuck")

    async def _close(self, log: EventLog) -> None:
        for game in self._games:
            try:
                await self._operator.close_table(game, "it is late")
            except RefusedError as refusal:
                self._outcome.findings.append(f"{game} does not close: {refusal.reason}")

        def open_(states: dict[str, TableState]) -> list[str]:
            return [game for game, state in states.items() if not over(state)]

        for game in await self._until_none(log, open_):
            self._outcome.findings.append(f"{game} does not close")

    async def _until_none(
        self, log: EventLog, waits: Callable[[dict[str, TableState]], list[str]]
    ) -> list[str]:
        """Those that still wait when the time is over."""
        end_s = time.monotonic() + PROGRESS_S
        while (left := waits(await self._states(log))) and time.monotonic() < end_s:
            await asyncio.sleep(LOOK_S)
        return left

    async def _look_back(self, log: EventLog) -> None:
        findings = self._outcome.findings
        root = await asyncpg.connect(self._house.database.dsn())
        try:
            await self._books_follow(root)
            try:
                await assert_books_hold(root)
            except AssertionError as wrong:
                findings.append(f"the books do not hold: {wrong}")
            ends = "SELECT count(*) FROM log.events WHERE type = $1"
            for what, kind in (("hands", "HandSettled"), ("void", "HandVoided")):
                self._outcome.counts[what] = await root.fetchval(ends, kind)
            self._outcome.counts["claims"] = await root.fetchval(ends, "TableClaimed")
        finally:
            await root.close()
        self._outcome.counts["updates"] = len(self._recorder.updates)
        self._outcome.counts["commands"] = len(self._recorder.commands)
        findings += await compare(log, CODEC, self._recorder)
        findings += await log_verified(log, CODEC, FIELD_KEYS, self._games)

    async def _books_follow(self, root: asyncpg.Connection[asyncpg.Record]) -> None:
        """Waits until the wallet has applied all that the tables have said."""
        query = """
            SELECT count(*) FROM log.partitions p
            LEFT JOIN wallet.consumer_positions c ON c.partition = p.name
            WHERE p.name LIKE 'table.%' AND coalesce(c.position, 0) < p.position
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(MENDING_S):
                while await root.fetchval(query):
                    await asyncio.sleep(LOOK_S)
                return
        self._outcome.findings.append("the wallet does not follow")
