"""Tokens of pages that go back in time: where the last one ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from shared.errors import CroupierError
from shared.log.hashing import microseconds
from shared.rpc import pages

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
END = datetime(9999, 1, 1, tzinfo=UTC)
"""Behind everything."""


def token(at: datetime, name: str) -> str:
    """The token of a page that ended with `name` at a time."""
    return pages.token(f"{microseconds(at)}:{name}")


def read_token(page_token: str) -> tuple[datetime, str]:
    """Time and name with which the page of this token ended; without one, what comes behind all.

    Raises `BAD_PAGE_TOKEN`.
    """
    last = pages.last_of(page_token)
    if not last:
        return END, ""
    since, _, name = last.partition(":")
    try:
        return EPOCH + timedelta(microseconds=int(since)), name
    except (ValueError, OverflowError):
        raise CroupierError("BAD_PAGE_TOKEN", "not a token of this list", "page_token") from None
