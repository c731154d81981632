"""The `Play` stream: several tables in one, and the same again after it was cut."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import grpc
from croupier.table.v1 import table_pb2 as pb
from croupier.table.v1 import table_pb2_grpc

from clients.api.back_off import BackOff
from clients.api.connection import Connection
from clients.api.errors import RefusedError, UnansweredError, refused

COMMAND_TIMEOUT_S = 30.0
MOST_TABLES = 64
MOST_WAITING_COMMANDS = 256


@dataclass(slots=True)
class _Waiting:
    """A command whose answer is not here yet."""

    request: pb.PlayRequest
    answer: asyncio.Future[pb.Acknowledgement]


@dataclass(frozen=True, slots=True)
class Watcher:
    """Who hears of a table: its updates, and that it may no longer be watched. `version` is asked
    as a stream (re)starts: what has been seen already."""

    version: Callable[[], int]
    update: Callable[[pb.Update], None]
    refused: Callable[[RefusedError], None]


class PlayStream:
    """Keeps one `Play` stream open. When it is cut it comes back with back-off, resumes each table
    after the last version seen, and sends commands whose answer was lost again with their ids: each
    happens once, and every caller gets its answer.
    """

    def __init__(self, connection: Connection, random: Random | None = None) -> None:
        self._connection = connection
        self._stub = table_pb2_grpc.TableServiceStub(connection.channel)
        self._back_off = BackOff(random)
        self._watchers: dict[str, Watcher] = {}
        self._waiting: dict[tuple[str, str], _Waiting] = {}
        self._outgoing: deque[pb.PlayRequest] = deque()
        self._something_to_send = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._failure: RefusedError | None = None
        self.connected = False
        """Whether the house has answered on the present stream."""
        self.reconnects = 0
        """How often the stream was cut so far."""

    async def close(self) -> None:
        """Ends the stream. Commands without an answer raise `UnansweredError`."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        for waiting in self._waiting.values():
            if not waiting.answer.done():
                waiting.answer.cancel()

    def watch(self, table_id: str, watcher: Watcher) -> None:
        """Starts (or restarts) the updates of a table."""
        if table_id not in self._watchers and len(self._watchers) >= MOST_TABLES:
            raise RefusedError("BAD_REQUEST", f"one stream watches {MOST_TABLES} tables at most")
        self._raise_failure()
        self._watchers[table_id] = watcher
        self._send(self._watch_request(table_id))

    def stop_watching(self, table_id: str) -> None:
        """Ends the updates of a table."""
        if self._watchers.pop(table_id, None) is not None:
            self._send(pb.PlayRequest(table_id=table_id, stop=pb.StopWatching()))

    async def execute(
        self, table_id: str, command: pb.Command, timeout_s: float = COMMAND_TIMEOUT_S
    ) -> pb.Acknowledgement:
        """Sends a command; the acknowledgement comes after the updates that it caused.

        A passing refusal (a table that changes its node, say) is tried again within `timeout_s`.
        Raises `RefusedError`, or `UnansweredError` when that is over.
        """
        try:
            async with asyncio.timeout(timeout_s):
                back_off = BackOff()
                while True:
                    try:
                        return await self._ask(table_id, command)
                    except RefusedError as refusal:
                        if not refusal.passing or self._failure is not None:
                            raise
                        wait_s = back_off.next_s(refusal.retry_after_s)
                    await asyncio.sleep(wait_s)
        except TimeoutError:
            raise UnansweredError(command.command_id, f"no answer within {timeout_s:g} s") from None

    async def _ask(self, table_id: str, command: pb.Command) -> pb.Acknowledgement:
        self._raise_failure()
        if len(self._waiting) >= MOST_WAITING_COMMANDS:
            raise RefusedError(
                "OVERLOADED", f"{MOST_WAITING_COMMANDS} commands wait for their answer"
            )
        request = pb.PlayRequest(table_id=table_id, command=command)
        key = (table_id, command.command_id)
        answer: asyncio.Future[pb.Acknowledgement] = asyncio.get_running_loop().create_future()
        self._waiting[key] = _Waiting(request, answer)
        self._send(request)
        try:
            return await answer
        finally:
            self._waiting.pop(key, None)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _send(self, request: pb.PlayRequest) -> None:
        self._outgoing.append(request)
        self._something_to_send.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="play-stream")

    def _watch_request(self, table_id: str) -> pb.PlayRequest:
        after = self._watchers[table_id].version()
        return pb.PlayRequest(
            table_id=table_id, watch=pb.WatchRequest(table_id=table_id, after_version=after)
        )

    async def _run(self) -> None:
        while True:
            answered = False
            call = self._stub.Play(metadata=self._connection.metadata())
            # Not an iterator given to the call: gRPC would leave it waiting when the call is cut.
            writing = asyncio.create_task(self._write(call), name="play-requests")
            try:
                async for response in call:
                    if not answered:
                        answered = self.connected = True
                        self._back_off.reset()
                    self._take(response)
                failure = None
            except grpc.aio.AioRpcError as error:
                failure = refused(error)
            finally:
                self.connected = False
                call.cancel()
                writing.cancel()
                await asyncio.wait({writing})
            renewable = failure is not None and failure.reason == "TOKEN_EXPIRED" and answered
            if failure is not None and not failure.passing and not renewable:
                self._fail(failure)
                return
            self.reconnects += 1
            asked_s = failure.retry_after_s if failure is not None else 0.0
            await asyncio.sleep(self._back_off.next_s(asked_s))

    async def _write(self, call: Any) -> None:
        """All that a new stream begins with, then what comes up while it lasts."""
        self._outgoing = deque(
            [self._watch_request(table_id) for table_id in self._watchers]
            + [waiting.request for waiting in self._waiting.values()]
        )
        # Why a call was cut is for its reader to tell.
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            while True:
                while self._outgoing:
                    await call.write(self._outgoing.popleft())
                self._something_to_send.clear()
                await self._something_to_send.wait()

    def _take(self, response: pb.PlayResponse) -> None:
        match response.WhichOneof("response"):
            case "update":
                watcher = self._watchers.get(response.update.table_id)
                if watcher is not None:
                    watcher.update(response.update)
            case "acknowledgement":
                answer = response.acknowledgement
                waiting = self._waiting.get((answer.table_id, answer.command_id))
                if waiting is not None and not waiting.answer.done():
                    waiting.answer.set_result(answer)
            case "refusal":
                self._take_refusal(response.refusal)

    def _take_refusal(self, said: pb.Refusal) -> None:
        retry_after_s = said.retry_after.ToTimedelta().total_seconds()
        refusal = RefusedError(said.reason, said.message, said.field, retry_after_s=retry_after_s)
        if said.command_id:
            waiting = self._waiting.get((said.table_id, said.command_id))
            if waiting is not None and not waiting.answer.done():
                waiting.answer.set_exception(refusal)
            return
        watcher = self._watchers.get(said.table_id)
        if watcher is None:
            return
        if refusal.passing:
            asyncio.get_running_loop().call_later(
                self._back_off.next_s(retry_after_s), self._watch_again, said.table_id
            )
            return
        del self._watchers[said.table_id]
        watcher.refused(refusal)

    def _watch_again(self, table_id: str) -> None:
        if table_id in self._watchers and self._failure is None:
            self._send(self._watch_request(table_id))

    def _fail(self, failure: RefusedError) -> None:
        """The house will not talk to this caller: everybody who waits is told."""
        self._failure = failure
        for waiting in self._waiting.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(failure)
        for watcher in self._watchers.values():
            watcher.refused(failure)
