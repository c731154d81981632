"""The commands that open, close and look after a house: up, down, status, run, serve."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Annotated, Any, TypeVar

import typer
import uvloop
from rich.console import Console
from rich.table import Table

from deploy.errors import HouseError
from deploy.folder import HouseFolder, address, metrics_of, processes_of, service_of
from deploy.house import keep_open
from deploy.joining import join_house
from deploy.program import end_of
from deploy.programs import end_orphans, serves
from deploy.serve import serve as serve_here
from deploy.where import folder_of
from shared.ops import logs
from shared.ops.settings import SERVICES

T = TypeVar("T")

commands = typer.Typer(no_args_is_help=True)
_out = Console()

MOST_TABLE_NODES = 16
_DETACHED_TIMEOUT_S = 120.0
_DOWN_TIMEOUT_S = 120.0
_POLL_S = 0.1


@commands.command()
def up(
    context: typer.Context,
    detach: Annotated[
        bool, typer.Option("--detach", help="Come back when the house is open; `down` closes it.")
    ] = False,
    table_nodes: Annotated[
        int, typer.Option(min=1, max=MOST_TABLE_NODES, help="So many nodes share the tables.")
    ] = 1,
) -> None:
    """Open the house here: Postgres, NATS and the five services, kept running until Ctrl-C."""
    folder = folder_of(context)
    if detach:
        _open_detached(folder, table_nodes)
        return
    logs.set_up("info", service="house")

    async def stay(stopping: asyncio.Event) -> None:
        _show_open(folder)
        await stopping.wait()

    in_open_house(folder, stay, table_nodes)


@commands.command()
def down(context: typer.Context) -> None:
    """Close the house that is open here. Its data stays."""
    folder = folder_of(context)
    pid = folder.holder()
    if pid is None:
        end_orphans(folder)
        _out.print("no house is open here")
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    give_up_s = time.monotonic() + _DOWN_TIMEOUT_S
    while folder.is_held():
        if time.monotonic() > give_up_s:
            raise HouseError(f"the house is still closing after {_DOWN_TIMEOUT_S:g} s")
        time.sleep(_POLL_S)
    _out.print("the house is closed")


@commands.command()
def status(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Show the house's processes; exit status 0 if every one of them serves."""
    folder = folder_of(context)
    told = asyncio.run(_status(folder))
    if as_json:
        _out.print_json(json.dumps(told))
    elif not told["open"]:
        _out.print("no house is open here; try: croupier up")
    elif not told["processes"]:
        _out.print("the house is just being opened, or closed")
    else:
        _out.print(_status_table(told))
    if not told["serves"]:
        raise typer.Exit(1)


@commands.command()
def run(
    context: typer.Context,
    hands: Annotated[
        int | None,
        typer.Option(
            min=1, help="So many, then verify. Without a terminal 200, else until Ctrl-C."
        ),
    ] = None,
) -> None:
    """Open the house, let bots play, show their hands, verify everything, close the house."""
    # What it shows needs the clients, which no other command here does.
    from deploy.run import HANDS_WITHOUT_A_TERMINAL, play_and_verify

    folder = folder_of(context)
    if hands is None and not _out.is_terminal:
        hands = HANDS_WITHOUT_A_TERMINAL

    async def play(stopping: asyncio.Event) -> int:
        return await play_and_verify(folder, _out, hands, stopping)

    if folder.is_held():
        raise typer.Exit(uvloop.run(_with_signals(play)))
    log = folder.log("house")
    log.parent.mkdir(parents=True, exist_ok=True)
    # The screen belongs to the hands.
    with log.open("a") as out:
        logs.set_up("info", out, service="house")
        _out.print("opening the house")
        status = in_open_house(folder, play)
    raise typer.Exit(0 if status is None else status)


