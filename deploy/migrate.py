"""Brings the database up to date: the log's files first, then those of each service."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import asyncpg

from shared.ops.migrations import Migration, Source, load, migrate
from shared.ops.settings import SERVICES

ROOT = Path(__file__).resolve().parent.parent

LOGIN_ROLES = (*(f"croupier_{service}" for service in SERVICES), "croupier_auditor")


def sources() -> list[Source]:
    """Where the migrations are, in the order in which they are applied.

    Every service's own tables may refer to the log; no service's to those of another.
    """
    return [
        Source("log", ROOT / "shared" / "log" / "sql"),
        *(Source(service, ROOT / "services" / service / "sql") for service in SERVICES),
    ]


async def bring_up_to_date(dsn: str, passwords: Mapping[str, str]) -> list[Migration]:
    """Migrates the database of `dsn` (a superuser's) and gives the login roles their passwords.

    Returns the migrations that were applied now.
    """
    applied = await migrate(dsn, load(sources()))
    connection = await asyncpg.connect(dsn)
    try:
        for role, password in passwords.items():
            # Neither a role nor its password can be a parameter of this command, so the server
            # itself does the quoting.
            command = await connection.fetchval(
                "SELECT format('ALTER ROLE %I PASSWORD %L', $1::text, $2::text)", role, password
            )
            await connection.execute(command)
    finally:
        await connection.close()
    return applied
