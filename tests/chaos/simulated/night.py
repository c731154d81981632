"""One night of a simulated house: tables open, people play, things break, all is mended, the tables
close; and what must hold after that."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from croupier.table.v1.events_pb2 import Clocks

from clients.api.errors import RefusedError
from services.table.loading import load
from services.table.node import over
from shared.table.events import HandSettled
from shared.table.state import TableState
from tests.chaos.checker import compare
from tests.chaos.people import PURSE, Pit, Player
from tests.chaos.recorder import Recorder
from tests.chaos.simulated.chance import from_seed
from tests.chaos.simulated.faults import Fault, Trouble, plan
from tests.chaos.simulated.loop import StuckError, VirtualLoop
from tests.chaos.simulated.people import PlayerProcess, connecting, operator, start_pit
from tests.chaos.simulated.verified import verified
from tests.chaos.simulated.world import CODEC, World

GAMES = ("baccarat", "battle", "casino_holdem", "draw_poker", "oasis_poker")
NODES = ("table-1", "table-2", "table-3")
SEATS = {"draw_poker": 3}
ANTE = 100
CLOCKS = Clocks(
    betting_ms=8_000,
    decision_warn_ms=6_000,
    decision_default_ms=4_000,
    cut_ms=4_000,
    seed_ms=3_000,
    entry_ms=6_000,
    consent_ms=4_000,
    grace_ms=4_000,
)
NIGHT_S = 40.0
ENOUGH_HANDS = 2
PROGRESS_S = 240.0
CLOSING_S = 240.0
LOOK_S = 1.0


@dataclass(frozen=True)
class Script:
    """What a night is made of: everything else follows from it."""

    seed: int
    games: tuple[str, ...] = GAMES
    night_s: float = NIGHT_S
    faults: tuple[int, ...] | None = None
    """Which of the plan's faults come; None: all."""

    def plan(self) -> list[Fault]:
        """The faults of this night."""
        players = [player for game in self.games for player in _names(game)]
        whole = plan(Random(f"{self.seed} faults"), self.night_s, NODES, players)
        if self.faults is None:
            return whole
        return [fault for number, fault in enumerate(whole) if number in self.faults]


@dataclass
class Outcome:
    """How a night went."""

    script: Script
    hands: int = 0
    voids: int = 0
    events: int = 0
    updates: int = 0
    commands: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    claims: int = 0
    findings: list[str] = field(default_factory=list)
    heads: tuple[str, ...] = ()
    """The log's heads: the same script gives the same."""


def run(script: Script) -> Outcome:
    """Plays a night, in no time at all."""
    loop = VirtualLoop()
    asyncio.set_event_loop(loop)
    outcome = Outcome(script)
    wrong: list[str] = []
    loop.set_exception_handler(lambda _, context: wrong.extend(_words(context)))
    try:
        with from_seed(loop, Random(f"{script.seed} chance"), wrong.append):
            try:
                loop.run_until_complete(_Night(script, loop, outcome).play())
            except StuckError as error:
                wrong.append(str(error))
            outcome.findings += wrong
            loop.run_until_complete(loop.end_all())
    finally:
        asyncio.set_event_loop(None)
        loop.close()
        gc.collect(1)
    return outcome


def _names(game: str) -> list[str]:
    return [f"{game}-p{number}" for number in range(SEATS.get(game, 2))]


def _words(context: dict[str, Any]) -> Iterator[str]:
    """What nobody caught. A future may be forgotten: whoever waited for it may have been killed."""
    if "Future exception was never retrieved" not in context["message"]:
        yield f"unhandled: {context['message']} {context.get('exception')!r}"


