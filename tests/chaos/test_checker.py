"""The checks of a chaotic night find what is wrong: each is shown one thing that is."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from croupier.table.v1 import table_pb2 as pb

from services.table.loading import load
from shared.table.view import player_view, public_view
from tests.chaos.checker import compare
from tests.chaos.recorder import Recorder
from tests.chaos.simulated.world import CODEC
from tests.unit.audit.given import Night, night

Change = Callable[[pb.Update], object]


@pytest.fixture
async def evening() -> Night:
    """Ann and bob sit at table t1."""
    return await night()


async def picture(evening: Night) -> pb.Update:
    """The table as ann sees it now."""
    state = await load(evening.log, CODEC, "t1")
    return pb.Update(
        table_id="t1",
        version=state.version,
        table=public_view(state),
        you=player_view(state, "ann"),
    )


def response(update: pb.Update) -> pb.PlayResponse:
    return pb.PlayResponse(update=update)


async def test_what_the_log_says_is_right(evening: Night) -> None:
    recorder = Recorder()
    recorder.heard("ann", 1, response(await picture(evening)))
    assert await compare(evening.log, CODEC, recorder) == []


def more_chips(update: pb.Update) -> None:
    update.you.chips.minor_units += 1


def another_shoe(update: pb.Update) -> None:
    update.table.shoe.shoe_id = "t1-s9"


def not_yet(update: pb.Update) -> None:
    update.version += 1_000


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (more_chips, "another hand was shown"),
        (another_shoe, "another table was shown"),
        (not_yet, "which is not logged"),
    ],
)
async def test_a_wrong_picture_is_found(evening: Night, change: Change, words: str) -> None:
    update = await picture(evening)
    change(update)
    recorder = Recorder()
    recorder.heard("ann", 1, response(update))
    [finding] = await compare(evening.log, CODEC, recorder)
    assert words in finding


@pytest.mark.parametrize(
    ("previous", "version", "words"),
    [(7, 8, "told was"), (0, 3, "back in time")],
)
async def test_a_gap_and_a_step_back_are_found(previous: int, version: int, words: str) -> None:
    recorder = Recorder()
    recorder.heard("ann", 1, response(pb.Update(table_id="t1", version=5)))
    later = pb.Update(table_id="t1", previous=previous, version=version)
    later.events.extend(pb.TableEvent(version=each) for each in range(previous + 1, version + 1))
    if not previous:
        later.ClearField("events")
    recorder.heard("ann", 1, response(later))
    assert any(words in finding for finding in recorder.findings)


async def test_an_acknowledgement_of_what_is_not_in_the_log_is_found(evening: Night) -> None:
    recorder = Recorder()
    command = pb.Command(command_id=str(uuid4()), join=pb.JoinTable())
    recorder.given("ann", 1, "t1", command)
    told = pb.Acknowledgement(
        table_id="t1", command_id=command.command_id, first_version=3, version=4
    )
    recorder.heard("ann", 1, pb.PlayResponse(acknowledgement=told))
    [finding] = await compare(evening.log, CODEC, recorder)
    assert "acknowledged, and not in the log" in finding


async def test_an_acknowledgement_before_its_updates_is_found() -> None:
    recorder = Recorder()
    recorder.heard("ann", 1, response(pb.Update(table_id="t1", version=5)))
    command = pb.Command(command_id=str(uuid4()), join=pb.JoinTable())
    recorder.given("ann", 1, "t1", command)
    told = pb.Acknowledgement(
        table_id="t1", command_id=command.command_id, first_version=6, version=7
    )
    recorder.heard("ann", 1, pb.PlayResponse(acknowledgement=told))
    assert recorder.findings == ["ann at t1: acknowledged up to 7, told up to 5"]
