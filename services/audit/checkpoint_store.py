"""What is kept of the trees over the log, in schema `audit`: signed checkpoints and subtrees.

The leaves are not kept a second time: they are the hashes in log.events. Where those are no longer
what was signed, no proof comes out of them (`LogDivergedError`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from shared.checkpoints.checkpoint import MAX_SIZE, Checkpoint, origin_of, read_checkpoint
from shared.checkpoints.signed_note import NoteError, NoteVerifier
from shared.log import Connection, LogDivergedError
from shared.proofs.log_tree import TILE_WIDTH, Range, Subtree, Tile, range_hash, tiles_of
from shared.proofs.merkle import HASH_BYTES, leaf_hash

# A loss is everybody's: a partition that was there before, and is added again, is in the new line.
_STANDINGS = """
    SELECT p.name AS partition, p.position AS head, l.line, c.size, c.note, c.signed_at
      FROM log.partitions AS p
     CROSS JOIN (SELECT coalesce(max(line), 1) AS line FROM audit.checkpoint_line) AS l
      LEFT JOIN LATERAL (
            SELECT k.size, k.note, k.signed_at FROM audit.checkpoint AS k
             WHERE k.partition = p.name AND k.line = l.line AND k.size <= $2
             ORDER BY k.size DESC LIMIT 1
      ) AS c ON true
     WHERE $1::text = '' OR p.name = $1
     ORDER BY p.name
"""
_EVENT_HASHES = """
    SELECT count(*) AS events, string_agg(hash, ''::bytea ORDER BY position) AS hashes,
           min(octet_length(hash)) AS shortest, max(octet_length(hash)) AS longest
      FROM log.events WHERE partition = $1 AND position > $2 AND position <= $3
"""
_SUBTREES = """
    SELECT string_agg(hash, ''::bytea ORDER BY number) AS hashes FROM audit.subtree
     WHERE partition = $1 AND line = $2 AND level = $3 AND number >= $4 AND number < $5
"""
# From one partition's first key to the next one's: there is a row for every minute.
_SIGNED_PARTITIONS = """
    WITH RECURSIVE signed AS (
        SELECT min(partition) AS partition FROM audit.checkpoint
        UNION ALL
        SELECT (SELECT min(c.partition) FROM audit.checkpoint AS c
                 WHERE c.partition > signed.partition)
          FROM signed WHERE signed.partition IS NOT NULL
    )
    SELECT partition FROM signed
     WHERE partition IS NOT NULL AND partition <> ALL ($1) ORDER BY partition
"""
_KEEP_SUBTREES = """
    INSERT INTO audit.subtree (partition, line, level, number, hash)
    SELECT $1, $2, * FROM unnest($3::integer[], $4::bigint[], $5::bytea[])
"""
_KEEP_CHECKPOINT = """
    INSERT INTO audit.checkpoint (partition, line, size, note) VALUES ($1, $2, $3, $4)
"""


@dataclass(frozen=True, slots=True)
class Signed:
    """A signed note as it is kept: the partition's first `size` events."""

    size: int
    note: str
    signed_at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """A partition: how many events it has, its line of checkpoints now, and one of that line, or
    None where there is none (yet)."""

    partition: str
    head: int
    line: int
    signed: Signed | None

    def checkpoint(self, verifier: NoteVerifier) -> Checkpoint | None:
        """What `signed` says. Raises `LogDivergedError` where that was not signed by this house for
        this partition and size: somebody has changed what is kept."""
        if self.signed is None:
            return None
        try:
            told = read_checkpoint(self.signed.note, verifier)
        except NoteError as error:
            raise LogDivergedError(f"the checkpoint kept of {self.partition}: {error}") from error
        origin = origin_of(verifier.name, self.partition, self.line)
        if (told.origin, told.size) != (origin, self.signed.size):
            raise LogDivergedError(f"what is kept of {self.partition} is one of {told.origin}")
        return told


async def standings(connection: Connection, partition: str = "", size: int = 0) -> list[Standing]:
    """Every partition (or this one), by name, with its newest checkpoint (or that of `size`)."""
    return [
        Standing(
            row["partition"],
            row["head"],
            row["line"],
            # The one before a size is not the one of it.
            Signed(row["size"], row["note"], row["signed_at"])
            if row["size"] is not None and size in (0, row["size"])
            else None,
        )
        for row in await connection.fetch(_STANDINGS, partition, size or MAX_SIZE)
    ]


async def kept_and_gone(connection: Connection) -> tuple[list[Standing], list[str]]:
    """Every partition, and the names of those of which something was signed, and which the log does
    not have any more."""
    kept = await standings(connection)
    there = [standing.partition for standing in kept]
    rows = await connection.fetch(_SIGNED_PARTITIONS, there)
    return kept, [row["partition"] for row in rows]


async def event_hashes(
    connection: Connection, partition: str, after: int, until: int
) -> list[bytes]:
    """The hashes of the events behind position `after` up to `until`, which the log must have."""
    row = await connection.fetchrow(_EVENT_HASHES, partition, after, until)
    assert row is not None
    if row["events"] != until - after:
        raise LogDivergedError(f"{partition} lacks events between {after + 1} and {until}")
    if row["longest"] != row["shortest"] or row["longest"] not in (None, HASH_BYTES):
        raise LogDivergedError(f"{partition} has no hashes between {after + 1} and {until}")
    return _each(row["hashes"])


async def tile_of(
    connection: Connection, partition: str, line: int, tile: Tile, size: int
) -> list[bytes]:
    """The hashes of a tile in the tree of `size` leaves, which the log must still have."""
    first = tile.number * TILE_WIDTH
    if tile.level == 0:
        until = min(first + TILE_WIDTH, size)
        return [leaf_hash(each) for each in await event_hashes(connection, partition, first, until)]
    hashes = await connection.fetchval(
        _SUBTREES, partition, line, tile.level, first, first + TILE_WIDTH
    )
    return _each(hashes)


async def hashes_of(
    connection: Connection, standing: Standing, ranges: Sequence[Range], size: int
) -> list[bytes]:
    """The hashes of `ranges` in the tree of `size` leaves, all of which were signed.

    Raises `LogDivergedError` where what is kept does not suffice.
    """
    partition, line = standing.partition, standing.line
    tiles = {
        tile: await tile_of(connection, partition, line, tile, size)
        for tile in sorted(tiles_of(ranges))
    }
    try:
        return [range_hash(each, tiles) for each in ranges]
    except LookupError as error:
        raise LogDivergedError(f"subtrees of {partition} are missing") from error


async def keep(
    connection: Connection, standing: Standing, subtrees: Iterable[Subtree], size: int, note: str
) -> None:
    """Appends a checkpoint and what its tree has more than the one before, in the caller's
    transaction. Raises `LogDivergedError` where some of it is kept already: what covered it is
    gone."""
    partition, line = standing.partition, standing.line
    columns = [list(column) for column in zip(*subtrees, strict=True)]
    try:
        if columns:
            await connection.execute(_KEEP_SUBTREES, partition, line, *columns)
        await connection.execute(_KEEP_CHECKPOINT, partition, line, size, note)
    except asyncpg.UniqueViolationError as error:
        raise LogDivergedError(f"more is kept of {partition} than the newest checkpoint") from error


def _each(joined: bytes | None) -> list[bytes]:
    together = joined or b""
    return [together[at : at + HASH_BYTES] for at in range(0, len(together), HASH_BYTES)]
