"""A whole house in this process: the real rules of a table, shoes from seeded dice, a wallet that
is a dictionary. For tests of what plays at it; how services really do this is tested elsewhere."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import grpc
import jwt
from croupier.table.v1 import table_pb2 as pb
from croupier.wallet.v1 import wallet_pb2

from clients.api.house import House
from clients.api.sight import Sight
from services.table.commands import proposal
from shared.cards import DECK, Card
from shared.errors import CroupierError
from shared.games.play import Face
from shared.games.registry import GAMES
from shared.rpc.access import Role
from shared.rpc.caller import Caller
from shared.table import events as e
from shared.table import next_step as step
from shared.table.codec import timestamp
from shared.table.decide import decide
from shared.table.envelope import hand_ids
from shared.table.state import TableState
from shared.table.view import event_view, player_view, public_view, summary
from tests.unit.clients.fake_tables import refuse_call
from tests.unit.clients.keys import TEST_KEY

CUT = 26
"""Where the dealer cuts."""
START_US = 1_790_000_000_000_000
CLOCKS = e.Clocks(30_000, 180_000, 120_000, 30_000, 5_000, 30_000, 15_000, 10_000)
_OPTIONS = (("grpc.http2.min_ping_interval_without_data_ms", 5_000),)

Watching = tuple[str, asyncio.Queue[pb.PlayResponse]]


class FakeTable:
    """One table: the pure core, its events, and those who watch it."""

    def __init__(self, table_id: str, game: str, rules_json: str, random: Random) -> None:
        self.state = TableState()
        self.events: list[tuple[str, e.Event]] = []
        self.watching: list[Watching] = []
        self.answered: dict[tuple[str, str], tuple[int, int]] = {}
        self.accounts: dict[str, int] = {}
        self._shoe: list[Card] = []
        self._random = random
        self._ticks = itertools.count(1)
        rules = GAMES[game]
        self.take(
            e.TableOpened(
                table_id=table_id,
                name=table_id,
                game=game,
                rules_version=rules.VERSION,
                rules_json=rules_json or "{}",
                currency="CHF",
                clocks=CLOCKS,
                seats=5,
                at=self.now(),
                ante=0 if rules.WAGERS else 100,
                open_joining=True,
            )
        )

    def now(self) -> int:
        """A clock that goes on by a millisecond whenever it is looked at."""
        return START_US + next(self._ticks) * 1000

    def take(self, fact: e.Input) -> tuple[int, int]:
        """One input with all that follows from it, errands included; versions of its own append."""
        first = self.state.version + 1
        self._apply(fact)
        last = self.state.version
        while True:
            errands = step.next_step(self.state).errands
            if not errands:
                return first, last
            self._apply(self._answer(errands[0]))

    def expire(self) -> None:
        """The running clock runs out."""
        waiting = step.next_step(self.state)
        self.take(e.ClockExpired(waiting.deadline, waiting.deadline, waiting.clock))

    def update(self, viewer: str, after: int) -> pb.Update:
        """What `viewer` gets of what follows version `after`."""
        events = [
            event_view(event, version, hand_id, viewer)
            for version, (hand_id, event) in enumerate(self.events[after:], after + 1)
            if after
        ]
        return pb.Update(
            table_id=self.state.table.table_id,
            version=self.state.version,
            previous=after,
            events=events,
            table=public_view(self.state),
            you=player_view(self.state, viewer),
            server_time=timestamp(self.state.now),
        )

    def _apply(self, fact: e.Input) -> None:
        before = self.state
        events, self.state = decide(before, fact)
        self.events += zip(hand_ids(before, events), events, strict=True)
        for event in events:
            if isinstance(event, e.CashOutRequested):
                self.accounts[event.player] = self.accounts.get(event.player, 0) + event.amount
        for viewer, queue in self.watching:
            queue.put_nowait(pb.PlayResponse(update=self.update(viewer, before.version)))

    def _answer(self, errand: step.Errand) -> e.Input:
        match errand:
            case step.OpenShoe():
                self._shoe = list(DECK) * errand.decks
                self._random.shuffle(self._shoe)
                return e.ShoeOffered(errand.shoe_id, bytes(32), self.now())
            case step.RecordCut():
                return e.CutRecorded(errand.shoe_id, errand.place or CUT, self.now())
            case step.SealShoe():
                return e.ShoeReady(
                    shoe_id=errand.shoe_id,
                    root=bytes(range(32)),
                    size=len(self._shoe),
                    cut_place=CUT,
                    seeds_used=tuple(player for player, _ in errand.reveals),
                    at=self.now(),
                )
            case step.Cards():
                cards = tuple(self._deal(slot) for slot in errand.slots)
                return e.CardsDealt(errand.request_id, cards, self.now())
            case step.PutAway():
                return e.ShoePutAway(errand.shoe_id, self.now())
            case step.Chips():
                return self._fund(errand)

    def _deal(self, slot: e.CardSlot) -> e.DealtCard:
        card = None if slot.face is Face.DOWN else self._shoe[slot.position]
        return e.DealtCard(slot.position, slot.hand, slot.face, slot.viewer, card)

    def _fund(self, chips: step.Chips) -> e.Input:
        if self.accounts.get(chips.player, 0) < chips.amount:
            return e.ChipsDenied(
                chips.player, chips.amount, chips.request_id, "INSUFFICIENT_FUNDS", self.now()
            )
        self.accounts[chips.player] -= chips.amount
        return e.ChipsArrived(chips.player, chips.amount, chips.request_id, self.now())


class FakeHouse:
    """Serves as much of the table and wallet services as players need, on one port."""

    def __init__(self, seed: int = 1) -> None:
        self.tables: dict[str, FakeTable] = {}
        self.accounts: dict[str, int] = {}
        self._random = Random(seed)

    def open(self, table_id: str, game: str = "baccarat", rules_json: str = "") -> FakeTable:
        """A table is opened."""
        if table_id in self.tables:
            raise CroupierError("TABLE_EXISTS", "there is a table of this name")
        table = FakeTable(table_id, game, rules_json, self._random)
        table.accounts = self.accounts
        self.tables[table_id] = table
        return table

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[House]:
        """Serves until the block ends; what a client needs to find it."""
        server = grpc.aio.server(options=_OPTIONS)
        for service, methods in (
            ("table", (self.list_tables, self.open_table)),
            ("wallet", (self.open_account, self.deposit, self.get_account)),
        ):
            handlers: dict[str, Any] = {}
            for method in methods:
                name = "".join(word.capitalize() for word in method.__name__.split("_"))
                module: Any = pb if service == "table" else wallet_pb2
                handlers[name] = grpc.unary_unary_rpc_method_handler(
                    method,
                    getattr(module, f"{name}Request").FromString,
                    getattr(module, f"{name}Response").SerializeToString,
                )
            if service == "table":
                handlers["Play"] = grpc.stream_stream_rpc_method_handler(
                    self.play, pb.PlayRequest.FromString, pb.PlayResponse.SerializeToString
                )
            server.add_generic_rpc_handlers(
                (
                    grpc.method_handlers_generic_handler(
                        f"croupier.{service}.v1.{service.capitalize()}Service", handlers
                    ),
                )
            )
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        address = (f"127.0.0.1:{port}",)
        try:
            yield House({"table": address, "wallet": address}, TEST_KEY)
        finally:
            await server.stop(None)

    # ---- Table service

    async def list_tables(self, request: pb.ListTablesRequest, _: Any) -> pb.ListTablesResponse:
        tables = [summary(table.state) for table in self.tables.values()]
        return pb.ListTablesResponse(
            tables=[table for table in tables if request.game in ("", table.game)]
        )

    async def open_table(self, request: pb.OpenTableRequest, context: Any) -> pb.OpenTableResponse:
        try:
            table = self.open(request.table_id, request.game, request.rules_json)
        except CroupierError as refused:
            await refuse_call(context, grpc.StatusCode.ALREADY_EXISTS, refused.reason)
            raise
        return pb.OpenTableResponse(table=summary(table.state))

    async def play(
        self, requests: AsyncIterator[pb.PlayRequest], context: Any
    ) -> AsyncIterator[pb.PlayResponse]:
        who = _caller(context)
        outgoing: asyncio.Queue[pb.PlayResponse] = asyncio.Queue()
        reading = asyncio.create_task(self._read(who, requests, outgoing))
        try:
            while True:
                yield await outgoing.get()
        finally:
            reading.cancel()
            for table in self.tables.values():
                table.watching = [one for one in table.watching if one[1] is not outgoing]

    async def _read(
        self,
        who: str,
        requests: AsyncIterator[pb.PlayRequest],
        outgoing: asyncio.Queue[pb.PlayResponse],
    ) -> None:
        async for request in requests:
            table = self.tables.get(request.table_id)
            try:
                if table is None:
                    raise CroupierError("TABLE_NOT_FOUND", "no such table", "table_id")
                if request.HasField("watch"):
                    table.watching.append((who, outgoing))
                    outgoing.put_nowait(
                        pb.PlayResponse(update=table.update(who, request.watch.after_version))
                    )
                elif request.HasField("command"):
                    outgoing.put_nowait(execute(table, who, request.command))
            except CroupierError as refused:
                outgoing.put_nowait(
                    pb.PlayResponse(
                        refusal=pb.Refusal(
                            table_id=request.table_id,
                            command_id=request.command.command_id,
                            reason=refused.reason,
                            message=refused.message,
                            field=refused.field,
                        )
                    )
                )

    # ---- Wallet service

    async def open_account(
        self, request: wallet_pb2.OpenAccountRequest, context: Any
    ) -> wallet_pb2.OpenAccountResponse:
        player = request.player or _caller(context)
        if player in self.accounts:
            await refuse_call(context, grpc.StatusCode.ALREADY_EXISTS, "ACCOUNT_EXISTS")
        self.accounts[player] = 0
        return wallet_pb2.OpenAccountResponse(account=self._account(player))

    async def deposit(
        self, request: wallet_pb2.DepositRequest, _: Any
    ) -> wallet_pb2.DepositResponse:
        self.accounts[request.player] += request.amount.minor_units
        return wallet_pb2.DepositResponse(
            transfer_id=request.command_id,
            balance_after=self._account(request.player).balance,
        )

    async def get_account(
        self, request: wallet_pb2.GetAccountRequest, context: Any
    ) -> wallet_pb2.GetAccountResponse:
        player = request.player or _caller(context)
        if player not in self.accounts:
            await refuse_call(context, grpc.StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND")
        return wallet_pb2.GetAccountResponse(account=self._account(player))

    def _account(self, player: str) -> wallet_pb2.Account:
        account = wallet_pb2.Account(player=player)
        account.balance.currency = "CHF"
        account.balance.minor_units = self.accounts[player]
        return account


def sight_of(table: FakeTable, player: str) -> Sight:
    """What a player sees of a table now."""
    update = table.update(player, 0)
    return Sight(player, update.table, update.you)


def execute(table: FakeTable, who: str, command: pb.Command) -> pb.PlayResponse:
    """A player's command; raises `CroupierError` where it is refused."""
    key = (who, command.command_id)
    if key not in table.answered:
        asked = proposal(Caller(who, Role.PLAYER, ""), command, "CHF")
        table.answered[key] = table.take(asked.make(table.now()))
    first, last = table.answered[key]
    return pb.PlayResponse(
        acknowledgement=pb.Acknowledgement(
            table_id=table.state.table.table_id,
            command_id=command.command_id,
            first_version=first,
            version=last,
        )
    )


def _caller(context: Any) -> str:
    token = dict(context.invocation_metadata())["authorization"].removeprefix("Bearer ")
    claims = jwt.decode(token, TEST_KEY.public_key(), ["EdDSA"], audience="croupier")
    return str(claims["sub"])
