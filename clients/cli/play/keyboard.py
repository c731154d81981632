"""Lines from the person, typed at a terminal or piped in."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import io
import os
import sys
import termios
import threading
import tty
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from types import TracebackType

END_OF_INPUT = None
MOST_LINES = 64
MOST_LETTERS = 200

_BACKSPACE = frozenset("\x7f\x08")
_ENTER = frozenset("\r\n")
_CLEAR = "\x15"
_END = "\x04"
_ESCAPE = "\x1b"


class LineEditor:
    """One line as it is typed: letters, backspace, Ctrl-U, arrow up for the last line."""

    def __init__(self) -> None:
        self.typed = ""
        self._last = ""
        self._escape = ""

    def press(self, key: str) -> str | None:
        """Takes one character; a finished line comes back, else `None`."""
        if self._escape:
            self._in_escape(key)
        elif key == _ESCAPE:
            self._escape = key
        elif key in _ENTER:
            line, self.typed = self.typed.strip(), ""
            if line:
                self._last = line
                return line
        elif key in _BACKSPACE:
            self.typed = self.typed[:-1]
        elif key == _CLEAR:
            self.typed = ""
        elif key.isprintable() and len(self.typed) < MOST_LETTERS:
            self.typed += key
        return None

    def _in_escape(self, key: str) -> None:
        self._escape += key
        if key.isalpha() or key == "~":
            if self._escape.endswith("A"):
                self.typed = self._last
            self._escape = ""


class Terminal:
    """Reads single keys from the terminal on standard input; the terminal is as it was afterwards.

    Finished lines go to `line`, `END_OF_INPUT` when Ctrl-D is pressed; `changed` is called with
    every key.
    """

    def __init__(self, line: Callable[[str | None], None], changed: Callable[[], None]) -> None:
        self.editor = LineEditor()
        self._line = line
        self._changed = changed
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._fd = sys.stdin.fileno()

    def __enter__(self) -> Terminal:
        self._before = termios.tcgetattr(self._fd)
        tty.setcbreak(self._fd)
        asyncio.get_running_loop().add_reader(self._fd, self._read)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    def _read(self) -> None:
        keys = os.read(self._fd, 1024)
        if not keys:
            self._line(END_OF_INPUT)
        for key in self._decoder.decode(keys):
            if key == _END:
                self._line(END_OF_INPUT)
                continue
            line = self.editor.press(key)
            if line is not None:
                self._line(line)
        self._changed()


@contextlib.contextmanager
def piped_lines() -> Iterator[asyncio.Queue[str | None]]:
    """Lines of standard input, then `END_OF_INPUT`; at most 64 are read ahead."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue(MOST_LINES)

    def read() -> None:
        if isinstance(sys.stdin, io.TextIOWrapper):
            # A line of bytes that are no text is not understood; it must not be the last that is
            # heard of somebody whom a table waits for.
            sys.stdin.reconfigure(errors="replace")
        # The loop is gone when the program ends before its input does.
        with contextlib.suppress(RuntimeError, CancelledError):
            for line in sys.stdin:
                asyncio.run_coroutine_threadsafe(lines.put(line.strip()), loop).result()
            asyncio.run_coroutine_threadsafe(lines.put(END_OF_INPUT), loop).result()

    threading.Thread(target=read, name="stdin", daemon=True).start()
    yield lines
