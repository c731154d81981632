"""The kept vectors of whole shoes, through Python and through the second verifier where node is."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from clients.api import RefusedError
from clients.cli.app import app
from clients.cli.shown_card import read_document
from clients.cli.whole_shoe import Part, WholeShoe, of_document
from shared.proofs.sealed_shoe import SealedShoe
from shared.proofs.seeds import player_seed_commitment, server_seed_commitment
from shared.proofs.shoe_order import dealer_cut
from shared.proofs.shown_card import card_leaf

ROOT = Path(__file__).parents[3]
VECTORS = sorted((ROOT / "tests" / "vectors" / "shoe").glob("*.json"))
Document = dict[str, Any]
Verifier = Callable[[Document], bool]


def sealed(document: Document) -> SealedShoe:
    seeds = [(each["player"], bytes.fromhex(each["seed"])) for each in document["player_seeds"]]
    seed = bytes.fromhex(document["server_seed"])
    return SealedShoe(seed, document["shoe_id"], seeds, document["decks"], document["cut_at"])


def in_python(document: Document) -> bool:
    try:
        cards, whole = read_document(json.dumps(document))
    except RefusedError:
        return False
    return all(map(cards.holds, cards.cards)) and not (whole and list(whole.problems()))


def in_javascript(document: Document) -> bool:
    script = ROOT / "clients" / "verify-card.mjs"
    done = subprocess.run(
        ["node", str(script), "-"],
        input=json.dumps(document),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    assert (done.stdout == "holds\n") == (done.returncode == 0)
    assert done.stderr == ""
    return done.returncode == 0


VERIFIERS: list[Verifier] = [in_python, *([in_javascript] if shutil.which("node") else [])]


def spoiled(document: Document, change: Callable[[Document], None]) -> Document:
    copy: Document = json.loads(json.dumps(document))
    change(copy)
    return copy


def another(text: str) -> str:
    return ("1" if text[0] == "0" else "0") + text[1:]


@pytest.fixture(params=VECTORS, ids=lambda path: path.stem)
def document(request: pytest.FixtureRequest) -> Document:
    loaded: Document = json.loads(request.param.read_text())
    return loaded


def test_the_steps_of_a_shoe_are_those_kept(document: Document) -> None:
    shoe = sealed(document)
    shown = [shoe.show(position) for position in range(len(shoe))]
    assert " ".join(str(card.card) for card in shown) == document["order"]
    assert shoe.root.hex() == document["root"]
    steps = document["steps"]
    leaf = card_leaf(document["shoe_id"], 0, shown[0].card, shown[0].salt)
    assert leaf.hex() == steps["leaf_0"]
    assert shown[0].salt.hex() == steps["salt_bytes"][:32]
    cut = steps["dealer_cut"]
    seed = bytes.fromhex(document["server_seed"])
    assert dealer_cut(seed, document["shoe_id"], cut["least"], cut["most"]) == cut["at"]
    for each in document["player_seeds"]:
        seed = bytes.fromhex(each["seed"])
        committed = player_seed_commitment(document["shoe_id"], each["player"], seed)
        assert committed.hex() == each["commitment"]


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_the_vectors_hold(document: Document, verifier: Verifier) -> None:
    assert verifier(document)
    assert verifier(spoiled(document, lambda copy: copy.pop("server_seed")))


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_what_a_cheat_would_change_does_not_hold(verifier: Verifier) -> None:
    document: Document = json.loads(VECTORS[0].read_text())
    card = document["cards"][0]["card"]

    def change(**fields: Any) -> Callable[[Document], None]:
        return lambda copy: copy["cards"][0].update(fields)

    first = document["cards"][0]
    forged = [another(first["path"][0]), *first["path"][1:]]
    cheats: dict[str, Callable[[Document], None]] = {
        "swapped card": change(card="2c" if card != "2c" else "2d"),
        "other position": change(position=1),
        "position behind the shoe": change(position=document["decks"] * 52),
        "other salt": change(salt=another(first["salt"])),
        "short salt": change(salt=first["salt"][:30]),
        "forged path": change(path=forged),
        "short path": change(path=first["path"][:-1]),
        "long path": change(path=[*first["path"], first["path"][0]]),
        "other root": lambda copy: copy.update(root=another(copy["root"])),
        "other shoe": lambda copy: copy.update(shoe_id="another"),
        "wrong server seed": lambda copy: copy.update(server_seed=another(copy["server_seed"])),
        "wrong player seed": lambda copy: copy["player_seeds"][0].update(seed="00" * 16),
        "player left out": lambda copy: copy["player_seeds"].pop(),
        "other cut": lambda copy: copy.update(cut_at=copy["cut_at"] + 1),
        "other commitment": lambda copy: copy.update(commitment=another(copy["commitment"])),
        "player's commitment": lambda copy: copy["player_seeds"][0].update(commitment="00" * 32),
    }
    passed = [name for name, cheat in cheats.items() if verifier(spoiled(document, cheat))]
    assert passed == []


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_a_cut_that_the_dealer_chose_himself_does_not_hold(verifier: Verifier) -> None:
    seed, name = bytes(range(32)), "dealer-1"
    at = dealer_cut(seed, name, 10, 42)
    commitment = server_seed_commitment(name, seed)

    def cut(place: int) -> Document:
        root = SealedShoe(seed, name, (), 1, place).root
        shoe = WholeShoe(name, 1, root, commitment, seed, (), place, (10, 42))
        return shoe.document() | {"cards": []}

    assert verifier(cut(at))
    assert not verifier(cut(at - 1))


@pytest.mark.parametrize("verifier", VERIFIERS)
@pytest.mark.parametrize(
    "odd",
    [
        {"dealer_range": [1, 10**9]},
        {"dealer_range": [2, 1]},
        {"dealer_range": [1]},
        {"dealer_range": [-7, 7]},
        {"cut_at": 10**6},
        {"cut_at": -1},
        {"decks": 0},
        {"decks": 2_000},
        {"decks": 1.5},
        {"server_seed": ""},
    ],
    ids=str,
)
def test_a_shoe_that_cannot_be_is_no_riddle(verifier: Verifier, odd: Document) -> None:
    """Neither verifier looks for its answer for ever, or falls over it."""
    assert not verifier(json.loads(VECTORS[0].read_text()) | odd)


def test_what_a_document_says_is_no_markup(tmp_path: Path) -> None:
    told = json.loads(VECTORS[0].read_text())
    told["player_seeds"][0] |= {"player": "[/]", "commitment": "00" * 32}
    file = tmp_path / "shoe.json"
    for document in (told, told | {"shoe_id": "[/]"}):
        file.write_text(json.dumps(document))
        done = CliRunner().invoke(app, ["verify-card", str(file)])
        assert done.exit_code == 1
        assert "the seed of [/] is not what was committed to" in done.output.replace("\n", " ")
    file.write_text(json.dumps(told | {"shoe_id": "a\x1b[2J"}))
    done = CliRunner().invoke(app, ["verify-card", str(file)])
    assert isinstance(done.exception, RefusedError)


def test_a_document_says_all_that_a_shoe_was_made_from() -> None:
    parts = (Part("ann", b"a" * 32, b"b" * 16), Part("bob", b"c" * 32, None))
    shoe = WholeShoe("s", 1, b"r" * 32, b"k" * 32, b"z" * 32, parts, 26, None)
    document = shoe.document()
    assert document["withheld"] == ["bob"]
    assert of_document(document) == replace(shoe, parts=parts[:1])
    assert "zz" not in repr(shoe)
    assert list(replace(shoe, scheme=2).problems()) == ["no such shoe can be made here"]
