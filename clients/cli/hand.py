"""`croupier hand FILE`: hands with given cards through the pure rules, without a server."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from shared.games.script import run_lines


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("hand")(run_hands)


def run_hands(
    file: Annotated[
        typer.FileBinaryRead,
        typer.Argument(help="A hand script, or several as JSON lines; - for stdin."),
    ],
) -> None:
    """Play hand scripts (docs/hand-script.md); one line of JSON each. Needs no house."""
    failed = False
    for result in run_lines(file.read()):
        failed = failed or "error" in result
        line = json.dumps(result, ensure_ascii=False)
        # Half a surrogate pair, which a script may have written as an escape, is one again.
        sys.stdout.buffer.write(line.encode(errors="backslashreplace") + b"\n")
    if failed:
        raise typer.Exit(1)