@commands.command()
def serve(
    context: typer.Context,
    service: Annotated[str, typer.Argument(help=f"One of {', '.join(SERVICES)}.")],
    node: Annotated[
        str,
        typer.Option(help="Table only: joins the house that is open here, as one more table node."),
    ] = "",
) -> None:
    """Run one service in this process, with settings from the environment (docs/operations.md)."""
    if service not in SERVICES:
        raise typer.BadParameter(f"one of {', '.join(SERVICES)}", param_hint="service")
    if node and service != "table":
        raise typer.BadParameter("only table nodes join a house", param_hint="--node")
    if node:
        raise typer.Exit(join_house(folder_of(context), node))
    raise typer.Exit(serve_here(service))


def in_open_house(
    folder: HouseFolder, visit: Callable[[asyncio.Event], Awaitable[T]], table_nodes: int = 1
) -> T | None:
    """Opens the house, awaits `visit(stopping)`, closes it. Gives None if it was told to stop
    before it was open. Raises `HouseError`, `MigrationError`."""
    return uvloop.run(
        _with_signals(
            lambda stopping: keep_open(folder, table_nodes, stopping, lambda: visit(stopping))
        )
    )


async def _with_signals(work: Callable[[asyncio.Event], Awaitable[T]]) -> T:
    """Awaits `work(stopping)`; SIGINT, SIGTERM and SIGHUP set `stopping`. Under `nohup` the last
    of them does not."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stopping.set)
    return await work(stopping)


def _open_detached(folder: HouseFolder, table_nodes: int) -> None:
    if folder.is_held():
        _out.print("the house is open already")
        return
    log = folder.log("house")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        house = subprocess.Popen(
            (
                *(sys.executable, "-m", "deploy.main", "--house", str(folder.file)),
                *("up", "--table-nodes", str(table_nodes)),
            ),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    give_up_s = time.monotonic() + _DETACHED_TIMEOUT_S
    while not _all_up(folder, house.pid):
        if house.poll() is not None or time.monotonic() > give_up_s:
            raise HouseError(f"the house did not open; the end of {log}:\n{end_of(log)}")
        time.sleep(_POLL_S)
    _show_open(folder)


def _all_up(folder: HouseFolder, pid: int) -> bool:
    told = folder.read()
    states = [process["state"] for process in told.get("processes", {}).values()]
    return told.get("pid") == pid and _are_all(told, states) and set(states) == {"up"}


def _are_all(told: Mapping[str, Any], processes: Collection[object]) -> bool:
    """Whether there are as many processes as the house has."""
    nodes = sum(service_of(name) == "table" for name in told.get("ports", ())) // 2
    return len(processes) == len(processes_of(nodes))


def _show_open(folder: HouseFolder) -> None:
    told = folder.read()
    _out.print("the house is open; tables at", told["addresses"]["table"][0])


async def _status(folder: HouseFolder) -> dict[str, object]:
    told = folder.read()
    pid = folder.holder()
    # What stands there may be of a supervisor that was killed, and this one at its very beginning.
    processes = dict(told["processes"]) if pid is not None and told.get("pid") == pid else {}
    for name, process in processes.items():
        process["address"] = address(told["ports"][name])
        if service_of(name) is None:
            process["serves"] = process["state"] == "up"
        else:
            process["metrics"] = address(told["ports"][metrics_of(name)])
            process["serves"] = await serves(process["address"])
    return {
        "open": pid is not None,
        "pid": pid,
        "serves": _are_all(told, processes)
        and all(process["serves"] for process in processes.values()),
        "processes": processes,
    }


def _status_table(told: dict[str, object]) -> Table:
    table = Table("process", "state", "serves", "pid", "restarts", "address", box=None)
    processes = told["processes"]
    assert isinstance(processes, dict)
    for name, process in processes.items():
        serves = "yes" if process["serves"] else "no"
        numbers = (str(process["pid"]), str(process["restarts"]))
        table.add_row(name, process["state"], serves, *numbers, process["address"])
    return table
