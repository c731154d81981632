"""A client's stream: updates of the tables it watches and, on `Play`, its commands, with every
acknowledgement behind the updates that it follows from. The tables may be anywhere, and move."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import copy_context
from functools import partial
from itertools import count
from operator import attrgetter
from typing import Any

import grpc
from croupier.table.v1 import table_pb2

from services.table import commands
from services.table.acknowledging import Acknowledged, Acknowledging
from services.table.forward import ELSEWHERE, PAUSES_S, Routes, is_lost, tried_at
from services.table.link import Link, Sent, why
from services.table.owner import TableOwner
from services.table.proposal import Answer
from services.table.watching import (
    End,
    Enough,
    GoneError,
    Heard,
    Lost,
    Mailbox,
    Told,
    Viewer,
    as_response,
    viewer_name,
)
from services.table.whereabouts import There
from shared.errors import CroupierError
from shared.rpc.caller import Caller
from shared.rpc.errors import from_rpc_error

MOST_COMMANDS = 64
"""Commands of one stream that are under way at once; more wait unread."""
MOST_TABLES = 64
_PASSING = (*ELSEWHERE, "LOG_UNAVAILABLE", "SHUFFLE_UNAVAILABLE")
"""Refusals after which a viewer waits for his table."""


class Stream:
    """One client's stream. It watches any number of tables up to `MOST_TABLES`.

    `forwarded`: another node passes the stream on; tables that are not here are its business.
    """

    def __init__(self, routes: Routes, caller: Caller, forwarded: bool, plays: bool) -> None:
        self._routes = routes
        self._caller = caller
        self._forwarded = forwarded
        self._plays = plays
        self._mailbox = Mailbox()
        self._watched: dict[str, tuple[Viewer, TableOwner]] = {}
        self._links: dict[str, Link] = {}
        self._following: dict[str, asyncio.Task[None]] = {}
        self._tries: dict[str, int] = {}
        self._acknowledging = Acknowledging()
        self._reader: asyncio.Task[None] | None = None
        self._room = asyncio.Semaphore(MOST_COMMANDS)
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        # Commands whose table left before their turn came, by table: later ones for it wait behind
        # them, those for other tables do not.
        self._again: dict[str, list[Sent]] = {}
        self._bringing: dict[str, asyncio.Task[None]] = {}
        # Commands that wait for their turn here, by table; an owner that is let go gives them back.
        self._proposed: dict[str, tuple[TableOwner, set[asyncio.Future[Answer]]]] = {}
        self._numbers = count()
        self._closed = False
        # Whoever notices that a table has left, what is done about it is this call's.
        self._context = copy_context()

    # ---- What the client hears

    async def updates(self) -> AsyncIterator[table_pb2.PlayResponse | bytes]:
        """What the client is to be told, until the stream ends; raises why it ends. Bytes are
        an update, or an answer as another node gave it. `close` must follow."""
        enough = False
        while not (enough and self._acknowledging.nothing_held):
            match await self._mailbox.get():
                case Told(viewer, change) if self._is_watching(viewer):
                    self._tries.pop(viewer.table_id, None)
                    yield as_response(viewer.update(change))
                    for response in self._acknowledging.told(viewer.table_id, viewer.seen):
                        yield response
                case Lost(viewer) if self._is_watching(viewer):
                    del self._watched[viewer.table_id]
                    self._follow(viewer.table_id, viewer.seen, None)
                case Heard(table_id, version, update):
                    yield update
                    for response in self._acknowledging.told(table_id, version):
                        yield response
                case Acknowledged() as answer:
                    for response in self._acknowledging.acknowledged(answer):
                        yield response
                case table_pb2.PlayResponse() | bytes() as response:
                    yield response
                case Enough():
                    enough = True
                case End(error):
                    if error is not None:
                        raise error
                    return

    def close(self) -> None:
        """Ends everything; commands that are under way go on, where they are."""
        self._closed = True
        for task in (self._reader, *self._bringing.values(), *self._following.values()):
            if task is not None:
                task.cancel()
        for viewer, owner in self._watched.values():
            owner.unwatch(viewer)
        for link in self._links.values():
            link.close()

    # ---- Watching

    async def watch(self, table_id: str, after: int) -> None:
        """Begins (or begins again) to watch a table; raises `TABLE_NOT_FOUND`, `NO_OWNER`."""
        self.stop(table_id)
        self._make_room(table_id)
        self._acknowledging.watch(table_id)
        try:
            await self._watch(table_id, after, 0)
        except CroupierError:
            self._not_watched(table_id)
            raise

    def _make_room(self, table_id: str) -> None:
        """For one more table, unless it is one that the stream has already."""
        tables = self._watched.keys() | self._links.keys() | self._following.keys()
        if table_id in tables or len(tables) < MOST_TABLES:
            return
        idle = (link for link in self._links.values() if not link.watching and not link.unanswered)
        link = next(idle, None)
        if link is None:
            raise CroupierError("BAD_REQUEST", f"{MOST_TABLES} tables a stream", "table_id")
        self._hang_up(link)

    def stop(self, table_id: str) -> None:
        """Ends the updates of a table."""
        self._not_watched(table_id)
        following = self._following.pop(table_id, None)
        if following is not None:
            following.cancel()
        watched = self._watched.pop(table_id, None)
        if watched is not None:
            viewer, owner = watched
            owner.unwatch(viewer)
        link = self._links.get(table_id)
        if link is not None and link.watching:
            link.stop_watching()

    def _not_watched(self, table_id: str) -> None:
        for answer in self._acknowledging.stop(table_id):
            self._mailbox.put(answer)

    async def _watch(self, table_id: str, after: int, tries: int) -> None:
        """Watches the table where it is, or will be in a moment."""
        for pause in PAUSES_S[tries:]:
            try:
                return await self._watch_now(table_id, after)
            except CroupierError as refused:
                if refused.reason not in _PASSING or self._forwarded:
                    raise
                there = tried_at(refused)
            await self._routes.whereabouts.moved(table_id, there, pause)
        raise CroupierError("NO_OWNER", "nobody takes the table up", "table_id")

    async def _watch_now(self, table_id: str, after: int) -> None:
        place = await self._place(table_id, self._routes.node.find_current)
        if isinstance(place, There):
            self._watch_there(table_id, after, place)
            return
        viewer = Viewer(viewer_name(self._caller), table_id, self._mailbox)
        self._watched[table_id] = (viewer, place)
        try:
            await place.watch(viewer, after)
            # The log may have been read for longer than the lease had left.
            if not self._routes.node.is_current(place):
                place.unwatch(viewer)
                raise GoneError
        except BaseException as error:
            if self._is_watching(viewer):
                del self._watched[table_id]
            if isinstance(error, GoneError):
                raise CroupierError("NO_OWNER", "the table is being taken up", "table_id") from None
            raise

    def _watch_there(self, table_id: str, after: int, there: There) -> None:
        if self._plays:
            self._link(table_id, there).watch(after)
            return
        request = table_pb2.WatchRequest(table_id=table_id, after_version=after)
        call = self._routes.peers.watch(there.address, request, self._caller.token)
        link = self._new_link(call, there, table_id)
        link.watching, link.seen = True, after

    def _is_watching(self, viewer: Viewer) -> bool:
        """Whether this is the latest viewer of its table, or none any more that counts."""
        known = self._watched.get(viewer.table_id)
        return known is not None and known[0] is viewer

    def _follow(self, table_id: str, seen: int, tried: There | None) -> None:
        """The table has left where it was: goes on as soon as it is somewhere else."""
        if self._forwarded:
            self._not_watched(table_id)
            gone = CroupierError("NO_OWNER", "the table has left this node", "table_id")
            self._mailbox.put(why(gone, table_id, ""))
            return
        tries = self._tries[table_id] = self._tries.get(table_id, 0) + 1
        following = self._until_back(table_id, seen, tried, tries)
        self._following[table_id] = asyncio.create_task(following, context=self._context)

    async def _until_back(self, table_id: str, seen: int, tried: There | None, tries: int) -> None:
        try:
            await self._wait(table_id, tried, tries)
            await self._watch(table_id, seen, tries)
        except Exception as error:
            self._mailbox.end(error)
        finally:
            if self._following.get(table_id) is asyncio.current_task():
                del self._following[table_id]

    async def _wait(self, table_id: str, tried: There | None, tries: int) -> None:
        """After so many tries (1…): until the next is worth its while."""
        pause = PAUSES_S[min(tries, len(PAUSES_S)) - 1]
        await self._routes.whereabouts.moved(table_id, tried, pause)

    # ---- Tables of other nodes

    async def _place(
        self, table_id: str, find: Callable[[str], Awaitable[TableOwner]]
    ) -> TableOwner | There:
        """The table here, or where it is."""
        if "\0" in table_id:  # Postgres takes it for no text
            raise CroupierError("BAD_REQUEST", "a text has a NUL in it", "table_id")
        try:
            return await find(table_id)
        except CroupierError as refused:
            there = tried_at(refused)
            if there is None or self._forwarded:
                raise
            return there

    def _link(self, table_id: str, there: There) -> Link:
        link = self._links.get(table_id)
        if link is not None and link.there != there:
            self._hang_up(link)
            link = None
        if link is None:
            call = self._routes.peers.play(there.address, self._caller.token)
            link = self._new_link(call, there, table_id)
        return link

    def _new_link(self, call: Any, there: There, table_id: str) -> Link:
        link = Link(call, there, table_id, self._heard, self._ended, self._routes.whereabouts)
        self._links[table_id] = link
        return link

    def _hang_up(self, link: Link) -> None:
        """The table is not there any more; what was not answered there is asked elsewhere."""
        del self._links[link.table_id]
        link.close()
        for sent in link.unanswered:
            self._send_again(sent)
        if link.watching:
            self._follow(link.table_id, link.seen, link.there)

    def _heard(self, link: Link, raw: bytes, answer: table_pb2.PlayResponse) -> None:
        kind = answer.WhichOneof("response")
        if kind == "update":
            if link.watching:
                link.seen = answer.update.version
                self._tries.pop(link.table_id, None)
                self._mailbox.put(Heard(link.table_id, link.seen, raw))
            return
        refused = answer.refusal if kind == "refusal" else None
        command_id = refused.command_id if refused else answer.acknowledgement.command_id
        sent = link.answered(command_id)
        passing = ELSEWHERE if sent is not None else _PASSING
        if refused is not None and refused.reason in passing:
            # The other node has the table no longer, or cannot show it: it is looked for from here.
            if sent is not None:
                self._send_again(sent)
            elif link.watching:
                link.watching = False
                self._follow(link.table_id, link.seen, link.there)
            return
        if sent is not None:
            self._answered()
        elif refused is not None:
            link.watching = False
            self._not_watched(link.table_id)
        if refused is None:
            version = answer.acknowledgement.version
            self._mailbox.put(Acknowledged(link.table_id, version, raw))
        else:
            self._mailbox.put(raw)

    def _ended(self, link: Link, error: grpc.aio.AioRpcError | None) -> None:
        if self._links.get(link.table_id) is link:
            del self._links[link.table_id]
        refused = None if error is None or is_lost(error) else from_rpc_error(error)
        if refused is not None and refused.reason not in _PASSING:
            self._mailbox.end(refused)
            return
        for sent in link.unanswered:
            self._send_again(sent)
        if link.watching:
            self._follow(link.table_id, link.seen, link.there)

    # ---- What the client says

    def read(self, requests: AsyncIterator[table_pb2.PlayRequest]) -> None:
        """Begins to take what the client says. The stream ends when the client has nothing more to
        say and everything is answered."""
        self._reader = asyncio.create_task(self._read(requests))

    async def _read(self, requests: AsyncIterator[table_pb2.PlayRequest]) -> None:
        try:
            async for request in requests:
                await self._take(request)
            await self._idle.wait()
            self._mailbox.put(Enough())
        except Exception as error:
            self._mailbox.end(error)

    async def _take(self, request: table_pb2.PlayRequest) -> None:
        table_id = request.table_id
        try:
            match request.WhichOneof("request"):
                case "watch":
                    await self.watch(table_id, request.watch.after_version)
                case "command":
                    await self._room.acquire()
                    self._under_way += 1
                    self._idle.clear()
                    await self._send(Sent(table_id, request.command, next(self._numbers)))
                case "stop":
                    self.stop(table_id)
                case _:
                    raise CroupierError("BAD_REQUEST", "neither watch nor command", "request")
        except CroupierError as refused:
            self._mailbox.put(why(refused, table_id, ""))

    async def _send(self, sent: Sent) -> None:
        """Brings a command to its table, now or as soon as that is somewhere."""
        if sent.table_id in self._again:
            self._send_again(sent)
        else:
            await self._try(sent)

    async def _try(self, sent: Sent) -> None:
        sent.tries += 1
        try:
            await self._send_now(sent)
        except CroupierError as refused:
            if refused.reason in ELSEWHERE and not self._forwarded:
                sent.tried = tried_at(refused)
                self._send_again(sent)
            else:
                self._refuse(sent, refused)

    def _refuse(self, sent: Sent, refused: CroupierError) -> None:
        self._mailbox.put(why(refused, sent.table_id, sent.command.command_id))
        self._answered()

    async def _send_now(self, sent: Sent) -> None:
        place = await self._place(sent.table_id, self._routes.node.find)
        link = self._links.get(sent.table_id)
        if link is not None and link.there != place:
            self._hang_up(link)
        owner, _ = self._proposed.get(sent.table_id, (place, None))
        earlier = any(each.number < sent.number for each in self._again.get(sent.table_id, ()))
        if earlier or owner is not place:
            sent.tries -= 1
            self._send_again(sent)  # behind those that were not answered where the table was
            return
        if isinstance(place, There):
            self._make_room(sent.table_id)
            sent.tried = place
            self._link(sent.table_id, place).send(sent)
            return
        sent.tried = None
        currency = place.state.table.currency
        done = place.propose(commands.proposal(self._caller, sent.command, currency))
        self._proposed.setdefault(sent.table_id, (place, set()))[1].add(done)
        done.add_done_callback(partial(self._told, sent))

    def _told(self, sent: Sent, done: asyncio.Future[Answer]) -> None:
        _, under_way = self._proposed[sent.table_id]
        under_way.discard(done)
        if not under_way:
            del self._proposed[sent.table_id]
        refused = done.exception()
        if refused is None:
            answer = done.result()
            acknowledgement = table_pb2.Acknowledgement(
                table_id=sent.table_id,
                command_id=sent.command.command_id,
                first_version=answer.first_version,
                version=answer.version,
            )
            response = table_pb2.PlayResponse(acknowledgement=acknowledgement)
            self._mailbox.put(
                Acknowledged(sent.table_id, answer.version, response.SerializeToString())
            )
        elif isinstance(refused, CroupierError):
            if refused.reason in ELSEWHERE and not self._forwarded:
                self._send_again(sent)
                return
            self._mailbox.put(why(refused, sent.table_id, sent.command.command_id))
        self._answered()

    def _answered(self) -> None:
        self._room.release()
        self._under_way -= 1
        if not self._under_way:
            self._idle.set()

    def _send_again(self, sent: Sent) -> None:
        if self._closed:
            return
        waiting = self._again.setdefault(sent.table_id, [])
        waiting.append(sent)
        waiting.sort(key=attrgetter("number"))
        if sent.table_id not in self._bringing:
            bringing = asyncio.create_task(self._bring(sent.table_id), context=self._context)
            self._bringing[sent.table_id] = bringing

    async def _bring(self, table_id: str) -> None:
        """Sends what waits for a table again, in order, each time that may be worth its while."""
        try:
            while waiting := self._again.get(table_id):
                tries = max(sent.tries for sent in waiting)
                await self._wait(table_id, waiting[0].tried, max(tries, 1))
                if table_id in self._proposed:
                    await asyncio.wait(self._proposed[table_id][1])
                for sent in waiting[:]:
                    if waiting[0] is not sent:
                        break  # an earlier one is back: what comes after it waits as well
                    del waiting[0]
                    if sent.tries >= len(PAUSES_S):
                        gone = CroupierError("NO_OWNER", "nobody takes the table up", "table_id")
                        self._refuse(sent, gone)
                        continue
                    await self._try(sent)
                if not waiting:
                    del self._again[table_id]
        except Exception as error:
            self._mailbox.end(error)
        finally:
            del self._bringing[table_id]
