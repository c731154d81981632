"""A house of real services in the test's own loop, and people who come to its tables."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import asyncpg
import grpc
from croupier.table.v1 import events_pb2, table_pb2_grpc
from croupier.table.v1 import table_pb2 as pb
from croupier.type.v1 import reason_pb2
from croupier.type.v1.money_pb2 import Money
from croupier.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from pydantic import SecretStr

from deploy.program import Program, free_port
from deploy.programs import serves
from services.relay.main import serve as serve_relay
from services.shuffle.main import serve as serve_shuffle
from services.table.main import serve as serve_table
from services.wallet.main import serve as serve_wallet
from shared.ops.settings import RelaySettings, ShuffleSettings, TableSettings, WalletSettings
from shared.rpc.access import Role
from shared.rpc.errors import STATUS, from_rpc_error
from tests.network import Host
from tests.polling import eventually
from tests.servers import Database
from tests.services import PUBLIC_KEY, bearer, token

KEY = b64encode(bytes(range(32))).decode()
SEED_KEY = b64encode(bytes(range(32, 64))).decode()
LONG_MS = 600_000
"""A clock that does not run out in a test."""
NO_RETRIES = (("grpc.enable_retries", 0),)


@dataclass
class Serving:
    """One service, until it is stopped. It may be started again on the same port."""

    serve: Callable[[Any, asyncio.Event], Awaitable[None]]
    settings: Any
    task: asyncio.Future[None] | None = None
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def address(self) -> str:
        return str(self.settings.listen)

    async def start(self) -> None:
        self.stopping = asyncio.Event()
        self.task = asyncio.ensure_future(self.serve(self.settings, self.stopping))
        await eventually(self._up)

    async def _up(self) -> bool:
        assert self.task is not None
        if self.task.done():
            self.task.result()
        return await serves(self.address)

    async def stop(self) -> None:
        """The clean stop (SIGTERM)."""
        if self.task is not None:
            self.stopping.set()
            await self.task
            self.task = None


class ProcessEndedError(Exception):
    """A process ended, or was killed, before it served."""


@dataclass
class Process:
    """One service in a process of its own, to be killed."""

    service: str
    settings: Any
    log: Path
    within: Callable[[], AbstractContextManager[None]] = nullcontext
    module: tuple[str, ...] = ("deploy.serve",)
    """What is run, and what it is told before the service."""
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return str(self.settings.listen)

    async def start(self) -> None:
        fields = {name: getattr(self.settings, name) for name in type(self.settings).model_fields}
        env = {
            f"CROUPIER_{name.upper()}": value.get_secret_value()
            if isinstance(value, SecretStr)
            else str(value)
            for name, value in fields.items()
        }
        argv = (sys.executable, "-m", *self.module, self.service)
        with self.within():
            self.process = Program(self.service, argv, self.log, env).start()
        await self.up()

    async def up(self) -> None:
        """Waits until it serves."""
        await eventually(self._serves, within_s=60)

    async def _serves(self) -> bool:
        if self.process is None or self.process.poll() is not None:
            raise ProcessEndedError(self.service)
        return await serves(self.address)

    def pause(self) -> None:
        """SIGSTOP: to everybody else it is as if it were dead."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """kill -9, and waits for the end."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            self.process = None

    async def stop(self) -> None:
        """SIGTERM, and waits for the end; fails if that was no clean one."""
        if self.process is not None:
            self.go_on()
            self.process.terminate()
            assert await asyncio.to_thread(self.process.wait, 30) == 0
            self.process = None


def command(command_id: str = "", **action: Any) -> pb.Command:
    """A command: `command(join=pb.JoinTable())`."""
    return pb.Command(command_id=command_id or str(uuid4()), **action)


def eur(minor_units: int) -> Money:
    return Money(currency="EUR", minor_units=minor_units)


def join() -> pb.Command:
    return command(join=pb.JoinTable())


def bet(stake: int, box: int = 1, wager: str = "player", **rest: Any) -> pb.Command:
    return command(place_bet=pb.PlaceBet(box=box, wager=wager, stake=eur(stake), **rest))


def done() -> pb.Command:
    return command(done_betting=pb.DoneBetting())


def cut(place: int = 0) -> pb.Command:
    return command(cut_shoe=pb.CutShoe(place=place))


