"""`croupier nodes`, `croupier drain`, `croupier move`: table nodes, for operators."""

from __future__ import annotations

from typing import Annotated

import typer
from croupier.table.v1 import nodes_pb2 as pb
from rich.table import Table

from clients.api.nodes import NodeClient
from clients.cli.shell import shell_of

WAIT_S = 600.0

Wait = Annotated[
    float, typer.Option("--wait", min=0, help="Seconds to wait until it is done; 0: do not.")
]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("nodes")(list_nodes)
    app.command("drain")(drain_node)
    app.command("move")(move_table)


def list_nodes(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Which table nodes live, and what they have to do (operators)."""
    shell = shell_of(context)

    async def find() -> list[pb.Node]:
        async with shell.connect("table", shell.staff("operator")) as connection:
            return await NodeClient(connection).nodes()

    nodes = shell.run(find())
    if as_json:
        shell.print_json([_facts(node) for node in nodes])
        return
    grid = Table(box=None, header_style="bold dim", pad_edge=False)
    grid.add_column("node")
    for heading in ("tables", "hands", "watchers", "commands/s", "busy", "lease"):
        grid.add_column(heading, justify="right")
    grid.add_column("address")
    grid.add_column("")
    for node in nodes:
        grid.add_row(
            node.node,
            *(str(count) for count in (node.tables, node.hands, node.watchers)),
            str(node.commands_per_s),
            f"{node.busy_percent} %",
            f"{node.lease_left.ToTimedelta().total_seconds():.1f} s",
            node.address,
            _remarks(node),
        )
    shell.out.print(grid)


def _remarks(node: pb.Node) -> str:
    remarks = ["stopping" if node.stopping else "drained" if node.drained else ""]
    if node.unknown_tables:
        remarks.append(f"too old for {_tables(node.unknown_tables)}")
    return ", ".join(filter(None, remarks))


def _tables(count: int) -> str:
    return "1 table" if count == 1 else f"{count} tables"


def _facts(node: pb.Node) -> dict[str, object]:
    counts = ("tables", "hands", "watchers", "commands_per_s", "busy_percent", "unknown_tables")
    return {
        "node": node.node,
        "address": node.address,
        "lease_left_s": node.lease_left.ToTimedelta().total_seconds(),
        "drained": node.drained,
        "stopping": node.stopping,
        **{count: getattr(node, count) for count in counts},
    }


def drain_node(
    context: typer.Context,
    node: Annotated[str, typer.Argument(help="One of `croupier nodes`.")],
    undo: Annotated[bool, typer.Option("--undo", help="Let it take tables again.")] = False,
    wait_s: Wait = WAIT_S,
) -> None:
    """Empty a node (operators): its tables go to others, each between two hands.

    It stays empty, whatever is started under its name, until --undo.
    """
    shell = shell_of(context)

    async def drain() -> None:
        async with shell.connect("table", shell.staff("operator")) as connection:
            client = NodeClient(connection)
            await client.drain(node, undo)
            if wait_s and not undo:
                await client.emptied(node, told, wait_s)

    def told(left: int) -> None:
        if left:
            shell.err.print(f"{_tables(left)} to hand over", style="dim")

    shell.run(drain())
    if undo:
        shell.out.print(f"[bold]{node}[/] takes tables.")
    elif wait_s:
        shell.out.print(f"[bold]{node}[/] is empty. It may be stopped.")
    else:
        shell.out.print(f"[bold]{node}[/] hands over its tables.")


def move_table(
    context: typer.Context,
    table: Annotated[str, typer.Argument(help="One of `croupier tables`.")],
    to: Annotated[
        str, typer.Option(help="The node; without it, wherever the tables spread to.")
    ] = "",
    wait_s: Wait = WAIT_S,
) -> None:
    """Move a table to another node between two hands, and keep it there (operators)."""
    shell = shell_of(context)

    async def move() -> None:
        async with shell.connect("table", shell.staff("operator")) as connection:
            client = NodeClient(connection)
            await client.move(table, to)
            if to and wait_s:
                await client.moved(table, to, wait_s)

    shell.run(move())
    if not to:
        shell.out.print(f"[bold]{table}[/] goes where the tables spread to.")
    elif wait_s:
        shell.out.print(f"[bold]{table}[/] is at {to}.")
    else:
        shell.out.print(f"[bold]{table}[/] goes to {to}.")
