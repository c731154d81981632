"""Which errors are tried again, and which are about what was asked."""

from __future__ import annotations

import asyncpg
import pytest

from shared.errors import CroupierError
from shared.log import LogDivergedError, LogUnavailableError, is_infrastructure, is_unready


@pytest.mark.parametrize(
    "error",
    [
        OSError(),
        TimeoutError(),
        ConnectionResetError(),
        asyncpg.ConnectionDoesNotExistError(),
        asyncpg.CannotConnectNowError(),
        asyncpg.AdminShutdownError(),
        asyncpg.DeadlockDetectedError(),
        asyncpg.SerializationError(),
        asyncpg.LockNotAvailableError(),
        asyncpg.QueryCanceledError(),
        asyncpg.TooManyConnectionsError(),
        asyncpg.DiskFullError(),
        asyncpg.ReadOnlySQLTransactionError(),
        asyncpg.IdleInTransactionSessionTimeoutError(),
        asyncpg.TargetServerAttributeNotMatched("no primary"),
        asyncpg.InterfaceError("connection is closed"),
        asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is …"),
        LogUnavailableError("away"),
    ],
    ids=repr,
)
def test_the_infrastructures_errors(error: Exception) -> None:
    assert is_infrastructure(error)


@pytest.mark.parametrize(
    "error",
    [
        ValueError(),
        KeyError(),
        AssertionError(),
        asyncpg.DataError("invalid input for query argument $1"),
        asyncpg.UniqueViolationError(),
        asyncpg.CheckViolationError(),
        asyncpg.NumericValueOutOfRangeError(),
        asyncpg.UndefinedTableError(),
        asyncpg.InternalClientError("no decoder for composite type element"),
        CroupierError("INSUFFICIENT_FUNDS", "no"),
        LogDivergedError("other"),
    ],
    ids=repr,
)
def test_errors_about_what_was_asked(error: Exception) -> None:
    assert not is_infrastructure(error)


def test_a_database_that_is_not_migrated_yet_is_no_fault_of_an_event() -> None:
    assert is_unready(asyncpg.UndefinedColumnError())
    assert is_unready(asyncpg.InsufficientPrivilegeError())
    assert is_unready(asyncpg.InvalidSchemaNameError())
    assert not is_unready(asyncpg.DataError("invalid input"))
    assert not is_unready(asyncpg.CheckViolationError())
    assert not is_unready(ValueError())
