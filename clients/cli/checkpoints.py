"""`croupier checkpoint save` and `check`: what the house has signed of its log, kept elsewhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from clients.api.audit import AuditClient
from clients.api.errors import RefusedError
from clients.cli.shell import Shell, shell_of
from shared.checkpoints.checkpoint import Checkpoint, place_of, read_own
from shared.checkpoints.signed_note import NoteError, NoteVerifier, split_notes
from shared.proofs.log_tree import consistency_holds

checkpoint = typer.Typer(
    no_args_is_help=True,
    help="What the house has signed of its log, to keep elsewhere and hold it to (docs/audit.md).",
)

Key = Annotated[
    str,
    typer.Option(help="The key that verifies them, NAME+ID+BASE64; else the one the house names."),
]

Prove = Callable[[str, int, int], Awaitable[Sequence[bytes]]]
"""`AuditClient.consistency`."""


MOST_AGAINST = 10_000
"""Different ones, in one `VerifyAll`: as audit.proto has it."""
_SHOWN_CHARACTERS = 100


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.add_typer(checkpoint, name="checkpoint")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one checkpoint; `problem` is empty where it holds."""

    origin: str
    size: int
    problem: str


@dataclass(frozen=True, slots=True)
class Today:
    """What the house says now: its newest checkpoints by partition, and the key they are checked
    with."""

    verifier: NoteVerifier
    notes: Sequence[str]
    newest: dict[str, Checkpoint]


@checkpoint.command()
def save(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Is added to; - for standard output.")],
    key: Key = "",
) -> None:
    """Keep the newest checkpoint of every partition, as signed notes one after another.

    Put the file where whoever runs the house's database cannot reach it.
    """
    shell = shell_of(context)
    today = shell.run(_today(shell, key))
    if not today.notes:
        raise RefusedError("CHECKPOINT_NOT_FOUND", "the house has signed no checkpoint yet")
    together = "".join(today.notes)
    if str(file) == "-":
        shell.out.file.write(together)
    else:
        try:
            with file.open("a", encoding="utf-8", newline="\n") as kept:
                kept.write(together)
        except OSError as error:
            raise RefusedError("BAD_REQUEST", f"not saved: {error}", "file") from error
    for partition, newest in today.newest.items():
        shell.err.print(f"[green]✓[/] {partition}: {newest.size} events")
    shell.err.print(f"[dim]signed with[/] {escape(str(today.verifier))}", soft_wrap=True)


