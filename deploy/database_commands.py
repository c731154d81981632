"""The commands about a database: bring it up to date, see what consumers have put aside."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

import asyncpg
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from deploy.migrate import bring_up_to_date
from deploy.where import local_database
from shared.bus.parking import MAX_LISTED, ParkedEvent, list_parked, request_retry

T = TypeVar("T")

database_commands = typer.Typer()
parked = typer.Typer(
    no_args_is_help=True,
    help="What could not be applied: look at it, and have it tried again.",
)
database_commands.add_typer(parked, name="parked")
_out = Console()

Dsn = Annotated[
    str,
    typer.Option(
        "--dsn",
        envvar="CROUPIER_DATABASE_DSN",
        help="A superuser's; without one, the database of the house that is open here.",
    ),
]


@database_commands.command()
def migrate(context: typer.Context, dsn: Dsn = "") -> None:
    """Bring a database up to date. `up` does it by itself."""
    where, passwords = _database(context, dsn)
    applied = asyncio.run(bring_up_to_date(where, passwords))
    for migration in applied:
        _out.print(f"applied {migration.source}/{migration.name}")
    _out.print(f"{len(applied)} applied, the database is up to date")


@parked.command("list")
def list_all(
    context: typer.Context,
    dsn: Dsn = "",
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Show the events that a consumer could not apply, and those of their streams behind them."""
    found = _in_database(context, dsn, _list)
    if as_json:
        _out.print_json(json.dumps([asdict(each) for each in found], default=str))
        return
    if not found:
        _out.print("nothing is parked")
        return
    table = Table("consumer", "stream", "version", "type", "attempts", "retry", "error", box=None)
    for event in found:
        retry = "asked for" if event.retry_requested else ""
        numbers = (str(event.version), event.type, str(event.attempts))
        table.add_row(event.consumer, event.stream, *numbers, retry, escape(event.error))
    _out.print(table)
    if len(found) >= MAX_LISTED:
        _out.print(f"only the first {MAX_LISTED} events of each service are shown")


@parked.command("retry")
def retry(
    context: typer.Context,
    stream: Annotated[str, typer.Argument(help="As `parked list` shows it, or `all`.")],
    dsn: Dsn = "",
) -> None:
    """Have a parked stream tried again, after what was wrong is mended."""

    async def ask(connection: asyncpg.Connection) -> int:
        wanted = None if stream == "all" else stream
        schemas = await _schemas(connection)
        return sum([await request_retry(connection, schema, wanted) for schema in schemas])

    asked = _in_database(context, dsn, ask)
    _out.print(f"{asked} events will be tried again")
    if not asked:
        raise typer.Exit(1)


async def _list(connection: asyncpg.Connection) -> list[ParkedEvent]:
    found = []
    for schema in await _schemas(connection):
        found += await list_parked(connection, schema)
    return found


async def _schemas(connection: asyncpg.Connection) -> list[str]:
    """The schemas of services that follow the log."""
    rows = await connection.fetch(
        "SELECT schemaname FROM pg_tables WHERE tablename = 'parked_events' ORDER BY schemaname"
    )
    return [row["schemaname"] for row in rows]


def _in_database(
    context: typer.Context, dsn: str, work: Callable[[asyncpg.Connection], Awaitable[T]]
) -> T:
    where, _ = _database(context, dsn)

    async def main() -> T:
        connection: Any = await asyncpg.connect(where)
        try:
            return await work(connection)
        finally:
            await connection.close()

    return asyncio.run(main())


def _database(context: typer.Context, dsn: str) -> tuple[str, dict[str, str]]:
    return (dsn, {}) if dsn else local_database(context)
