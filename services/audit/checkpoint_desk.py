"""What the service answers about checkpoints: signed notes, and the proofs that go with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from croupier.audit.v1 import audit_pb2 as pb

from services.audit.checkpoint_store import (
    Signed,
    Standing,
    event_hashes,
    hashes_of,
    standings,
)
from services.audit.rows import stamp
from services.audit.verify.checkpoints import Held
from services.audit.verify.findings import Check, Finding
from shared.checkpoints.checkpoint import Checkpoint, read_own
from shared.checkpoints.signed_note import NoteError, NoteVerifier
from shared.errors import CroupierError
from shared.log import Connection, LogDivergedError
from shared.proofs.log_tree import Range, consistency_holds, consistency_ranges, inclusion_ranges
from shared.proofs.merkle import root_from_path

MOST_AGAINST = 10_000


@dataclass(frozen=True, slots=True)
class CheckpointDesk:
    """Answers with what is kept, for the key and the log of `verifier`."""

    verifier: NoteVerifier

    async def find(self, connection: Connection, partition: str, size: int) -> pb.Checkpoint:
        """The newest checkpoint of a partition (size 0), or that of a size.

        Raises `PARTITION_NOT_FOUND`, `CHECKPOINT_NOT_FOUND`, `BAD_REQUEST`.
        """
        if size < 0:
            raise CroupierError("BAD_REQUEST", "counts from 1", "size")
        _, signed = await _signed(connection, partition, size)
        return checkpoint_message(partition, signed)

    async def prove_inclusion(
        self, connection: Connection, partition: str, position: int, size: int
    ) -> pb.ProveInclusionResponse:
        """That the event at `position` is in the tree of the checkpoint of `size`.

        Raises as `find`, and `LOG_DIVERGED` where the log is no longer what was signed.
        """
        if not 0 < position <= size:
            raise CroupierError("BAD_REQUEST", "a position from 1 to the size", "position")
        standing, signed = await self._checkpoint(connection, partition, size)
        index = position - 1
        [event_hash] = await event_hashes(connection, partition, index, position)
        ranges = inclusion_ranges(index, size)
        path = await hashes_of(connection, standing, ranges, size)
        if root_from_path(event_hash, index, size, path) != signed.root:
            raise LogDivergedError(f"{partition} is not what was signed, near {position}")
        return pb.ProveInclusionResponse(event_hash=event_hash, leaf_index=index, path=path)

    async def prove_consistency(
        self, connection: Connection, partition: str, from_size: int, to_size: int
    ) -> pb.ProveConsistencyResponse:
        """That the tree of the checkpoint of `to_size` begins with that of `from_size` leaves.

        Raises as `prove_inclusion`.
        """
        if not 0 < from_size <= to_size:
            raise CroupierError("BAD_REQUEST", "from 1 up to the other size", "from_size")
        standing, signed = await self._checkpoint(connection, partition, to_size)
        ranges = consistency_ranges(from_size, to_size)
        *path, from_root = await hashes_of(
            connection, standing, [*ranges, Range(0, from_size)], to_size
        )
        if not consistency_holds(from_size, from_root, to_size, signed.root, path):
            raise LogDivergedError(f"{partition} is not what was signed, near {from_size}")
        return pb.ProveConsistencyResponse(path=path)

    async def _checkpoint(
        self, connection: Connection, partition: str, size: int
    ) -> tuple[Standing, Checkpoint]:
        standing, _ = await _signed(connection, partition, size)
        checkpoint = standing.checkpoint(self.verifier)
        assert checkpoint is not None
        return standing, checkpoint

    def to_compare(
        self, kept: Sequence[Standing], gone: Sequence[str], against: Iterable[str]
    ) -> tuple[dict[str, list[Held]], list[Finding]]:
        """By partition, the checkpoints with which the log is to be compared: the newest that the
        audit itself keeps, and the notes that somebody brings. What is kept and was not signed by
        this house is a finding, and so are partitions that were signed and are `gone`.

        Raises `BAD_REQUEST` where a note that was brought is not one of this house.
        """
        held: dict[str, list[Held]] = {}
        findings = [
            Finding(
                Check.CHECKPOINT,
                "events of the partition were signed, and it is not in the log any more",
                partition=partition,
            )
            for partition in gone
        ]
        for standing in kept:
            try:
                own = standing.checkpoint(self.verifier)
            except LogDivergedError as error:
                where = standing.partition
                findings.append(Finding(Check.CHECKPOINT, error.message, partition=where))
            else:
                if own is not None:
                    held.setdefault(standing.partition, []).append(Held(own, "is kept here"))
        partitions = {standing.partition for standing in kept} | set(gone)
        for note in against:
            partition, checkpoint = self._brought(note)
            if partition not in partitions:
                raise CroupierError("PARTITION_NOT_FOUND", f"no partition {partition}", "against")
            held.setdefault(partition, []).append(Held(checkpoint, "was brought along"))
        return held, findings

    def _brought(self, note: str) -> tuple[str, Checkpoint]:
        try:
            checkpoint, partition, _ = read_own(note, self.verifier)
        except NoteError as error:
            raise CroupierError(
                "BAD_REQUEST", f"no checkpoint of ours: {error}", "against"
            ) from None
        return partition, checkpoint


def checkpoint_message(partition: str, signed: Signed) -> pb.Checkpoint:
    """A partition's checkpoint."""
    return pb.Checkpoint(
        partition=partition, size=signed.size, note=signed.note, signed_at=stamp(signed.signed_at)
    )


async def _signed(connection: Connection, partition: str, size: int) -> tuple[Standing, Signed]:
    """The partition, and its checkpoint of this size. Raises `PARTITION_NOT_FOUND`,
    `CHECKPOINT_NOT_FOUND`."""
    found = await standings(connection, partition, size) if partition else []
    if not found:
        raise CroupierError("PARTITION_NOT_FOUND", f"no partition {partition!r}", "partition")
    [standing] = found
    if standing.signed is None:
        raise CroupierError("CHECKPOINT_NOT_FOUND", f"no such checkpoint of {partition}", "size")
    return standing, standing.signed
