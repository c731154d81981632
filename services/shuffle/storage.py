"""What shuffle keeps beside the log: server seeds under its own key, players' used seeds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import asyncpg

from shared.log import Append, Appended, Outcome, append_on, on_connection
from shared.log.postgres import OnCommitted
from shared.sealing import Keyring, Sealed, UnsealError

if TYPE_CHECKING:
    Pool = asyncpg.Pool[asyncpg.Record]
    PooledConnection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

TIMEOUT_S = 5.0
_TABLE = "shuffle.seeds"

_PUT_SEED = """
    INSERT INTO shuffle.seeds (shoe_id, key_id, nonce, ciphertext) VALUES ($1, $2, $3, $4)
"""
_GET_SEED = "SELECT key_id, nonce, ciphertext FROM shuffle.seeds WHERE shoe_id = $1"
_DROP_SEED = "DELETE FROM shuffle.seeds WHERE shoe_id = $1"
_KEEP_SEED = "UPDATE shuffle.seeds SET retired = true WHERE shoe_id = $1"
_OPEN_SHOES = """
    SELECT shoe_id FROM shuffle.seeds WHERE NOT retired AND shoe_id > $1 ORDER BY shoe_id LIMIT $2
"""
_OLDER_SEEDS = """
    SELECT shoe_id, key_id, nonce, ciphertext FROM shuffle.seeds
     WHERE key_id <> $1 AND shoe_id > $2 ORDER BY shoe_id LIMIT $3
"""
_RESEAL = "SELECT shuffle.reseal($1, $2, $3, $4, $5)"
_USE_PLAYER_SEED = """
    INSERT INTO shuffle.player_seeds (fingerprint, shoe_id) VALUES ($1, $2)
    ON CONFLICT DO NOTHING RETURNING true
"""


class SeedUsedError(Exception):
    """A player's seed has been in a shoe before."""


class SeedGoneError(LookupError):
    """No seed is stored for the shoe (any more)."""


@dataclass(frozen=True, slots=True)
class Resealed:
    """How many seeds were sealed again, how many no key of the ring opens, and the last shoe that
    was looked at ("": there was none left)."""

    resealed: int
    unreadable: int
    last: str


class ShoeStore:
    """Appends that change the schema `shuffle` in the same transaction, and the seeds in it.

    All repeat what the database lets down, then raise `LogUnavailableError`; the append may be in.
    An answer SAME says that an earlier try of it, or of its command, is. `on_committed` is told
    which partitions moved (see `PostgresLog`). The pool stays the caller's.
    """

    def __init__(self, pool: Pool, keys: Keyring, on_committed: OnCommitted | None = None) -> None:
        self._pool = pool
        self._keys = keys
        self._on_committed = on_committed

    async def server_seed(self, shoe_id: str) -> bytes:
        """The seed that was stored with the shoe's opening; `SeedGoneError` once it is public."""

        async def get(connection: PooledConnection) -> asyncpg.Record | None:
            return await connection.fetchrow(_GET_SEED, shoe_id, timeout=TIMEOUT_S)

        row = await on_connection(self._pool, get)
        if row is None:
            raise SeedGoneError(f"no seed is stored for shoe {shoe_id}")
        sealed = Sealed(row["key_id"], row["nonce"], row["ciphertext"])
        return self._keys.unseal_at_rest(sealed, _TABLE, shoe_id)

    async def reseal(self, after: str, most: int) -> Resealed:
        """Seals at most `most` seeds that an older key has sealed under the current one: those of
        the shoes behind `after` ("": from the first on)."""

        async def pass_over(connection: PooledConnection) -> Resealed:
            resealed, unreadable, last = 0, 0, ""
            for row in await connection.fetch(
                _OLDER_SEEDS, self._keys.current, after, most, timeout=TIMEOUT_S
            ):
                last = row["shoe_id"]
                old = Sealed(row["key_id"], row["nonce"], row["ciphertext"])
                try:
                    seed = self._keys.unseal_at_rest(old, _TABLE, last)
                except UnsealError:
                    unreadable += 1
                    continue
                new = self._keys.seal_at_rest(seed, _TABLE, last)
                resealed += await connection.fetchval(
                    _RESEAL, last, old.nonce, new.key_id, new.nonce, new.ciphertext
                )
            return Resealed(resealed, unreadable, last)

        return await on_connection(self._pool, pass_over)

    async def append_opening(self, append: Append, shoe_id: str, server_seed: bytes) -> Appended:
        """Appends `ShoeOpened` and stores the seed."""
        sealed = self._keys.seal_at_rest(server_seed, _TABLE, shoe_id)
        row = (shoe_id, sealed.key_id, sealed.nonce, sealed.ciphertext)

        async def put(connection: PooledConnection) -> None:
            await connection.execute(_PUT_SEED, *row, timeout=TIMEOUT_S)

        return await self._append_and(append, put)

    async def append_player_seed(
        self, append: Append, shoe_id: str, fingerprint: bytes
    ) -> Appended:
        """Appends `SeedOpened`; `SeedUsedError` for a seed that any shoe has had before."""

        async def use(connection: PooledConnection) -> None:
            fresh = await connection.fetchval(
                _USE_PLAYER_SEED, fingerprint, shoe_id, timeout=TIMEOUT_S
            )
            if not fresh:
                raise SeedUsedError

        return await self._append_and(append, use)

    async def append_retiring(self, append: Append, shoe_id: str, published: bool) -> Appended:
        """Appends `ShoeRetired`. A seed that is published in it is forgotten here; one that is not
        stays, so that the shoe can be checked."""
        statement = _DROP_SEED if published else _KEEP_SEED

        async def retire(connection: PooledConnection) -> None:
            await connection.execute(statement, shoe_id, timeout=TIMEOUT_S)

        return await self._append_and(append, retire)

    async def open_shoes(self, after: str, most: int) -> list[str]:
        """At most `most` shoes that are not retired, behind `after`, by their ids."""

        async def get(connection: PooledConnection) -> list[asyncpg.Record]:
            return await connection.fetch(_OPEN_SHOES, after, most, timeout=TIMEOUT_S)

        return [row["shoe_id"] for row in await on_connection(self._pool, get)]

    async def _append_and(
        self, append: Append, change: Callable[[PooledConnection], Awaitable[None]]
    ) -> Appended:
        """One transaction: the append and, if it is taken, the change; both or neither."""

        async def both(connection: PooledConnection) -> Appended:
            async with connection.transaction():
                [answer] = await append_on(connection, [append])
                if answer.outcome is Outcome.OK:
                    await change(connection)
            return answer

        answer = await on_connection(self._pool, both)
        if answer.outcome is Outcome.OK and self._on_committed is not None:
            self._on_committed(frozenset({answer.partition}))
        return answer
