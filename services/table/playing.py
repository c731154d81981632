"""A client's stream: updates of the tables it watches and, on `Play`, its commands, with every
acknowledgement behind the updates that it follows from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import structlog
from croupier.table.v1 import table_pb2

from services.table import commands
from services.table.node import Node
from services.table.owner import Answer
from services.table.watching import End, GoneError, Lost, Mailbox, Told, Viewer
from shared.errors import CroupierError
from shared.rpc.caller import Caller

MOST_COMMANDS = 64
"""Commands of one stream that are under way at once; more wait unread."""
MOST_TABLES = 64
FIND_TRIES = 40
FIND_PAUSE_S = 0.25

_log = structlog.get_logger()


class Stream:
    """One client's stream. It watches any number of tables up to `MOST_TABLES`."""

    def __init__(self, node: Node, caller: Caller) -> None:
        self._node = node
        self._caller = caller
        self._mailbox = Mailbox()
        self._viewers: dict[str, Viewer] = {}
        self._under_way: set[asyncio.Future[Answer]] = set()
        self._room = asyncio.Semaphore(MOST_COMMANDS)
        self._tasks: set[asyncio.Task[None]] = set()

    async def watch(self, table_id: str, after: int) -> None:
        """Begins (or begins again) to watch a table; raises `TABLE_NOT_FOUND`, `NO_OWNER`."""
        self.stop(table_id)
        if len(self._viewers) >= MOST_TABLES:
            raise CroupierError("BAD_REQUEST", f"{MOST_TABLES} tables a stream", "table_id")
        viewer = Viewer(self._caller.id, table_id, self._mailbox)
        owner = await self._node.find(table_id)
        try:
            await owner.watch(viewer, after)
        except GoneError:
            raise CroupierError("NO_OWNER", "the table is being taken up: try again") from None
        self._viewers[table_id] = viewer

    def stop(self, table_id: str) -> None:
        """Ends the updates of a table."""
        viewer = self._viewers.pop(table_id, None)
        owner = self._node.owners.get(table_id)
        if viewer is not None and owner is not None:
            owner.unwatch(viewer)

    async def updates(self) -> AsyncIterator[table_pb2.PlayResponse]:
        """What the client is to be told, until the stream ends; raises why it ends."""
        try:
            while True:
                match await self._mailbox.get():
                    case Told(viewer, change) if self._viewers.get(viewer.table_id) is viewer:
                        if change.state.version >= viewer.seen:
                            yield table_pb2.PlayResponse(update=viewer.update(change))
                    case Lost(viewer) if self._viewers.get(viewer.table_id) is viewer:
                        self._spawn(viewer.table_id, viewer.seen)
                    case table_pb2.PlayResponse() as response:
                        yield response
                    case End(why):
                        if why is not None:
                            raise why
                        return
        finally:
            self.close()

    def close(self) -> None:
        """Ends everything; commands that are under way go on."""
        for table_id in list(self._viewers):
            self.stop(table_id)
        for task in self._tasks:
            task.cancel()

    async def serve(
        self, requests: AsyncIterator[table_pb2.PlayRequest]
    ) -> AsyncIterator[table_pb2.PlayResponse]:
        """A whole `Play` call: reads and answers until the client has nothing more to say."""
        reader = asyncio.create_task(self._read(requests))
        self._tasks.add(reader)
        async for response in self.updates():
            yield response

    async def _read(self, requests: AsyncIterator[table_pb2.PlayRequest]) -> None:
        try:
            async for request in requests:
                await self._take(request)
            if self._under_way:
                await asyncio.wait(self._under_way)
            # The futures' own callbacks put the last acknowledgements into the mailbox first.
            asyncio.get_running_loop().call_soon(self._mailbox.end, None)
        except Exception as error:
            self._mailbox.end(error)

    async def _take(self, request: table_pb2.PlayRequest) -> None:
        table_id = request.table_id
        try:
            match request.WhichOneof("request"):
                case "watch":
                    await self.watch(table_id, request.watch.after_version)
                case "command":
                    await self._command(table_id, request.command)
                case "stop":
                    self.stop(table_id)
                case _:
                    raise CroupierError("BAD_REQUEST", "neither watch nor command", "request")
        except CroupierError as refused:
            self._refuse(table_id, request.command.command_id, refused)

    async def _command(self, table_id: str, command: table_pb2.Command) -> None:
        await self._room.acquire()
        try:
            owner = await self._node.find(table_id)
            proposal = commands.proposal(self._caller, command, owner.state.table.currency)
            done = owner.propose(proposal)
        except BaseException:
            self._room.release()
            raise
        self._under_way.add(done)
        done.add_done_callback(partial(self._answer, table_id, command.command_id))

    def _answer(self, table_id: str, command_id: str, done: asyncio.Future[Answer]) -> None:
        self._under_way.discard(done)
        self._room.release()
        refused = done.exception()
        if refused is None:
            answer = done.result()
            self._say(
                table_pb2.PlayResponse(
                    acknowledgement=table_pb2.Acknowledgement(
                        table_id=table_id,
                        command_id=command_id,
                        first_version=answer.first_version,
                        version=answer.version,
                    )
                )
            )
        elif isinstance(refused, CroupierError):
            self._refuse(table_id, command_id, refused)

    def _refuse(self, table_id: str, command_id: str, refused: CroupierError) -> None:
        self._say(
            table_pb2.PlayResponse(
                refusal=table_pb2.Refusal(
                    table_id=table_id,
                    command_id=command_id,
                    reason=refused.reason,
                    message=refused.message,
                    field=refused.field,
                )
            )
        )

    def _say(self, response: table_pb2.PlayResponse) -> None:
        if not self._mailbox.put(response):
            self._mailbox.end(CroupierError("SLOW_WATCHER", "you read too slowly"))

    def _spawn(self, table_id: str, seen: int) -> None:
        task = asyncio.create_task(self._follow(table_id, seen))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, table_id: str, seen: int) -> None:
        """The table has left this node's hands: go on as soon as it is back in some."""
        for _ in range(FIND_TRIES):
            try:
                return await self.watch(table_id, seen)
            except CroupierError as refused:
                if refused.reason != "NO_OWNER":
                    return self._mailbox.end(refused)
            await asyncio.sleep(FIND_PAUSE_S)
        return self._mailbox.end(CroupierError("NO_OWNER", "nobody takes the table up"))
