"""The wallet's word on buy-ins: from the bus when it is quick, from the log in any case."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID, uuid4

import structlog
from croupier.wallet.v1 import events_pb2 as wallet_events
from nats.aio.client import Client as Nats
from nats.aio.msg import Msg

from services.table.owner import TableOwner
from services.table.proposal import MakeFact, Proposal
from shared.errors import CroupierError
from shared.log import EventLog, RecordedEvent
from shared.table import events as e
from shared.table.next_step import Chips

LOOK_EVERY_S = 2.0
MOST_AT_ONCE = 1_000
_ANSWERS = ("ChipsFunded", "ChipsRefused")

_log = structlog.get_logger()


class Cashier:
    """Brings `ChipsFunded` and `ChipsRefused` to the tables of this node that wait for them."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._owners: dict[str, TableOwner] = {}
        self._look = asyncio.Event()

    def keep(self, owner: TableOwner) -> None:
        """The table has changed: it waits for the wallet, or no longer does."""
        if not owner.released and _chips(owner):
            self._owners[owner.table_id] = owner
        elif self._owners.get(owner.table_id) is owner:
            del self._owners[owner.table_id]

    async def listen(self, nats: Nats) -> None:
        """Hears the wallet's batches as they are published; a missed one costs two seconds."""
        await nats.subscribe("croupier.wallet.>", cb=self._heard)

    def look_now(self) -> None:
        """Looks into the log without waiting for the next round (after a claim)."""
        self._look.set()

    async def run(self) -> None:
        """Looks for what is awaited, every two seconds, for ever."""
        while True:
            try:
                await self._look_into_log()
            except CroupierError as error:
                _log.warning("chips_not_looked_up", reason=error.reason)
            except Exception as error:  # one look that fails must not be the last
                _log.error("chips_not_looked_up", exc_info=error)
            try:
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._look.wait()
            except TimeoutError:
                continue
            finally:
                self._look.clear()

    async def _heard(self, message: Msg) -> None:
        # Only a hint: chips become playable by what the log says, not by what the bus says. The
        # wallet's answers to a table are in the stream wallet/<table id>.
        if message.subject.rpartition(".")[2] in self._owners:
            self._look.set()

    async def _look_into_log(self) -> None:
        awaited = [
            UUID(errand.request_id) for owner in self._owners.values() for errand in _chips(owner)
        ]
        for first in range(0, len(awaited), MOST_AT_ONCE):
            for event in await self._log.find_by_causation(awaited[first : first + MOST_AT_ONCE]):
                if event.type in _ANSWERS and event.stream.startswith("wallet/"):
                    await self._bring(event)

    async def _bring(self, event: RecordedEvent) -> None:
        try:
            answer = getattr(wallet_events, event.type).FromString(event.payload)
            owner = self._owners.get(answer.table_id)
            if owner is None or owner.released or not _awaited(owner, answer.request_id):
                return
            await owner.submit(
                Proposal(_fact(event.type, answer), "wallet", uuid4(), causation=event.id)
            )
        except CroupierError as refused:
            # It came twice, or the table is let go: the log is looked at again anyway.
            _log.info("chips_not_taken", stream=event.stream, reason=refused.reason)
        except Exception as error:  # one that cannot be read must not stop those behind it
            _log.error("chips_not_taken", stream=event.stream, exc_info=error)


def _chips(owner: TableOwner) -> list[Chips]:
    """The buy-ins that the table waits for."""
    return [errand for errand in owner.waiting.errands if isinstance(errand, Chips)]


def _awaited(owner: TableOwner, request_id: str) -> bool:
    return any(errand.request_id == request_id for errand in _chips(owner))


def _fact(kind: str, answer: Any) -> MakeFact:
    amount = answer.amount.minor_units
    if kind == "ChipsFunded":
        return lambda at: e.ChipsArrived(answer.player, amount, answer.request_id, at)
    return lambda at: e.ChipsDenied(answer.player, amount, answer.request_id, answer.reason, at)
