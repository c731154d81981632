"""The wallet's word on chips, as it is brought to the tables that wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID, uuid4

from croupier.type.v1.money_pb2 import Money
from croupier.wallet.v1.events_pb2 import ChipsFunded

from services.table.cashier import Cashier
from services.table.proposal import Proposal
from shared.log import RecordedEvent
from shared.table import events as e
from shared.table.next_step import Chips, Waiting
from tests.polling import eventually
from tests.unit.wallet.given import raw


@dataclass
class Table:
    """A table that waits for ann's five chips, and what it is told."""

    table_id: str
    request_id: str
    released: bool = False
    told: list[e.Input] = field(default_factory=list)

    @property
    def waiting(self) -> Waiting:
        return Waiting((Chips(self.request_id, "ann", 5),), "", 0)

    async def submit(self, proposal: Proposal) -> None:
        self.told.append(proposal.make(7))


async def test_an_answer_that_cannot_be_read_is_in_nobodys_way() -> None:
    table = Table("t2", str(uuid4()))
    funded = ChipsFunded(
        table_id="t2",
        player="ann",
        amount=Money(currency="EUR", minor_units=5),
        request_id=table.request_id,
    )
    answers = [
        raw("ChipsFunded", payload)._replace(stream=f"wallet/{stream}")
        for stream, payload in (("t1", b"\xff"), ("t2", funded.SerializeToString()))
    ]

    class Log:
        async def find_by_causation(self, causes: Iterable[UUID]) -> list[RecordedEvent]:
            return answers

    cashier = Cashier(cast("Any", Log()))
    cashier.keep(cast("Any", table))
    running = asyncio.create_task(cashier.run())
    await eventually(lambda: table.told)
    assert table.told[0] == e.ChipsArrived("ann", 5, table.request_id, 7)
    running.cancel()
