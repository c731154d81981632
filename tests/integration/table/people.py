"""People who come to a table, what they say on the wire, and what they must hear."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import grpc
from croupier.table.v1 import table_pb2 as pb
from croupier.table.v1 import table_pb2_grpc
from croupier.type.v1 import reason_pb2
from croupier.type.v1.money_pb2 import Money
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from shared.rpc.access import Role
from shared.rpc.errors import STATUS, from_rpc_error
from tests.services import bearer


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
        async with asyncio.timeout(60):
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

    async def next_shoe(self, table_id: str = "t1") -> None:
        """Hears until the table has its next shoe: it is asked for as the first one is sealed, and
        may come long after the hand. From then on the table waits for players only."""
        mine = [update for update in self.updates if update.table_id == table_id]
        if not mine[-1].table.next_shoe.commitment:
            await self.until(
                lambda each: (
                    each.update.table_id == table_id
                    and bool(each.update.table.next_shoe.commitment)
                )
            )

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
