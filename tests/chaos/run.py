"""Plays five games at a house of real processes that are killed, paused and cut off: `make chaos`.

    python -m tests.chaos.run [--minutes 5] [--seed S]

What every client was told is kept; at the end all is mended, every table must go on and close, and
what was told is compared with the log, the log with itself, the books with the log. The faults come
from the seed; how they meet the processes depends on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import BinaryIO, cast

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
from tests.chaos.house import NODES, SERVICES, ChaosHouse, chaos_house
from tests.chaos.people import PURSE, Pit, Player
from tests.chaos.recorder import Recorder
from tests.chaos.verified import log_verified
from tests.ledger import assert_books_hold
from tests.playing import FIELD_KEYS
from tests.servers import remove, temporary_folder

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
QUIET_S = (0.5, 4.0)
MENDING_S = 60.0
PROGRESS_S = 120.0
ENOUGH_HANDS = 2
LOOK_S = 0.5


@dataclass
class Outcome:
    """How it went."""

    seed: int
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def told(self, minutes: float) -> str:
        """In words, and how to do it again."""
        what = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        again = f"python -m tests.chaos.run --minutes {minutes:g} --seed {self.seed}"
        found = "\n".join(f"  {finding[:1000]}" for finding in self.findings)
        verdict = f"{len(self.findings)} findings\n{found}" if found else "nothing found"
        return f"seed {self.seed}: {what}\n{verdict}\nagain: {again}"


async def run(seed: int, minutes: float, games: tuple[str, ...] = GAMES) -> Outcome:
    """One run. Whatever is found is in its outcome."""
    folder = temporary_folder()
    try:
        with tempfile.TemporaryFile() as spool:
            async with chaos_house(folder) as house:
                return await _Run(house, seed, games, cast("BinaryIO", spool)).play(60 * minutes)
    finally:
        remove(folder)


class _Run:
    def __init__(
        self, house: ChaosHouse, seed: int, games: tuple[str, ...], spool: BinaryIO
    ) -> None:
        self._house = house
        self._games = games
        self._outcome = Outcome(seed)
        self._dice = Random(seed)
        self._recorder = Recorder(spool)
        self._later: set[asyncio.Task[None]] = set()
        self._players = {
            game: [self._player(game, number) for number in range(3 if "draw" in game else 2)]
            for game in games
        }

    def _player(self, game: str, number: int) -> Player:
        dice = Random(self._dice.getrandbits(64))
        name = f"{game}-p{number}"
        return Player(self._house.connect, self._recorder, name, game, game, dice)

    async def play(self, for_s: float) -> Outcome:
        """Opens, plays, breaks, mends, closes, looks back."""
        await self._open()
        everybody = [player for players in self._players.values() for player in players]
        playing = [asyncio.create_task(player.play()) for player in everybody]
        tables = {game: [each.name for each in self._players[game]] for game in self._games}
        pit = Pit(self._house.connect, self._recorder, tables, Random(self._dice.getrandbits(64)))
        watching = asyncio.create_task(pit.watch_over())
        try:
            await self._break(for_s)
            watching.cancel()
            await self._mend()
            async with self._log() as log:
                await self._go_on(log, everybody)
                for player in everybody:
                    player.stop.set()
                await self._close(log)
                await self._look_back(log)
        finally:
            for task in (*playing, watching, *self._later):
                task.cancel()
            ended = await asyncio.gather(*playing, return_exceptions=True)
        self._outcome.findings += [
            f"a player's client ended with {each!r}"
            for each in ended
            if isinstance(each, Exception)
        ]
        return self._outcome

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

    # ---- What goes wrong

    async def _break(self, for_s: float) -> None:
        end_s = time.monotonic() + for_s
        while time.monotonic() < end_s:
            await asyncio.sleep(self._dice.uniform(*QUIET_S))
            self._one_fault()

    def _one_fault(self) -> None:
        dice, house = self._dice, self._house
        name = dice.choice((*NODES, *NODES, *house.names))
        for_s = dice.choice((dice.uniform(0.1, 2.0), dice.uniform(2.0, 6.0)))
        match dice.choice(("kill", "kill", "pause", "pause", "cut", "swallow", "clients")):
            case "kill":
                self._outcome.counts["kills"] += 1
                house.signal(name, signal.SIGCONT)
                house.kill(name)
                self._in(for_s, lambda: house.start_again(name))
            case "pause":
                self._outcome.counts["pauses"] += 1
                house.signal(name, signal.SIGSTOP)
                self._in(for_s, lambda: self._continue(name))
            case "cut":
                self._outcome.counts["cuts"] += 1
                house.wires[dice.choice((*NODES, *SERVICES))].cut()
            case "swallow":
                self._outcome.counts["cuts"] += 1
                house.wires[dice.choice((*NODES, *SERVICES))].swallow_next_answer()
            case "clients":
                self._outcome.counts["cuts"] += 1
                dice.choice(house.client_wires).cut()

    async def _continue(self, name: str) -> None:
        self._house.signal(name, signal.SIGCONT)

    def _in(self, delay_s: float, work: Callable[[], Awaitable[None]]) -> None:
        async def later() -> None:
            await asyncio.sleep(delay_s)
            await work()

        task = asyncio.create_task(cast("Coroutine[None, None, None]", later()))
        self._later.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._later.discard(task)
        if not task.cancelled() and task.exception() is not None:
            # A server that is down as a process starts makes that end: it is started in the end.
            self._outcome.counts["starts that failed"] += 1

    async def _mend(self) -> None:
        for task in list(self._later):
            task.cancel()
        for name in self._house.names:
            self._house.signal(name, signal.SIGCONT)
        async with asyncio.timeout(MENDING_S):
            for name in self._house.names:
                await self._house.start_again(name)

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


def main() -> int:
    """Returns the exit status: 0 if nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.run")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    seed = Random().getrandbits(32) if arguments.seed is None else arguments.seed
    print(f"{arguments.minutes:g} minutes, seed {seed}", flush=True)
    outcome = asyncio.run(run(seed, arguments.minutes))
    print(outcome.told(arguments.minutes))
    return 1 if outcome.findings else 0


if __name__ == "__main__":
    sys.exit(main())
