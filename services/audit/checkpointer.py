"""Signs a checkpoint of every partition that has grown, once a while (docs/audit.md).

A checkpoint is only signed where the log still is what the last one says, and behind it goes on
from there. Any number of replicas may run: a lock within the transaction lets one at a time extend
a partition's tree, and a transaction that does not come to its end leaves nothing.
"""

from __future__ import annotations

import asyncio

import structlog

from services.audit import metrics
from services.audit.checkpoint_store import (
    Standing,
    event_hashes,
    hashes_of,
    keep,
    standings,
    tile_of,
)
from shared.bus.metrics import CONSUMER_DIVERGED
from shared.checkpoints.checkpoint import Checkpoint, origin_of, place_of
from shared.checkpoints.signed_note import NoteSigner
from shared.errors import CroupierError
from shared.log import Connection, LogDivergedError, is_unready, on_connection
from shared.log.patience import Pool
from shared.proofs.log_tree import GrowingTree, Range, edge_of

MOST_EVENTS = 65_536
"""In one transaction; a tree that is far behind gets several checkpoints, one behind the other."""
PAGE_EVENTS = 8_192
"""Hashed at a time, in some ten milliseconds: calls are answered in between."""
CONSUMER = "checkpoints"
"""As which it stands among the consumers in `croupier_consumer_diverged`."""

_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))"

_log = structlog.get_logger()


class Checkpointer:
    """Keeps the trees of all partitions. `once` is one round."""

    def __init__(self, pool: Pool, signer: NoteSigner, every_s: float) -> None:
        self._pool = pool
        self._signer = signer
        self._every_s = every_s
        self._verifier = signer.verifier
        self._seen: dict[str, Checkpoint] = {}
        self._diverged: set[str] = set()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            try:
                await self.once()
            except CroupierError as error:
                _log.warning("checkpoints_not_signed", reason=error.reason)
            except Exception as error:
                if is_unready(error):
                    _log.warning("checkpoints_not_signed", error=str(error))
                else:
                    _log.error("checkpoints_not_signed", exc_info=error)
            await asyncio.sleep(self._every_s)

    async def once(self) -> None:
        """Every partition up to its head, but for those where the log has diverged: those are told
        of and left alone until that is put right (`croupier log recover`).

        Raises `LogUnavailableError`, or what went wrong with a partition, after the others.
        """
        failure: Exception | None = None
        for standing in await on_connection(self._pool, standings):
            try:
                while await self._extend(standing.partition):
                    pass
            except LogDivergedError as error:
                self._tell(standing.partition, error)
            except CroupierError:
                raise
            except Exception as error:
                failure = error
        if failure is not None:
            raise failure

    async def _extend(self, partition: str) -> bool:
        """Signs the next checkpoint, if there is anything new; whether there is more."""
        extended = await on_connection(
            self._pool, lambda connection: self._extend_on(connection, partition)
        )
        if extended is None:
            return False
        signed, more = extended
        if signed is not None:
            self._seen[partition] = signed
            metrics.checkpoint_size.labels(partition).set(signed.size)
        self._diverged.discard(partition)
        CONSUMER_DIVERGED.labels(CONSUMER, partition).set(0)
        return more

    async def _extend_on(
        self, connection: Connection, partition: str
    ) -> tuple[Checkpoint | None, bool] | None:
        """The newest checkpoint then, and whether there is more; None where another replica is at
        it."""
        async with connection.transaction():
            if not await connection.fetchval(_LOCK, f"checkpoint {partition}"):
                return None
            [standing] = await standings(connection, partition)
            tree, last = await self._tree(connection, standing)
            if tree.size == standing.head:
                return last, False
            until = min(standing.head, tree.size + MOST_EVENTS)
            complete = []
            while tree.size < until:
                page = min(until, tree.size + PAGE_EVENTS)
                complete += tree.grow(await event_hashes(connection, partition, tree.size, page))
            origin = origin_of(self._signer.name, partition, standing.line)
            checkpoint = Checkpoint(origin, tree.size, tree.root)
            note = self._signer.sign(checkpoint.text())
            await keep(connection, standing, complete, checkpoint.size, note)
        metrics.checkpoints.labels(partition).inc()
        return checkpoint, until < standing.head

    async def _tree(
        self, connection: Connection, standing: Standing
    ) -> tuple[GrowingTree, Checkpoint | None]:
        """The tree of the last checkpoint, as the log and the kept subtrees give it now, with that
        checkpoint. Raises `LogDivergedError` where it does not have the root that was signed."""
        last = standing.checkpoint(self._verifier)
        self._check_goes_on(standing, last)
        if last is None:
            return GrowingTree.empty(), None
        partition, line, size = standing.partition, standing.line, last.size
        if standing.head < size:
            raise LogDivergedError(f"{size} events of {partition} are signed, it has less now")
        tree = GrowingTree(size, [])
        for tile, count in edge_of(size):
            hashes = await tile_of(connection, partition, line, tile, size)
            tree.edges.append(hashes[:count])
        if tree.root != last.root:
            raise LogDivergedError(f"the first {size} events of {partition} are not those signed")
        await self._check_follows(connection, standing, last)
        return tree, last

    def _check_goes_on(self, standing: Standing, last: Checkpoint | None) -> None:
        """Whether `last` may come after the one that this process has seen before."""
        seen = self._seen.get(standing.partition)
        if seen is None:
            return
        _, line = place_of(seen.origin, self._signer.name)
        if line < standing.line:
            return
        if (
            last is None
            or (line, seen.size) > (standing.line, last.size)
            or (last.size == seen.size and last != seen)
        ):
            raise LogDivergedError(f"the checkpoint of {seen.size} events of {seen.origin} is gone")

    async def _check_follows(
        self, connection: Connection, standing: Standing, last: Checkpoint
    ) -> None:
        """Whether `last`, where another replica has signed it, begins with what this one has seen:
        that one may have been started after somebody had made another past fit."""
        seen = self._seen.get(standing.partition)
        if seen is None or seen.origin != last.origin or seen == last:
            return
        [before] = await hashes_of(connection, standing, [Range(0, seen.size)], last.size)
        if before != seen.root:
            raise LogDivergedError(
                f"what was signed of {last.size} events denies that of {seen.size}"
            )

    def _tell(self, partition: str, error: LogDivergedError) -> None:
        CONSUMER_DIVERGED.labels(CONSUMER, partition).set(1)
        if partition not in self._diverged:
            self._diverged.add(partition)
            _log.error("log_diverged", consumer=CONSUMER, partition=partition, detail=str(error))
