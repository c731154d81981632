"""`croupier`: one command with everything that people do at, with and about the house."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

# What gRPC thinks of a lost connection belongs on no screen: the client library deals with it.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import typer

from clients.cli import (
    account,
    audit,
    checkpoints,
    hand,
    nodes,
    pit,
    play,
    shoes,
    shown_card,
    tables,
    token,
)
from clients.cli.shell import Shell, console, say_refusal
from shared.errors import CroupierError

app = typer.Typer(
    name="croupier",
    help="A casino whose every card and cent can be checked.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

_WHERE = "Where the house is"


@app.callback()
def global_options(
    context: typer.Context,
    address: Annotated[
        str,
        typer.Option(
            help="host:port of all services, or table=host:port,wallet=…,audit=…",
            envvar="CROUPIER_ADDRESS",
            rich_help_panel=_WHERE,
        ),
    ] = "",
    token: Annotated[
        str,
        typer.Option(
            help="Who you are (a token); next to a house the local key makes one.",
            envvar="CROUPIER_TOKEN",
            rich_help_panel=_WHERE,
        ),
    ] = "",
    house: Annotated[
        Path | None,
        typer.Option(
            help="The house's file, else .croupier/house.json here.",
            envvar="CROUPIER_HOUSE",
            rich_help_panel=_WHERE,
        ),
    ] = None,
) -> None:
    """A casino whose every card and cent can be checked."""
    context.obj = Shell(address=address, token=token, house_file=house)


for _register in (
    play.register,
    tables.register,
    pit.register,
    nodes.register,
    audit.register,
    checkpoints.register,
    account.register,
    hand.register,
    shown_card.register,
    shoes.register,
    token.register,
):
    _register(app)


def run_app(called: Callable[[], object] = app) -> None:
    """Runs the command line. A refusal is told in words and exits with 1, Ctrl-C with 130."""
    try:
        called()
    except CroupierError as refusal:
        say_refusal(console(stderr=True), refusal)
        sys.exit(1)
    except UnicodeEncodeError as error:
        if error.encoding != "utf-8":
            raise
        words = f"{error.object!r} is no text in UTF-8"
        say_refusal(console(stderr=True), CroupierError("BAD_REQUEST", words))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
