"""Plays at a house whose processes are each on a host of their own, while the links between the
hosts are cut, one after the other, one way and both: `make partitions`.

    python -m tests.chaos.partitions [--cut-s 8] [--seed S]

Needs root on Linux, for network namespaces.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import BinaryIO, cast

from tests.chaos.evening import GAMES, Evening, Outcome
from tests.chaos.house import NODES, SERVERS, SERVICES, ChaosHouse, house_on
from tests.network import Network, network, why_not
from tests.polling import eventually
from tests.servers import remove, temporary_folder

LINKS = (
    ("table-1", "postgres"),
    ("table-1", "nats"),
    ("table-1", "table-2"),
    ("table-1", "shuffle-1"),
    ("shuffle-1", "postgres"),
    ("wallet-1", "postgres"),
    ("wallet-1", "nats"),
    ("relay-1", "postgres"),
    ("relay-1", "nats"),
)
QUIET_S = 4.0
GOES_ON_WITHIN_S = 60.0


@dataclass(frozen=True)
class Cut:
    """A link between two hosts that is cut: what either says to the other is lost, or both."""

    first: str
    second: str
    from_first: bool = True
    from_second: bool = True

    def __str__(self) -> str:
        arrow = {(True, True): "×", (True, False): "→×", (False, True): "×←"}
        return f"{self.first} {arrow[self.from_first, self.from_second]} {self.second}"

    def make(self, network: Network) -> None:
        if self.from_first:
            network.cut(self.first, self.second)
        if self.from_second:
            network.cut(self.second, self.first)


EVERY_CUT = tuple(
    Cut(*link, *ways) for link in LINKS for ways in ((True, False), (False, True), (True, True))
)


async def run(
    seed: int, cuts: Sequence[Cut], cut_s: float, quiet_s: float, games: tuple[str, ...] = GAMES
) -> Outcome:
    """One evening with these cuts, each for `cut_s`. Whatever is found is in its outcome."""
    outcome = Outcome(f"python -m tests.chaos.partitions --cut-s {cut_s:g} --seed {seed}")
    folder = temporary_folder()
    try:
        with tempfile.TemporaryFile() as spool, network(*SERVERS, *SERVICES, *NODES) as net:
            async with house_on(net.hosts, folder) as house:
                dice = Random(seed)
                evening = Evening(house, games, dice, cast("BinaryIO", spool), outcome)
                partitions = Partitions(house, net, outcome)

                async def mend() -> None:
                    net.heal_all()

                await evening.play(lambda: partitions.happen(cuts, cut_s, quiet_s), mend)
    finally:
        remove(folder)
    return outcome


class Partitions:
    """Cuts links and looks on."""

    def __init__(self, house: ChaosHouse, network: Network, outcome: Outcome) -> None:
        self._house = house
        self._network = network
        self._outcome = outcome

    async def happen(self, cuts: Sequence[Cut], cut_s: float, quiet_s: float) -> None:
        """One cut after the other, each healed before the next."""
        for cut in cuts:
            await asyncio.sleep(quiet_s)
            before = await self._hands()
            cut.make(self._network)
            self._outcome.counts["cuts"] += 1
            await asyncio.sleep(cut_s)
            meanwhile = await self._hands()
            self._network.heal_all()
            healed_s = time.monotonic()
            print(f"{cut}: {meanwhile - before} hands meanwhile", flush=True)
            await eventually(partial(self._goes_on, meanwhile), within_s=GOES_ON_WITHIN_S)
            print(f"  the next {time.monotonic() - healed_s:.1f} s after it was healed", flush=True)

    async def _goes_on(self, hands: int) -> bool:
        return await self._hands() > hands

    async def _hands(self) -> int:
        [row] = await self._house.sql(
            "SELECT count(*) FROM log.events WHERE type IN ('HandSettled', 'HandVoided')"
        )
        return int(row["count"])


def main() -> int:
    """Returns the exit status: 0 if nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.partitions")
    parser.add_argument("--cut-s", type=float, default=8.0)
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    if why_not():
        print(why_not())
        return 2
    seed = Random().getrandbits(32) if arguments.seed is None else arguments.seed
    print(f"{len(EVERY_CUT)} cuts of {arguments.cut_s:g} s, seed {seed}", flush=True)
    outcome = asyncio.run(run(seed, EVERY_CUT, arguments.cut_s, QUIET_S))
    print(outcome.told())
    return 1 if outcome.findings else 0


if __name__ == "__main__":
    sys.exit(main())
