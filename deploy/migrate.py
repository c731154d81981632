"""Brings the database up to date: the log's files first, then those of each service."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import asyncpg

from shared.ops.migrations import Migration, Source, load, migrate

ROOT = Path(__file__).resolve().parent.parent

# Every service's own tables may refer to the log; no service's to those of another.
SERVICES = ("shuffle", "wallet", "audit", "relay", "table")
OWNER_ROLE = "croupier_owner"
LOGIN_ROLES = (*(f"croupier_{service}" for service in SERVICES), "croupier_auditor")


def sources() -> list[Source]:
    """Where the migrations are, in the order in which they are applied."""
    return [
        Source("log", ROOT / "shared" / "log" / "sql"),
        *(Source(service, ROOT / "services" / service / "sql") for service in SERVICES),
    ]


async def bring_up_to_date(dsn: str, passwords: Mapping[str, str]) -> list[Migration]:
    """Makes the roles, migrates the database of `dsn` (a superuser's), sets the login roles'
    passwords.

    Roles belong to the whole server, not to one database: they are made here, the SQL files grant.
    Returns the migrations that were applied now.
    """
    connection = await asyncpg.connect(dsn)
    try:
        await _make_role(connection, OWNER_ROLE, "NOLOGIN")
        for role in LOGIN_ROLES:
            await _make_role(connection, role, "LOGIN")
        for role, password in passwords.items():
            await _execute(connection, "ALTER ROLE %I PASSWORD %L", role, password)
    finally:
        await connection.close()
    return await migrate(dsn, load(sources()))


async def _make_role(connection: asyncpg.Connection, role: str, login: str) -> None:
    if not await connection.fetchval("SELECT true FROM pg_roles WHERE rolname = $1", role):
        await _execute(connection, f"CREATE ROLE %I {login}", role)


async def _execute(connection: asyncpg.Connection, command: str, *names: str) -> None:
    # Neither a role nor its password can be a parameter of these commands, so the server itself
    # does the quoting.
    marks = ", ".join(f"${n}::text" for n in range(2, len(names) + 2))
    await connection.execute(
        await connection.fetchval(f"SELECT format($1::text, {marks})", command, *names)
    )
