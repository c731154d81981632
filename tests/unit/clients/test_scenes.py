"""What the screen shows: every scene as it was looked at (see scenes.py)."""

from __future__ import annotations

import pytest

from tests.unit.clients.scenes import FOLDER, SCENES, Scene, betting


@pytest.mark.parametrize("name", sorted(SCENES))
async def test_the_screen_is_as_it_was_looked_at(name: str) -> None:
    assert SCENES[name]() == (FOLDER / f"{name}.txt").read_text()


async def test_every_written_scene_is_still_one() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == set(SCENES)


@pytest.mark.parametrize("height", [12, 16, 20, 24, 30, 60])
async def test_the_prompt_is_in_sight_whatever_the_height(height: int) -> None:
    shown = betting("oasis_poker", "ante 50").shown(height=height)
    lines = shown.rstrip("\n").splitlines()
    assert lines[-3].startswith("┃  >")
    assert len(lines) <= max(height, 17)


async def test_cards_still_to_be_turned_hide_themselves_and_the_result() -> None:
    scene = betting("baccarat", "banker 50")
    turned = scene.shown()
    hands = scene.table.state.last_cells
    positions = [cell.position for cells in hands.values() for cell in cells]
    hidden = scene.shown(unturned=positions[-1:])
    assert "wins" in turned
    assert "you: banker" not in hidden
    assert hidden.count("▒▒▒▒▒") == 3
    assert "▒" not in turned


async def test_the_clock_is_shown_while_it_runs() -> None:
    scene = Scene("baccarat").say("p_bobbbbbbbbbbbbb2", "player 5")
    assert "0:28 left" in scene.shown()
