"""Free text that a caller sends and that is kept: how long it may be, and of what."""

from __future__ import annotations

import re

from shared.errors import CroupierError

# C0, DEL and C1. Postgres keeps no NUL in any text, and a terminal obeys the others.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def plain(text: str, most: int, field: str) -> str:
    """The text; `BAD_REQUEST` where it has more than `most` characters, or control characters
    (Unicode category Cc)."""
    if len(text) > most:
        raise CroupierError("BAD_REQUEST", f"{field}: {most} characters at most", field)
    if _CONTROL.search(text):
        raise CroupierError("BAD_REQUEST", f"{field}: no control characters", field)
    return text
