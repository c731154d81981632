"""Which house, and which database, a command is about."""

from __future__ import annotations

import typer

from deploy.errors import NoDatabaseError
from deploy.folder import HouseFolder, house_folder
from deploy.programs import DATABASE, Programs


def folder_of(context: typer.Context) -> HouseFolder:
    """The folder of the house that `--house` names: an option of the whole command, because clients
    need it as well."""
    return house_folder(context.find_root().params["house"])


def local_database(context: typer.Context) -> tuple[str, dict[str, str]]:
    """A superuser's DSN of the open house's database, and the passwords of its login roles.

    Raises `NoDatabaseError` if no house is open, `HouseOpensError` if it only begins to be.
    """
    folder = folder_of(context)
    if not folder.is_held():
        raise NoDatabaseError("no house is open here; say which database with --dsn")
    keys = folder.keys.load()
    return Programs(folder, keys, folder.ports()).postgres.dsn(DATABASE), keys.roles
