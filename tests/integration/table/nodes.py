"""Tables and people of a house with several nodes."""

from __future__ import annotations

from services.table.directory import preferred_node
from shared.rpc.access import Role
from tests.integration.table.house import House
from tests.integration.table.people import Person
from tests.polling import eventually

NODES = ("node-a", "node-b")


def table_of(node: str, nodes: tuple[str, ...] = NODES, number: int = 1) -> str:
    """The id of a table that belongs to `node` when these live."""
    ids = (f"t{n}" for n in range(1_000))
    mine = (table_id for table_id in ids if preferred_node(table_id, nodes) == node)
    return [next(mine) for _ in range(number)][-1]


async def owned_by(house: House, table_id: str, node: str) -> None:
    """Until the directory says so."""

    async def check() -> bool:
        rows = await house.sql("SELECT owner FROM tables.directory WHERE table_id = $1", table_id)
        return [row["owner"] for row in rows] == [node]

    await eventually(check)


async def epoch_of(house: House, table_id: str) -> int:
    return (await house.types(table_id)).count("TableClaimed")


def at(house: House, node: str, name: str, role: Role = Role.PLAYER) -> Person:
    return house.person(name, role, node)
