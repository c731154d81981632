"""The event log in Postgres."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar, cast
from uuid import UUID

import asyncpg

from shared.log import metrics, statements
from shared.log.connecting import connect, session_settings
from shared.log.group import GroupCommit
from shared.log.patience import (
    CALL_TIMEOUT_S,
    GIVE_UP_AFTER_S,
    Pool,
    PooledConnection,
    on_connection,
)
from shared.log.types import (
    MAX_READ_EVENTS,
    Append,
    Appended,
    Block,
    CommandRecord,
    Head,
    Outcome,
    RecordedEvent,
)

_T = TypeVar("_T")
OnCommitted = Callable[[frozenset[str]], None]


async def open_pool(dsn: str, max_size: int = 4, application: str = "croupier") -> Pool:
    """A pool for the log. Its connections keep no session state, so none is reset between uses:
    that would cost a round trip each time. Do not take advisory session locks on them."""
    return await asyncpg.create_pool(
        dsn,
        min_size=1,
        max_size=max_size,
        connect=cast("Any", connect),
        reset=_keep,
        server_settings=session_settings(application),
    )


async def _keep(connection: object) -> None:
    return None


class PostgresLog:
    """The `EventLog` over a pool of connections of a role that may write its categories.

    `on_committed` is called with the partitions that moved, after each commit; it must not block.
    A call that the infrastructure lets down is repeated, with growing pauses, for `give_up_after_s`
    seconds; then `LogUnavailableError` is raised. The pool stays the caller's.
    """

    def __init__(
        self,
        pool: Pool,
        on_committed: OnCommitted | None = None,
        give_up_after_s: float = GIVE_UP_AFTER_S,
        call_timeout_s: float = CALL_TIMEOUT_S,
    ) -> None:
        self._pool = pool
        self._on_committed = on_committed
        self._give_up_after_s = give_up_after_s
        self._call_timeout_s = call_timeout_s
        self._group = GroupCommit(self._commit)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Waits for the appends that are under way; refuses new ones."""
        await self._group.close()

    async def append(self, appends: Sequence[Append]) -> list[Appended]:
        """See `EventLog.append`."""
        return await self._group.append(appends)

    async def read_stream(
        self, stream: str, after_version: int = 0, limit: int = 1_000
    ) -> list[RecordedEvent]:
        """See `EventLog.read_stream`."""
        _check_limit(limit)
        return await self._with_connection(
            lambda connection: statements.read_stream_on(connection, stream, after_version, limit)
        )

    async def read_partition(
        self, partition: str, after_position: int, limit: int = 1_000
    ) -> list[RecordedEvent]:
        """See `EventLog.read_partition`."""
        _check_limit(limit)
        return await self._with_connection(
            lambda connection: statements.read_partition_on(
                connection, partition, after_position, limit
            )
        )

    async def read_blocks(
        self, partition: str, after_position: int, limit: int = 1_000
    ) -> list[Block]:
        """See `EventLog.read_blocks`."""
        _check_limit(limit)
        return await self._with_connection(
            lambda connection: statements.read_blocks_on(
                connection, partition, after_position, limit
            )
        )

    async def read_hand(self, hand_id: str) -> list[RecordedEvent]:
        """See `EventLog.read_hand`."""
        return await self._with_connection(
            lambda connection: statements.read_hand_on(connection, hand_id)
        )

    async def find_by_causation(self, causes: Iterable[UUID]) -> list[RecordedEvent]:
        """See `EventLog.find_by_causation`."""
        wanted = list(causes)
        return await self._with_connection(
            lambda connection: statements.find_by_causation_on(connection, wanted)
        )

    async def heads(self) -> dict[str, Head]:
        """See `EventLog.heads`."""
        return await self._with_connection(statements.heads_on)

    async def find_command(
        self, stream: str, caller: str, command_id: UUID
    ) -> CommandRecord | None:
        """See `EventLog.find_command`."""
        return await self._with_connection(
            lambda connection: statements.find_command_on(connection, stream, caller, command_id)
        )

    async def _commit(self, appends: Sequence[Append]) -> list[Appended]:
        arguments = statements.append_arguments(appends)
        tries = 0

        async def call(connection: PooledConnection) -> list[Appended]:
            nonlocal tries
            tries += 1
            # One statement outside a transaction block commits by itself: its answer comes after
            # the commit, in one round trip.
            answers = await statements.call_append(connection, arguments, self._call_timeout_s)
            if tries == 1:
                return [answer for _, answer in answers]
            # The answer to an earlier try was lost, its commit was not: to the caller, who asked
            # once, that is no repetition.
            return [
                replace(answer, outcome=Outcome.OK) if word == statements.SAME_APPEND else answer
                for word, answer in answers
            ]

        metrics.GROUP_APPENDS.observe(len(appends))
        with metrics.COMMIT_SECONDS.time():
            answers = await self._with_connection(call)
        moved = frozenset(each.partition for each in answers if each.outcome is Outcome.OK)
        if moved and self._on_committed is not None:
            self._on_committed(moved)
        return answers

    async def _with_connection(self, call: Callable[[PooledConnection], Awaitable[_T]]) -> _T:
        return await on_connection(self._pool, call, self._give_up_after_s, self._call_timeout_s)


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= MAX_READ_EVENTS:
        raise ValueError(f"a read has 1 to {MAX_READ_EVENTS} events, not {limit}")