class PlayCall:
    """An open `Play` stream; remembers all that came."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self.heard: list[pb.PlayResponse] = []

    async def say(self, table_id: str, **request: Any) -> None:
        await self._call.write(pb.PlayRequest(table_id=table_id, **request))

    async def watch(self, table_id: str, after: int = 0) -> None:
        await self.say(table_id, watch=pb.WatchRequest(after_version=after))

    async def command(self, table_id: str, what: pb.Command) -> pb.Command:
        await self.say(table_id, command=what)
        return what

    async def next(self) -> pb.PlayResponse:
        """The next response; raises the `CroupierError` that the stream ends with, and
        `EOFError` where it ends well."""
        try:
            answer = await self._call.read()
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None
        if answer is grpc.aio.EOF:
            raise EOFError
        assert isinstance(answer, pb.PlayResponse)
        self.heard.append(answer)
        return answer

    async def until(self, check: Callable[[pb.PlayResponse], bool]) -> pb.PlayResponse:
        """Hears until a response passes."""
        async with asyncio.timeout(30):
            while not check(answer := await self.next()):
                pass
        return answer

    async def answered(self, what: pb.Command) -> pb.PlayResponse:
        """Hears until the acknowledgement or refusal of the command."""
        return await self.until(
            lambda answer: (
                what.command_id in (answer.acknowledgement.command_id, answer.refusal.command_id)
            )
        )

    async def event(self, kind: str) -> pb.TableEvent:
        """Hears until an update with an event of this type; that event."""
        answer = await self.until(lambda each: any(e.type == kind for e in each.update.events))
        return next(event for event in answer.update.events if event.type == kind)

    async def phase(self, phase: pb.Phase.ValueType) -> pb.Update:
        answer = await self.until(lambda each: each.update.table.table.phase == phase)
        return answer.update

    async def done_sending(self) -> None:
        await self._call.done_writing()

    def cancel(self) -> None:
        self._call.cancel()

    @property
    def updates(self) -> list[pb.Update]:
        return [each.update for each in self.heard if each.HasField("update")]

    @property
    def events(self) -> list[pb.TableEvent]:
        return [event for update in self.updates for event in update.events]


def told(error: grpc.aio.AioRpcError) -> tuple[str, str]:
    """Reason and field of a refusal; all that must be about it is there (docs/errors.md)."""
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    assert status is not None, error
    info, fault = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    request, field_name = error_details_pb2.RequestInfo(), ""
    for detail in status.details:
        detail.Unpack(info)
        detail.Unpack(request)
        if detail.Unpack(fault):
            [violation] = fault.field_violations
            field_name = violation.field
            assert violation.reason == info.reason
    assert info.domain == "croupier"
    assert f"REASON_{info.reason}" in dict(reason_pb2.Reason.items())
    assert error.code() is STATUS[info.reason]
    assert status.message
    assert request.request_id
    return info.reason, field_name


def fields_of(asked: pb.Command) -> set[str]:
    """What a refusal of the command may name: a field of its action, or what stands around it."""
    action = asked.WhichOneof("action")
    fields = set(getattr(asked, action).DESCRIPTOR.fields_by_name) if action else set()
    return fields | {"", "table_id", "command_id", "action"}


@dataclass
class Person:
    """Somebody with a token, at one node."""

    channel: grpc.aio.Channel
    name: str
    role: Role = Role.PLAYER

    @property
    def metadata(self) -> Any:
        return bearer(self.role, self.name)

    @property
    def tables(self) -> Any:
        return table_pb2_grpc.TableServiceStub(self.channel)

    async def call(self, method: str, request: Any, timeout_s: float = 30) -> Any:
        """The answer, or the `CroupierError` that the refusal tells."""
        try:
            return await getattr(self.tables, method)(
                request, metadata=self.metadata, timeout=timeout_s
            )
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None

    async def execute(self, table_id: str, what: pb.Command) -> pb.ExecuteResponse:
        request = pb.ExecuteRequest(table_id=table_id, command=what)
        answer: pb.ExecuteResponse = await self.call("Execute", request)
        return answer

    async def refused(self, method: str, request: Any) -> tuple[str, str]:
        """The reason and the field of a refusal, as they stand on the wire."""
        try:
            call = getattr(self.tables, method)(request, metadata=self.metadata, timeout=30)
            await (call if hasattr(call, "__await__") else call.read())
        except grpc.aio.AioRpcError as error:
            return told(error)
        raise AssertionError(f"{method} was not refused")

    async def may_not(self, table_id: str, **action: Any) -> tuple[str, str]:
        """The reason and the field of a command's refusal, the same by `Execute` and by `Play`."""
        asked = command(**action)
        told = await self.refused("Execute", pb.ExecuteRequest(table_id=table_id, command=asked))
        stream = self.play()
        answer = (await stream.answered(await stream.command(table_id, asked))).refusal
        stream.cancel()
        assert (answer.reason, answer.field) == told
        assert told[1] in fields_of(asked), told
        assert answer.message
        assert answer.table_id == table_id
        return told

    async def view(self, table_id: str) -> pb.Update:
        answer: pb.GetTableResponse = await self.call(
            "GetTable", pb.GetTableRequest(table_id=table_id)
        )
        return answer.table

    def play(self) -> PlayCall:
        return PlayCall(self.tables.Play(metadata=self.metadata))

    def watch(self, table_id: str, after: int = 0) -> Any:
        request = pb.WatchRequest(table_id=table_id, after_version=after)
        return self.tables.Watch(request, metadata=self.metadata)

    @asynccontextmanager
    async def playing(self, *table_ids: str) -> AsyncIterator[PlayCall]:
        """A stream that watches these tables, each from its snapshot on."""
        stream = self.play()
        try:
            for table_id in table_ids:
                await stream.watch(table_id)
                await stream.until(lambda each: each.HasField("update"))
            yield stream
        finally:
            stream.cancel()


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
            "lease_ttl_s": 1.0,
        }
        return TableSettings(**(common | changes))

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


def assert_seamless(updates: Sequence[pb.Update], after: int = 0) -> None:
    """Nothing is missing between these updates, nothing comes twice, and the first continues at
    version `after` (0: it is a snapshot)."""
    assert updates
    assert updates[0].previous == after
    seen = after or updates[0].version
    for update in updates if after else updates[1:]:
        assert update.previous == seen
        assert [event.version for event in update.events] == list(
            range(seen + 1, update.version + 1)
        )
        assert update.table.table.version == update.version
        seen = update.version


async def play_hand(stream: PlayCall, table_id: str = "t1", stake: int = 100) -> pb.TableEvent:
    """One hand of baccarat for one player who is the only one to bet; its end."""
    await stream.command(table_id, bet(stake))
    await stream.command(table_id, done())
    ended = await stream.until(
        lambda each: (
            each.update.table.shoe.cut_player != ""
            or any(event.type == "HandSettled" for event in each.update.events)
        )
    )
    if ended.update.table.shoe.cut_player:
        await stream.command(table_id, cut())
        return await stream.event("HandSettled")
    return next(event for event in ended.update.events if event.type == "HandSettled")
