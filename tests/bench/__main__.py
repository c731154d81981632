"""Measures Croupier beside what bounds it: `make bench`.

    python -m tests.bench [--only NAME]... [--turns N] [--seconds S] [--json FILE] [--large]
                          [--ahead]

One row of the table at a time; `--only` picks rows. Every figure has its baseline in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import platform
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import structlog
import uvloop
from rich.console import Console

from tests.bench.ahead import ahead
from tests.bench.appends import appends, inserts
from tests.bench.commands import commands, latency
from tests.bench.figures import Bench, Effort, Figure, show
from tests.bench.growth import growth
from tests.bench.hands import hands
from tests.bench.relaying import relaying
from tests.bench.rules import rules
from tests.bench.settlements import settlements
from tests.bench.verifying import verifying

WIDTH = 170

BENCHES: Mapping[str, Bench] = {
    "hands": hands,
    "commands": commands,
    "appends": appends,
    "inserts": inserts,
    "settlements": settlements,
    "verify": verifying,
    "relay": relaying,
    "rules": rules,
    "latency": latency,
    "growth": growth,
}


def main() -> None:
    """Prints the table; with `--json` writes all that was measured."""
    said = _arguments()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    # Not a terminal: wide enough for the table.
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    effort = Effort(said.turns, said.seconds, said.large)
    figures: list[Figure] = []
    for name in said.only or BENCHES:
        started = time.perf_counter()
        figures += uvloop.run(_measure(BENCHES[name], effort, said.ahead))
        console.print(f"{name}: measured in {time.perf_counter() - started:.0f} s", style="dim")
    show(console, figures)
    if said.json:
        said.json.write_text(json.dumps(_report(figures), indent=2))


async def _measure(bench: Bench, effort: Effort, go_ahead: bool) -> list[Figure]:
    # Whatever hangs must not hang for ever.
    async with asyncio.timeout(3600), ahead() if go_ahead else contextlib.nullcontext():
        return list(await bench(effort))


def _report(figures: list[Figure]) -> dict[str, object]:
    return {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {
            "processors": os.cpu_count(),
            "load_1m": os.getloadavg()[0],
            "system": platform.platform(),
            "python": platform.python_version(),
        },
        "figures": [figure.as_json() for figure in figures],
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", action="append", choices=[*BENCHES], help="this row alone")
    parser.add_argument("--turns", type=int, default=3, help="how often each figure is measured")
    parser.add_argument("--seconds", type=float, default=4.0, help="how long, each time")
    parser.add_argument("--json", type=Path, help="a file for everything that was measured")
    parser.add_argument("--large", action="store_true", help="growth: a log of 10^7 events")
    parser.add_argument(
        "--ahead", action="store_true", help="before all else that runs here (Linux, root)"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
