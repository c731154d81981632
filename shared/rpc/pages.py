"""Pages of lists (AIP-158): a size that is bounded, a token that says where to go on."""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import TypeVar

from shared.errors import CroupierError

DEFAULT_SIZE = 100
MOST = 500

T = TypeVar("T")


def size(asked: int) -> int:
    """The page size asked for, or the default for 0; `BAD_REQUEST` for a negative one."""
    if asked < 0:
        raise CroupierError("BAD_REQUEST", "a page size is not negative", "page_size")
    return min(asked or DEFAULT_SIZE, MOST)


def token(last: str) -> str:
    """The token of the page behind the item `last`."""
    return urlsafe_b64encode(last.encode()).decode()


def last_of(page_token: str) -> str:
    """The item that the page before ended with, empty for the first; else `BAD_PAGE_TOKEN`."""
    try:
        return b64decode(page_token, altchars=b"-_", validate=True).decode()
    except ValueError:
        raise _no_token() from None


def last_number(page_token: str, most: int) -> int:
    """The number, up to `most`, that the page before ended with, `most` for the first; else
    `BAD_PAGE_TOKEN`."""
    last = last_of(page_token)
    if not last:
        return most
    number = last.isdecimal() and last.isascii() and len(last) <= len(str(most))
    if not number or int(last) > most:
        raise _no_token()
    return int(last)


def page(
    items: Sequence[T], asked: int, page_token: str, key: Callable[[T], str]
) -> tuple[Sequence[T], str]:
    """One page of items that are sorted by `key`, and the token of the next, empty at the end."""
    count, last = size(asked), last_of(page_token)
    rest = [item for item in items if key(item) > last]
    return rest[:count], token(key(rest[count - 1])) if len(rest) > count else ""


def _no_token() -> CroupierError:
    return CroupierError("BAD_PAGE_TOKEN", "not a token of this list", "page_token")
