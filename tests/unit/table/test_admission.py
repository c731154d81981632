"""What is let in, and when there is room again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from services.table.admission import Admission, in_play
from services.table.proposal import Answer, Proposal
from shared.errors import CroupierError
from shared.log import CommandKey
from shared.table import events as e
from shared.table.state import Betting
from tests.unit.table.story import Story


def command() -> Proposal:
    key = CommandKey("ann", uuid4(), bytes(32))
    return Proposal(lambda at: e.BetsDone("ann", at), "player:ann", uuid4(), key)


def in_betting(closed: bool) -> Story:
    story = Story()
    betting = Betting("t1-9", 1, closed=closed)
    story.state = replace(story.state, betting=betting)
    return story


async def test_room_is_kept_for_hands_that_run() -> None:
    admission = Admission(most_at_once=3, most_new=1)
    idle, playing = in_betting(closed=False).state, in_betting(closed=True).state
    assert (in_play(idle), in_play(playing)) == (False, True)
    first = command()
    admission.enter(first, idle)
    with pytest.raises(CroupierError, match="OVERLOADED"):
        admission.enter(command(), idle)
    for _ in range(2):
        admission.enter(command(), playing)
    with pytest.raises(CroupierError, match="OVERLOADED"):
        admission.enter(command(), playing)
    # The house's own is never refused.
    admission.enter(Proposal(lambda at: e.BetsDone("ann", at), "house", uuid4()), idle)
    assert admission.taken == 3
    # Done or refused: there is room again.
    first.succeed(Answer(1, 1))
    await asyncio.sleep(0)
    admission.enter(command(), playing)
