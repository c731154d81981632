"""The `croupier` command: what people do in a house, and what opens and closes one."""

from __future__ import annotations

import os

# The supervisor forks only to run another program; gRPC's fork handlers would only write warnings.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

from clients.cli.app import app, run_app
from deploy.commands import commands
from deploy.database_commands import database_commands


def main() -> None:
    """Entry point of the console script."""
    app.add_typer(commands)
    app.add_typer(database_commands)
    run_app()


if __name__ == "__main__":
    main()
