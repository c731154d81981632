"""The statements on a service's consumer tables (shared/log/sql/080_create_consumer_tables.sql)."""

from __future__ import annotations

import re

_SCHEMA = re.compile(r"[a-z][a-z0-9_]{0,62}")

_ADD_BOOKMARK = """
    INSERT INTO SCHEMA.consumer_positions (consumer, partition) VALUES ($1, $2)
    ON CONFLICT DO NOTHING
"""
_READ_BOOKMARK = """
    SELECT position, hash,
           (SELECT e.recorded_at FROM log.events AS e
             WHERE e.partition = p.partition AND e.position = p.position) AS recorded_at
      FROM SCHEMA.consumer_positions AS p WHERE consumer = $1 AND partition = $2
"""
_LOCK_BOOKMARK = """
    SELECT position FROM SCHEMA.consumer_positions
     WHERE consumer = $1 AND partition = $2 FOR UPDATE
"""
_MOVE_BOOKMARK = """
    UPDATE SCHEMA.consumer_positions
       SET position = $4, hash = $5, moved_at = clock_timestamp()
     WHERE consumer = $1 AND partition = $2 AND position = $3
       AND EXISTS (SELECT FROM log.events AS e
                    WHERE e.partition = $2 AND e.position = $4 AND e.hash = $5)
    RETURNING true
"""
# The same for what a message brought: a head that the log has stands for all that led to it.
_MOVE_BOOKMARK_BY_BLOCK = """
    UPDATE SCHEMA.consumer_positions
       SET position = $4, hash = $5, moved_at = clock_timestamp()
     WHERE consumer = $1 AND partition = $2 AND position = $3
       AND EXISTS (SELECT FROM log.blocks AS b
                    WHERE b.partition = $2 AND b.first_position = $6 AND b.head = $7)
    RETURNING true
"""
_PARKED_STREAMS = """
    SELECT stream, bool_or(retry_requested) AS retry_requested FROM SCHEMA.parked_events
     WHERE consumer = $1 AND partition = $2 GROUP BY stream ORDER BY min(position)
"""
_PARK = """
    INSERT INTO SCHEMA.parked_events (
        consumer, stream, version, partition, position, type, error
    ) VALUES ($1, $2, $3, $4, $5, $6, $7)
"""
_PARKED_OF_STREAM = """
    SELECT version FROM SCHEMA.parked_events WHERE consumer = $1 AND stream = $2
     ORDER BY version LIMIT $3
"""
_UNPARK = """
    DELETE FROM SCHEMA.parked_events WHERE consumer = $1 AND stream = $2 AND version = $3
"""
_FAILED_AGAIN = """
    UPDATE SCHEMA.parked_events
       SET retry_requested = false,
           attempts = attempts + (version = $3)::integer,
           error = CASE WHEN version = $3 THEN $4 ELSE error END
     WHERE consumer = $1 AND stream = $2
"""
_LIST_PARKED = """
    SELECT consumer, stream, version, partition, position, type, error, attempts, parked_at,
           retry_requested
      FROM SCHEMA.parked_events
     ORDER BY consumer, partition, position LIMIT $1
"""
_REQUEST_RETRY = """
    UPDATE SCHEMA.parked_events SET retry_requested = true
     WHERE (stream = $1 OR $1 IS NULL) AND (consumer = $2 OR $2 IS NULL)
"""


class ConsumerTables:
    """The statements for the tables in the schema of a service."""

    def __init__(self, schema: str) -> None:
        if not _SCHEMA.fullmatch(schema):
            raise ValueError(f"no schema can be called {schema!r}")

        def inside(statement: str) -> str:
            return statement.replace("SCHEMA.", f"{schema}.")

        self.schema = schema
        self.add_bookmark = inside(_ADD_BOOKMARK)
        self.read_bookmark = inside(_READ_BOOKMARK)
        self.lock_bookmark = inside(_LOCK_BOOKMARK)
        self.move_bookmark = inside(_MOVE_BOOKMARK)
        self.move_bookmark_by_block = inside(_MOVE_BOOKMARK_BY_BLOCK)
        self.parked_streams = inside(_PARKED_STREAMS)
        self.park = inside(_PARK)
        self.parked_of_stream = inside(_PARKED_OF_STREAM)
        self.unpark = inside(_UNPARK)
        self.failed_again = inside(_FAILED_AGAIN)
        self.list_parked = inside(_LIST_PARKED)
        self.request_retry = inside(_REQUEST_RETRY)
