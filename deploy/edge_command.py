"""`croupier edge GAME`: what a setting does to the house edge. Needs no house."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from shared.edge.answer import HANDS, STRATEGIES, figures
from shared.edge.figure import Figure
from shared.errors import SettingError

edge_command = typer.Typer(no_args_is_help=True)


@edge_command.command("edge")
def edge(
    game: Annotated[str, typer.Argument(help=f"One of {', '.join(STRATEGIES)}.")],
    strategy: Annotated[
        str | None, typer.Option(help="One of the game's strategies, by name; else all.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the table, its value as JSON or as it is; several if need be.",
        ),
    ] = None,
    hands: Annotated[
        int, typer.Option(min=2, help="Played where counting all hands would take too long.")
    ] = HANDS,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """What each wager is worth on the average, per unit of the first stake: exactly where all hands
    can be counted, else by playing, with a 95 % confidence interval."""
    raw = read_settings(setting or ())
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def report(work: str, done: int, of: int) -> None:
            if work not in tasks:
                tasks[work] = bar.add_task(work, total=of)
            bar.update(tasks[work], completed=done)

        found = figures(game, raw, strategy, hands, report)
    if as_json:
        sys.stdout.write(json.dumps([figure.as_json() for figure in found]) + "\n")
    else:
        Console(highlight=False).print(_table(found))


def read_settings(words: Iterable[str]) -> dict[str, Any]:
    """Settings out of `KEY=VALUE` words: a value is JSON, else the word itself. `SettingError`
    names the one at fault."""
    read: dict[str, Any] = {}
    for word in words:
        key, given, value = word.partition("=")
        if not given or not key:
            raise SettingError(key or "set", f"a setting is written KEY=VALUE, not {word!r}")
        if key in read:
            raise SettingError(key, f"{key} is set twice")
        try:
            read[key] = json.loads(value, parse_constant=lambda name: name)
        except (ValueError, RecursionError):
            read[key] = value
    return read


def _table(found: Iterable[Figure]) -> Table:
    table = Table("wager", "strategy", "worth", "95 %", "hands", box=None)
    for figure in found:
        table.add_row(
            figure.wager,
            figure.strategy or "",
            f"{float(figure.value):+.8f}" if figure.exact else f"{figure.value:+.5f}",
            f"± {figure.within:.5f}" if figure.within is not None else "exact",
            f"{figure.hands:,}",
        )
    return table
