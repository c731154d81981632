"""Database migrations: SQL files, in order, each applied once and never changed afterwards."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg

# One lock for the whole database: two processes that migrate at the same time take turns.
_LOCK_KEY = 0x43_72_6F_75_70_69_65_72 & 0x7FFF_FFFF_FFFF_FFFF
_LOCK_TIMEOUT_MS = 60_000

_JOURNAL = """
CREATE SCHEMA IF NOT EXISTS migrations;
CREATE TABLE IF NOT EXISTS migrations.applied (
    source      text        NOT NULL,
    name        text        NOT NULL,
    sha256      bytea       NOT NULL CHECK (octet_length(sha256) = 32),
    applied_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (source, name)
);
"""


class MigrationError(Exception):
    """The database and the files do not fit together, or a file failed; the words say which."""


@dataclass(frozen=True, slots=True)
class Source:
    """A folder of `*.sql` files, applied in the order of their names. `name` is its mark in the
    journal and must stay what it is."""

    name: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Migration:
    """One file: where it comes from, its text and the SHA-256 of its bytes."""

    source: str
    name: str
    sql: str
    sha256: bytes


def load(sources: Sequence[Source]) -> list[Migration]:
    """All migrations, source by source in the given order, in each by name."""
    found = []
    for source in sources:
        for path in sorted(source.folder.glob("*.sql")):
            body = path.read_bytes()
            found.append(
                Migration(source.name, path.name, body.decode(), hashlib.sha256(body).digest())
            )
    return found


async def migrate(dsn: str, migrations: Sequence[Migration]) -> list[Migration]:
    """Applies what is not applied yet, each file in one transaction with its line in the journal.

    Returns what was applied now (nothing, the second time). Raises `MigrationError`, before it
    touches anything, if an applied file has changed or is gone, or if a new file sorts before an
    applied one of its source, or another process migrates for too long; and at the file that
    fails, which then leaves nothing behind.
    """
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(f"SET lock_timeout = {_LOCK_TIMEOUT_MS}")
        try:
            await connection.execute("SELECT pg_advisory_lock($1)", _LOCK_KEY)
        except asyncpg.LockNotAvailableError:
            raise MigrationError(
                f"another process has been migrating for {_LOCK_TIMEOUT_MS // 1_000} s"
            ) from None
        await connection.execute("SET lock_timeout = 0")
        await connection.execute(_JOURNAL)
        rows = await connection.fetch("SELECT source, name, sha256 FROM migrations.applied")
        applied = {(row["source"], row["name"]): bytes(row["sha256"]) for row in rows}
        _check(applied, migrations)
        due = [each for each in migrations if (each.source, each.name) not in applied]
        for migration in due:
            await _apply(connection, migration)
        return due
    finally:
        await connection.close()


def _check(applied: dict[tuple[str, str], bytes], migrations: Sequence[Migration]) -> None:
    known = {(each.source, each.name): each.sha256 for each in migrations}
    for key, sha256 in sorted(applied.items()):
        if key not in known:
            raise MigrationError(
                f"{key[0]}/{key[1]} is applied but unknown: is this software older than its data?"
            )
        if known[key] != sha256:
            raise MigrationError(f"{key[0]}/{key[1]} has changed since it was applied")
    for source, name in known:
        later = [key[1] for key in applied if key[0] == source and key[1] > name]
        if later and (source, name) not in applied:
            raise MigrationError(f"{source}/{name} is new, but {max(later)} is applied already")


async def _apply(connection: asyncpg.Connection, migration: Migration) -> None:
    try:
        async with connection.transaction():
            await connection.execute(migration.sql)
            await connection.execute(
                "INSERT INTO migrations.applied (source, name, sha256) VALUES ($1, $2, $3)",
                migration.source,
                migration.name,
                migration.sha256,
            )
    except asyncpg.PostgresError as error:
        raise MigrationError(f"{migration.source}/{migration.name}: {error}") from error
