"""Rows of the audit's tables, as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp


class Into(Enum):
    """Where a row goes, in the order in which the rows of several events are written.

    The order matters only within a hand and a shoe: each is opened, then filled, then ended.
    """

    EVENT = 1
    TABLE_OPENED = 2
    TABLE_CLOSED = 3
    HAND_OPENED = 4
    HAND_PLAYER = 5
    BET = 6
    CARD = 7
    DECISION = 8
    POSTING = 9
    HAND_SETTLED = 10
    BET_SETTLED = 11
    HAND_VOIDED = 12
    SHOE_REQUESTED = 13
    SHOE_OPENED = 14
    SHOE_CUT = 15
    SHOE_SEALED = 16
    SHOE_RETIRED = 17
    SHOE_CHECKED = 18
    SHOE_HAND = 19
    DISCLOSURE = 20
    SHOE_READY = 21


@dataclass(frozen=True, slots=True)
class Row:
    """Values for one statement of `storage`, in its order."""

    into: Into
    values: tuple[Any, ...]


def moment(stamp: Timestamp) -> datetime:
    """A time of an event, in UTC."""
    return stamp.ToDatetime(UTC)


def stamp(value: datetime | None) -> Timestamp | None:
    """The same the other way round."""
    if value is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(value)
    return stamp