@checkpoint.command()
def check(
    context: typer.Context,
    file: Annotated[
        typer.FileText, typer.Argument(encoding="utf-8", help="As saved; - for standard input.")
    ],
    key: Key = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check that kept checkpoints are signed, and that what is signed today begins with them.

    Exit status 1 if one does not hold. The events themselves: croupier verify --all --against FILE.
    """
    shell = shell_of(context)
    notes = notes_in(file)
    today, verdicts = shell.run(_check(shell, notes, key))
    good = not any(verdict.problem for verdict in verdicts)
    if as_json:
        lines = [
            {"origin": each.origin, "size": each.size, "holds": not each.problem}
            | ({"problem": each.problem} if each.problem else {})
            for each in verdicts
        ]
        shell.print_json({"holds": good, "key": str(today.verifier), "checkpoints": lines})
    else:
        print_verdicts(shell, today, verdicts, bool(key))
    if not good:
        raise typer.Exit(1)


def notes_in(file: typer.FileText) -> list[str]:
    """The notes in a file that was saved. Raises `RefusedError` `BAD_REQUEST`."""
    try:
        notes = split_notes(file.read())
    except ValueError as error:
        raise RefusedError("BAD_REQUEST", f"not a file of checkpoints: {error}", "file") from error
    if not notes:
        raise RefusedError("BAD_REQUEST", "there is no checkpoint in it", "file")
    return notes


async def signed_notes(shell: Shell, file: typer.FileText, key: str) -> list[str]:
    """The notes in a file, all of which are checkpoints of the house that `key` (or the house's
    own) has signed. Raises `RefusedError` `BAD_REQUEST` where one is not, or there are too many."""
    notes = notes_in(file)
    different = len(set(notes))
    if different > MOST_AGAINST:
        words = f"{different} checkpoints, of which {MOST_AGAINST} at most are compared at once"
        raise RefusedError("BAD_REQUEST", words, "against")
    verifier = (await _today(shell, key)).verifier
    for note in notes:
        try:
            read_own(note, verifier)
        except NoteError as error:
            raise RefusedError("BAD_REQUEST", _words(note, error), "against") from error
    return notes


async def _today(shell: Shell, key: str) -> Today:
    async with shell.connect("audit", shell.staff("auditor")) as connection:
        checkpoints, named = await AuditClient(connection).checkpoints()
    try:
        verifier = NoteVerifier.parse(key or named)
    except NoteError as error:
        raise RefusedError("BAD_REQUEST", f"no key: {error}", "key") from error
    newest = {}
    for each in checkpoints:
        try:
            told, partition, _ = read_own(each.note, verifier)
        except NoteError as error:
            raise RefusedError(
                "NOT_VERIFIED", f"the house shows {_words(each.note, error)}"
            ) from error
        newest[partition] = told
    return Today(verifier, [each.note for each in checkpoints], newest)


async def _check(shell: Shell, notes: Sequence[str], key: str) -> tuple[Today, list[Verdict]]:
    today = await _today(shell, key)
    async with shell.connect("audit", shell.staff("auditor")) as connection:
        client = AuditClient(connection)
        return today, [await verdict_on(note, today, client.consistency) for note in notes]


async def verdict_on(note: str, today: Today, prove: Prove) -> Verdict:
    """Whether a checkpoint is one of the house's, and the newest of its partition goes on from
    it."""
    try:
        held, partition, line = read_own(note, today.verifier)
    except NoteError as error:
        return Verdict(note.partition("\n")[0], 0, str(error))
    newest = today.newest.get(partition)
    if newest is None:
        problem = "the house shows no checkpoint of it any more"
    elif held.size > newest.size:
        problem = f"{held.size} events were signed, and the house's newest has {newest.size}"
    else:
        problem = await _unlike(prove, partition, held, newest)
    if problem and newest is not None and place_of(newest.origin, today.verifier.name)[1] > line:
        problem += "; since then the house says that it has recovered from a loss"
    return Verdict(held.origin, held.size, problem)


async def _unlike(prove: Prove, partition: str, held: Checkpoint, newest: Checkpoint) -> str:
    """Why the newest checkpoint does not go on from `held`; empty where it does."""
    try:
        proof = await prove(partition, held.size, newest.size)
    except RefusedError as refusal:
        if refusal.reason != "LOG_DIVERGED":
            raise
        return f"the house cannot prove it: {refusal.message}"
    if consistency_holds(held.size, held.root, newest.size, newest.root, proof):
        return ""
    return f"the first {held.size} of the {newest.size} events signed today are others"


def print_verdicts(
    shell: Shell, today: Today, verdicts: Sequence[Verdict], key_was_given: bool
) -> None:
    """What came of each checkpoint, and what was not looked at."""
    for each in verdicts:
        if each.problem:
            # One that is not the house's may say anything at all.
            where = f"{each.origin}, {each.size} events" if each.size else _first_line(each.origin)
            told = escape(f"{where}: {each.problem}")
            shell.out.print(f"[bold red]✗[/] {told}", soft_wrap=True)
    holding = [each for each in verdicts if not each.problem]
    for origin in dict.fromkeys(each.origin for each in holding):
        sizes = sorted(each.size for each in holding if each.origin == origin)
        newest = today.newest[place_of(origin, today.verifier.name)[0]]
        told = ", ".join(map(str, sizes[-3:]))
        shell.out.print(
            f"[green]✓[/] {escape(origin)}: {told} events, with which the {newest.size} signed "
            "today begin"
        )
    whose = "given" if key_was_given else "named by the house itself: better give yours with --key"
    key = escape(str(today.verifier))
    shell.err.print(f"[dim]signed with[/] {key} [dim]({whose})[/]", soft_wrap=True)
    shell.err.print(
        "[dim]The events themselves were not read: croupier verify --all --against FILE[/]"
    )


def _words(note: str, error: Exception) -> str:
    return f"no checkpoint of '{_first_line(note)}': {error}"


def _first_line(note: str) -> str:
    """With what no terminal should be sent in the manner of Python."""
    return repr(note.partition("\n")[0][:_SHOWN_CHARACTERS])[1:-1]
