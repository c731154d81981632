"""What waits for a client, and what each viewer is told of a change."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from croupier.table.v1 import table_pb2

from services.table.watching import (
    Change,
    End,
    Lost,
    Mailbox,
    Told,
    Viewer,
    picture,
    viewer_name,
)
from shared.cards import parse_card
from shared.errors import CroupierError
from shared.games.play import Face
from shared.rpc.access import Role
from shared.rpc.caller import Caller
from shared.table import events as e
from tests.unit.table.story import Story


def changes(story: Story, *facts: Any) -> list[Change]:
    made = []
    for fact in facts:
        before = story.state.version
        events = story.do(fact)
        numbered = [(before + n, "", event) for n, event in enumerate(events, start=1)]
        made.append(Change(numbered, story.state))
    return made


def sit_outs(story: Story, count: int) -> list[Change]:
    return changes(story, *(e.SitOutChanged("ann", bool(n % 2), story.now) for n in range(count)))


async def items(mailbox: Mailbox, count: int) -> list[Any]:
    async with asyncio.timeout(5):
        return [await mailbox.get() for _ in range(count)]


async def test_a_mailbox_gives_what_was_put_in_order_and_waits_for_more() -> None:
    mailbox = Mailbox()
    waiting = asyncio.create_task(mailbox.get())
    assert mailbox.put("one")
    assert mailbox.put("two")
    assert [await waiting, *await items(mailbox, 1)] == ["one", "two"]


async def test_who_is_too_far_behind_is_told_so_behind_what_waits() -> None:
    mailbox = Mailbox(most=3)
    assert all(mailbox.put(n) for n in range(3))
    assert not mailbox.put(3)
    assert not mailbox.put(4)
    *waiting, last = await items(mailbox, 4)
    assert waiting == [0, 1, 2]
    assert isinstance(last, End)
    assert isinstance(last.why, CroupierError)
    assert last.why.reason == "SLOW_WATCHER"
    # There is room again, but it is over.
    assert not mailbox.put(5)


async def test_an_end_is_the_end() -> None:
    mailbox = Mailbox(most=1)
    story = Story()
    viewer = Viewer("ann", "t1", mailbox)
    assert mailbox.put("last words")
    viewer.end()  # told also where there is no room
    mailbox.end(None)
    mailbox.end(ValueError())
    viewer.end()
    assert not viewer.tell(Change((), story.state))
    assert await items(mailbox, 3) == ["last words", Lost(viewer), End(None)]


async def test_a_snapshot_comes_alone_what_waits_in_one_update_if_nothing_is_between() -> None:
    story = Story(chips=("ann",))
    mailbox = Mailbox()
    viewer, other = Viewer("ann", "t1", mailbox), Viewer("bob", "t1", mailbox)
    start = Change((), story.state)
    assert viewer.begin(start, 0)
    first, second, third, fourth = sit_outs(story, 4)
    for change in (first, second):
        assert viewer.tell(change)
    mailbox.put("acknowledgement")
    assert viewer.tell(third)
    assert other.begin(third, third.state.version)
    assert viewer.tell(fourth)
    [told] = await items(mailbox, 1)
    assert told == Told(viewer, start)
    snapshot = table_pb2.Update.FromString(viewer.update(start))
    assert (snapshot.previous, snapshot.version) == (0, start.state.version)
    assert not snapshot.events
    [told] = await items(mailbox, 1)
    update = table_pb2.Update.FromString(viewer.update(told.change))
    assert (update.previous, update.version) == (start.state.version, second.state.version)
    assert len(update.events) == 2
    answer, told = await items(mailbox, 2)
    assert answer == "acknowledgement"
    update = table_pb2.Update.FromString(viewer.update(told.change))
    assert (update.previous, update.version) == (second.state.version, third.state.version)
    assert viewer.seen == third.state.version


async def test_one_update_holds_a_bounded_number_of_changes() -> None:
    story = Story(chips=("ann",))
    mailbox = Mailbox()
    viewer = Viewer("ann", "t1", mailbox)
    start = Change((), story.state)
    viewer.begin(start, start.state.version)
    for change in sit_outs(story, 100):
        viewer.tell(change)
    [told] = await items(mailbox, 1)
    update = table_pb2.Update.FromString(viewer.update(told.change))
    assert len(update.events) == 63


def dealt(*cards: tuple[Face, str]) -> e.CardsDealt:
    return e.CardsDealt(
        "r",
        tuple(
            e.DealtCard(n, "box1", face, viewer, parse_card("Ah"))
            for n, (face, viewer) in enumerate(cards)
        ),
    )


def seen(change: Change, viewer: str) -> Sequence[int]:
    [event] = table_pb2.Update.FromString(change.events_for(viewer)).events
    return [card.card_plus_one for card in event.cards_dealt.cards]


def test_a_private_card_is_told_to_its_player_alone_whoever_asks_first() -> None:
    state = Story().state
    code = int(parse_card("Ah")) + 1
    for order in (("ann", "bob", ""), ("", "bob", "ann")):
        change = Change([(1, "h", dealt((Face.OWNER, "ann"), (Face.UP, "")))], state)
        told = {viewer: seen(change, viewer) for viewer in order}
        assert told == {"ann": [code, code], "bob": [0, code], "": [0, code]}


def test_a_public_change_is_made_once_for_all() -> None:
    change = Change([(1, "h", dealt((Face.UP, "")))], Story().state)
    assert change.events_for("ann") is change.events_for("bob")
    assert change.table is change.table


def test_one_without_a_name_has_nothing_of_his_own() -> None:
    change = Change((), Story(chips=("ann",)).state)
    own = table_pb2.Update.FromString(picture([change], "ann", 0))
    assert own.you.player == "ann"
    assert not table_pb2.Update.FromString(picture([change], "", 0)).HasField("you")


@pytest.mark.parametrize("role", list(Role))
def test_only_a_player_sees_his_own_cards(role: Role) -> None:
    name = viewer_name(Caller("ann", role, "token"))
    assert name == ("ann" if role is Role.PLAYER else "")
