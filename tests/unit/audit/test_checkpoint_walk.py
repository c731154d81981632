"""The log beside what was signed of it, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import pytest

from services.audit.verify.checkpoints import CheckpointWalk, Held
from services.audit.verify.findings import Check, Finding
from shared.checkpoints.checkpoint import Checkpoint
from shared.proofs.merkle import MerkleTree

EVENTS = [sha256(b"%d" % number).digest() for number in range(600)]
OTHERS = [*EVENTS[:99], sha256(b"another").digest(), *EVENTS[100:]]


def held(size: int, events: Sequence[bytes] = EVENTS) -> Held:
    root = MerkleTree(events[:size]).root
    return Held(Checkpoint("one/table.0", size, root), "was brought along")


def found(checkpoints: Sequence[Held], events: Sequence[bytes], block: int) -> list[Finding]:
    walk = CheckpointWalk("table.0", checkpoints)
    for at in range(0, len(events), block):
        walk.step(events[at : at + block])
    return list(walk.end())


@pytest.mark.parametrize("block", [1, 7, 64, 600])
def test_any_checkpoints_of_these_events_agree(block: int) -> None:
    sizes = [600, 1, 64, 64, 65, 300, 599]
    assert found([held(size) for size in sizes], EVENTS, block) == []


@pytest.mark.parametrize("block", [1, 7, 64, 600])
def test_those_from_a_changed_event_on_do_not(block: int) -> None:
    findings = found([held(size) for size in (300, 99, 100, 600)], OTHERS, block)
    assert [finding.position for finding in findings] == [100, 300, 600]
    for finding in findings:
        assert (finding.check, finding.partition) == (Check.CHECKPOINT, "table.0")
        assert "are not those that were signed" in finding.message
        assert "one/table.0 that was brought along" in finding.message


def test_what_is_gone_is_missed() -> None:
    [short, shorter] = found([held(600), held(400), held(300)], EVENTS[:300], 50)
    assert [short.position, shorter.position] == [400, 600]
    assert short.message.startswith("400 events were signed, and no more than 300 are there")


def test_of_an_empty_partition_nothing_was_signed() -> None:
    assert found([], [], 1) == []
    assert [finding.position for finding in found([held(1)], [], 1)] == [1]
