"""The audit's tables: writing what the projection found, and the look-ups of the server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from services.audit.rows import Into, Row

if TYPE_CHECKING:
    import asyncpg

    Connection = (
        asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
    )

# A hand that is dealt again (TAB-08) is opened again; it is still the hand of the first time.
_STATEMENTS: Mapping[Into, str] = {
    Into.TABLE_OPENED: """
        INSERT INTO audit.game_table
               (table_id, name, game, rules_version, rules, currency, opened_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
    """,
    Into.TABLE_CLOSED: "UPDATE audit.game_table SET closed_at = $2 WHERE table_id = $1",
    Into.HAND_OPENED: """
        INSERT INTO audit.hand (hand_id, table_id, number, game, rules_version, shoe_id, players,
                                opened_version, opened_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT (hand_id) DO UPDATE SET shoe_id = excluded.shoe_id, players = excluded.players
    """,
    Into.DECISION: """
        INSERT INTO audit.decision (stream, version, hand_id, box, player, action, amount_minor,
                                    positions, defaulted, decided_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    """,
    Into.HAND_VOIDED: """
        WITH ended AS (
            UPDATE audit.hand
               SET ended_version = $2, ended_at = $3, voided = true, void_reason = $4
             WHERE hand_id = $1
         RETURNING hand_id
        )
        UPDATE audit.bet AS b SET returned_minor = b.stake_minor
          FROM ended WHERE b.hand_id = ended.hand_id
    """,
    Into.SHOE_REQUESTED: """
        INSERT INTO audit.shoe (shoe_id, table_id, requested_at) VALUES ($1, $2, $3)
        ON CONFLICT (shoe_id) DO UPDATE SET requested_at = excluded.requested_at
    """,
    Into.SHOE_OPENED: """
        INSERT INTO audit.shoe (shoe_id, table_id, opened_at, decks, publish, commitment)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (shoe_id) DO UPDATE
           SET table_id = excluded.table_id, opened_at = excluded.opened_at,
               decks = excluded.decks, publish = excluded.publish,
               commitment = excluded.commitment
    """,
    Into.SHOE_CUT: "UPDATE audit.shoe SET cut_by = $2, cut_at = $3 WHERE shoe_id = $1",
    Into.SHOE_SEALED: """
        UPDATE audit.shoe SET sealed_at = $2, root = $3, seeds_used = $4, seeds_withheld = $5
         WHERE shoe_id = $1
    """,
    Into.SHOE_RETIRED: """
        UPDATE audit.shoe
           SET retired_at = $2, retire_reason = $3, dealt = $4, burned = $5, exposed = $6
         WHERE shoe_id = $1
    """,
    Into.SHOE_CHECKED: """
        INSERT INTO audit.shoe (shoe_id, table_id, checked_at, holds, findings)
        VALUES ($1, '', $2, $3, $4)
        ON CONFLICT (shoe_id) DO UPDATE
           SET checked_at = excluded.checked_at, holds = excluded.holds,
               findings = excluded.findings
    """,
    Into.SHOE_READY: """
        INSERT INTO audit.shoe_ready (stream, version, shoe_id) VALUES ($1, $2, $3)
    """,
    Into.DISCLOSURE: """
        INSERT INTO audit.disclosure
               (shoe_id, version, purpose, disclosed_to, why, disclosed_at)
        VALUES ($1, $2, $3, $4, $5, $6)
    """,
}


# What every hand brings: one statement for all rows, which costs a third of a statement a row.
_TOGETHER: Mapping[Into, str] = {
    Into.EVENT: """
        INSERT INTO audit.event (position, derived, partition, body)
        SELECT * FROM unnest($1::bigint[], $2::boolean[], $3::text[], $4::jsonb[])
    """,
    Into.HAND_PLAYER: """
        INSERT INTO audit.hand_player (player, opened_at, hand_id)
        SELECT n.player, h.opened_at, h.hand_id
          FROM unnest($1::text[], $2::text[]) AS n (player, hand_id)
          JOIN audit.hand AS h USING (hand_id)
        ON CONFLICT DO NOTHING
    """,
    Into.BET: """
        INSERT INTO audit.bet (hand_id, box, player, wager, stake_minor)
        SELECT * FROM unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::bigint[])
        ON CONFLICT (hand_id, box, player, wager)
        DO UPDATE SET stake_minor = excluded.stake_minor
    """,
    Into.CARD: """
        INSERT INTO audit.card (stream, version, ordinal, hand_id, position, hand, face, viewer,
                                card, dealt_at)
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::integer[], $4::text[], $5::integer[],
                             $6::text[], $7::text[], $8::text[], $9::text[], $10::timestamptz[])
    """,
    Into.POSTING: """
        INSERT INTO audit.posting (stream, version, leg, transfer_id, kind, account, currency,
                                   amount_minor, hand_id, note, posted_at)
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::integer[], $4::uuid[], $5::text[],
                             $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[],
                             $11::timestamptz[])
    """,
    Into.HAND_SETTLED: """
        UPDATE audit.hand AS h
           SET ended_version = n.version, ended_at = n.at, result = n.result,
               staked_minor = n.staked, returned_minor = n.returned, pot_change_minor = n.pot,
               rake_minor = n.rake
          FROM unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::text[], $5::bigint[],
                      $6::bigint[], $7::bigint[], $8::bigint[])
               AS n (hand_id, version, at, result, staked, returned, pot, rake)
         WHERE h.hand_id = n.hand_id
    """,
    Into.BET_SETTLED: """
        INSERT INTO audit.bet (hand_id, box, player, wager, stake_minor, returned_minor)
        SELECT * FROM unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::bigint[],
                             $6::bigint[])
        ON CONFLICT (hand_id, box, player, wager)
        DO UPDATE SET stake_minor = excluded.stake_minor, returned_minor = excluded.returned_minor
    """,
    Into.SHOE_HAND: """
        INSERT INTO audit.shoe_hand (shoe_id, hand_id) SELECT * FROM unnest($1::text[], $2::text[])
        ON CONFLICT DO NOTHING
    """,
}
BY_KEY: Mapping[str, str] = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}
"""Each of these statements finds what it joins by key. By its statistics a young table is empty,
and plans made by them read all of it, each time, until somebody has counted its rows."""
_BET_KEY = 4
"""So many of a bet's values are its key, of which one statement may bring one row only."""


async def write(connection: Connection, rows: Iterable[Row]) -> None:
    """Writes the rows of any number of events, in the caller's transaction."""
    by_statement: dict[Into, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        by_statement[row.into].append(row.values)
    for into in Into:
        found = by_statement.get(into)
        if found is None:
            continue
        if into in (Into.BET, Into.BET_SETTLED):
            found = list({values[:_BET_KEY]: values for values in found}.values())
        together = _TOGETHER.get(into)
        if together is None:
            await connection.executemany(_STATEMENTS[into], found)
        else:
            await connection.execute(together, *map(list, zip(*found, strict=True)))
