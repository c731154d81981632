"""`croupier log`: what may have to be done to the event log."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from deploy.database_commands import Dsn
from deploy.errors import HouseError
from deploy.where import folder_of, local_database
from shared.ops.settings import WRONG_SETTINGS, FieldKeys, SeedKeys, read
from shared.sealing import Keyring

log_commands = typer.Typer()
log = typer.Typer(no_args_is_help=True, help="The event log.")
log_commands.add_typer(log, name="log")
_out = Console()


@log.callback()
def about_the_log() -> None:
    """The event log."""


@log.command("recover")
def recover_log(
    context: typer.Context,
    dsn: Dsn = "",
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Put the log in order after it has lost its tail: a restored backup, a standby that lagged.

    Voids every open hand and retires every open shoe, as events: cards may have been seen that the
    log does not know of any more. With --dsn the keys are taken from the settings of the shuffle
    service (CROUPIER_DEPLOYMENT_KEY, CROUPIER_SEED_KEY …).
    """
    # It needs the services' own code, which no other command here does.
    from deploy.recovery import recover

    where, field_keys, seed_keys = _given(dsn) if dsn else _local(context)
    done = asyncio.run(recover(where, field_keys, seed_keys))
    if as_json:
        _out.print_json(json.dumps(asdict(done)))
    else:
        _out.print(
            f"{done.tables} tables go on, {done.hands_voided} hands are void, "
            f"{done.shoes} shoes are retired"
        )
        for failure in done.failures:
            _out.print(failure, markup=False)
    if done.failures:
        raise typer.Exit(1)


def _given(dsn: str) -> tuple[str, Keyring, Keyring]:
    try:
        return dsn, read(FieldKeys).field_keys(), read(SeedKeys).seed_keys()
    except WRONG_SETTINGS as error:
        raise HouseError(f"the keys of the house are missing or wrong: {error}") from None


def _local(context: typer.Context) -> tuple[str, Keyring, Keyring]:
    where, _ = local_database(context)
    keys = folder_of(context).keys.load()
    return where, keys.field_keys(), keys.seed_keys()
