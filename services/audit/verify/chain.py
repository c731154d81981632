"""The faults that `shared.log.chain` finds, as findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from services.audit.verify.findings import Check, Finding
from shared.log import RecordedEvent
from shared.log.chain import ChainReport, FaultKind

_WORDS = {
    FaultKind.EVENT: "the event contradicts its own hash",
    FaultKind.MISSING: "the event is missing",
    FaultKind.BLOCK: "the block that begins here contradicts the chain",
    FaultKind.HEAD: "the head of the partition is not where its blocks lead",
}
MAX_GAP = 2_000
"""Positions between two events of a hand that are looked at together with them."""


def chain_findings(report: ChainReport, events: Mapping[int, RecordedEvent]) -> Iterator[Finding]:
    """`events` holds what is at the positions of the faults, as far as anything is."""
    for fault in report.faults:
        event = events.get(fault.position)
        yield Finding(
            Check.CHAIN,
            _WORDS[fault.kind],
            (event.hand_id or "") if event is not None else "",
            event.stream if event is not None else "",
            event.version if event is not None else 0,
            report.partition,
            fault.position,
        )


def streams_finding(partition: str, head: int, versions: int) -> Iterator[Finding]:
    """Every event is one of a stream: the versions of a partition's streams add up to its head."""
    if versions != head:
        yield Finding(
            Check.CHAIN,
            f"the streams of the partition have {versions} events, the partition {head}",
            partition=partition,
            position=head,
        )


def ranges_of(events: Iterable[RecordedEvent]) -> dict[str, list[tuple[int, int]]]:
    """By partition: first and last positions that hold these events, near ones together."""
    positions: dict[str, list[int]] = {}
    for event in events:
        positions.setdefault(event.partition, []).append(event.position)
    return {partition: list(_ranges(sorted(held))) for partition, held in positions.items()}


def _ranges(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    first = last = positions[0]
    for position in positions:
        if position - last > MAX_GAP:
            yield first, last
            first = position
        last = position
    yield first, last
