"""Tokens of pages that go back in time: where the last one ended."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta

from shared.errors import CroupierError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
END = datetime(9999, 1, 1, tzinfo=UTC)
"""Behind everything."""


def token(at: datetime, name: str) -> str:
    """The token of a page that ended with `name` at a time."""
    microseconds = (at - EPOCH) // timedelta(microseconds=1)
    return urlsafe_b64encode(f"{microseconds}:{name}".encode()).decode()


def read_token(page_token: str) -> tuple[datetime, str]:
    """Time and name with which the page of this token ended; without one, what comes behind all.

    Raises `BAD_PAGE_TOKEN`.
    """
    if not page_token:
        return END, ""
    try:
        microseconds, _, name = urlsafe_b64decode(page_token.encode()).decode().partition(":")
        return EPOCH + timedelta(microseconds=int(microseconds)), name
    except (ValueError, OverflowError):
        raise CroupierError(
            "BAD_PAGE_TOKEN", "that token came with no page", "page_token"
        ) from None
