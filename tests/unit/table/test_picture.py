"""Updates are encoded in pieces, what all see once; read, they are the whole."""

from __future__ import annotations

import pytest
from croupier.table.v1 import table_pb2

from services.table.watching import Change, as_response, picture
from shared.table.view import event_view, is_private, player_view, public_view
from tests.unit.table.story import Story


def _changes(story: Story) -> list[Change]:
    return [
        Change([(version, "t1-9", event)], story.state) for version, event in enumerate(story.log)
    ]


@pytest.mark.parametrize("viewer", ["ann", "bob", ""])
def test_a_picture_holds_events_table_and_what_is_the_viewers_own(viewer: str) -> None:
    story = Story("casino_holdem", chips=("ann", "bob"))
    story.hand(("ann", 1, "ante", 1_000), ("bob", 2, "ante", 500))
    assert any(is_private(event) for event in story.log)
    changes = _changes(story)
    for _ in range(2):  # the second time from what was encoded the first time
        told = table_pb2.Update.FromString(picture(changes, viewer, 7))
        assert (told.table_id, told.previous, told.version) == ("t1", 7, story.state.version)
        assert told.table == public_view(story.state)
        assert told.HasField("you") == bool(viewer)
        if viewer:
            assert told.you == player_view(story.state, viewer)
        assert list(told.events) == [
            event_view(event, version, "t1-9", viewer) for version, event in enumerate(story.log)
        ]


@pytest.mark.parametrize("size", [0, 1, 127, 128, 20_000])
def test_an_update_is_the_answer_of_all_three_calls(size: int) -> None:
    update = table_pb2.Update(table_id="t" * size)
    encoded = as_response(update.SerializeToString())
    assert table_pb2.PlayResponse.FromString(encoded).update == update
    assert table_pb2.WatchResponse.FromString(encoded).update == update
    assert table_pb2.GetTableResponse.FromString(encoded).table == update
