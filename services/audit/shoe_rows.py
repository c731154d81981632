"""What each event about a shoe adds to the audit's tables. Pure; `projection` collects the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from croupier.audit.v1 import events_pb2 as audit
from croupier.shuffle.v1 import events_pb2 as shuffle
from croupier.table.v1 import events_pb2 as table

from services.audit.rows import Into, Row, moment
from shared.log import RecordedEvent

_Maker = Callable[[RecordedEvent, Any], Iterator[Row]]


def shoe_requested(event: RecordedEvent, asked: table.ShoeRequested) -> Iterator[Row]:
    """The table asks for a shoe."""
    table_id = event.stream.removeprefix("table/")
    yield Row(Into.SHOE_REQUESTED, (asked.shoe_id, table_id, event.recorded_at))


def shoe_ready(event: RecordedEvent, ready: table.ShoeReady) -> Iterator[Row]:
    """The table deals from this shoe from now on."""
    yield Row(Into.SHOE_READY, (event.stream, event.version, ready.shoe_id))


def _opened(event: RecordedEvent, opened: shuffle.ShoeOpened) -> Iterator[Row]:
    yield Row(
        Into.SHOE_OPENED,
        (
            shoe_of(event.stream),
            opened.table_id,
            event.recorded_at,
            opened.decks,
            opened.publish,
            opened.commitment,
        ),
    )


def _cut(event: RecordedEvent, cut: shuffle.ShoeCut) -> Iterator[Row]:
    yield Row(Into.SHOE_CUT, (shoe_of(event.stream), cut.by, cut.at))


def _sealed(event: RecordedEvent, sealed: shuffle.ShoeSealed) -> Iterator[Row]:
    values = (event.recorded_at, sealed.root, list(sealed.used), list(sealed.withheld))
    yield Row(Into.SHOE_SEALED, (shoe_of(event.stream), *values))


def _retired(event: RecordedEvent, retired: shuffle.ShoeRetired) -> Iterator[Row]:
    yield Row(
        Into.SHOE_RETIRED,
        (
            shoe_of(event.stream),
            event.recorded_at,
            reason_of(retired.retire_reason),
            retired.dealt_to,
            len(retired.burned),
            len(retired.exposed),
        ),
    )


def _disclosed(event: RecordedEvent, told: shuffle.ShoeDisclosed) -> Iterator[Row]:
    purpose = shuffle.DisclosurePurpose.Name(told.purpose)
    yield Row(
        Into.DISCLOSURE,
        (
            shoe_of(event.stream),
            event.version,
            purpose.removeprefix("DISCLOSURE_PURPOSE_").lower(),
            told.to,
            told.why,
            event.recorded_at,
        ),
    )


def _checked(event: RecordedEvent, checked: audit.ShoeChecked) -> Iterator[Row]:
    values = (moment(checked.at), checked.holds, list(checked.findings))
    yield Row(Into.SHOE_CHECKED, (checked.shoe_id, *values))


SHUFFLE_ROWS: Mapping[str, _Maker] = {
    "ShoeOpened": _opened,
    "ShoeCut": _cut,
    "ShoeSealed": _sealed,
    "ShoeRetired": _retired,
    "ShoeDisclosed": _disclosed,
}
AUDIT_ROWS: Mapping[str, _Maker] = {"ShoeChecked": _checked}


def shoe_of(stream: str) -> str:
    """The shoe's id in the name of its stream."""
    return stream.removeprefix("shuffle/")


def reason_of(retire_reason: shuffle.RetireReason.ValueType) -> str:
    """`aborted` for RETIRE_REASON_ABORTED."""
    return shuffle.RetireReason.Name(retire_reason).removeprefix("RETIRE_REASON_").lower()
