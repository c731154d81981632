"""Checkpoints are signed as the log grows, whatever dies, and never of another log than before."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from structlog.testing import capture_logs

from deploy.recovery import recover
from services.audit import checkpointer as signing
from services.audit.checkpoint_store import keep
from services.audit.checkpointer import Checkpointer
from shared.errors import CroupierError
from shared.log import Append, Connection, LogDivergedError, LogUnavailableError, NewEvent
from tests.integration.audit import by_the_book
from tests.integration.audit.signed_log import (
    KEPT,
    PARTITION,
    SIGNER,
    SignedLog,
    cut_off,
    diverged,
)
from tests.playing import FIELD_KEYS, SEED_KEYS
from tests.polling import eventually
from tests.servers import Database


async def test_checkpoints_grow_with_the_log(signed_log: SignedLog) -> None:
    signer = signed_log.checkpointer()
    await signer.once()
    assert await signed_log.signed() == []
    for more in (1, 2, 252, 1, 1, 343, 500):
        await signed_log.grow(more)
        await signer.once()
        await signer.once()  # nothing new
    hashes = await signed_log.hashes()
    signed = await signed_log.signed()
    assert [size for _, size, _ in signed] == [1, 3, 255, 256, 257, 600, 1_100]
    for origin, size, root in signed:
        assert origin == "casino.example/one/audit.0"
        assert root == by_the_book.root(hashes[:size])
    kept = await signed_log.root.fetch(
        "SELECT level, number, hash FROM audit.subtree ORDER BY 1, 2"
    )
    assert [tuple(row) for row in kept] == [
        (1, number, by_the_book.root(hashes[number * 256 :][:256])) for number in range(4)
    ]


async def test_proofs_hold_by_the_book(signed_log: SignedLog) -> None:
    signer = signed_log.checkpointer()
    for more in (1, 254, 1, 1, 343, 500):
        await signed_log.grow(more)
        await signer.once()
    hashes = await signed_log.hashes()
    signed = await signed_log.signed()
    for _, size, root in signed:
        for position in sorted({1, size // 2 + 1, min(size, 256), size}):
            proof = await signed_log.inclusion(position, size)
            assert (proof.event_hash, proof.leaf_index) == (hashes[position - 1], position - 1)
            hashed = by_the_book.leaf(hashes[position - 1])
            assert by_the_book.root_of_inclusion(hashed, position - 1, size, proof.path) == root
    # From any size, also one that was not signed: who knows what a superuser has thrown away.
    for _, size, root in signed:
        for old in sorted({1, size // 3 + 1, min(size, 256), min(size, 300), size}):
            proof = await signed_log.consistency(old, size)
            before = by_the_book.root(hashes[:old])
            assert by_the_book.roots_of_consistency(old, size, proof.path, before) == (before, root)


async def test_a_tree_that_is_far_behind_is_extended_in_steps(
    signed_log: SignedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signing, "MOST_EVENTS", 300)
    monkeypatch.setattr(signing, "PAGE_EVENTS", 128)
    await signed_log.grow(1_000)
    await signed_log.checkpointer().once()
    hashes = await signed_log.hashes()
    signed = await signed_log.signed()
    assert [(size, root) for _, size, root in signed] == [
        (size, by_the_book.root(hashes[:size])) for size in (300, 600, 900, 1_000)
    ]


async def test_a_replica_that_dies_while_it_signs_leaves_nothing(
    signed_log: SignedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after its last statement, before the commit: the next one signs as if it had not
    been there."""
    await signed_log.grow(700)
    killed = asyncio.Event()

    async def keep_and_die(connection: Connection, *rest: Any) -> None:
        await keep(connection, *rest)
        monkeypatch.setattr(signing, "keep", keep)
        killed.set()
        await asyncio.sleep(60)

    monkeypatch.setattr(signing, "keep", keep_and_die)
    dying = asyncio.create_task(signed_log.checkpointer().once())
    await killed.wait()
    dying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await dying

    async def signs() -> bool:
        await signed_log.checkpointer().once()
        return await signed_log.sizes() == [700]

    await eventually(signs)
    assert await signed_log.root.fetchval("SELECT count(*) FROM audit.subtree") == 2
    await signed_log.grow(100)
    await signed_log.checkpointer().once()
    assert await signed_log.sizes() == [700, 800]


