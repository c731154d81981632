"""What the other nodes have on their tables, for this node's lobby: one stream from each of them,
however many people watch here."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import structlog
from croupier.table.v1 import table_pb2

from services.table.directory import Directory
from services.table.forward import Peers
from services.table.lobby import Lobby
from shared.errors import CroupierError

LOOK_EVERY_S = 1.0

_log = structlog.get_logger()


class Neighbours:
    """Listens to the lobby of every other live node, with this node's own token."""

    def __init__(self, directory: Directory, peers: Peers, lobby: Lobby, token: str) -> None:
        self._directory = directory
        self._peers = peers
        self._lobby = lobby
        self._token = token
        self._listening: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            while True:
                await self._look()
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            for task in self._listening.values():
                task.cancel()

    async def _look(self) -> None:
        try:
            addresses = await self._directory.others()
        except CroupierError as error:
            _log.warning("neighbours_not_known", reason=error.reason)
            return
        except Exception as error:
            _log.error("neighbours_not_known", exc_info=error)
            return
        for address in self._listening.keys() - set(addresses):
            self._listening.pop(address).cancel()
        for address in addresses:
            known = self._listening.get(address)
            if known is None or known.done():
                self._listening[address] = asyncio.create_task(self._listen(address))

    async def _listen(self, address: str) -> None:
        call: Any = self._peers.lobby(address, self._token)
        try:
            async for raw in call:
                self._lobby.hear(address, table_pb2.WatchLobbyResponse.FromString(raw).tables)
        except grpc.aio.AioRpcError as error:
            _log.info("neighbour_lost", address=address, code=error.code().name)
        finally:
            call.cancel()
            self._lobby.forget_node(address)
