"""What a snapshot holds is the table, whole; nothing else can be read from one."""

from __future__ import annotations

import pickle

import pytest

from services.table.snapshots import read_state, write_state, writer
from shared.games.registry import GAMES
from shared.table import events as e
from tests.unit.table.story import Story


def evening(game: str) -> Story:
    """A table where something has happened, between two hands."""
    if game == "draw_poker":
        return Story(game, ante=10, chips=("ann", "bob"))
    story = Story(game, chips=("ann", "bob"))
    story.run()
    wager = story.state.table.game.WAGERS[0]
    story.bet("ann", 1, wager, 100)
    story.done("ann")
    story.run()
    if story.state.shoe is not None and story.state.shoe.cut_deadline:
        story.do(e.CutChosen(story.state.shoe.cut_player, 0, story.now))
    story.run()
    while story.state.hand is not None:
        story.expire()
        story.run()
    return story


@pytest.mark.parametrize("game", GAMES)
def test_a_table_is_read_as_it_was_written(game: str) -> None:
    state = evening(game).state
    again = read_state(write_state(state))
    assert again == state
    # Rules are not copied.
    assert again.table.game is GAMES[game]


@pytest.mark.parametrize("part", [print, pickle.Unpickler, "no table"])
def test_nothing_but_a_table_is_read(part: object) -> None:
    with pytest.raises(pickle.UnpicklingError):
        read_state(pickle.dumps(part))


def test_the_writer_is_the_sources() -> None:
    assert len(writer()) == 32
    assert writer() == writer()
