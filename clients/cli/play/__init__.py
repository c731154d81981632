"""`croupier play GAME`: a person at a table."""

from __future__ import annotations

from typing import Annotated

import typer

from clients.api.errors import RefusedError
from clients.cli.amounts import AmountError, parse_minor
from clients.cli.play.evening import play_evening
from clients.cli.rules import RULES
from clients.cli.shell import interactive, shell_of


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("play")(play_game)


def play_game(
    context: typer.Context,
    game: Annotated[str, typer.Argument(help=", ".join(RULES))],
    table: Annotated[str, typer.Option(help="A table's id; else one with a free seat.")] = "",
    buy_in: Annotated[str, typer.Option(help="Chips to buy when you sit down.")] = "500",
) -> None:
    """Sit down and play. At a terminal: pictures and a prompt. With commands on standard input:
    each line waits until it can be done, and what happens is printed."""
    if game not in RULES:
        raise typer.BadParameter(f"a game is one of {', '.join(RULES)}")
    shell = shell_of(context)
    try:
        buy_in_minor = parse_minor(buy_in)
    except AmountError as error:
        raise RefusedError("BAD_AMOUNT", str(error), "buy-in") from error
    good = shell.run(play_evening(shell, game, table, buy_in_minor, interactive()))
    if not good:
        raise typer.Exit(1)
