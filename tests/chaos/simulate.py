"""Plays simulated nights until the time is over or something is found.

    python -m tests.chaos.simulate [--minutes M] [--seed S] [--nights N]
                                   [--games battle,draw_poker] [--faults 3,7,12] [--night-s 40]

A night that fails is made smaller as long as it still fails, then told with how to play it again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from tests.chaos.simulated.night import GAMES, NIGHT_S, Outcome, Script, lines, run

MOST_TOLD = 10
MOST_TRIES = 60


def again(script: Script) -> str:
    """The command that plays a night again."""
    words = [f"python -m tests.chaos.simulate --nights 1 --seed {script.seed}"]
    if script.games != GAMES:
        words.append(f"--games {','.join(script.games)}")
    if script.night_s != NIGHT_S:
        words.append(f"--night-s {script.night_s:g}")
    if script.faults is not None:
        words.append(f"--faults {','.join(map(str, script.faults)) or 'none'}")
    return " ".join(words)


def shrunk(script: Script, tries: int = MOST_TRIES) -> Script:
    """A smaller night in which something is found as well: fewer games, then fewer faults."""
    smallest = script
    progress = True
    while progress and tries > 0:
        progress = False
        for smaller in _smaller(smallest):
            tries -= 1
            if run(smaller).findings:
                smallest, progress = smaller, True
                break
            if tries <= 0:
                break
    return smallest


def _smaller(script: Script) -> Iterator[Script]:
    if len(script.games) > 1:
        for game in script.games:
            yield replace(script, games=(game,))
        for game in script.games:
            yield replace(script, games=tuple(each for each in script.games if each != game))
    faults = script.faults or tuple(range(len(replace(script, faults=None).plan())))
    size = len(faults)
    while size > 1:
        size = (size + 1) // 2
        for start in range(0, len(faults), size):
            yield replace(script, faults=faults[:start] + faults[start + size :])
        if size == 1:
            break


def told(outcome: Outcome) -> str:
    """What was found, and how to find it again."""
    script = outcome.script
    found = [f"  {finding[:2000]}" for finding in outcome.findings[:MOST_TOLD]]
    more = len(outcome.findings) - len(found)
    return "\n".join(
        [
            f"seed {script.seed}: {len(outcome.findings)} findings",
            *found,
            *([f"  … and {more} more"] if more > 0 else []),
            "  with these faults:",
            lines(script.plan()),
            f"  again: {again(script)}",
        ]
    )


def main() -> int:
    """Returns the exit status: 0 if nothing was found."""
    arguments = _arguments()
    seed = Random().getrandbits(32) if arguments.seed is None else arguments.seed
    end_s = time.monotonic() + 60 * arguments.minutes
    total: Counter[str] = Counter()
    began_s = time.monotonic()
    nights = 0
    while nights < arguments.nights and (arguments.nights < 10**9 or time.monotonic() < end_s):
        script = Script(seed + nights, arguments.games, arguments.night_s, arguments.faults)
        outcome = run(script)
        nights += 1
        total.update(
            hands=outcome.hands,
            void=outcome.voids,
            claims=outcome.claims,
            events=outcome.events,
            updates=outcome.updates,
            commands=outcome.commands,
        )
        total.update(outcome.faults)
        if outcome.findings:
            print(told(outcome))
            if arguments.shrink:
                print("smaller:\n" + told(run(shrunk(script))))
            return 1
    minutes = (time.monotonic() - began_s) / 60
    print(f"{nights} nights from seed {seed} in {minutes:.1f} minutes, nothing found")
    print(", ".join(f"{count} {what}" for what, count in total.items()))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.simulate")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--nights", type=int, default=10**9)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--games", type=lambda text: tuple(text.split(",")), default=GAMES)
    parser.add_argument("--night-s", type=float, default=NIGHT_S)
    parser.add_argument(
        "--faults",
        type=lambda text: () if text == "none" else tuple(map(int, text.split(","))),
        default=None,
    )
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
