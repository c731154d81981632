"""Shoes that are open and that no table has: they are retired, and counted as given up.

A table that goes on knows its shoes. One is left over where its table is gone, or was closed while
an opening was on its way from a node that had been paused.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from uuid import uuid5

import structlog
from croupier.shuffle.v1 import events_pb2, shuffle_pb2

from services.table.directory import Directory, preferred_node
from services.table.errands import Errands
from services.table.loading import load
from services.table.owner import TableOwner
from shared.errors import CroupierError
from shared.ids import NAMESPACE_CROUPIER
from shared.log import EventLog
from shared.table.codec import TableCodec
from shared.table.state import Status, TableState

SWEEP_EVERY_S = 60.0
PAGE_SHOES = 500

_log = structlog.get_logger()


class Sweep:
    """Looks after the shoes of those tables that are this node's, or would be."""

    def __init__(
        self,
        node: str,
        log: EventLog,
        codec: TableCodec,
        directory: Directory,
        errands: Errands,
        owners: Mapping[str, TableOwner],
    ) -> None:
        self._node = node
        self._log = log
        self._codec = codec
        self._directory = directory
        self._errands = errands
        self._owners = owners

    async def run(self) -> None:
        """Once a minute, until it is cancelled."""
        while True:
            await asyncio.sleep(SWEEP_EVERY_S)
            try:
                await self.once()
            except CroupierError as error:
                _log.warning("shoes_not_swept", reason=error.reason)
            except Exception as error:
                _log.error("shoes_not_swept", exc_info=error)

    async def once(self) -> list[str]:
        """The shoes that were retired now."""
        nodes = [peer.node for peer in await self._directory.peers() if peer.takes_tables]
        retired = []
        async for shoe_id in self._open_shoes():
            table_id = shoe_id.rpartition("-s")[0]
            if preferred_node(table_id, nodes) != self._node:
                continue
            epoch = await self._left_over(table_id, shoe_id)
            if epoch and await self._retire(table_id, shoe_id, epoch):
                retired.append(shoe_id)
        return retired

    async def _open_shoes(self) -> AsyncIterator[str]:
        request = shuffle_pb2.ListOpenShoesRequest(page_size=PAGE_SHOES)
        while True:
            page = await self._errands.call(lambda shuffle: shuffle.ListOpenShoes, request)
            for shoe_id in page.shoe_ids:
                yield shoe_id
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def _left_over(self, table_id: str, shoe_id: str) -> int:
        """The epoch with which the shoe may be retired; 0 where its table has it, or may have."""
        owner = self._owners.get(table_id)
        if owner is not None and not owner.released:
            return owner.state.epoch if shoe_id not in shoes_of(owner.state) else 0
        try:
            state = await load(self._log, self._codec, table_id)
        except CroupierError as error:
            _log.warning("shoe_not_swept", table=table_id, shoe=shoe_id, reason=error.reason)
            return 0
        if state.config is None:
            known = await self._errands.call(
                lambda shuffle: shuffle.GetShoe, shuffle_pb2.GetShoeRequest(shoe_id=shoe_id)
            )
            return int(known.shoe.epoch) if known.shoe.table_id == table_id else 0
        closed = state.status is Status.CLOSED and shoe_id not in shoes_of(state)
        return state.epoch if closed else 0

    async def _retire(self, table_id: str, shoe_id: str, epoch: int) -> bool:
        request = shuffle_pb2.RetireShoeRequest(
            request_id=str(uuid5(NAMESPACE_CROUPIER, f"sweep/{shoe_id}")),
            shoe_id=shoe_id,
            table_id=table_id,
            epoch=epoch,
            retire_reason=events_pb2.RETIRE_REASON_ABORTED,
        )
        try:
            await self._errands.call(lambda shuffle: shuffle.RetireShoe, request)
        except CroupierError as refused:
            # Over meanwhile, or this node has lost the table: another one looks after it.
            if refused.reason not in ("SHOE_RETIRED", "STALE_EPOCH"):
                raise
            return False
        _log.warning("shoe_swept", table=table_id, shoe=shoe_id)
        return True


def shoes_of(state: TableState) -> frozenset[str]:
    """The shoes that the table has, or has still to put away."""
    at_hand = (shoe.shoe_id for shoe in (state.shoe, state.next_shoe) if shoe is not None)
    return frozenset((*at_hand, *(shoe_id for shoe_id, _, _ in state.putting_away)))
