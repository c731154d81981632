"""What may be asked of the audit's index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from services.audit.page_tokens import END, EPOCH, read_token, token
from shared.log import Connection

# One statement a kind of list, so that each walks down its own index and stops at the page's end.
_HANDS = """
    SELECT h.hand_id, h.table_id, h.game, h.number, h.shoe_id, h.result, h.players, h.opened_at,
           h.ended_at, h.voided
      FROM audit.hand AS h
     WHERE LISTED h.opened_at >= $1 AND h.opened_at < $2 AND (h.opened_at, h.hand_id) < ($3, $4)
     ORDER BY h.opened_at DESC, h.hand_id DESC LIMIT $5
"""
_ALL_HANDS = _HANDS.replace("LISTED", "")
_HANDS_OF_TABLE = _HANDS.replace("LISTED", "h.table_id = $6 AND ($7 = '' OR h.game = $7) AND")
_HANDS_OF_GAME = _HANDS.replace("LISTED", "h.game = $6 AND")
_HANDS_OF_PLAYER = """
    SELECT h.hand_id, h.table_id, h.game, h.number, h.shoe_id, h.result, h.players, h.opened_at,
           h.ended_at, h.voided
      FROM audit.hand_player AS p JOIN audit.hand AS h USING (hand_id)
     WHERE p.player = $6 AND ($7 = '' OR h.table_id = $7) AND ($8 = '' OR h.game = $8)
       AND p.opened_at >= $1 AND p.opened_at < $2 AND (p.opened_at, p.hand_id) < ($3, $4)
     ORDER BY p.opened_at DESC, p.hand_id DESC LIMIT $5
"""
_COUNT = """
    SELECT count(*) FROM audit.hand WHERE ended_at IS NOT NULL AND ($1 = '' OR table_id = $1)
"""
_PROGRESS = """
    SELECT l.name AS partition, coalesce(c.position, 0) AS indexed, l.position AS head,
           (SELECT count(*) FROM audit.parked_events AS e WHERE e.partition = l.name) AS parked
      FROM log.partitions AS l
      LEFT JOIN audit.consumer_positions AS c ON c.partition = l.name AND c.consumer = 'audit'
     ORDER BY l.name
"""


@dataclass(frozen=True, slots=True)
class IndexedHand:
    """A line of the list of hands. `result` and `ended_at` are None while it is played."""

    hand_id: str
    table_id: str
    game: str
    number: int
    shoe_id: str
    result: str | None
    players: Sequence[str]
    opened_at: datetime
    ended_at: datetime | None
    voided: bool


@dataclass(frozen=True, slots=True)
class Filter:
    """Which hands: empty fields do not filter. `since` counts, `until` does not."""

    table_id: str = ""
    player: str = ""
    game: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class PartitionProgress:
    """How far a partition is indexed, and how many of its events are parked."""

    partition: str
    indexed: int
    head: int
    parked: int


async def list_hands(
    connection: Connection, wanted: Filter, page_size: int, page_token: str
) -> tuple[list[IndexedHand], str]:
    """A page of hands, newest first, and the token of the next page ("" at the end).

    Raises `BAD_PAGE_TOKEN`.
    """
    opened_at, hand_id = read_token(page_token)
    since, until = wanted.since or EPOCH, wanted.until or END
    page = (since, until, opened_at, hand_id, page_size + 1)
    if wanted.player:
        rows = await connection.fetch(
            _HANDS_OF_PLAYER, *page, wanted.player, wanted.table_id, wanted.game
        )
    elif wanted.table_id:
        rows = await connection.fetch(_HANDS_OF_TABLE, *page, wanted.table_id, wanted.game)
    elif wanted.game:
        rows = await connection.fetch(_HANDS_OF_GAME, *page, wanted.game)
    else:
        rows = await connection.fetch(_ALL_HANDS, *page)
    hands = [IndexedHand(*row) for row in rows[:page_size]]
    if len(rows) <= page_size:
        return hands, ""
    return hands, token(hands[-1].opened_at, hands[-1].hand_id)


async def count_hands(connection: Connection, table_id: str = "") -> int:
    """How many hands are over, as far as they are indexed."""
    return int(await connection.fetchval(_COUNT, table_id))


async def progress(connection: Connection) -> list[PartitionProgress]:
    """How far the index has come."""
    return [PartitionProgress(*row) for row in await connection.fetch(_PROGRESS)]
