"""The published hands: the whole result of each, and the reason of each refusal."""

import json
from pathlib import Path
from typing import Any

import pytest

from shared.games.script import run_lines, run_script

VECTORS = Path(__file__).parents[1] / "vectors"
GAMES = ("baccarat", "battle", "casino_holdem", "oasis_poker", "draw_poker")


def vectors(name: str) -> list[dict[str, Any]]:
    with (VECTORS / f"{name}.jsonl").open() as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("name", GAMES)
def test_every_published_hand_gives_the_published_result(name: str) -> None:
    hands = vectors(name)
    assert len(hands) == 80
    for hand in hands:
        assert run_script(hand["script"]) == hand["expect"]


def test_every_published_offence_is_refused_with_its_reason_and_place() -> None:
    offences = vectors("illegal")
    assert len(offences) == 50
    for offence in offences:
        error = run_script(offence["script"])["error"]
        assert error.pop("message")
        assert {"error": error} == offence["expect"]


def test_scripts_as_lines_run_one_after_the_other_and_go_on_after_a_refusal() -> None:
    hands = [*vectors("battle")[:3], *vectors("illegal")[:3], *vectors("baccarat")[:2]]
    text = "\n".join(json.dumps(hand["script"]) for hand in hands)
    results = list(run_lines(text.encode()))
    assert results == [run_script(hand["script"]) for hand in hands]
    assert ["error" in result for result in results] == [False] * 3 + [True] * 3 + [False] * 2
