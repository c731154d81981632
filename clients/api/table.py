"""Tables: opening, finding, watching and playing."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from random import Random
from types import TracebackType

import grpc
from croupier.table.v1 import events_pb2, table_pb2_grpc
from croupier.table.v1 import table_pb2 as pb

from clients.api.connection import Connection
from clients.api.errors import RefusedError, refused
from clients.api.seat import Seat
from clients.api.stream import PlayStream

PAGE_SIZE = 200
FIRST_VIEW_TIMEOUT_S = 30.0


class TableClient:
    """The table service, as the player (or operator) whose token the connection has.

    `player` is the caller's own id. All seats share one stream. Raises `RefusedError`.
    """

    def __init__(
        self, connection: Connection, player: str = "", random: Random | None = None
    ) -> None:
        self.player = player
        self._connection = connection
        self._stub = table_pb2_grpc.TableServiceStub(connection.channel)
        self.stream = PlayStream(connection, random)

    async def __aenter__(self) -> TableClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stream.close()

    async def seat(
        self, table_id: str, seeds: bool = True, timeout_s: float = FIRST_VIEW_TIMEOUT_S
    ) -> Seat:
        """Starts to watch a table, and waits for its first view. Sitting down is a command of its
        own (`commands.join`); `seeds`: whether seeds for its shoes are added without asking."""
        seat = Seat(self.stream, table_id, self.player, seeds)
        try:
            async with asyncio.timeout(timeout_s):
                await seat.next_update()
        except TimeoutError:
            await seat.close()
            raise RefusedError("UNREACHABLE", "the table service does not answer") from None
        return seat

    async def tables(self, game: str = "") -> list[pb.TableSummary]:
        """All tables (of one game)."""
        found: list[pb.TableSummary] = []
        token = ""
        while True:
            request = pb.ListTablesRequest(page_size=PAGE_SIZE, page_token=token, game=game)
            answer = await self._connection.call(self._stub.ListTables, request)
            found += answer.tables
            token = answer.next_page_token
            if not token:
                return found

    async def lobby(self) -> AsyncIterator[list[pb.TableSummary]]:
        """All tables, then those that changed, for as long as the stream lasts."""
        call = self._stub.WatchLobby(pb.WatchLobbyRequest(), metadata=self._connection.metadata())
        try:
            async for answer in call:
                yield list(answer.tables)
        except grpc.aio.AioRpcError as error:
            raise refused(error) from error
        finally:
            call.cancel()

    async def view(self, table_id: str) -> pb.Update:
        """What the caller may see of a table now."""
        answer = await self._connection.call(
            self._stub.GetTable, pb.GetTableRequest(table_id=table_id)
        )
        return answer.table

    async def open_table(
        self,
        table_id: str,
        game: str,
        currency: str,
        name: str = "",
        rules_json: str = "",
        clocks: events_pb2.Clocks | None = None,
        seats: int = 0,
        ante: int = 0,
        open_joining: bool = False,
    ) -> pb.TableSummary:
        """Operators open a table; it is playable when its first shoe is ready. `ante` (minor units)
        and `open_joining` are draw poker's."""
        request = pb.OpenTableRequest(
            command_id=str(uuid.uuid4()),
            table_id=table_id,
            name=name or table_id,
            game=game,
            rules_json=rules_json,
            currency=currency,
            clocks=clocks,
            seats=seats,
            ante=ante,
            open_joining=open_joining,
        )
        answer = await self._connection.call(self._stub.OpenTable, request)
        return answer.table

    async def close_table(self, table_id: str, note: str = "") -> None:
        """Operators close a table: after the running hand all chips go back."""
        request = pb.CloseTableRequest(command_id=str(uuid.uuid4()), table_id=table_id, note=note)
        await self._connection.call(self._stub.CloseTable, request)

    async def execute(self, table_id: str, command: pb.Command) -> pb.ExecuteResponse:
        """One command without a stream."""
        return await self._connection.call(
            self._stub.Execute, pb.ExecuteRequest(table_id=table_id, command=command)
        )

    async def hands(self, table_id: str, limit: int = PAGE_SIZE) -> list[pb.HandSummary]:
        """The newest `limit` finished hands of a table, newest first."""
        found: list[pb.HandSummary] = []
        token = ""
        while len(found) < limit:
            request = pb.ListHandsRequest(
                table_id=table_id, page_size=min(PAGE_SIZE, limit - len(found)), page_token=token
            )
            answer = await self._connection.call(self._stub.ListHands, request)
            found += answer.hands
            token = answer.next_page_token
            if not token:
                break
        return found

    async def hand(self, hand_id: str) -> pb.GetHandResponse:
        """One hand as the caller may see it."""
        return await self._connection.call(self._stub.GetHand, pb.GetHandRequest(hand_id=hand_id))
