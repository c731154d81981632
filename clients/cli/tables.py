"""`croupier tables`, `croupier table open|close`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from croupier.table.v1 import events_pb2
from croupier.table.v1 import table_pb2 as pb
from rich.table import Table

from clients.api.errors import RefusedError
from clients.api.table import TableClient
from clients.cli.amounts import AmountError, parse_minor, write_minor
from clients.cli.shell import shell_of
from shared.events import to_json

PHASES = {
    pb.PHASE_SHOE: "new shoe",
    pb.PHASE_BETTING: "taking bets",
    pb.PHASE_DEALING: "dealing",
    pb.PHASE_DECIDING: "deciding",
    pb.PHASE_CLOSED: "closed",
}
_CLOCKS = tuple(field.name for field in events_pb2.Clocks.DESCRIPTOR.fields)


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("tables")(list_tables)
    table = typer.Typer(help="Open and close tables (operators).", no_args_is_help=True)
    table.command("open")(open_table)
    table.command("close")(close_table)
    app.add_typer(table, name="table")


def list_tables(
    context: typer.Context,
    game: Annotated[str, typer.Option(help="Only tables of this game.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What is being played, and where a seat is free."""
    shell = shell_of(context)

    async def find() -> list[pb.TableSummary]:
        async with shell.connect("table", shell.player()) as connection:
            return await TableClient(connection).tables(game)

    tables = shell.run(find())
    if as_json:
        shell.print_json([to_json(table) for table in tables])
        return
    if not tables:
        shell.err.print("No tables are open. Operators open one: `croupier table open baccarat`.")
        return
    grid = Table(box=None, header_style="bold dim", pad_edge=False)
    for heading in ("table", "game", "now", "seats", "hands", "limits", "node", "epoch"):
        right = heading in ("seats", "hands", "epoch")
        grid.add_column(heading, justify="right" if right else "left")
    for table in tables:
        now = PHASES.get(table.phase, "")
        if table.status == pb.TABLE_STATUS_CLOSING:
            now = "closing"
        grid.add_row(
            table.table_id,
            table.game,
            now,
            f"{table.seated}/{table.seats}",
            str(table.hands_played),
            limits(table),
            table.node,
            str(table.epoch),
        )
    shell.out.print(grid)


def limits(table: pb.TableSummary) -> str:
    """`5.00 – 1 000.00 CHF`, as far as the table has limits."""
    rules: dict[str, Any] = json.loads(table.rules_json or "{}")
    least, most = rules.get("min"), rules.get("max")
    if table.ante:
        return f"ante {write_minor(table.ante)} {table.currency}"
    if least is None and most is None:
        return f"none ({table.currency})"
    low = write_minor(least) if least is not None else ""
    high = write_minor(most) if most is not None else ""
    return f"{low} – {high} {table.currency}".strip()


def open_table(
    context: typer.Context,
    game: Annotated[str, typer.Argument(help="baccarat, battle, casino_holdem, …")],
    table: Annotated[
        str, typer.Option(help="The table's id, else the game's name and a number.")
    ] = "",
    name: Annotated[str, typer.Option(help="What people call it.")] = "",
    currency: Annotated[str, typer.Option(help="Three letters.")] = "CHF",
    rule: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the game, KEY=VALUE.")
    ] = None,
    rules_file: Annotated[
        typer.FileText | None, typer.Option("--rules", help="Settings as JSON.")
    ] = None,
    clock: Annotated[
        list[str] | None, typer.Option("--clock", help=f"KEY=MS, of {', '.join(_CLOCKS)}.")
    ] = None,
    seats: Annotated[int, typer.Option(min=0, max=64, help="0: 7, at draw poker 5.")] = 0,
    ante: Annotated[str, typer.Option(help="Draw poker: what everyone puts in.")] = "",
    open_joining: Annotated[
        bool, typer.Option("--open-joining", help="Draw poker: joining needs no consent.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Open a table (operators). It is playable when its first shoe is ready."""
    shell = shell_of(context)
    rules = _read_rules(rules_file) if rules_file else {}
    rules |= dict(_setting(one) for one in rule or ())
    clocks = _clocks(clock or [])
    ante_minor = _ante(ante)

    async def open_it() -> pb.TableSummary:
        async with shell.connect("table", shell.staff("operator")) as connection:
            client = TableClient(connection)
            return await client.open_table(
                table or await free_name(client, game),
                game,
                currency,
                name=name,
                rules_json=json.dumps(rules) if rules else "",
                clocks=clocks,
                seats=seats,
                ante=ante_minor,
                open_joining=open_joining,
            )

    opened = shell.run(open_it())
    if as_json:
        shell.print_json(opened)
    else:
        shell.out.print(f"[bold]{opened.table_id}[/] is open.")
        shell.out.print(f"Play there: [bold]croupier play {game} --table {opened.table_id}[/]")


def close_table(
    context: typer.Context,
    table: Annotated[str, typer.Argument(help="The table's id.")],
    note: Annotated[str, typer.Option(help="Why; it is kept in the log.")] = "",
) -> None:
    """Close a table (operators): after the running hand all chips go back."""
    close_as("operator", context, table, note)


def close_as(role: str, context: typer.Context, table: str, note: str) -> None:
    """The same for anybody of the staff who may."""
    shell = shell_of(context)

    async def close() -> None:
        async with shell.connect("table", shell.staff(role)) as connection:
            await TableClient(connection).close_table(table, note)

    shell.run(close())
    shell.out.print(f"[bold]{table}[/] closes after the running hand.")


async def free_name(client: TableClient, game: str) -> str:
    """A table id that is not taken: the game's name and a number."""
    taken = {table.table_id for table in await client.tables()}
    return next(name for n in range(1, 10_000) if (name := f"{game}-{n}") not in taken)


def _ante(written: str) -> int:
    try:
        return parse_minor(written) if written else 0
    except AmountError as error:
        raise RefusedError("BAD_AMOUNT", str(error), "ante") from error


def _read_rules(file: typer.FileText) -> dict[str, Any]:
    try:
        rules = json.load(file)
    except (ValueError, RecursionError) as error:
        raise RefusedError("BAD_SETTING", f"{file.name}: {error}", "rules_json") from error
    if not isinstance(rules, dict):
        raise RefusedError("BAD_SETTING", f"{file.name} is no JSON object", "rules_json")
    return rules


def _setting(written: str) -> tuple[str, Any]:
    key, equals, value = written.partition("=")
    if not equals:
        raise RefusedError("BAD_SETTING", f"{written!r} is not KEY=VALUE", key)
    try:
        return key, json.loads(value)
    except (ValueError, RecursionError):
        return key, value


def _clocks(written: list[str]) -> events_pb2.Clocks:
    clocks = events_pb2.Clocks()
    for one in written:
        key, value = _setting(one)
        if key not in _CLOCKS or type(value) is not int or not 0 <= value < 2**31:
            raise RefusedError("BAD_SETTING", f"{one!r} is not KEY=MS of {', '.join(_CLOCKS)}", key)
        setattr(clocks, key, value)
    return clocks
