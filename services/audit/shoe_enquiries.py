"""What may be asked of the audit's index of shoes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg
from croupier.audit.v1 import audit_pb2 as pb

from services.audit.page_tokens import read_token, token
from shared.log import Connection

_CONDITIONS: Mapping[int, str] = {
    pb.SHOE_FILTER_UNSPECIFIED: "true",
    pb.SHOE_FILTER_OPEN: "s.retired_at IS NULL",
    pb.SHOE_FILTER_ABORTED: "s.retire_reason = 'aborted' OR s.dealt = 0",
    pb.SHOE_FILTER_UNCHECKED: "s.retired_at IS NOT NULL AND NOT s.publish AND s.checked_at IS NULL",
    pb.SHOE_FILTER_FAILED: "NOT s.holds OR s.opened_at IS NOT NULL AND s.requested_at IS NULL",
}
# A shoe that was asked for and not opened stands where it was asked for.
_SHOES = """
    SELECT s.shoe_id, s.table_id, s.decks, s.publish, s.commitment, s.requested_at, s.opened_at,
           s.sealed_at, s.root, s.cut_by, s.seeds_used, s.seeds_withheld, s.retired_at,
           s.retire_reason, s.dealt, s.burned, s.exposed, s.checked_at, s.holds, s.findings,
           coalesce(s.opened_at, s.requested_at) AS since,
           (SELECT count(*) FROM audit.shoe_hand AS h WHERE h.shoe_id = s.shoe_id) AS hands,
           (SELECT count(*) FROM audit.disclosure AS d
             WHERE d.shoe_id = s.shoe_id AND d.purpose = 'person') AS disclosures
      FROM audit.shoe AS s
     WHERE ($1 = '' OR s.table_id = $1) AND (CONDITION)
       AND (coalesce(s.opened_at, s.requested_at), s.shoe_id) < ($2, $3)
     ORDER BY since DESC, s.shoe_id DESC LIMIT $4
"""
_STATEMENTS = {name: _SHOES.replace("CONDITION", test) for name, test in _CONDITIONS.items()}
_TOTALS = """
    SELECT count(s.requested_at) AS requested, count(s.opened_at) AS opened,
           count(s.opened_at) - count(s.retired_at) AS open,
           count(*) FILTER (WHERE s.retire_reason = 'played') AS played,
           count(*) FILTER (WHERE s.retire_reason = 'redeal') AS redeal,
           count(*) FILTER (WHERE s.retire_reason = 'table_closed') AS table_closed,
           count(*) FILTER (WHERE s.retire_reason = 'aborted') AS aborted,
           count(*) FILTER (WHERE s.retire_reason = 'log_recovered') AS log_recovered,
           count(*) FILTER (WHERE s.dealt = 0) AS never_dealt,
           count(*) FILTER (WHERE s.opened_at IS NOT NULL AND s.requested_at IS NULL)
               AS not_requested,
           count(*) FILTER (WHERE s.retired_at IS NOT NULL AND NOT s.publish
                                  AND s.checked_at IS NULL) AS unchecked,
           count(*) FILTER (WHERE NOT s.holds) AS failed,
           coalesce(sum(cardinality(s.seeds_used)), 0)::bigint AS seeds_used,
           coalesce(sum(cardinality(s.seeds_withheld)), 0)::bigint AS seeds_withheld
      FROM audit.shoe AS s WHERE $1 = '' OR s.table_id = $1
"""
_UNCHECKED = """
    SELECT shoe_id FROM audit.shoe
     WHERE retired_at IS NOT NULL AND NOT publish AND checked_at IS NULL
     ORDER BY retired_at LIMIT $1
"""
# `$1`: the player who asks, or "" for all.
_DISCLOSURES = """
    SELECT d.shoe_id, d.version, coalesce(s.table_id, '') AS table_id, d.disclosed_to, d.why,
           d.disclosed_at,
           ARRAY(SELECT h.hand_id FROM audit.shoe_hand AS h
                  WHERE h.shoe_id = d.shoe_id
                    AND ($1 = '' OR EXISTS (SELECT FROM audit.hand_player AS p
                                             WHERE p.hand_id = h.hand_id AND p.player = $1))
                  ORDER BY h.hand_id LIMIT 1000) AS hand_ids
      FROM audit.disclosure AS d LEFT JOIN audit.shoe AS s USING (shoe_id)
     WHERE d.purpose = 'person' AND ($2 = '' OR d.shoe_id = $2)
       AND ($1 = '' OR EXISTS (
                SELECT FROM audit.shoe_hand AS h JOIN audit.hand_player AS p USING (hand_id)
                 WHERE h.shoe_id = d.shoe_id AND p.player = $1))
       AND (d.disclosed_at, d.shoe_id || ':' || d.version) < ($3, $4)
     ORDER BY d.disclosed_at DESC, d.shoe_id || ':' || d.version DESC LIMIT $5
"""


@dataclass(frozen=True, slots=True)
class DisclosureLine:
    """Somebody has looked at a shoe; `hand_ids` are those that concern whoever asks."""

    shoe_id: str
    version: int
    table_id: str
    to: str
    why: str
    at: datetime
    hand_ids: Sequence[str]


async def list_shoes(
    connection: Connection, table_id: str, which: int, page_size: int, page_token: str
) -> tuple[list[asyncpg.Record], str]:
    """A page of shoes, newest first, and the token of the next page ("" at the end).

    Raises `BAD_PAGE_TOKEN`.
    """
    since, shoe_id = read_token(page_token)
    rows = await connection.fetch(_STATEMENTS[which], table_id, since, shoe_id, page_size + 1)
    page = list(rows[:page_size])
    more = len(rows) > page_size
    return page, token(page[-1]["since"], page[-1]["shoe_id"]) if more else ""


async def shoe_totals(connection: Connection, table_id: str) -> asyncpg.Record:
    """The counts of `ShoeTotals`, by their names."""
    row = await connection.fetchrow(_TOTALS, table_id)
    assert row is not None
    return row


async def unchecked_shoes(connection: Connection, most: int) -> list[str]:
    """Shoes that are to be derived again, those first that were retired first."""
    return [row["shoe_id"] for row in await connection.fetch(_UNCHECKED, most)]


async def list_disclosures(
    connection: Connection, player: str, shoe_id: str, page_size: int, page_token: str
) -> tuple[list[DisclosureLine], str]:
    """A page of what persons have looked at, newest first, and the token of the next page. With a
    `player` only shoes that his hands were dealt from.

    Raises `BAD_PAGE_TOKEN`.
    """
    at, last = read_token(page_token)
    rows = await connection.fetch(_DISCLOSURES, player, shoe_id, at, last, page_size + 1)
    page = [DisclosureLine(*row) for row in rows[:page_size]]
    if len(rows) <= page_size:
        return page, ""
    return page, token(page[-1].at, f"{page[-1].shoe_id}:{page[-1].version}")
