"""The house at one moment, for the checks of everything: read in one transaction."""

from __future__ import annotations

from services.audit.check_all import Snapshot
from services.audit.verify.ledger import Book
from shared.log import Connection, Head

_STREAMS = "SELECT stream, version FROM log.streams WHERE stream ^@ 'table/'"
_SHOES = "SELECT stream FROM log.streams WHERE stream ^@ 'shuffle/' ORDER BY stream"
_STREAM_TOTALS = """
    SELECT partition, sum(version)::bigint AS total FROM log.streams GROUP BY partition
"""
_HEADS = "SELECT name, position, head, recorded_at FROM log.partitions ORDER BY name"
_BOOKS = """
    SELECT coalesce(a.account, p.account) AS account, coalesce(a.currency, '') AS currency,
           coalesce(a.balance, 0) AS balance, coalesce(a.postings, 0) AS postings,
           coalesce(p.amount, 0) AS posted_sum, coalesce(p.count, 0) AS posted_count,
           coalesce(p.last, 0) AS posted_last
      FROM wallet.accounts AS a
      FULL JOIN (SELECT account, sum(amount)::bigint AS amount, count(*) AS count,
                        max(sequence) AS last
                   FROM wallet.postings GROUP BY account) AS p ON p.account = a.account
"""
# The least, should several consumers of the wallet follow a partition.
_APPLIED = """
    SELECT partition, min(position) AS position FROM wallet.consumer_positions
     WHERE partition ^@ 'table.' GROUP BY partition
"""
_PARKED = "SELECT DISTINCT stream FROM wallet.parked_events ORDER BY stream"


async def applied_by_wallet(connection: Connection) -> dict[str, int]:
    """How far the wallet has come, by table partition."""
    return {row["partition"]: row["position"] for row in await connection.fetch(_APPLIED)}


async def take_snapshot(connection: Connection) -> Snapshot:
    """All of it as of the same moment."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        heads = await connection.fetch(_HEADS)
        streams = await connection.fetch(_STREAMS)
        totals = await connection.fetch(_STREAM_TOTALS)
        books = await connection.fetch(_BOOKS)
        applied = await applied_by_wallet(connection)
        parked = await connection.fetch(_PARKED)
        shoes = await connection.fetch(_SHOES)
    return Snapshot(
        {row["name"]: Head(row["position"], row["head"], row["recorded_at"]) for row in heads},
        {row["stream"]: row["version"] for row in streams},
        {row["partition"]: row["total"] for row in totals},
        {row["account"]: Book(*list(row.values())[1:]) for row in books},
        applied,
        [row["stream"] for row in parked],
        [row["stream"] for row in shoes],
    )
