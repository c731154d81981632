"""The command line: what needs no house, and how refusals are told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jwt
import pytest
from croupier.audit.v1 import audit_pb2
from croupier.table.v1 import events_pb2
from croupier.table.v1 import table_pb2 as pb
from croupier.type.v1.card_pb2 import CardProof
from croupier.wallet.v1 import wallet_pb2
from typer.testing import CliRunner

from clients.api import AuditClient, WalletClient
from clients.cli.app import app, run_app
from clients.cli.shown_card import of_answer, read_document
from shared.errors import CroupierError
from tests.unit.clients.test_house import house_file

VECTORS = Path(__file__).resolve().parents[2] / "vectors"
COUP = {
    "game": "baccarat",
    "deck": ["9c", "2d", "Kc", "4s", "Th", "Qh"],
    "boxes": {"1": {"owner": "ann", "bets": {"ann": {"player": 100}}}},
}

TOKEN = jwt.encode({"sub": "ann", "role": "player"}, "k" * 32)

__all__ = ["house_file"]


@pytest.fixture
def runner() -> CliRunner:
    return CliRunner()


def test_hand_scripts_run_without_a_house(runner: CliRunner, tmp_path: Path) -> None:
    file = tmp_path / "coup.json"
    file.write_text(json.dumps(COUP))
    ran = runner.invoke(app, ["hand", str(file)])
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["result"] == "player"


def test_a_script_that_breaks_a_rule_fails_and_later_ones_still_run(runner: CliRunner) -> None:
    bad = COUP | {"deck": ["9c"]}
    lines = "\n".join(json.dumps(script) for script in (COUP, bad, COUP))
    ran = runner.invoke(app, ["hand", "-"], input=lines)
    assert ran.exit_code == 1
    results = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [one.get("result") for one in results] == ["player", None, "player"]
    assert results[1]["error"]["reason"] == "DECK_TOO_SHORT"


def test_whatever_bytes_a_script_has_each_line_is_answered_in_json(runner: CliRunner) -> None:
    def staked(player: str, stake: int) -> bytes:
        bets = {"1": {"owner": player, "bets": {player: {"player": stake}}}}
        return json.dumps(COUP | {"boxes": bets}).encode()

    half_a_pair = staked("\ud800", 10)
    lines = [staked("Ж", 10), b"\xff\xfe", bytes(range(128, 256)), b"\0", half_a_pair]
    lines += [staked("ann", int("9" * 1000)), staked("ann", int("9" * 4300))]
    ran = runner.invoke(app, ["hand", "-"], input=b"\n".join(lines))
    assert (ran.exit_code, type(ran.exception)) == (1, SystemExit)
    results = [json.loads(line) for line in ran.stdout_bytes.splitlines()]
    reasons = [one.get("error", {}).get("reason") for one in results]
    assert reasons == [None, *["BAD_SCRIPT"] * 3, None, None, "BAD_SCRIPT"]
    assert "Ж" in ran.stdout
    assert results[4]["boxes"]["1"]["\ud800"][0]["returned"] == 20


def test_a_file_that_is_not_there_is_a_matter_of_usage(runner: CliRunner) -> None:
    assert runner.invoke(app, ["hand", "nowhere.json"]).exit_code == 2


def test_tokens_are_made_with_the_local_key(runner: CliRunner, house_file: Path) -> None:
    ran = runner.invoke(app, ["--house", str(house_file), "token", "--role", "pit"])
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.count(".") == 2
    assert (
        runner.invoke(app, ["--house", str(house_file), "token", "--role", "king"]).exit_code == 2
    )


def test_a_player_is_the_same_one_every_time(runner: CliRunner, house_file: Path) -> None:
    from clients.api.house import subject_of

    subjects = {
        subject_of(runner.invoke(app, ["--house", str(house_file), "token"]).stdout.strip())
        for _ in range(2)
    }
    assert len(subjects) == 1


def test_refusals_are_told_with_what_to_do_and_without_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuse() -> None:
        raise CroupierError("INSUFFICIENT_FUNDS", "there are [5] on it", "amount")

    with pytest.raises(SystemExit) as end:
        run_app(refuse)
    assert end.value.code == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "INSUFFICIENT_FUNDS: there are [5] on it (amount)" in told.err
    assert "croupier account deposit" in told.err


def test_ctrl_c_ends_quietly(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as end:
        run_app(interrupted)
    assert end.value.code == 130
    assert capsys.readouterr().err == ""


def test_a_text_that_is_no_utf8_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    """What a shell hands over may be any bytes."""

    def of_bytes() -> None:
        pb.GetTableRequest(table_id=os.fsdecode(b"b-\xff"))

    with pytest.raises(SystemExit) as ended:
        run_app(of_bytes)
    assert ended.value.code == 1
    assert r"'b-\udcff' is no text in UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["play", "poker"],
        ["verify"],
        ["verify", "some-hand", "--all"],
        ["verify-card"],
        ["account", "statement", "--limit", "0"],
    ],
)
def test_wrong_usage_is_told_with_status_2(runner: CliRunner, words: list[str]) -> None:
    assert runner.invoke(app, words).exit_code == 2


@pytest.mark.parametrize("words", [["--help"], ["play", "-h"], ["table", "open", "--help"]])
def test_every_command_explains_itself(runner: CliRunner, words: list[str]) -> None:
    ran = runner.invoke(app, words)
    assert ran.exit_code == 0
    assert "Usage" in ran.output


# ---- Cards and their proofs


@pytest.fixture
def document() -> dict[str, object]:
    """A published vector of a sealed shoe: the same document that other verifiers read."""
    (file, *_) = sorted((VECTORS / "shoe").glob("*.json"))
    found = json.loads(file.read_text())
    documents = found if isinstance(found, list) else [found]
    first: dict[str, object] = documents[0].get("document", documents[0])
    return first


def test_cards_hold_under_their_seal(
    runner: CliRunner, tmp_path: Path, document: dict[str, object]
) -> None:
    file = tmp_path / "cards.json"
    file.write_text(json.dumps(document))
    ran = runner.invoke(app, ["verify-card", str(file)])
    assert ran.exit_code == 0, ran.output
    assert "holds" in ran.output
    as_json = runner.invoke(app, ["verify-card", str(file), "--json"])
    assert json.loads(as_json.stdout)["holds"] is True


def test_a_card_that_was_changed_does_not_hold(
    runner: CliRunner, document: dict[str, object]
) -> None:
    cards = document["cards"]
    assert isinstance(cards, list)
    cards[0]["card"] = "2c" if cards[0]["card"] != "2c" else "2d"
    ran = runner.invoke(app, ["verify-card", "-"], input=json.dumps(document))
    assert ran.exit_code == 1
    assert "is NOT under this seal" in ran.output


def test_no_cards_prove_nothing(runner: CliRunner, document: dict[str, object]) -> None:
    bare = {key: document[key] for key in ("shoe_id", "decks", "root")} | {"cards": []}
    ran = runner.invoke(app, ["verify-card", "-"], input=json.dumps(bare))
    assert ran.exit_code == 1


def test_a_whole_shoe_is_made_again_from_its_seeds(
    runner: CliRunner, document: dict[str, object]
) -> None:
    ran = runner.invoke(app, ["verify-card", "-"], input=json.dumps(document | {"cards": []}))
    assert ran.exit_code == 0, ran.output
    assert "the seeds give the commitments, the cut and the seal" in ran.output
    wrong = document | {"server_seed": "00" * 32}
    ran = runner.invoke(app, ["verify-card", "-", "--json"], input=json.dumps(wrong))
    assert ran.exit_code == 1
    told = json.loads(ran.stdout)
    assert told["holds"] is False
    assert told["problems"] == [
        "the server seed is not what was committed to",
        "the seeds do not give the sealed root",
    ]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"shoe_id": "s", "decks": "x"}', "[" * 100_000], ids=lambda t: t[:9]
)
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(CroupierError, match="not a document of cards"):
        read_document(text)


def test_a_document_of_bytes_that_are_no_text_is_refused(runner: CliRunner, tmp_path: Path) -> None:
    file = tmp_path / "cards.json"
    file.write_bytes(b'{"shoe_id": "\xe9"}')
    ran = runner.invoke(app, ["verify-card", str(file)])
    assert isinstance(ran.exception, CroupierError), ran.exception


def test_the_cards_of_a_hand_come_with_the_size_of_their_shoe() -> None:
    answer = pb.GetHandResponse(shoe_id="s", shoe_root=b"r")
    answer.proofs.append(CardProof(position=3, card="Td", salt=b"s" * 16, path=[b"p" * 32]))
    answer.events.add(hand_opened=events_pb2.HandOpened(game="battle"))
    assert of_answer(answer).decks == 6
    answer.events[0].hand_opened.rules_json = '{"decks": 4}'
    sealed = of_answer(answer)
    assert sealed.decks == 4
    assert str(sealed.cards[0].card) == "Td"
    with pytest.raises(CroupierError, match="no cards were dealt"):
        of_answer(pb.GetHandResponse())


def test_stdout_is_for_answers_only(runner: CliRunner, house_file: Path) -> None:
    ran = runner.invoke(app, ["--house", str(house_file), "--address", "127.0.0.1:1", "tables"])
    assert ran.exit_code == 1
    assert ran.stdout == ""
    assert isinstance(ran.exception, CroupierError)


@pytest.mark.parametrize(
    "asked",
    [
        ["--rules", "nowhere.json"],
        ["--rules", "."],
        ["--rules", "list.json"],
        ["--rules", "latin.json"],
        ["--rules", "deep.json"],
        ["--clock", f"betting_ms={2**63}"],
        ["--clock", "betting_ms=true"],
        ["--seats", str(2**31), "--table", "t1"],
    ],
    ids=str,
)
def test_what_a_table_cannot_be_opened_with_is_said_in_words(
    runner: CliRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "latin.json").write_bytes(b'{"min": "\xe9"}')
    (tmp_path / "deep.json").write_text("[" * 100_000)
    monkeypatch.chdir(tmp_path)
    where = ["--address", "127.0.0.1:1", "--token", TOKEN]
    ran = runner.invoke(app, [*where, "table", "open", "baccarat", *asked])
    assert ran.exit_code == 2 or isinstance(ran.exception, CroupierError), ran.exception
    assert getattr(ran.exception, "reason", "") != "UNREACHABLE"


def test_a_hand_that_is_played_has_not_ended(
    runner: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hands(*_: object) -> list[audit_pb2.Hand]:
        return [audit_pb2.Hand(hand_id="t1-9", game="battle", number=2)]

    monkeypatch.setattr(AuditClient, "hands", hands)
    token = jwt.encode({"sub": "eve", "role": "auditor"}, "k" * 32)
    ran = runner.invoke(app, ["--address", "127.0.0.1:1", "--token", token, "hands"])
    assert "t1-9" in ran.output
    assert "is played" in ran.output
    assert "1970" not in ran.output


def test_a_note_in_a_statement_is_no_markup(
    runner: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    deposit = wallet_pb2.Transfer(note="thanks [/] [bold]you")

    async def transfers(*_: object) -> list[wallet_pb2.Transfer]:
        return [deposit]

    monkeypatch.setattr(WalletClient, "transfers", transfers)
    ran = runner.invoke(app, ["--address", "127.0.0.1:1", "--token", TOKEN, "account", "statement"])
    assert "thanks [/] [bold]you" in ran.output
