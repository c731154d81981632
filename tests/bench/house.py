"""A whole house at play: hands a second, and the processor time each process spends on a hand.

    python -m tests.bench.house [HANDS] [SERVICE]

With a SERVICE (`table`) that one runs under cProfile, slower, and its costliest functions are
shown.
"""

from __future__ import annotations

import asyncio
import pstats
import sys
from dataclasses import replace
from pathlib import Path

import psutil

from clients.api.house import find_house
from clients.bots.closing import settle, verify_everything
from clients.bots.run import open_tables, play_hands
from deploy.folder import HouseFolder
from deploy.house import keep_open
from deploy.program import Program
from deploy.programs import Programs
from shared.ops.settings import ServiceName
from tests.servers import remove, temporary_folder

HANDS = 200
LINES = 45


def _profiled(service: str, into: Path) -> None:
    """Has `service` started under cProfile, which writes `into` at its clean end."""
    plain = Programs.service

    def program(self: Programs, name: ServiceName) -> Program:
        made = plain(self, name)
        if name != service:
            return made
        python, *rest = made.argv
        return replace(made, argv=(python, "-m", "cProfile", "-o", str(into), *rest))

    Programs.service = program  # type: ignore[method-assign]


def _processor_s(folder: HouseFolder) -> dict[str, float]:
    """What each process has used so far, its children's included."""
    used = {}
    for name, told in folder.read()["processes"].items():
        process = psutil.Process(told["pid"])
        family = [process, *process.children(recursive=True)]
        used[name] = sum(times.user + times.system for times in (p.cpu_times() for p in family))
    used["bots"] = sum(psutil.Process().cpu_times()[:2])
    return used


async def _play(folder: HouseFolder, hands: int) -> None:
    house = find_house(folder.file)
    tables = await open_tables(house)
    before = _processor_s(folder)
    summary = await play_hands(house, tables, hands, lambda _: None)
    after = _processor_s(folder)
    ledger = await settle(house)
    verified = await verify_everything(house, lambda _: None)
    print(f"{summary.hands / summary.elapsed_s:.1f} hands/s ({summary.hands} hands, one table)")
    print(f"verified: {verified.clean}, ledger: {ledger.balanced}")
    for name, used_s in after.items():
        print(f"{name:9} {1e3 * (used_s - before[name]) / summary.hands:6.2f} ms a hand")


async def _main(folder: HouseFolder, hands: int) -> None:
    await keep_open(folder, asyncio.Event(), lambda: _play(folder, hands))


def main() -> None:
    """Opens a house of its own, plays, prints, closes it."""
    hands = int(sys.argv[1]) if len(sys.argv) > 1 else HANDS
    place = temporary_folder()
    profile = place / "profile"
    if len(sys.argv) > 2:
        _profiled(sys.argv[2], profile)
    try:
        asyncio.run(_main(HouseFolder(place / "house"), hands))
        if profile.exists():
            pstats.Stats(str(profile)).sort_stats("tottime").print_stats(LINES)
    finally:
        remove(place)


if __name__ == "__main__":
    main()
