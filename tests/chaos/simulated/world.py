"""The processes of a simulated house, wired as their `main.py` does; how they come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast
from uuid import uuid4

from croupier.shuffle.v1 import shuffle_pb2_grpc

from services.shuffle.server import Shuffle
from services.shuffle.shoes import Shoes
from services.table.errands import Errands
from services.table.forward import Peers, Routes, handlers
from services.table.lobby import Lobby
from services.table.neighbours import Neighbours
from services.table.node import Node
from services.table.nudges import Nudges
from services.table.opening import default_clocks
from services.table.server import Table
from services.table.snapshots import Snapshots
from shared.log import MemoryLog
from shared.rpc.access import Role
from shared.table.codec import TableCodec
from shared.table.sealer import KeyringSealer
from tests.chaos.simulated.bus import Bus, Relay
from tests.chaos.simulated.database import (
    Database,
    FarLog,
    FarPool,
    FarStore,
    SnapshotPool,
)
from tests.chaos.simulated.directory import FarDirectory
from tests.chaos.simulated.loop import Process, VirtualLoop, spawn
from tests.chaos.simulated.rpc import Channel, Network, RpcServer
from tests.chaos.simulated.wallet import Follower, Ledger
from tests.chaos.simulated.wires import Wires
from tests.playing import FIELD_KEYS
from tests.services import token

LEASE_TTL_S = 3.0
HEARTBEAT_S = 1.0
HAND_OVER_S = 10.0
GRACE_S = 10.0
TOKEN_TTL_S = 10 * 365 * 24 * 3600
DATABASE = "postgres"
PARTITIONS = ("table.0", "wallet.0")
CODEC = TableCodec(KeyringSealer(FIELD_KEYS))


class SimulatedPeers(Peers):
    """Connections to other nodes over the simulated network."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self._network = network

    def connect(self, address: str) -> Any:
        """See `Peers.connect`."""
        return Channel(self._network, (address,))


@dataclass
class World:
    """A house. `tables` are the names of its table nodes, which are also their addresses."""

    loop: VirtualLoop
    random: Random
    tables: tuple[str, ...]
    database: Database = field(init=False)
    ledger: Ledger = field(init=False)
    wires: Wires = field(init=False)
    network: Network = field(init=False)
    bus: Bus = field(init=False)
    processes: dict[str, Process] = field(default_factory=dict)
    stopping: dict[str, asyncio.Event] = field(default_factory=dict)
    tokens: dict[tuple[Role, str], str] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        log = MemoryLog(now=self.loop.moment)
        self.database = Database(log, self.loop.moment)
        self.ledger = Ledger(self.database)
        self.wires = Wires(self.random)
        self.network = Network(self.wires)
        self.bus = Bus(self.wires)

    @property
    def names(self) -> tuple[str, ...]:
        """All services and servers."""
        return (DATABASE, "nats", "shuffle", "wallet", "relay", *self.tables)

    def start(self, name: str) -> Process:
        """Starts a process that does not run, with a memory that is empty."""
        process = self.processes[name] = Process(name)
        if name == "nats":
            self.bus.process = process
        elif name != DATABASE:
            self._run(process, self._program(name))
        return process

    def kill(self, name: str) -> None:
        """kill -9."""
        process = self.processes[name]
        self.loop.kill(process)
        self.wires.died(process)
        self.network.died(process)

    def go_on(self, process: Process) -> None:
        """SIGCONT; all that waited for the process comes at once."""
        self.loop.go_on(process)

    def drain(self, name: str) -> None:
        """SIGTERM, for a table node."""
        self.stopping[name].set()

    def token(self, role: Role, subject: str) -> str:
        """A token that lasts."""
        known = self.tokens.get((role, subject))
        if known is None:
            known = self.tokens[role, subject] = token(role, subject, TOKEN_TTL_S)
        return known

    def channel(self) -> Channel:
        """What a client has: the addresses of all table nodes."""
        return Channel(self.network, self.tables)

    def _pool(self) -> FarPool:
        return FarPool(lambda: self.processes[DATABASE], self.wires)

    def _log(self) -> FarLog:
        return FarLog(self.database, self._pool(), self.bus.ping)

    def _run(self, process: Process, work: Coroutine[Any, Any, None]) -> None:
        def ended(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and task.exception() is not None and process.alive:
                self.findings.append(f"{process} ended: {task.exception()!r}")

        spawn(process, work, process.name).add_done_callback(ended)

    def _program(self, name: str) -> Coroutine[Any, Any, None]:
        match name:
            case "shuffle":
                return self._shuffle(self.processes[name])
            case "wallet":
                return Follower(self.ledger, self._pool(), self._log(), self.bus).run()
            case "relay":
                return self._relay()
            case _:
                return self._table(name)

    async def _relay(self) -> None:
        log = self._log()
        relays = [Relay(self.database, self._pool(), log, self.bus) for _ in PARTITIONS]
        await asyncio.gather(
            *(relay.run(name) for relay, name in zip(relays, PARTITIONS, strict=True))
        )

    async def _shuffle(self, process: Process) -> None:
        server = RpcServer(process)
        store = cast("Any", FarStore(self.database, self._pool()))
        shoes = Shoes(self._log(), store, FIELD_KEYS, now=self.loop.moment)
        shuffle_pb2_grpc.add_ShuffleServiceServicer_to_server(Shuffle(shoes), cast("Any", server))
        self.network.listen("shuffle", server)

    async def _table(self, name: str) -> None:
        """See `services.table.main.serve`."""
        process = self.processes[name]
        stopping = self.stopping[name] = asyncio.Event()
        log, lobby = self._log(), Lobby()
        service_token = self.token(Role.TABLE_SERVICE, name)
        errands = Errands(
            cast("Any", shuffle_pb2_grpc.ShuffleServiceStub)(Channel(self.network, ("shuffle",))),
            service_token,
        )
        directory = cast("Any", FarDirectory(self.database, self._pool(), name, uuid4(), name))
        snapshots = Snapshots(cast("Any", SnapshotPool(self.database, self._pool())), FIELD_KEYS)
        nudges = Nudges(cast("Any", self.bus), name)
        node = Node(
            name,
            log,
            CODEC,
            directory,
            errands,
            lobby,
            snapshots,
            nudges,
            LEASE_TTL_S,
            HEARTBEAT_S,
            hand_over_s=HAND_OVER_S,
        )
        peers = SimulatedPeers(self.network)
        server = RpcServer(process)
        hands = cast("Any", None)
        table = Table(node, Routes(node, peers), lobby, hands, default_clocks(GRACE_S))
        server.add_generic_rpc_handlers((handlers(table),))
        await node.cashier.listen(cast("Any", self.bus))
        await nudges.listen(node.look_now)
        neighbours = Neighbours(directory, peers, lobby, service_token)
        running = {
            asyncio.create_task(node.run(stopping), name="lease"),
            asyncio.create_task(node.cashier.run(), name="cashier"),
            asyncio.create_task(neighbours.run(), name="neighbours"),
        }
        self.network.listen(name, server)
        done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        await server.guard.drain()
        self.network.close(server)
        for task in done:
            task.result()
        for task in running:
            task.cancel()
        await asyncio.wait(running)
        await node.hand_over()
        process.alive = False
