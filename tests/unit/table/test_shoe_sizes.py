"""Whatever shoe a table may be opened with, shuffle makes it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from services.shuffle import decide as shuffle
from shared.errors import SettingError
from shared.table import events as e
from shared.table.next_step import OpenShoe
from tests.unit.table.story import Story


def opened(story: Story) -> int:
    """How many cards lie behind the cut card of the table's first shoe, if shuffle opens it."""
    (errand,) = (errand for errand in story.errands() if isinstance(errand, OpenShoe))
    size = errand.decks * 52
    command = shuffle.Open(
        asker=shuffle.Asker("t1", 1),
        shoe_id=errand.shoe_id,
        decks=errand.decks,
        cut_min_top=errand.cut_low,
        cut_min_bottom=size - errand.cut_high,
        behind_cut_card=errand.behind_cut_card,
        publish=errand.publish,
        commitment=b"c" * 32,
    )
    assert shuffle.decide(None, command, datetime.now(UTC))
    return errand.behind_cut_card


@pytest.mark.parametrize("game", ["baccarat", "battle"])
def test_a_shoe_has_any_number_of_decks_that_shuffle_can_make(game: str) -> None:
    for decks in range(1, 17):
        opened(Story(game, rules=f'{{"decks": {decks}}}'))
    for decks in (17, 100):
        with pytest.raises(SettingError) as refusal:
            Story(game, rules=f'{{"decks": {decks}}}')
        assert refusal.value.field == "decks"


@pytest.mark.parametrize(("decks", "behind"), [(1, 51), (2, 103), (3, 104)])
def test_BTL_09_a_shoe_without_two_decks_behind_its_cut_card_serves_one_coup(
    decks: int, behind: int
) -> None:
    story = Story("battle", rules=f'{{"decks": {decks}}}', chips=("ann",))
    assert opened(story) == behind
    story.hand(("ann", 1, "stake", 100))
    while story.state.hand is not None:
        story.expire()
        story.run()
    assert (e.ShoeFinished in map(type, story.log)) is (decks < 3)
