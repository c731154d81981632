"""A house of real processes to be killed, paused and cut off: two table nodes, each service in a
process of its own, and wires that can be cut between them; or each of them on a host of its own."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from clients.api.connection import Connection
from shared.ops.settings import RelaySettings, WalletSettings
from shared.rpc.access import Role
from tests.integration.table.house import House
from tests.integration.table.serving import Process
from tests.network import Host
from tests.servers import PostgresForTests, Running, nats_for_tests, postgres_for_tests
from tests.services import token
from tests.wire import Wire, wire_to

NODES = ("table-1", "table-2")
SERVICES = ("shuffle-1", "wallet-1", "relay-1")
SERVERS = ("postgres", "nats")
TOKEN_TTL_S = 24 * 3600
PATIENCE_S = 60.0


@dataclass
class ChaosHouse(House):
    """A house whose processes all may die. Clients reach the nodes over `client_wires`, where there
    are such."""

    postgres: PostgresForTests = field(kw_only=True)
    nats: Running = field(kw_only=True)
    wires: dict[str, Wire] = field(default_factory=dict)
    client_wires: list[Wire] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        """All that may be killed or paused."""
        return (*SERVERS, *SERVICES, *NODES)

    def pid(self, name: str) -> int | None:
        """The process now; None where it does not run."""
        if name in SERVERS:
            running = (self.postgres if name == "postgres" else self.nats).process
        else:
            service = self.services[name]
            assert isinstance(service, Process)
            running = service.process
        return running.pid if running is not None and running.poll() is None else None

    def kill(self, name: str) -> None:
        """kill -9."""
        if self.pid(name) is not None:
            self._of(name).kill()

    async def start_again(self, name: str) -> None:
        """The same on the same port, after it was killed. One on its way up is waited for."""
        if name in SERVERS:
            if self.pid(name) is None:
                await (self.postgres if name == "postgres" else self.nats).start_again()
            return
        service = self.services[name]
        assert isinstance(service, Process)
        await (service.start() if self.pid(name) is None else service.up())

    def signal(self, name: str, number: signal.Signals) -> None:
        """SIGSTOP or SIGCONT."""
        pid = self.pid(name)
        if pid is not None:
            os.kill(pid, number)

    def connect(self, who: str, role: Role) -> Connection:
        """A client of all table nodes."""
        said = token(role, who, TOKEN_TTL_S)
        addresses = [f"127.0.0.1:{wire.port}" for wire in self.client_wires] or [
            self.address(name) for name in NODES
        ]
        return Connection(addresses, lambda: said, PATIENCE_S)

    def _of(self, name: str) -> Any:
        if name in SERVERS:
            return self.postgres if name == "postgres" else self.nats
        return self.services[name]


@asynccontextmanager
async def chaos_house(folder: Path) -> AsyncIterator[ChaosHouse]:
    """Such a house on this host, open, in its own folder."""
    async with _servers(folder, {}) as house, AsyncExitStack() as stack:
        for name in (*SERVICES, *NODES):
            dsn = house.database.dsn("croupier_" + name.partition("-")[0])
            house.wires[name] = wire = await stack.enter_async_context(wire_to(dsn))
            house.dsns[name] = wire.through(dsn)
        await _open(house)
        for name in NODES:
            url = f"tcp://{house.address(name)}"
            house.client_wires.append(await stack.enter_async_context(wire_to(url)))
        yield house


@asynccontextmanager
async def house_on(hosts: dict[str, Host], folder: Path) -> AsyncIterator[ChaosHouse]:
    """Such a house, each process on the host of its name."""
    async with _servers(folder, hosts) as house:
        await _open(house)
        yield house


@asynccontextmanager
async def _servers(folder: Path, hosts: dict[str, Host]) -> AsyncIterator[ChaosHouse]:
    """Postgres and NATS of a house in which nothing else runs yet. All is killed at the end."""
    postgres = postgres_for_tests(folder, hosts.get("postgres"))
    nats = nats_for_tests(folder, hosts.get("nats"))
    async with AsyncExitStack() as stack:
        stack.callback(postgres.kill)
        await postgres.start_again()
        stack.callback(nats.kill)
        await nats.start_again()
        database, url = await postgres.database(), nats.server.url  # type: ignore[union-attr]
        house = ChaosHouse(database, url, folder, hosts=hosts, postgres=postgres, nats=nats)
        stack.callback(_kill_all, house)
        yield house


async def _open(house: ChaosHouse) -> None:
    wallet = WalletSettings(**house._common("wallet-1", "croupier_wallet"))
    relay = RelaySettings(**house._common("relay-1", "croupier_relay"))
    async with asyncio.TaskGroup() as starting:
        starting.create_task(house.shuffle_process())
        starting.create_task(house._start_process("wallet-1", wallet))
        starting.create_task(house._start_process("relay-1", relay))
        await asyncio.sleep(0)  # shuffle has its address, which the nodes are told
        for name in NODES:
            said = SecretStr(token(Role.TABLE_SERVICE, name, TOKEN_TTL_S))
            starting.create_task(
                house.node_process(name, service_token=said, lease_ttl_s=3.0, heartbeat_s=1.0)
            )


def _kill_all(house: ChaosHouse) -> None:
    for service in house.services.values():
        if isinstance(service, Process):
            service.kill()
