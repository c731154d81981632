"""A TCP wire between a client and a server, for tests that cut it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit


@dataclass
class Wire:
    """Forwards connections from its own port of 127.0.0.1 to `host`:`target`."""

    host: str
    target: int
    port: int = 0
    answers_swallowed: int = 0
    _swallow_next_answer: bool = False
    _cut_next_request: bool = False
    _open: set[asyncio.StreamWriter] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def through(self, url: str) -> str:
        """`url` with this wire's port in place of the server's."""
        parts = urlsplit(url)
        host = f"127.0.0.1:{self.port}"
        credentials, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{credentials}{at}{host}"))

    def swallow_next_answer(self) -> None:
        """The next thing that a server says is lost, and the connection with it."""
        self._swallow_next_answer = True

    def cut_next_request(self) -> None:
        """The next thing that a client says does not arrive; the connection is cut."""
        self._cut_next_request = True

    def cut(self) -> None:
        """Cuts all connections now."""
        for writer in tuple(self._open):
            writer.transport.abort()

    async def _connected(
        self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter
    ) -> None:
        try:
            from_server, to_server = await asyncio.open_connection(self.host, self.target)
        except OSError:
            to_client.transport.abort()
            return
        ends = (to_client, to_server)
        self._open.update(ends)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._forward(from_client, to_server, from_the_server=False))
                both.create_task(self._forward(from_server, to_client, from_the_server=True))
        except* (OSError, _CutError):
            pass
        finally:
            for end in ends:
                end.transport.abort()
                self._open.discard(end)

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, from_the_server: bool
    ) -> None:
        while data := await reader.read(65_536):
            if from_the_server and self._swallow_next_answer:
                self._swallow_next_answer = False
                self.answers_swallowed += 1
                raise _CutError
            if not from_the_server and self._cut_next_request:
                self._cut_next_request = False
                raise _CutError
            writer.write(data)
            await writer.drain()
        raise _CutError


class _CutError(Exception):
    """This connection is to end."""


@contextlib.asynccontextmanager
async def wire_to(url: str) -> AsyncIterator[Wire]:
    """A wire to the server that `url` (postgresql://, nats://) names."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    wire = Wire(parts.hostname, parts.port)

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(wire._connected(reader, writer))
        wire._tasks.add(task)
        task.add_done_callback(wire._tasks.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    wire.port = server.sockets[0].getsockname()[1]
    try:
        yield wire
    finally:
        server.close()
        wire.cut()
        await asyncio.gather(*wire._tasks, return_exceptions=True)
