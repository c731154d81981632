"""What is wrong with one partition keeps no checkpoint of another one back."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from services.audit import checkpointer as signing
from services.audit.checkpoint_store import event_hashes
from shared.log import Append, Connection, NewEvent
from tests.integration.audit.signed_log import PARTITION, SignedLog, diverged

OTHER = "casino.example/one/audit.1"


async def add_another(signed_log: SignedLog) -> None:
    """A partition behind the first one, with events."""
    await signed_log.root.execute("SELECT log.add_partition('audit')")
    for number in range(8):
        append = Append(uuid4(), f"audit/{number}", 0, (NewEvent("X", b"x", "test"),))
        await signed_log.log.append([append])


async def test_subtrees_that_no_checkpoint_covers(signed_log: SignedLog) -> None:
    """Who takes checkpoints away, and forgets about the trees, stops the signing of that partition
    alone, and is told of."""
    for more in (500, 100):
        await signed_log.grow(more)
        await signed_log.checkpointer().once()
    await signed_log.tamper("DELETE FROM audit.checkpoint WHERE size = 600")
    await add_another(signed_log)
    await signed_log.checkpointer().once()
    assert diverged() == 1
    signed = await signed_log.signed()
    assert [size for origin, size, _ in signed if origin != OTHER] == [500]
    assert [origin for origin, _, _ in signed].count(OTHER) == 1


async def test_a_fault_of_ours(signed_log: SignedLog, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(connection: Connection, partition: str, *rest: Any) -> list[bytes]:
        if partition == PARTITION:
            raise RuntimeError("a fault of ours")
        return await event_hashes(connection, partition, *rest)

    monkeypatch.setattr(signing, "event_hashes", fail)
    await signed_log.grow(3)
    await add_another(signed_log)
    with pytest.raises(RuntimeError):
        await signed_log.checkpointer().once()
    assert [origin for origin, _, _ in await signed_log.signed()] == [OTHER]


@pytest.mark.parametrize("hash_bytes", [31, 64])
async def test_a_hash_that_is_none_is_not_signed(signed_log: SignedLog, hash_bytes: int) -> None:
    await signed_log.grow(3)
    await signed_log.tamper("ALTER TABLE log.events DROP CONSTRAINT events_hash_check")
    await signed_log.root.execute(
        "UPDATE log.events SET hash = $1 WHERE partition = $2 AND position = 2",
        bytes(hash_bytes),
        PARTITION,
    )
    await signed_log.checkpointer().once()
    assert (await signed_log.sizes(), diverged()) == ([], 1)
