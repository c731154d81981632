"""A short evening of real processes that are killed, paused and cut off, from a fixed seed:
`make chaos` has the long ones, with all games."""

from __future__ import annotations

import pytest

from tests.chaos.run import run

GAMES = ("battle", "casino_holdem", "draw_poker")
SEED = 67
"""A pause of one node, a kill of the other, answers of the log lost to the relay and the wallet."""
MINUTES = 0.1


@pytest.mark.timeout(240)
async def test_whatever_breaks_all_of_it_holds() -> None:
    outcome = await run(SEED, MINUTES, GAMES)
    assert not outcome.findings, outcome.told()
    assert outcome.counts["hands"]
    assert outcome.counts["kills"]
    assert outcome.counts["pauses"]
    assert outcome.counts["cuts"]
