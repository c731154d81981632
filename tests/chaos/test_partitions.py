"""Hosts that cannot reach each other: some of the cuts of `make partitions`."""

from __future__ import annotations

import pytest

from tests.chaos.partitions import Cut, run
from tests.network import why_not

GAMES = ("battle", "casino_holdem")
SEED = 1
LONGER_THAN_A_LEASE_S = 4.0
CUTS = (
    Cut("table-1", "postgres"),
    Cut("table-1", "table-2", from_second=False),
    Cut("wallet-1", "postgres", from_first=False),
)


@pytest.mark.timeout(240)
async def test_whatever_is_cut_all_of_it_holds_and_goes_on() -> None:
    if why := why_not():
        pytest.skip(why)
    outcome = await run(SEED, CUTS, LONGER_THAN_A_LEASE_S, 0.5, GAMES)
    assert not outcome.findings, outcome.told()
    assert outcome.counts["cuts"] == len(CUTS)
    # Those of the node that could not renew its lease went to the other one.
    assert outcome.counts["claims"] > len(GAMES)
