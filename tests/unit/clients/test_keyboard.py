"""Lines as they are typed."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import sys

import pytest

from clients.cli.play.keyboard import END_OF_INPUT, MOST_LETTERS, LineEditor, Terminal, piped_lines
from tests.polling import eventually


def typed(editor: LineEditor, keys: str) -> list[str]:
    return [line for key in keys if (line := editor.press(key)) is not None]


def test_a_line_ends_with_enter() -> None:
    editor = LineEditor()
    assert typed(editor, "bet 50\n  done \r\n") == ["bet 50", "done"]
    assert editor.typed == ""


def test_backspace_and_clear() -> None:
    editor = LineEditor()
    typed(editor, "bex\x7ft 5\x08")
    assert editor.typed == "bet "
    typed(editor, "\x15")
    assert editor.typed == ""


def test_arrow_up_brings_the_last_line_back_and_other_keys_do_nothing() -> None:
    editor = LineEditor()
    assert typed(editor, "banker 50\n\x1b[A") == ["banker 50"]
    assert editor.typed == "banker 50"
    typed(editor, "\x1b[D\x1b[3~\x00\t")
    assert editor.typed == "banker 50"


def test_a_line_is_bounded() -> None:
    editor = LineEditor()
    typed(editor, "x" * (MOST_LETTERS + 10))
    assert len(editor.typed) == MOST_LETTERS


async def test_a_terminal_gives_lines_and_is_left_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leader, follower = pty.openpty()
    with os.fdopen(follower, "r", closefd=True) as keyboard, os.fdopen(leader, "wb", 0) as hands:
        monkeypatch.setattr(sys, "stdin", keyboard)
        lines: list[str | None] = []
        keys = 0

        def changed() -> None:
            nonlocal keys
            keys += 1

        with Terminal(lines.append, changed) as terminal:
            hands.write("dön".encode())
            await eventually(lambda: terminal.editor.typed == "dön")
            hands.write(b"\n\x04")
            await eventually(lambda: lines == ["dön", END_OF_INPUT])
    assert keys >= 1


async def test_piped_lines_come_in_order_and_then_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\n two \n\n"))
    with piped_lines() as lines:
        seen = [await asyncio.wait_for(lines.get(), 5) for _ in range(4)]
    assert seen == ["one", "two", "", END_OF_INPUT]


async def test_bytes_that_are_no_text_do_not_end_what_is_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The player would sit at the table for ever, and everybody would wait for him."""
    piped = io.TextIOWrapper(io.BytesIO(b"one\n\xff\ntwo\n"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", piped)
    with piped_lines() as lines:
        seen = [await asyncio.wait_for(lines.get(), 5) for _ in range(4)]
    assert seen == ["one", "\ufffd", "two", END_OF_INPUT]
