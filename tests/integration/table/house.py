"""A house of real services, and who comes to its tables."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import asyncpg
import grpc
from croupier.table.v1 import events_pb2
from croupier.table.v1 import table_pb2 as pb
from croupier.type.v1.money_pb2 import Money
from croupier.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from pydantic import SecretStr

from deploy.program import free_port
from services.relay.main import serve as serve_relay
from services.shuffle.main import serve as serve_shuffle
from services.table.main import serve as serve_table
from services.wallet.main import serve as serve_wallet
from shared.ops.settings import RelaySettings, ShuffleSettings, TableSettings, WalletSettings
from shared.rpc.access import Role
from tests.integration.table.people import Person, command, eur, join
from tests.integration.table.serving import Process, Serving
from tests.network import Host
from tests.polling import eventually
from tests.servers import Database
from tests.services import PUBLIC_KEY, bearer, token

KEY = b64encode(bytes(range(32))).decode()
SEED_KEY = b64encode(bytes(range(32, 64))).decode()
LONG_MS = 600_000
"""A clock that does not run out in a test."""
LEASE_S = 10.0
"""Longer than a busy machine holds a node up: a lease ends only where a test has it end."""
NO_RETRIES = (("grpc.enable_retries", 0),)


@dataclass
class House:
    """Shuffle, wallet, relay and table nodes over one database and one NATS server."""

    database: Database
    nats_url: str
    folder: Path
    services: dict[str, Serving | Process] = field(default_factory=dict)
    channels: dict[str, grpc.aio.Channel] = field(default_factory=dict)
    dsns: dict[str, str] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    """Where a service runs, if not on this host."""

    def _common(self, name: str, role: str) -> dict[str, Any]:
        where = self.hosts[name].address if name in self.hosts else "127.0.0.1"
        return {
            "node": name,
            "listen": f"{where}:{free_port()}",
            "metrics_listen": "127.0.0.1:0",
            "token_public_key": PUBLIC_KEY,
            "database_dsn": SecretStr(self.dsns.get(name) or self.database.dsn(role)),
            "database_pool_size": 4,
            "nats_url": SecretStr(self.nats_url),
        }

    async def _start(self, name: str, serve: Any, settings: Any) -> Serving:
        serving = self.services[name] = Serving(serve, settings)
        await serving.start()
        return serving

    async def _start_process(self, name: str, settings: Any) -> Process:
        within = self.hosts[name].inside if name in self.hosts else nullcontext
        process = Process(settings.service, settings, self.folder / f"{name}.log", within)
        self.services[name] = process
        await process.start()
        return process

    def _shuffle_settings(self) -> ShuffleSettings:
        common = self._common("shuffle-1", "croupier_shuffle")
        return ShuffleSettings(
            **common, deployment_key=SecretStr(KEY), seed_key=SecretStr(SEED_KEY)
        )

    async def shuffle(self) -> Serving:
        return await self._start("shuffle-1", serve_shuffle, self._shuffle_settings())

    async def shuffle_process(self) -> Process:
        return await self._start_process("shuffle-1", self._shuffle_settings())

    async def wallet(self) -> Serving:
        settings = WalletSettings(**self._common("wallet-1", "croupier_wallet"))
        return await self._start("wallet-1", serve_wallet, settings)

    async def relay(self) -> Serving:
        settings = RelaySettings(**self._common("relay-1", "croupier_relay"))
        return await self._start("relay-1", serve_relay, settings)

    async def node(self, name: str = "table-1", **changes: Any) -> Serving:
        return await self._start(name, serve_table, self.node_settings(name, **changes))

    async def node_process(self, name: str, **changes: Any) -> Process:
        return await self._start_process(name, self.node_settings(name, **changes))

    def node_settings(self, name: str, **changes: Any) -> TableSettings:
        common = self._common(name, "croupier_table") | {
            "deployment_key": SecretStr(KEY),
            "shuffle_address": self.address("shuffle-1"),
            "service_token": SecretStr(token(Role.TABLE_SERVICE, name, 600)),
            "heartbeat_s": 0.2,
            "lease_ttl_s": LEASE_S,
        }
        return TableSettings(**(common | changes))

    async def kill_node(self, name: str) -> None:
        """kill -9 of a node that is a process; its lease is over at once, not after a while."""
        node = self.services[name]
        assert isinstance(node, Process)
        node.kill()
        # What it had still on the way to Postgres would renew the lease.
        await self.sql(
            """SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
               WHERE datname = current_database() AND application_name = $1""",
            name,
        )
        await self.sql(
            "UPDATE tables.nodes SET lease_until = clock_timestamp() WHERE node = $1", name
        )

    def address(self, name: str) -> str:
        return self.services[name].address if name in self.services else "127.0.0.1:1"

    async def start(self) -> Self:
        """One of each."""
        await asyncio.gather(self.shuffle(), self.wallet(), self.relay())
        await self.node()
        return self

    async def stop(self) -> None:
        # Together, so that no node waits to hand its tables to another one.
        nodes = [name for name in self.services if name.startswith(("table-", "node-"))]
        await asyncio.gather(*(self.services[name].stop() for name in nodes))
        for name in sorted(self.services.keys() - nodes, reverse=True):
            await self.services[name].stop()
        for channel in self.channels.values():
            await channel.close()

    def channel(self, name: str, key: str = "") -> grpc.aio.Channel:
        """A connection to a service; another `key`, another connection."""
        address = self.address(name)
        known = self.channels.get(address + key)
        if known is None:
            options = (*NO_RETRIES, ("grpc.use_local_subchannel_pool", 1))
            known = self.channels[address + key] = grpc.aio.insecure_channel(address, options)
        return known

    def person(
        self, name: str, role: Role = Role.PLAYER, node: str = "table-1", connection: str = ""
    ) -> Person:
        return Person(self.channel(node, connection), name, role)

    @property
    def operator(self) -> Person:
        return self.person("olga", Role.OPERATOR)

    @property
    def pit(self) -> Person:
        return self.person("pete", Role.PIT)

    async def open(
        self,
        table_id: str = "t1",
        game: str = "baccarat",
        node: str = "table-1",
        clocks: Mapping[str, int] | None = None,
        **rest: Any,
    ) -> str:
        """Opens a table whose clocks do not run out (but for those given, in milliseconds), and
        waits until it waits for players only."""
        names = events_pb2.Clocks.DESCRIPTOR.fields_by_name
        times = dict.fromkeys(names, LONG_MS) | dict(clocks or {})
        request = pb.OpenTableRequest(
            command_id=str(uuid4()),
            table_id=table_id,
            game=game,
            currency="EUR",
            clocks=events_pb2.Clocks(**times),
            **rest,
        )
        olga = self.person("olga", Role.OPERATOR, node)
        await olga.call("OpenTable", request)

        async def ready() -> bool:
            return bool((await olga.view(table_id)).table.shoe.commitment)

        if "shuffle-1" in self.services:
            await eventually(ready)
        return table_id

    async def fund(self, player: str, amount: int, currency: str = "EUR") -> None:
        """An account with so much in it."""
        wallet = wallet_pb2_grpc.WalletServiceStub(self.channel("wallet-1"))
        await wallet.OpenAccount(
            wallet_pb2.OpenAccountRequest(command_id=str(uuid4()), currency=currency),
            metadata=bearer(Role.PLAYER, player),
        )
        await self.deposit(player, amount, currency)

    async def deposit(self, player: str, amount: int, currency: str = "EUR") -> None:
        wallet = wallet_pb2_grpc.WalletServiceStub(self.channel("wallet-1"))
        await wallet.Deposit(
            wallet_pb2.DepositRequest(
                command_id=str(uuid4()),
                player=player,
                amount=Money(currency=currency, minor_units=amount),
            ),
            metadata=bearer(Role.OPERATOR, "olga"),
        )

    async def seat(
        self, name: str, table_id: str = "t1", chips: int = 10_000, node: str = "table-1"
    ) -> Person:
        """A player who sits at the table with so many chips before him."""
        person = self.person(name, node=node)
        if not chips:
            await person.execute(table_id, join())
            return person
        await self.fund(name, chips)
        async with person.playing(table_id) as stream:
            await stream.command(table_id, join())
            await stream.command(table_id, command(buy_chips=pb.BuyChips(amount=eur(chips))))
            await stream.event("ChipsArrived")
        return person

    async def sql(self, query: str, *arguments: Any) -> list[asyncpg.Record]:
        """A query of the superuser."""
        connection = await asyncpg.connect(self.database.dsn())
        try:
            return await connection.fetch(query, *arguments)
        finally:
            await connection.close()

    @asynccontextmanager
    async def log_held(self) -> AsyncIterator[None]:
        """Nothing can be appended for any table meanwhile."""
        connection = await asyncpg.connect(self.database.dsn())
        try:
            async with connection.transaction():
                await connection.execute("SELECT FROM log.partitions FOR UPDATE")
                yield
        finally:
            await connection.close()

    async def append_waits(self) -> None:
        """Until somebody's append waits for the log that is held."""

        async def waits() -> bool:
            rows = await self.sql(
                """SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'
                   AND datname = current_database() AND query LIKE '%log.append%'"""
            )
            return bool(rows)

        await eventually(waits)

    async def types(self, table_id: str = "t1") -> list[str]:
        """The types of a table's events in the log, in order."""
        rows = await self.sql(
            "SELECT type FROM log.events WHERE stream = $1 ORDER BY version", f"table/{table_id}"
        )
        return [row["type"] for row in rows]
