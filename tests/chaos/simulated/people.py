"""The people of a simulated house: each is a process of its own."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from random import Random

from clients.api.connection import Connection
from clients.api.table import TableClient
from shared.rpc.access import Role
from tests.chaos.people import Connect, Pit, Player
from tests.chaos.simulated.loop import Process, spawn
from tests.chaos.simulated.world import World

PATIENCE_S = 60.0


class SimulatedConnection(Connection):
    """A client's connection over the simulated network."""

    def __init__(self, world: World, who: str, role: Role) -> None:
        self.addresses = world.tables
        self._patience_s = PATIENCE_S
        self._token = lambda: world.token(role, who)
        self.channel = world.channel()  # type: ignore[assignment]


def connecting(world: World) -> Connect:
    """How people of this world connect."""
    return lambda who, role: SimulatedConnection(world, who, role)


@dataclass
class PlayerProcess:
    """A player whose client may be killed and opened again."""

    world: World
    player: Player
    task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Opens the client."""
        name = self.player.name
        process = self.world.processes[name] = Process(name)
        self.task = spawn(process, self.player.play(), name)


def start_pit(world: World, pit: Pit) -> None:
    """The pit watches over the tables until its process is killed."""
    process = world.processes["pit"] = Process("pit")
    spawn(process, pit.watch_over(), "pit")


def operator(world: World, dice: Random) -> TableClient:
    """The one who opens and closes tables."""
    return TableClient(SimulatedConnection(world, "olga", Role.OPERATOR), "olga", dice)
