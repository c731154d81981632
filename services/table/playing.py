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
from services.table.owner import TableOwner
from services.table.proposal import Answer
from services.table.watching import End, GoneError, Lost, Mailbox, Told, Viewer, viewer_name
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
        self._watched: dict[str, tuple[Viewer, TableOwner]] = {}
        self._under_way: set[asyncio.Future[Answer]] = set()
        self._room = asyncio.Semaphore(MOST_COMMANDS)
        self._reader: asyncio.Task[None] | None = None
        self._following: dict[str, asyncio.Task[None]] = {}

    async def watch(self, table_id: str, after: int) -> None:
        """Begins (or begins again) to watch a table; raises `TABLE_NOT_FOUND`, `NO_OWNER`."""
        self.stop(table_id)
        if len(self._watched) + len(self._following) >= MOST_TABLES:
            raise CroupierError("BAD_REQUEST", f"{MOST_TABLES} tables a stream", "table_id")
        await self._watch(table_id, after)

    async def _watch(self, table_id: str, after: int) -> None:
        owner = await self._node.find(table_id)
        viewer = Viewer(viewer_name(self._caller), table_id, self._mailbox)
        self._watched[table_id] = (viewer, owner)
        try:
            await owner.watch(viewer, after)
        except BaseException as error:
            if self._is_watching(viewer):
                del self._watched[table_id]
            if isinstance(error, GoneError):
                raise CroupierError("NO_OWNER", "the table is being taken up: try again") from None
            raise

    def _is_watching(self, viewer: Viewer) -> bool:
        """Whether this is the latest viewer of its table, or none any more that counts."""
        known = self._watched.get(viewer.table_id)
        return known is not None and known[0] is viewer

    def stop(self, table_id: str) -> None:
        """Ends the updates of a table."""
        following = self._following.pop(table_id, None)
        if following is not None:
            following.cancel()
        watched = self._watched.pop(table_id, None)
        if watched is not None:
            viewer, owner = watched
            owner.unwatch(viewer)

    async def updates(self) -> AsyncIterator[table_pb2.PlayResponse]:
        """What the client is to be told, until the stream ends; raises why it ends. `close` must
        follow."""
        while True:
            match await self._mailbox.get():
                case Told(viewer, change) if self._is_watching(viewer):
                    yield table_pb2.PlayResponse(update=viewer.update(change))
                case Lost(viewer) if self._is_watching(viewer):
                    self.stop(viewer.table_id)
                    self._follow(viewer.table_id, viewer.seen)
                case table_pb2.PlayResponse() as response:
                    yield response
                case End(why):
                    if why is not None:
                        raise why
                    return

    def close(self) -> None:
        """Ends everything; commands that are under way go on."""
        for table_id in [*self._watched, *self._following]:
            self.stop(table_id)
        if self._reader is not None:
            self._reader.cancel()

    def read(self, requests: AsyncIterator[table_pb2.PlayRequest]) -> None:
        """Begins to take what the client says. The stream ends when the client has nothing more to
        say and everything is answered."""
        self._reader = asyncio.create_task(self._read(requests))

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
            self._mailbox.put(
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
        self._mailbox.put(
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

    def _follow(self, table_id: str, seen: int) -> None:
        task = asyncio.create_task(self._until_back(table_id, seen))
        self._following[table_id] = task

    async def _until_back(self, table_id: str, seen: int) -> None:
        """The table has left this node's hands: go on as soon as it is back in some."""
        try:
            for _ in range(FIND_TRIES):
                try:
                    return await self._watch(table_id, seen)
                except CroupierError as refused:
                    if refused.reason not in ("NO_OWNER", "LOG_UNAVAILABLE"):
                        return self._mailbox.end(refused)
                await asyncio.sleep(FIND_PAUSE_S)
            return self._mailbox.end(CroupierError("NO_OWNER", "nobody takes the table up"))
        except Exception as error:
            return self._mailbox.end(error)
        finally:
            if self._following.get(table_id) is asyncio.current_task():
                del self._following[table_id]
