"""The `croupier` command: what people do in a house, and what opens and closes one."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

# The supervisor forks only to run another program; gRPC's fork handlers would only write warnings.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

import asyncpg
from rich.console import Console

from clients.cli.app import app, run_app
from deploy.commands import commands
from deploy.database_commands import database_commands
from deploy.edge_command import edge_command
from deploy.errors import HouseError
from deploy.key_commands import key_commands
from deploy.log_commands import log_commands
from deploy.rng_commands import rng_commands
from shared.ops.migrations import MigrationError

_OF_THIS_MACHINE = (
    OSError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.TargetServerAttributeNotMatched,
)
"""A disk, a folder, a port, a database that is not there or not ours: its words are enough."""


def main() -> None:
    """Entry point of the console script."""
    app.add_typer(commands)
    app.add_typer(database_commands)
    app.add_typer(edge_command)
    app.add_typer(key_commands)
    app.add_typer(log_commands)
    app.add_typer(rng_commands)
    try:
        run_app()
    except (HouseError, MigrationError) as error:
        _say(str(error))
    except _OF_THIS_MACHINE as error:
        _say(f"{type(error).__name__}: {error}")


def _say(words: str) -> NoReturn:
    Console(stderr=True).print(words, markup=False, highlight=False, soft_wrap=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
