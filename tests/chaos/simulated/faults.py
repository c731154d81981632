"""What goes wrong in a simulated night: a plan from the seed, of which parts may be left out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.chaos.simulated.people import PlayerProcess
from tests.chaos.simulated.world import DATABASE, World

PAUSE_S = (0.4, 3.0)
FIRST_S = 4.0


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault at `at_s`, which lasts `for_s`. `what` is kill, drain, pause, cut, cut_one_way,
    lose (of a thousand answers `much` get lost), clock (`much` seconds), restart (of a player)."""

    at_s: float
    what: str
    targets: tuple[str, ...]
    for_s: float
    much: float = 0.0

    def __str__(self) -> str:
        much = f" {self.much:g}" if self.much else ""
        return (
            f"{self.at_s:.1f} s: {self.what}{much} {'-'.join(self.targets)} for {self.for_s:.1f} s"
        )


def plan(
    random: Random, until_s: float, tables: Sequence[str], players: Sequence[str]
) -> list[Fault]:
    """Faults up to `until_s`, one every second or two."""
    services = (DATABASE, "nats", "shuffle", "wallet", "relay")
    found: list[Fault] = []
    at_s = FIRST_S
    while at_s < until_s:
        found.append(_any(random, at_s, tables, services, players))
        at_s += random.uniform(*PAUSE_S)
    return found


def _any(
    random: Random,
    at_s: float,
    tables: Sequence[str],
    services: Sequence[str],
    players: Sequence[str],
) -> Fault:
    dice = random.random()
    short_s, long_s = random.uniform(0.1, 2.0), random.uniform(2.0, 9.0)
    any_s = random.choice((short_s, short_s, long_s))
    table = random.choice(tables)
    service = random.choice(services)
    if dice < 0.18:
        return Fault(at_s, "kill", (table,), any_s)
    if dice < 0.24:
        return Fault(at_s, "drain", (table,), any_s)
    if dice < 0.34:
        return Fault(at_s, "kill", (service,), any_s)
    if dice < 0.5:
        return Fault(at_s, "pause", (table,), random.choice((short_s, long_s)))
    if dice < 0.58:
        return Fault(at_s, "pause", (service,), any_s)
    if dice < 0.76:
        one, other = random.sample((*tables, *services, *players), 2)
        if random.random() < 0.7:  # the links that matter most
            one, other = table, random.choice((*services, *tables))
        kind = random.choice(("cut", "cut_one_way"))
        return Fault(at_s, kind, (one, other), any_s)
    if dice < 0.86:
        return Fault(at_s, "lose", (), any_s, random.choice((20, 100, 400)))
    if dice < 0.93:
        return Fault(at_s, "clock", (table,), 0.0, round(random.uniform(-4.0, 1.5), 1))
    if dice < 0.96:
        return Fault(at_s, "pause", (random.choice(players),), long_s)
    return Fault(at_s, "restart", (random.choice(players),), short_s)


class Trouble:
    """Makes a plan come true."""

    def __init__(self, world: World, players: dict[str, PlayerProcess]) -> None:
        self._world = world
        self._players = players
        self._loop = asyncio.get_running_loop()
        self.counts: dict[str, int] = {}

    async def make(self, faults: Sequence[Fault]) -> None:
        """Every fault in its time."""
        began_s = self._loop.time()
        for fault in faults:
            await asyncio.sleep(max(0.0, began_s + fault.at_s - self._loop.time()))
            self.counts[fault.what] = self.counts.get(fault.what, 0) + 1
            self._begin(fault)

    def heal(self) -> None:
        """All that is broken is whole again, all that is down is up."""
        world = self._world
        world.wires.cuts.clear()
        world.wires.answers_lost = 0
        for name, process in list(world.processes.items()):
            process.ahead_s = min(process.ahead_s, 0.0)
            self._go_on(name)
            if not process.alive and name in world.names:
                world.start(name)
            elif not process.alive and name in self._players:
                self._players[name].start()

    def _begin(self, fault: Fault) -> None:
        world = self._world
        match fault.what:
            case "kill":
                self._down(fault)
            case "drain":
                if world.processes[fault.targets[0]].alive:
                    world.drain(fault.targets[0])
                    self._later(fault.for_s + 15.0, self._start, fault.targets[0])
            case "pause":
                world.loop.pause(world.processes[fault.targets[0]])
                self._later(fault.for_s, self._go_on, fault.targets[0])
            case "cut" | "cut_one_way":
                one, other = fault.targets
                ways = {(one, other), (other, one)} if fault.what == "cut" else {(one, other)}
                world.wires.cuts |= ways
                self._later(fault.for_s, world.wires.cuts.difference_update, ways)
            case "lose":
                world.wires.answers_lost = int(fault.much)
                self._later(fault.for_s, setattr, world.wires, "answers_lost", 0)
            case "clock":
                world.processes[fault.targets[0]].ahead_s = fault.much
            case "restart":
                self._down(fault)

    def _down(self, fault: Fault) -> None:
        name = fault.targets[0]
        if self._world.processes[name].alive:
            self._world.kill(name)
            self._later(fault.for_s, self._start, name)

    def _start(self, name: str) -> None:
        if self._world.processes[name].alive:
            return
        if name in self._players:
            self._players[name].start()
        else:
            self._world.start(name)

    def _go_on(self, name: str) -> None:
        self._world.go_on(self._world.processes[name])

    def _later(self, delay_s: float, callback: object, *args: object) -> None:
        self._world.wires.later(delay_s, callback, *args)  # type: ignore[arg-type]
