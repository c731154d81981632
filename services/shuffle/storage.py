"""What shuffle keeps beside the log: server seeds under its own key, players' used seeds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import asyncpg

from shared.errors import CroupierError
from shared.log import Append, Appended, LogUnavailableError, Outcome, append_on, is_infrastructure
from shared.log.postgres import OnCommitted
from shared.sealing import Keyring, Sealed

if TYPE_CHECKING:
    Pool = asyncpg.Pool[asyncpg.Record]
    PooledConnection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

TIMEOUT_S = 5.0
_TABLE = "shuffle.seeds"

_PUT_SEED = """
    INSERT INTO shuffle.seeds (shoe_id, key_id, nonce, ciphertext) VALUES ($1, $2, $3, $4)
    ON CONFLICT DO NOTHING
"""
_GET_SEED = "SELECT key_id, nonce, ciphertext FROM shuffle.seeds WHERE shoe_id = $1"
_DROP_SEED = "DELETE FROM shuffle.seeds WHERE shoe_id = $1"
_USE_PLAYER_SEED = """
    INSERT INTO shuffle.player_seeds (fingerprint, shoe_id) VALUES ($1, $2)
    ON CONFLICT DO NOTHING RETURNING true
"""


class _UndoneError(Exception):
    """Rolls a transaction back whose append was not taken."""

    def __init__(self, answer: Appended) -> None:
        super().__init__()
        self.answer = answer


class ShoeStore:
    """Appends that change the schema `shuffle` in the same transaction, and the seeds in it.

    All raise `LogUnavailableError` when the database cannot be reached; the append may then be in.
    `on_committed` is told which partitions moved (see `PostgresLog`). The pool stays the caller's.
    """

    def __init__(self, pool: Pool, keys: Keyring, on_committed: OnCommitted | None = None) -> None:
        self._pool = pool
        self._keys = keys
        self._on_committed = on_committed

    async def server_seed(self, shoe_id: str) -> bytes:
        """The seed that was stored with the shoe's opening; `LookupError` once it is gone."""
        with _outages_told():
            row = await self._pool.fetchrow(_GET_SEED, shoe_id, timeout=TIMEOUT_S)
        if row is None:
            raise LookupError(f"no seed is stored for shoe {shoe_id}")
        sealed = Sealed(row["key_id"], row["nonce"], row["ciphertext"])
        return self._keys.unseal_at_rest(sealed, _TABLE, shoe_id)

    async def append_opening(self, append: Append, shoe_id: str, server_seed: bytes) -> Appended:
        """Appends `ShoeOpened` and stores the seed."""
        sealed = self._keys.seal_at_rest(server_seed, _TABLE, shoe_id)
        row = (shoe_id, sealed.key_id, sealed.nonce, sealed.ciphertext)

        async def put(connection: PooledConnection) -> None:
            await connection.execute(_PUT_SEED, *row, timeout=TIMEOUT_S)

        return await self._append_after(put, append)

    async def append_player_seed(
        self, append: Append, shoe_id: str, fingerprint: bytes
    ) -> Appended:
        """Appends `SeedOpened`; refuses a seed that any shoe has had before (SEED_REUSED)."""

        async def use(connection: PooledConnection) -> None:
            fresh = await connection.fetchval(
                _USE_PLAYER_SEED, fingerprint, shoe_id, timeout=TIMEOUT_S
            )
            if not fresh:
                raise CroupierError("SEED_REUSED", "the player has used this seed before", "seed")

        return await self._append_after(use, append)

    async def append_publishing(self, append: Append, shoe_id: str) -> Appended:
        """Appends `ShoeRetired` with the seed in it, and forgets the stored one."""

        async def drop(connection: PooledConnection) -> None:
            await connection.execute(_DROP_SEED, shoe_id, timeout=TIMEOUT_S)

        return await self._append_after(drop, append)

    async def _append_after(
        self, change: Callable[[PooledConnection], Awaitable[None]], append: Append
    ) -> Appended:
        """One transaction: the change, then the append. Unless the append is taken, neither is.

        The append comes last, so that its partition's head is locked for one round trip only.
        """
        try:
            with _outages_told():
                async with (
                    self._pool.acquire(timeout=TIMEOUT_S) as connection,
                    connection.transaction(),
                ):
                    await change(connection)
                    [answer] = await append_on(connection, [append])
                    if answer.outcome is not Outcome.OK:
                        raise _UndoneError(answer)
        except _UndoneError as undone:
            return undone.answer
        if self._on_committed is not None:
            self._on_committed(frozenset({answer.partition}))
        return answer


@contextmanager
def _outages_told() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not is_infrastructure(error):
            raise
        word = type(error).__name__
        raise LogUnavailableError(f"the database does not answer: {word}") from error