class _Night:
    def __init__(self, script: Script, loop: VirtualLoop, outcome: Outcome) -> None:
        self._script = script
        self._loop = loop
        self._outcome = outcome
        self._recorder = Recorder()
        self._world = World(loop, Random(f"{script.seed} wires"), NODES)
        self._dice = Random(f"{script.seed} people")
        connect = connecting(self._world)
        self._players = {
            name: PlayerProcess(
                self._world,
                Player(connect, self._recorder, name, game, game, self._new_dice()),
            )
            for game in script.games
            for name in _names(game)
        }

    def _new_dice(self) -> Random:
        return Random(self._dice.getrandbits(64))

    async def play(self) -> None:
        """The whole night."""
        world, outcome = self._world, self._outcome
        for name in world.names:
            world.start(name)
        await self._open()
        for name, player in self._players.items():
            world.ledger.open(name, PURSE)
            player.start()
        tables = {game: _names(game) for game in self._script.games}
        start_pit(world, Pit(connecting(world), self._recorder, tables, self._new_dice()))
        trouble = Trouble(world, self._players)
        await trouble.make(self._script.plan())
        await asyncio.sleep(max(1.0, self._script.night_s - self._loop.time()))
        trouble.heal()
        world.kill("pit")
        outcome.faults = trouble.counts
        await self._go_on()
        await self._close()
        await self._look_back()

    async def _open(self) -> None:
        olga = operator(self._world, self._dice)
        for game in self._script.games:
            await olga.open_table(
                game,
                game,
                "EUR",
                clocks=CLOCKS,
                ante=ANTE if game == "draw_poker" else 0,
                open_joining=self._dice.random() < 0.5,
            )

    async def _go_on(self) -> None:
        """Once nothing breaks any more every table goes on."""
        for player in self._players.values():
            player.player.sober = True
        before = {game: (await self._state(game)).hands_played for game in self._script.games}
        waiting = set(self._script.games)
        until_s = self._loop.time() + PROGRESS_S
        while waiting and self._loop.time() < until_s:
            await asyncio.sleep(LOOK_S)
            for game in sorted(waiting):
                if (await self._state(game)).hands_played >= before[game] + ENOUGH_HANDS:
                    waiting.discard(game)
        for game in sorted(waiting):
            self._outcome.findings.append(f"{game} is stuck: {_where(await self._state(game))}")

    async def _close(self) -> None:
        """Everybody leaves, all tables close, all money goes home."""
        for player in self._players.values():
            player.player.stop.set()
        await asyncio.sleep(2.0)
        olga = operator(self._world, self._dice)
        for game in self._script.games:
            try:
                await olga.close_table(game, "the night is over")
            except RefusedError as refusal:
                self._outcome.findings.append(f"{game} does not close: {refusal.reason}")
        until_s = self._loop.time() + CLOSING_S
        while self._loop.time() < until_s:
            await asyncio.sleep(LOOK_S)
            states = [await self._state(game) for game in self._script.games]
            head = (await self._world.database.log.heads())["table.0"].position
            if all(map(over, states)) and self._world.ledger.applied == head:
                return
        for game, state in zip(self._script.games, states, strict=True):
            if not over(state):
                self._outcome.findings.append(f"{game} does not close: {_where(state)}")
        if self._world.ledger.applied != head:
            self._outcome.findings.append("the wallet does not follow")

    async def _look_back(self) -> None:
        world, outcome = self._world, self._outcome
        log = world.database.log
        events = await log.read_partition("table.0", 0, 10**9)
        outcome.hands = sum(event.type == HandSettled.__name__ for event in events)
        outcome.voids = sum(event.type == "HandVoided" for event in events)
        outcome.claims = sum(event.type == "TableClaimed" for event in events)
        outcome.updates = len(self._recorder.updates)
        outcome.commands = len(self._recorder.commands)
        heads = await log.heads()
        outcome.events = sum(head.position for head in heads.values())
        outcome.heads = tuple(head.hash.hex() for head in heads.values())
        outcome.findings += world.findings
        outcome.findings += await compare(log, CODEC, self._recorder)
        outcome.findings += await verified(world, self._script.games)

    async def _state(self, table_id: str) -> TableState:
        return await load(self._world.database.log, CODEC, table_id)


def _where(state: TableState) -> str:
    return (
        f"version {state.version}, epoch {state.epoch} of {state.node}, "
        f"seats {dict(state.seats)}, hand {state.hand is not None}, betting {state.betting}, "
        f"cards {state.cards}, deciding {state.deciding}, shoe {state.shoe}, "
        f"away {state.putting_away}, late {state.late_chips}"
    )


def lines(faults: Sequence[Fault]) -> str:
    """A plan in words."""
    return "\n".join(f"    {fault}" for fault in faults)
