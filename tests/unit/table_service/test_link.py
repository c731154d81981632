"""A table's part of a client's stream at another node: what is said there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from croupier.table.v1 import table_pb2 as pb

from services.table.link import Link, Sent
from services.table.whereabouts import There


class Call:
    """As a gRPC call is: it breaks when a message is written before the last one has gone, and
    whoever reads is not told."""

    def __init__(self, messages: int) -> None:
        self.written: list[str] = []
        self.commands: list[str] = []
        self.answers: asyncio.Queue[pb.PlayResponse] = asyncio.Queue()
        self.all_written = asyncio.Event()
        self._messages = messages
        self._writing = False

    async def write(self, message: bytes) -> None:
        if self._writing:
            raise asyncio.InvalidStateError
        self._writing = True
        await asyncio.sleep(0)
        self._writing = False
        request = pb.PlayRequest.FromString(message)
        self.written.append(str(request.WhichOneof("request")))
        if request.HasField("command"):
            self.commands.append(request.command.command_id)
        if len(self.written) == self._messages:
            self.all_written.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield (await self.answers.get()).SerializeToString()

    def cancel(self) -> None:
        """Nothing runs here."""


class Whereabouts:
    """The table stays where it is."""

    def rely(self, *_: Any) -> Any:
        return _nothing


def _nothing(*_: Any) -> None:
    """Nobody listens."""


async def test_what_is_said_at_once_is_said_one_after_the_other() -> None:
    call = Call(3)
    whereabouts: Any = Whereabouts()
    link = Link(call, There("n1:1", 1), "t1", _nothing, _nothing, whereabouts)
    link.watch(7)
    link.send(Sent("t1", pb.Command(command_id="1"), 1))
    await asyncio.sleep(0)
    link.send(Sent("t1", pb.Command(command_id="2"), 2))
    async with asyncio.timeout(5):
        await call.all_written.wait()
    assert call.written == ["watch", "command", "command"]
    link.close()
