"""`croupier keys`: the keys of the local house, and their change."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import asyncpg
import typer
from rich.console import Console
from rich.table import Table

from deploy.errors import HouseError, NoDatabaseError
from deploy.keys import Keys
from deploy.where import folder_of, local_database

key_commands = typer.Typer()
keys = typer.Typer(
    no_args_is_help=True,
    help="The keys that seal private cards and server seeds, and the one that signs checkpoints.",
)
key_commands.add_typer(keys, name="keys")
_out = Console()

_SEEDS_BY_KEY = "SELECT key_id, count(*) AS seeds FROM shuffle.seeds GROUP BY key_id"


@keys.command("list")
def list_keys(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Show which keys there are, and how many stored seeds need each (in an open house)."""
    folder = folder_of(context)
    held = folder.keys.load()
    lines = _lines(held, _seeds_by_key(context) if folder.is_held() else None)
    if as_json:
        _out.print_json(json.dumps(lines))
        return
    table = Table("key", "seals", "", "stored seeds", box=None)
    for line in lines:
        seeds = "" if line["seeds"] is None else str(line["seeds"])
        table.add_row(line["id"], line["seals"], "in use" if line["in_use"] else "old", seeds)
    _out.print(table)


@keys.command()
def rotate(context: typer.Context) -> None:
    """Make a new deployment key and a new seed key; those in use become old ones.

    They are used from the next start on. Shuffle then seals the stored seeds again by itself. Old
    deployment keys stay for good: what they sealed in the log does not change.
    """
    folder = folder_of(context)
    rotated = folder.keys.load().rotated()
    folder.keys.store(rotated)
    _out.print(f"new keys {rotated.deployment_id} (private cards) and {rotated.seed_id} (seeds)")
    if folder.is_held():
        _out.print("the house uses them from its next start on: croupier down, croupier up")


@keys.command()
def verifier(context: typer.Context) -> None:
    """Print the key that verifies the house's checkpoints, for whoever keeps them."""
    signer = folder_of(context).keys.load().note_signer()
    _out.print(str(signer.verifier), soft_wrap=True, highlight=False, markup=False)


@keys.command()
def forget(
    context: typer.Context,
    key_id: Annotated[str, typer.Argument(help="An old seed key, as `keys list` shows it.")],
) -> None:
    """Throw an old seed key away, once no stored seed needs it."""
    folder = folder_of(context)
    held = folder.keys.load()
    if key_id not in held.old_seed:
        raise HouseError(f"{key_id} is no old seed key of this house")
    needed = _seeds_by_key(context).get(key_id, 0)
    if folder.seed_key_in_use() == key_id:
        raise HouseError(f"shuffle still seals with {key_id}: croupier down, croupier up")
    if needed:
        raise HouseError(f"{needed} stored seeds are still sealed with {key_id}")
    folder.keys.store(held.without_seed_key(key_id))
    _out.print(f"{key_id} is gone")


def _lines(held: Keys, seeds: dict[str, int] | None) -> list[dict[str, Any]]:
    def line(key_id: str, seals: str, in_use: bool) -> dict[str, Any]:
        counted = seeds is not None and seals == "seeds"
        return {
            "id": key_id,
            "seals": seals,
            "in_use": in_use,
            "seeds": seeds.get(key_id, 0) if seeds is not None and counted else None,
        }

    return [
        line(held.deployment_id, "private cards", True),
        *(line(key_id, "private cards", False) for key_id in held.old_deployment),
        line(held.seed_id, "seeds", True),
        *(line(key_id, "seeds", False) for key_id in held.old_seed),
    ]


def _seeds_by_key(context: typer.Context) -> dict[str, int]:
    try:
        dsn, _ = local_database(context)
    except NoDatabaseError:
        raise HouseError("no house is open here: which seeds need a key is not known") from None

    async def count() -> dict[str, int]:
        connection: Any = await asyncpg.connect(dsn)
        try:
            rows = await connection.fetch(_SEEDS_BY_KEY)
        finally:
            await connection.close()
        return {row["key_id"]: row["seeds"] for row in rows}

    return asyncio.run(count())
