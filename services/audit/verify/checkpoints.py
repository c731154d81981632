"""The tree over a partition's events as they are now, beside what was signed of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from services.audit.verify.findings import Check, Finding
from shared.checkpoints.checkpoint import Checkpoint
from shared.proofs.log_tree import GrowingTree


@dataclass(frozen=True, slots=True)
class Held:
    """A checkpoint, and where it comes from ("was brought along")."""

    checkpoint: Checkpoint
    whence: str


class CheckpointWalk:
    """Follows a partition from its first event on. `step` takes the events' hashes in order, each
    computed from the event itself; `end` tells which checkpoints they contradict."""

    def __init__(self, partition: str, held: Iterable[Held]) -> None:
        self._partition = partition
        self._due = sorted(held, key=lambda each: each.checkpoint.size, reverse=True)
        self._tree = GrowingTree.empty()
        self._findings: list[Finding] = []

    def step(self, hashes: Sequence[bytes]) -> None:
        """The next events. Behind the last checkpoint they are passed over."""
        at = 0
        while self._due and at < len(hashes):
            wanted = self._due[-1].checkpoint.size - self._tree.size
            self._tree.grow(hashes[at : at + wanted])
            at += wanted
            while self._due and self._due[-1].checkpoint.size == self._tree.size:
                self._compare(self._due.pop())

    def end(self, broken_off: bool = False) -> Iterator[Finding]:
        """All that does not agree, once the last event has been seen; or no more than those so far,
        where the log was not read to its end."""
        yield from self._findings
        seen = self._tree.size
        for held in reversed(self._due):
            told = (
                f"were not compared: the chain was not followed further than {seen}"
                if broken_off
                else f"were signed, and no more than {seen} are there"
            )
            yield self._finding(held, f"{held.checkpoint.size} events {told}")

    def _compare(self, held: Held) -> None:
        signed = held.checkpoint
        if self._tree.root != signed.root:
            self._findings.append(
                self._finding(
                    held,
                    f"the first {signed.size} events are not those that were signed: their root is "
                    f"{self._tree.root.hex()}, not {signed.root.hex()}",
                )
            )

    def _finding(self, held: Held, message: str) -> Finding:
        signed = held.checkpoint
        return Finding(
            Check.CHECKPOINT,
            f"{message} (the checkpoint of {signed.origin} that {held.whence})",
            partition=self._partition,
            position=signed.size,
        )
