"""A table service in this process, for what clients must cope with: cuts, lost answers, gaps.

It knows no game: a table is a row of `BetsDone` events, one a command. Faults are set by the tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import grpc
from croupier.table.v1 import events_pb2
from croupier.table.v1 import table_pb2 as pb
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

Outgoing = asyncio.Queue[pb.PlayResponse | None]
"""What a stream is to send; `None` cuts it."""


@dataclass
class FakeTable:
    """A table's stream, and the queues of those who watch it."""

    table_id: str
    events: list[pb.TableEvent] = field(default_factory=list)
    watching: list[Outgoing] = field(default_factory=list)
    answered: dict[str, int] = field(default_factory=dict)

    def append(self, player: str) -> int:
        """One more event, told to all who watch; its version."""
        version = len(self.events) + 1
        event = pb.TableEvent(
            version=version, type="BetsDone", bets_done=events_pb2.BetsDone(player=player)
        )
        self.events.append(event)
        for queue in self.watching:
            queue.put_nowait(pb.PlayResponse(update=self.update(version - 1)))
        return version

    def update(self, after: int) -> pb.Update:
        """What follows version `after`; all of it as a snapshot where that is 0."""
        version = len(self.events)
        return pb.Update(
            table_id=self.table_id,
            version=version,
            previous=after,
            events=self.events[after:] if after else [],
            table=pb.TableView(table=pb.TableSummary(table_id=self.table_id, version=version)),
            you=pb.PlayerView(),
        )


class FakeTables:
    """The service. `lose_answers` streams are cut between a command and its answer; `refuse` holds
    reasons that the next commands get, `fail_streams` what the next streams end with."""

    def __init__(self) -> None:
        self.tables: dict[str, FakeTable] = {}
        self.lose_answers = 0
        self.refuse: list[str] = []
        self.fail_streams: list[tuple[grpc.StatusCode, str]] = []
        self.commands: list[str] = []
        self.watches: list[tuple[str, int]] = []
        self.tokens: list[str] = []
        self._streams: list[Outgoing] = []

    def table(self, table_id: str) -> FakeTable:
        """The table of this name, made where it is new."""
        return self.tables.setdefault(table_id, FakeTable(table_id, [pb.TableEvent(version=1)]))

    def add_to(self, server: grpc.aio.Server) -> None:
        """Serves `Play`; the rest of the service is not there."""
        play = grpc.stream_stream_rpc_method_handler(
            self.play, pb.PlayRequest.FromString, pb.PlayResponse.SerializeToString
        )
        handler = grpc.method_handlers_generic_handler(
            "croupier.table.v1.TableService", {"Play": play}
        )
        server.add_generic_rpc_handlers((handler,))

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return len(self._streams)

    def cut(self) -> None:
        """Cuts every open stream."""
        for outgoing in self._streams:
            outgoing.put_nowait(None)

    async def play(
        self, requests: AsyncIterator[pb.PlayRequest], context: Any
    ) -> AsyncIterator[pb.PlayResponse]:
        metadata = dict(context.invocation_metadata())
        self.tokens.append(metadata.get("authorization", ""))
        if self.fail_streams:
            await refuse_call(context, *self.fail_streams.pop(0))
        outgoing: Outgoing = asyncio.Queue()
        self._streams.append(outgoing)
        reading = asyncio.create_task(self._read(requests, outgoing))
        try:
            while (response := await outgoing.get()) is not None:
                yield response
            await refuse_call(context, grpc.StatusCode.UNAVAILABLE, "DRAINING")
        finally:
            reading.cancel()
            self._streams.remove(outgoing)
            for table in self.tables.values():
                if outgoing in table.watching:
                    table.watching.remove(outgoing)

    async def _read(
        self,
        requests: AsyncIterator[pb.PlayRequest],
        outgoing: Outgoing,
    ) -> None:
        async for request in requests:
            if request.HasField("watch"):
                self._watch(request, outgoing)
            elif request.HasField("stop"):
                self.tables[request.table_id].watching.remove(outgoing)
            elif request.HasField("command"):
                answer = self._command(request)
                if self.lose_answers:
                    self.lose_answers -= 1
                    outgoing.put_nowait(None)
                    return
                outgoing.put_nowait(answer)

    def _watch(self, request: pb.PlayRequest, outgoing: Outgoing) -> None:
        self.watches.append((request.table_id, request.watch.after_version))
        table = self.tables.get(request.table_id)
        if table is None:
            refusal = pb.Refusal(table_id=request.table_id, reason="TABLE_NOT_FOUND")
            outgoing.put_nowait(pb.PlayResponse(refusal=refusal))
            return
        if outgoing not in table.watching:
            table.watching.append(outgoing)
        outgoing.put_nowait(pb.PlayResponse(update=table.update(request.watch.after_version)))

    def _command(self, request: pb.PlayRequest) -> pb.PlayResponse:
        command_id = request.command.command_id
        self.commands.append(command_id)
        if self.refuse:
            reason = self.refuse.pop(0)
            return pb.PlayResponse(
                refusal=pb.Refusal(
                    table_id=request.table_id,
                    command_id=command_id,
                    reason=reason,
                    message=f"because of {reason}",
                    field="stake",
                )
            )
        table = self.tables[request.table_id]
        version = table.answered.get(command_id) or table.append("somebody")
        table.answered[command_id] = version
        return pb.PlayResponse(
            acknowledgement=pb.Acknowledgement(
                table_id=request.table_id,
                command_id=command_id,
                first_version=version,
                version=version,
            )
        )


async def refuse_call(context: Any, code: grpc.StatusCode, reason: str, field: str = "") -> None:
    """Ends a call as the services do: a status with `ErrorInfo`."""
    info = error_details_pb2.ErrorInfo(reason=reason, domain="croupier")
    if field:
        info.metadata["field"] = field
    status = status_pb2.Status(
        code=getattr(code_pb2, code.name), message=f"because of {reason}", details=[]
    )
    status.details.add().Pack(info)
    await context.abort_with_status(rpc_status.to_status(status))
