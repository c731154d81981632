"""Transfers that no table's walk looks at: of the right legs, and about hands that were settled."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from croupier.table.v1 import events_pb2 as table_pb
from croupier.wallet.v1 import events_pb2 as pb

from services.audit.verify.cashier import CashierWalk
from services.audit.verify.findings import Read, read
from tests.unit.audit.given import as_read, played, told

TABLES = {"table/t1", "table/t-1"}


def posted(
    stream: str, kind: int, legs: dict[str, int], hand: str = "", caused: bool = False
) -> Read:
    body: Any = pb.TransferPosted(
        transfer_kind=kind,  # type: ignore[arg-type]
        currency="EUR",
        hand_id=hand,
        postings=[pb.Posting(account=name, minor_units=units) for name, units in legs.items()],
    )
    return as_read(body, stream, causation_id=uuid4() if caused else None)


def found(*reads: Read) -> list[str]:
    walk = CashierWalk(TABLES)
    findings = [finding for read in reads for finding in walk.step(read)]
    return told([*findings, *walk.end()])


IN = {"cashier/ann": -5, "player/ann": 5}
OUT = {"cashier/ann": 5, "player/ann": -5}
TO_ANN = {"house/t1": -5, "player/ann": 5}


def test_what_the_cashier_does_holds() -> None:
    assert found(posted("wallet/ann", pb.TRANSFER_KIND_DEPOSIT, IN)) == []
    assert found(posted("wallet/ann", pb.TRANSFER_KIND_WITHDRAWAL, OUT)) == []


@pytest.mark.parametrize(
    ("stream", "kind", "legs", "hand"),
    [
        ("wallet/ann", pb.TRANSFER_KIND_DEPOSIT, TO_ANN, ""),
        ("wallet/ann", pb.TRANSFER_KIND_DEPOSIT, OUT, ""),
        ("wallet/ann", pb.TRANSFER_KIND_DEPOSIT, IN, "t1-1"),
        ("wallet/bob", pb.TRANSFER_KIND_DEPOSIT, IN, ""),
        ("wallet/ann", pb.TRANSFER_KIND_WITHDRAWAL, IN, ""),
        ("wallet/ann", pb.TRANSFER_KIND_WITHDRAWAL, {**OUT, "house/t1": 1, "house/t2": -1}, ""),
        ("wallet/ann", pb.TRANSFER_KIND_CORRECTION, TO_ANN, ""),
        ("wallet/ann", pb.TRANSFER_KIND_CORRECTION, TO_ANN, "t-1-7"),
        ("wallet/ann", pb.TRANSFER_KIND_CORRECTION, TO_ANN, "t1-07"),
        ("wallet/ann", pb.TRANSFER_KIND_CORRECTION, {"house/t1": -5, "player/bob": 5}, "t1-7"),
        ("wallet/ann", pb.TRANSFER_KIND_UNSPECIFIED, IN, ""),
    ],
)
def test_a_transfer_with_other_legs_than_its_kind_has(
    stream: str, kind: int, legs: dict[str, int], hand: str
) -> None:
    assert found(posted(stream, kind, legs, hand)) == ["the transfer has not the legs of its kind"]


def test_what_no_walk_over_a_table_would_come_upon() -> None:
    told_ = ["the wallet has posted what no table asked for"]
    assert found(posted("wallet/t1", pb.TRANSFER_KIND_SETTLEMENT, TO_ANN)) == told_
    assert found(posted("wallet/ann", pb.TRANSFER_KIND_CASH_OUT, TO_ANN, caused=True)) == told_
    assert found(posted("wallet/t1", pb.TRANSFER_KIND_SETTLEMENT, TO_ANN, caused=True)) == []
    of_another = posted("wallet/t-1", pb.TRANSFER_KIND_SETTLEMENT, TO_ANN, caused=True)
    assert found(of_another) == ["the transfer moves money of another table"]


def test_TAB_12_only_a_settled_hand_is_corrected() -> None:
    correction = posted("wallet/ann", pb.TRANSFER_KIND_CORRECTION, TO_ANN, "t1-7")
    assert found(correction) == ["the corrected hand was not settled"]
    walk = CashierWalk(TABLES)
    assert told(walk.step(correction)) == []
    walk.settled(as_read(table_pb.HandSettled(), "table/t1", hand_id="t1-7").event)
    assert told(walk.end()) == []


async def test_an_evening_as_it_was_played_holds() -> None:
    evening = await played(2)
    walk = CashierWalk(TABLES)
    for event in await evening.log.read_partition("wallet.0", 0, 10_000):
        assert told(walk.step(read(event))) == []