async def test_a_connection_that_is_lost_meanwhile_is_no_harm(
    signed_log: SignedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    await signed_log.grow(300)

    async def keep_and_lose(connection: Connection, *rest: Any) -> None:
        monkeypatch.setattr(signing, "keep", keep)
        await keep(connection, *rest)
        own = await connection.fetchval("SELECT pg_backend_pid()")
        await signed_log.root.execute("SELECT pg_terminate_backend($1, 5000)", own)

    monkeypatch.setattr(signing, "keep", keep_and_lose)
    await signed_log.checkpointer().once()
    assert await signed_log.sizes() == [300]


async def test_several_replicas_sign_one_line(signed_log: SignedLog) -> None:
    signers = [signed_log.checkpointer() for _ in range(3)]
    for _ in range(6):
        await signed_log.grow(90)
        await asyncio.gather(*(signer.once() for signer in signers), signed_log.grow(45))
    await signers[0].once()
    hashes = await signed_log.hashes()
    signed = await signed_log.signed()
    assert signed[-1][1] == len(hashes) == 810
    assert all(before < after for (_, before, _), (_, after, _) in pairwise(signed))
    for _, size, root in signed:
        assert root == by_the_book.root(hashes[:size])


async def test_a_round_that_fails_is_not_the_last(
    signed_log: SignedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[Exception] = [
        RuntimeError("a fault of ours"),
        asyncpg.UndefinedTableError("not migrated yet"),
        LogUnavailableError("away"),
    ]
    once = Checkpointer.once

    async def fail_first(signer: Checkpointer) -> None:
        if failures:
            raise failures.pop()
        await once(signer)

    monkeypatch.setattr(Checkpointer, "once", fail_first)
    await signed_log.grow(3)
    with capture_logs() as logged:
        running = asyncio.create_task(Checkpointer(signed_log.pool, SIGNER, 0.01).run())

        async def signed() -> bool:
            return await signed_log.sizes() == [3]

        await eventually(signed)
    running.cancel()
    await asyncio.wait({running})
    told = [line["log_level"] for line in logged if line["event"] == "checkpoints_not_signed"]
    assert told == ["warning", "warning", "error"]


TAMPERINGS = {
    "the tail is cut off": cut_off(500),
    "an event of the last tile is another": (
        "UPDATE log.events SET hash = sha256('x') WHERE type = 'X' AND position = 590",
    ),
    "an event is gone": ("DELETE FROM log.events WHERE type = 'X' AND position = 590",),
    "a subtree is another": ("UPDATE audit.subtree SET hash = sha256('x') WHERE number = 1",),
    "a subtree is gone": ("DELETE FROM audit.subtree WHERE number = 1",),
    "the note says another size": (
        "UPDATE audit.checkpoint SET note = replace(note, '600', '601') WHERE size = 600",
    ),
    "the note stands at another size": ("UPDATE audit.checkpoint SET size = 599 WHERE size = 600",),
    "the note is an old one": (
        "UPDATE audit.checkpoint SET note = (SELECT note FROM audit.checkpoint WHERE size = 500) "
        "WHERE size = 600",
    ),
    "the newest is gone": ("DELETE FROM audit.checkpoint WHERE size = 600",),
    "all are gone": ("DELETE FROM audit.checkpoint",),
}


@pytest.mark.parametrize("what", TAMPERINGS)
async def test_nothing_is_signed_on_top_of_another_past(signed_log: SignedLog, what: str) -> None:
    signer = signed_log.checkpointer()
    for more in (500, 100):
        await signed_log.grow(more)
        await signer.once()
    before = len(await signed_log.sizes())
    assert (before, diverged()) == (2, 0)
    await signed_log.tamper(*TAMPERINGS[what])
    kept = await signed_log.root.fetchval("SELECT count(*) FROM audit.checkpoint")
    for round_number in range(2):
        with capture_logs() as logged:
            await signer.once()
        assert diverged() == 1
        assert await signed_log.root.fetchval("SELECT count(*) FROM audit.checkpoint") == kept
        if not round_number:
            [line] = [each for each in logged if each["event"] == "log_diverged"]
            assert (line["partition"], line["consumer"]) == (PARTITION, "checkpoints")
        else:
            assert logged == []  # it is told once


async def test_events_behind_a_lost_tail_are_not_signed(signed_log: SignedLog) -> None:
    """Positions are used a second time: more events than were signed, and others."""
    await signed_log.grow(500)
    await signed_log.grow(100)
    await signed_log.checkpointer().once()
    await signed_log.tamper(*cut_off(500))
    signed_log.version = 500
    await signed_log.log.append(
        [Append(uuid4(), "audit/x", 500, (NewEvent("X", b"another", "test"),) * 200)]
    )
    await signed_log.checkpointer().once()
    assert (await signed_log.sizes(), diverged()) == ([600], 1)
    assert (await signed_log.desk(lambda desk, on: desk.find(on, PARTITION, 0))).size == 600
    with pytest.raises(LogDivergedError):
        await signed_log.inclusion(590, 600)
    with pytest.raises(LogDivergedError):
        await signed_log.consistency(590, 600)


async def test_a_recovered_log_gets_a_new_line_and_keeps_the_old_one(
    signed_log: SignedLog, database: Database
) -> None:
    signer = signed_log.checkpointer()
    await signed_log.grow(500)
    await signer.once()
    await signed_log.grow(100)
    await signer.once()
    await signed_log.tamper(*cut_off(500))
    await signer.once()
    assert diverged() == 1
    for _ in range(2):  # a second time does no harm
        await recover(database.dsn(), FIELD_KEYS, SEED_KEYS)
    line = await signed_log.root.fetchval("SELECT max(line) FROM audit.checkpoint_line")
    assert line > 1
    signed_log.version = 500
    await signed_log.grow(20)
    await signer.once()
    assert diverged() == 0
    hashes = await signed_log.hashes()
    assert await signed_log.signed() == [
        ("casino.example/one/audit.0", 500, by_the_book.root(hashes[:500])),
        ("casino.example/one/audit.0", 600, (await signed_log.signed())[1][2]),
        (f"casino.example/one/audit.0/{line}", 520, by_the_book.root(hashes)),
    ]
    proof = await signed_log.consistency(500, 520)
    roots = (by_the_book.root(hashes[:500]), by_the_book.root(hashes))
    assert by_the_book.roots_of_consistency(500, 520, proof.path, roots[0]) == roots


async def test_who_uses_the_system_changes_nothing_that_was_signed(
    signed_log: SignedLog, database: Database
) -> None:
    await signed_log.grow(300)
    await signed_log.checkpointer().once()
    for table in KEPT:
        for statement in (
            f"UPDATE {table} SET line = 9",
            f"DELETE FROM {table}",
            f"TRUNCATE {table}",
        ):
            for role in ("croupier_audit", "croupier_auditor", "postgres"):
                other = await asyncpg.connect(database.dsn(role))
                with pytest.raises(
                    (asyncpg.InsufficientPrivilegeError, asyncpg.PostgresError)
                ) as no:
                    await other.execute(statement)
                assert no.value.sqlstate in ("42501", "LG001")
                await other.close()


async def test_what_cannot_be_answered(signed_log: SignedLog) -> None:
    for more in (3, 2):
        await signed_log.grow(more)
        await signed_log.checkpointer().once()

    async def refused(method: str, *words: Any) -> tuple[str, str]:
        with pytest.raises(CroupierError) as refusal:
            await signed_log.desk(lambda desk, on: getattr(desk, method)(on, *words))
        return refusal.value.reason, refusal.value.field

    no_partition = ("PARTITION_NOT_FOUND", "partition")
    none_signed = ("CHECKPOINT_NOT_FOUND", "size")
    assert await refused("find", "audit.9", 0) == no_partition
    assert await refused("find", "", 0) == no_partition
    assert await refused("find", "table.0", 0) == none_signed
    assert await refused("find", PARTITION, 2) == none_signed
    assert await refused("find", PARTITION, 4) == none_signed  # between 3 and 5
    assert await refused("find", PARTITION, -1) == ("BAD_REQUEST", "size")
    assert await refused("prove_inclusion", PARTITION, 4, 3) == ("BAD_REQUEST", "position")
    assert await refused("prove_inclusion", PARTITION, 0, 3) == ("BAD_REQUEST", "position")
    assert await refused("prove_inclusion", PARTITION, 1, 2) == none_signed
    assert await refused("prove_consistency", PARTITION, 0, 3) == ("BAD_REQUEST", "from_size")
    assert await refused("prove_consistency", PARTITION, 4, 3) == ("BAD_REQUEST", "from_size")
    assert await refused("prove_consistency", "audit.9", 1, 3) == no_partition
