"""Cards and beginnings of baccarat that several tests tell their stories with."""

from __future__ import annotations

from tests.unit.table.story import Story

# The first card of a shoe is turned up (3: three more are burned), then a coup: the player's 9
# against the banker's 7, a natural.
NATURAL = "3c 2c 2d 2h 9c 3d Kc 4d"
BANKER = "3c 2c 2d 2h 3c 9d Kc Kd"


def finish_shoe(story: Story) -> None:
    """Hands until the shoe is changed."""
    shoe_id = story.state.shoe.shoe_id if story.state.shoe else ""
    while story.state.shoe is not None and story.state.shoe.shoe_id == shoe_id:
        story.hand(("ann", 1, "tie", 10), ("bob", 2, "tie", 10))


def betting_closed_on_a_new_shoe(chips: tuple[str, ...] = ("ann", "bob")) -> Story:
    story = Story(chips=chips)
    story.run()
    story.bet("ann", 1, "player", 1_000)
    story.done(*chips)
    return story
