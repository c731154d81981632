"""Faults of the chain as findings, and which parts of the chain hold a hand."""

from __future__ import annotations

from croupier.table.v1 import events_pb2 as pb

from services.audit.verify.chain import MAX_GAP, chain_findings, ranges_of, streams_finding
from services.audit.verify.findings import Check, Finding
from shared.log.chain import ChainFault, ChainReport, FaultKind
from tests.unit.audit.given import as_read


def test_a_fault_names_the_event_where_there_is_one() -> None:
    event = as_read(pb.BetsDone(), "table/t1", 7, hand_id="t1-5").event
    outside = as_read(pb.TableClosing(), "table/t1", 8).event
    faults = (
        ChainFault(FaultKind.EVENT, 7),
        ChainFault(FaultKind.BLOCK, 8),
        ChainFault(FaultKind.MISSING, 9),
    )
    report = ChainReport("table.0", 1, 9, bytes(32), faults)
    assert list(chain_findings(report, {7: event, 8: outside})) == [
        Finding(
            Check.CHAIN,
            "the event contradicts its own hash",
            "t1-5",
            "table/t1",
            7,
            "table.0",
            7,
        ),
        Finding(
            Check.CHAIN,
            "the block that begins here contradicts the chain",
            "",
            "table/t1",
            8,
            "table.0",
            8,
        ),
        Finding(Check.CHAIN, "the event is missing", "", "", 0, "table.0", 9),
    ]


def test_streams_add_up_to_their_partition() -> None:
    assert list(streams_finding("table.0", 7, 7)) == []
    [found] = streams_finding("table.0", 7, 9)
    assert found.message == "the streams of the partition have 9 events, the partition 7"


def test_near_positions_are_looked_at_together() -> None:
    def event(partition: str, position: int):  # type: ignore[no-untyped-def]
        return as_read(pb.BetsDone(), partition=partition, position=position).event

    far = 20 + MAX_GAP + 1
    events = [event("table.0", at) for at in (20, 5, far)] + [event("wallet.0", 3)]
    assert ranges_of(events) == {"table.0": [(5, 20), (far, far)], "wallet.0": [(3, 3)]}
