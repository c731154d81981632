"""Plays while processes are killed at random, then verifies everything: `make soak`.

    python -m tests.chaos.soak [MINUTES] [SEED]

One line a kill: which process, when everything served again, the longest wait for a hand since.
"""

from __future__ import annotations

import asyncio
import sys
import time
from random import Random

from tests.chaos.playing import Playing, playing
from tests.e2e.houses import PROCESSES, HouseOnDisk
from tests.servers import remove, temporary_folder

MINUTES = 10.0
QUIET_S = (1.0, 8.0)
MOST_AT_ONCE = 3


async def _soak(on_disk: HouseOnDisk, minutes: float, random: Random) -> bool:
    opened = await on_disk.run("up", "--detach")
    if opened.status != 0:
        raise RuntimeError(opened.err)
    end_s = time.monotonic() + 60 * minutes
    async with playing(on_disk) as run:
        while time.monotonic() < end_s:
            await asyncio.sleep(random.uniform(*QUIET_S))
            await _kill_some(on_disk, run, random)
        summary, ledger, verified = await run.finish()
    print(f"{summary.hands} hands, {verified.hands} verified, {len(verified.findings)} findings")
    return summary.ok(ledger, verified)


async def _kill_some(on_disk: HouseOnDisk, run: Playing, random: Random) -> None:
    victims = random.sample(PROCESSES, random.randint(1, MOST_AT_ONCE))
    run.longest_gap_s = 0.0
    began_s = time.monotonic()
    restarts = {name: on_disk.kill(name) for name in victims}
    for name, before in restarts.items():
        await on_disk.is_back(name, before)
    back_s = time.monotonic() - began_s
    await run.more_hands(5)
    print(f"{'+'.join(victims)}: back after {back_s:.1f} s, no hand for {run.longest_gap_s:.1f} s")


def main() -> int:
    """Returns the exit status: 0 if all that was played verifies and the ledger holds."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else MINUTES
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else Random().getrandbits(32)
    print(f"{minutes:g} minutes, seed {seed}")
    folder = temporary_folder()
    on_disk = HouseOnDisk(folder)
    try:
        return 0 if asyncio.run(_soak(on_disk, minutes, Random(seed))) else 1
    finally:
        on_disk.run_now("down")
        remove(folder)


if __name__ == "__main__":
    sys.exit(main())
