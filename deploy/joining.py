"""`croupier serve table --node NODE`: one more table node in the house that is open here."""

from __future__ import annotations

import os
import re

from deploy.errors import CannotJoinError
from deploy.folder import HouseFolder, Joined, address, metrics_of
from deploy.program import free_port
from deploy.programs import Programs
from deploy.serve import serve

_NODE = re.compile(r"[A-Za-z0-9_-]{1,64}")


def join_house(folder: HouseFolder, node: str) -> int:
    """Runs a table node in this process until it is told to stop; returns the exit status.

    It takes its share of the tables from those that are there, and hands it back as it goes.
    Raises `CannotJoinError` where no house is open, it has a process of this name, or its keys were
    changed since it was opened.
    """
    if not _NODE.fullmatch(node):
        raise CannotJoinError(f"a node's name is made of letters, digits, - and _, not {node!r}")
    if not folder.is_held():
        raise CannotJoinError("no house is open here; try: croupier up")
    ports = folder.ports()
    if node in (*ports, "table-1"):
        raise CannotJoinError(f"the house has a node {node} of its own")
    keys = folder.keys.load()
    if keys.deployment_id != folder.deployment_key_in_use():
        # Nobody else could read what this node seals: its tables would be stuck without it.
        raise CannotJoinError(
            "the keys were changed; the house uses them from its next start on: "
            "croupier down, croupier up"
        )
    for name in (node, metrics_of(node)):
        ports[name] = free_port(frozenset(ports.values()))
    program = Programs(folder, keys, ports).service(node, "table")
    environment = program.environment()
    os.environ.clear()
    os.environ.update(environment)
    where = Joined(
        pid=os.getpid(), address=address(ports[node]), metrics=address(ports[metrics_of(node)])
    )
    with folder.joined(node, where):
        return serve("table")
