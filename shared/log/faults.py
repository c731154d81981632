"""Which errors are the infrastructure's, so that the same thing may work when tried again."""

from __future__ import annotations

import asyncpg

from shared.log.types import LogOverloadedError, LogUnavailableError

# By SQLSTATE class (PostgreSQL 18, appendix A): connection, authorization, rollback by deadlock or
# serialisation, resources, object not in its state, operator intervention, system, internal.
_CLASSES = frozenset({"08", "28", "40", "53", "55", "57", "58", "XX"})
# A server that became a read-only standby under our feet; a transaction that we left open so long
# that the server has ended it.
_STATES = frozenset({"25006", "25P03"})


# A table, column or function is not there, or may not be used; a schema or database is not there.
_UNREADY_CLASSES = frozenset({"3D", "3F", "42"})


def is_unready(error: BaseException) -> bool:
    """Whether the database lacks what this version asks of it: it was not migrated yet. Our
    statements are fixed, so that no data brings this about; and after a migration they work."""
    return (
        isinstance(error, asyncpg.PostgresError) and (error.sqlstate or "")[:2] in _UNREADY_CLASSES
    )


def is_infrastructure(error: BaseException) -> bool:
    """Whether `error` says nothing about what was asked, only about the ways and means.

    Time-outs are among them: in Python 3.11 `TimeoutError` is an `OSError`.
    """
    if isinstance(error, asyncpg.PostgresError):
        state = error.sqlstate or ""
        return state[:2] in _CLASSES or state in _STATES
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return True  # only a standby is there: until it is promoted
    if isinstance(error, asyncpg.InternalClientError):
        # What asyncpg says of an idle connection whose server said goodbye a moment ago. Its other
        # internal errors are about values that it cannot read.
        return str(error).startswith("cannot switch to state")
    if isinstance(error, asyncpg.InterfaceError):
        # `DataError` is about a value that does not fit its parameter.
        return not isinstance(error, asyncpg.DataError)
    return isinstance(error, (OSError, LogUnavailableError, LogOverloadedError, MemoryError))
