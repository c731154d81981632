"""What `croupier checkpoint check` says of kept checkpoints."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import cast

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from clients.api.errors import RefusedError
from clients.bots.progress import Verified
from clients.cli import audit, checkpoints
from clients.cli.app import app
from clients.cli.checkpoints import (
    Today,
    Verdict,
    notes_in,
    print_verdicts,
    signed_notes,
    verdict_on,
)
from clients.cli.shell import Shell
from shared.checkpoints.checkpoint import Checkpoint, origin_of
from shared.checkpoints.signed_note import NoteSigner
from shared.proofs.log_tree import Tile, consistency_ranges, range_hash
from shared.proofs.merkle import MerkleTree, leaf_hash
from shared.rpc.access import Role
from tests.services import token

LOG = "casino.example/one"
SIGNER = NoteSigner(LOG, bytes(range(32)))
EVENTS = [sha256(b"%d" % number).digest() for number in range(200)]
OTHERS = [*EVENTS[:50], sha256(b"another").digest(), *EVENTS[51:]]


def checkpoint(size: int, events: Sequence[bytes] = EVENTS, line: int = 1) -> Checkpoint:
    return Checkpoint(origin_of(LOG, "table.0", line), size, MerkleTree(events[:size]).root)


def note(size: int, signer: NoteSigner = SIGNER, line: int = 1) -> str:
    return signer.sign(checkpoint(size, line=line).text())


class House:
    """One that signs `newest` today, of these events."""

    def __init__(self, newest: int, events: Sequence[bytes] = EVENTS, line: int = 1) -> None:
        signed = checkpoint(newest, events, line)
        self.today = Today(SIGNER.verifier, [], {"table.0": signed})
        self._events = events

    async def prove(self, partition: str, from_size: int, to_size: int) -> list[bytes]:
        assert partition == "table.0"
        tiles = {Tile(0, 0): [leaf_hash(each) for each in self._events]}
        return [range_hash(each, tiles) for each in consistency_ranges(from_size, to_size)]

    async def says(self, kept: str) -> Verdict:
        return await verdict_on(kept, self.today, self.prove)


@pytest.mark.parametrize("size", [1, 64, 77, 120])
async def test_what_goes_on_from_a_checkpoint_holds(size: int) -> None:
    assert await House(120).says(note(size)) == Verdict(f"{LOG}/table.0", size, "")


async def test_another_past_is_told() -> None:
    house = House(120, OTHERS)
    assert (await house.says(note(50))).problem == ""
    assert "the first 51 of the 120" in (await house.says(note(51))).problem
    assert "are others" in (await house.says(note(120))).problem


async def test_a_shorter_log_is_told() -> None:
    assert "100 events were signed" in (await House(80).says(note(100))).problem


async def test_a_new_line_is_told_of_where_it_matters() -> None:
    house = House(120, OTHERS, line=2)
    assert (await house.says(note(50))).problem == ""
    assert (await house.says(note(50, line=2))).problem == ""
    assert "recovered from a loss" in (await house.says(note(90))).problem
    assert "recovered from a loss" in (await house.says(note(130))).problem
    assert "recovered" not in (await house.says(note(90, line=2))).problem


async def test_what_was_not_signed_by_this_house_is_refused() -> None:
    house = House(120)
    forger = replace(SIGNER, private_key=bytes(32))
    assert "not signed by" in (await house.says(note(64, forger))).problem
    other = NoteSigner("casino.example/two", SIGNER.private_key)
    assert "not signed by" in (await house.says(note(64, other))).problem
    assert "is not one of" in (await house.says(note(64).replace("\n64\n", "\n65\n"))).problem
    swapped = note(64).replace("table.0", "wallet.0")
    assert "is not one of" in (await house.says(swapped)).problem
    text = Checkpoint("casino.example/other/table.0", 64, bytes(32)).text()
    assert "is not of the log" in (await house.says(SIGNER.sign(text))).problem


async def test_a_partition_that_the_house_no_longer_shows() -> None:
    kept = SIGNER.sign(Checkpoint(f"{LOG}/wallet.0", 3, bytes(32)).text())
    assert "no checkpoint of it any more" in (await House(120).says(kept)).problem


@pytest.mark.parametrize("reason", ["LOG_DIVERGED", "LOG_UNAVAILABLE"])
async def test_a_house_that_cannot_prove_it(reason: str) -> None:
    async def refuse(partition: str, from_size: int, to_size: int) -> list[bytes]:
        raise RefusedError(reason, "not what was signed")

    if reason == "LOG_DIVERGED":
        verdict = await verdict_on(note(64), House(120).today, refuse)
        assert "cannot prove it: not what was signed" in verdict.problem
    else:
        with pytest.raises(RefusedError):
            await verdict_on(note(64), House(120).today, refuse)


@pytest.mark.parametrize(
    "line",
    [
        "[/red]",
        "[green]✓[/] casino.example/one/table.0: 120 events",
        "\x9b2Jcasino.example/one/table.0",
        "\u202ecasino.example/one/table.0",
        "x" * 10_000,
    ],
)
async def test_what_a_forger_writes_is_shown_and_does_nothing(line: str) -> None:
    forged = NoteSigner("someone", bytes(32)).sign(f"{line}\n120\nroot\n")
    told = io.StringIO()
    shell = Shell(out=Console(file=told, width=200), err=Console(file=io.StringIO()))
    today = House(120).today
    print_verdicts(shell, today, [await House(120).says(forged)], key_was_given=True)
    printed = told.getvalue()
    assert printed.startswith("✗ ")
    assert printed.count("\n") == 1
    assert len(printed) < 400
    assert printed.strip().isprintable()
    assert repr(line)[1:-1][:20] in printed


async def test_the_name_of_a_key_is_no_markup() -> None:
    told = io.StringIO()
    shell = Shell(out=Console(file=io.StringIO()), err=Console(file=told, width=200))
    today = Today(NoteSigner("[/red]", bytes(32)).verifier, [], {})
    print_verdicts(shell, today, [], key_was_given=False)
    assert str(today.verifier) in told.getvalue()


def kept_file(text: bytes) -> typer.FileText:
    return cast(typer.FileText, io.TextIOWrapper(io.BytesIO(text), encoding="utf-8"))


@pytest.mark.parametrize("text", [b"", b"\n\n", b"\xff\xfe", b"a\x00b", b"x" * 5_000_000])
def test_what_is_no_file_of_checkpoints(text: bytes) -> None:
    with pytest.raises(RefusedError) as refusal:
        notes_in(kept_file(text))
    assert (refusal.value.reason, refusal.value.field) == ("BAD_REQUEST", "file")
    assert len(refusal.value.message) < 200


def test_a_file_with_the_line_ends_of_windows() -> None:
    assert notes_in(kept_file(note(64).replace("\n", "\r\n").encode())) == [note(64)]


@pytest.mark.parametrize("where", ["missing/held.txt", "."])
def test_a_file_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    async def today(shell: Shell, key: str) -> Today:
        return replace(House(120).today, notes=[note(120)])

    monkeypatch.setattr(checkpoints, "_today", today)
    result = CliRunner().invoke(app, ["checkpoint", "save", str(tmp_path / where)])
    assert isinstance(result.exception, RefusedError)
    assert (result.exception.reason, result.exception.field) == ("BAD_REQUEST", "file")


async def test_more_than_can_be_compared_at_once_is_said_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def today(shell: Shell, key: str) -> Today:
        return House(120).today

    monkeypatch.setattr(checkpoints, "_today", today)
    monkeypatch.setattr(checkpoints, "MOST_AGAINST", 2)
    many = "".join(note(size) for size in (1, 2, 3))
    with pytest.raises(RefusedError) as refusal:
        await signed_notes(Shell(), kept_file(many.encode()), "")
    assert (refusal.value.reason, refusal.value.field) == ("BAD_REQUEST", "against")
    assert "2 at most" in refusal.value.message
    assert len(await signed_notes(Shell(), kept_file((note(1) + note(2)).encode() * 3), "")) == 6


def test_what_was_saved_several_times_is_brought_along_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought: list[str] = []

    async def today(shell: Shell, key: str) -> Today:
        return House(120).today

    async def everything(*words: object) -> Verified:
        brought.extend(cast(Iterable[str], words[-1]))
        return Verified(hands=1, failed=0, events=120, findings=(), complete=True)

    monkeypatch.setattr(checkpoints, "_today", today)
    monkeypatch.setattr(audit, "verify_everything", everything)
    (tmp_path / "held").write_text((note(64) + note(120)) * 2, encoding="utf-8")
    words = ["--token", token(Role.AUDITOR), "--address", "localhost:1"]
    result = CliRunner().invoke(app, [*words, "verify", "--all", "--against", f"{tmp_path}/held"])
    assert (result.exit_code, brought) == (0, [note(64), note(120)]), result
    assert "the log is what 4 checkpoints were signed over" in result.output
