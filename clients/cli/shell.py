"""What all commands have in common: where the house is, who is asking, how answers are printed."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import typer
from google.protobuf.message import Message
from rich.console import Console
from rich.markup import escape

from clients.api.connection import Connection
from clients.api.errors import RefusedError
from clients.api.house import (
    House,
    Identity,
    find_house,
    new_player_id,
    role_of,
    subject_of,
)
from clients.cli.advice import ADVICE
from shared.errors import CroupierError
from shared.events import to_json

Result = TypeVar("Result")
PATIENCE_S = 3.0

_ME_FILE = "me.json"
_WIDE = 200


@dataclass(slots=True)
class Shell:
    """One run of the command. `out` is for answers, `err` for everything else."""

    address: str = ""
    token: str = ""
    house_file: Path | None = None
    out: Console = field(default_factory=lambda: console(stderr=False))
    err: Console = field(default_factory=lambda: console(stderr=True))
    _house: House | None = None

    @property
    def house(self) -> House:
        """The house that was named, or the one that runs here."""
        if self._house is None:
            self._house = find_house(self.house_file, self.address, self.token)
        return self._house

    def connect(self, service: str, who: Identity) -> Connection:
        """A connection for one command: a person waits a little, not long."""
        return self.house.connect(service, who, PATIENCE_S)

    def player(self) -> Identity:
        """The person at this keyboard as a player: who the token says, else a player made once and
        kept beside the house file."""
        if self.house.token:
            return Identity(subject_of(self.house.token), role_of(self.house.token))
        folder = self.house.folder
        if folder is None:
            raise RefusedError("UNAUTHENTICATED", "no token was given")
        file = folder / _ME_FILE
        if not file.exists():
            _write_whole(file, json.dumps({"player": new_player_id()}))
        return Identity(str(json.loads(file.read_text())["player"]), "player")

    def staff(self, role: str) -> Identity:
        """The person at this keyboard in another role; a given token keeps its own."""
        if self.house.token:
            return Identity(subject_of(self.house.token), role_of(self.house.token))
        return Identity(f"local-{role}", role)

    def print_json(self, answer: Message | dict[str, Any] | list[Any]) -> None:
        """One line of JSON on standard output."""
        value = to_json(answer) if isinstance(answer, Message) else answer
        self.out.file.write(json.dumps(value, ensure_ascii=False) + "\n")

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Runs what a command does."""
        return asyncio.run(work)


def shell_of(context: typer.Context) -> Shell:
    """The shell that the global options have made."""
    found = context.find_object(Shell)
    assert found is not None
    return found


def console(stderr: bool) -> Console:
    """Standard output or error; lines are not broken where no terminal shows them."""
    there = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, width=None if there.isatty() else _WIDE)


def say_refusal(console: Console, refusal: CroupierError) -> None:
    """The reason, the message and what to do about it."""
    where = f" [dim]({escape(refusal.field)})[/]" if refusal.field else ""
    console.print(f"[bold red]{refusal.reason}[/]: {escape(refusal.message)}{where}")
    if refusal.reason in ADVICE:
        console.print(f"[dim]→[/] {escape(ADVICE[refusal.reason])}")


def interactive() -> bool:
    """Whether a person sits at the keyboard and sees the screen."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _write_whole(file: Path, text: str) -> None:
    """Writes a file so that nobody ever reads half of it."""
    part = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    part.write_text(text)
    os.replace(part, file)
