"""After a loss nothing is signed by a name under which something else may have been signed, also
where the database does not know of that any more."""

from __future__ import annotations

from uuid import uuid4

import pytest

from deploy import recovery
from shared.log import Append, NewEvent
from tests.integration.audit.signed_log import PARTITION, SignedLog, cut_off, diverged
from tests.playing import FIELD_KEYS, SEED_KEYS
from tests.servers import Database

LINE = f"casino.example/one/{PARTITION}/"


async def restore_one_from_before(signed_log: SignedLog, keep: int) -> None:
    """A backup from when there were `keep` events and nothing was signed."""
    await signed_log.tamper(
        *cut_off(keep),
        "DELETE FROM audit.checkpoint",
        "DELETE FROM audit.checkpoint_line",
        "DELETE FROM audit.subtree",
    )
    signed_log.version = keep


async def write(signed_log: SignedLog, payload: bytes, stream: str = "audit/x") -> None:
    event = NewEvent("X", payload, "test")
    version = signed_log.version if stream == "audit/x" else 0
    await signed_log.log.append([Append(uuid4(), stream, version, (event,))])


async def test_a_backup_from_before_the_first_checkpoint(
    signed_log: SignedLog, database: Database
) -> None:
    await signed_log.grow(5)
    await write(signed_log, b"lost")
    await signed_log.checkpointer().once()
    [(held, _, _)] = await signed_log.signed()
    await restore_one_from_before(signed_log, 5)
    await recovery.recover(database.dsn(), FIELD_KEYS, SEED_KEYS)
    await write(signed_log, b"instead")
    await signed_log.checkpointer().once()
    [(origin, size, _)] = await signed_log.signed()
    assert size == 6
    assert origin != held
    assert origin.startswith(LINE)


async def test_the_same_backup_a_second_time(
    signed_log: SignedLog, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await signed_log.grow(5)
    told = []
    for minute in (29_000_000, 29_000_003):
        monkeypatch.setattr(recovery, "now_us", lambda: minute * 60_000_000)  # noqa: B023
        await restore_one_from_before(signed_log, 5)
        await recovery.recover(database.dsn(), FIELD_KEYS, SEED_KEYS)
        await write(signed_log, b"after %d" % minute)
        await signed_log.checkpointer().once()
        told += await signed_log.signed()
    assert [(origin, size) for origin, size, _ in told] == [
        (f"{LINE}29000000", 6),
        (f"{LINE}29000003", 6),
    ]


async def test_a_clock_that_runs_behind_does_not_bring_a_line_back(
    signed_log: SignedLog, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await signed_log.grow(5)
    for minute in (29_000_000, 28_000_000, 0):
        monkeypatch.setattr(recovery, "now_us", lambda: minute * 60_000_000)  # noqa: B023
        await recovery.recover(database.dsn(), FIELD_KEYS, SEED_KEYS)
        await signed_log.checkpointer().once()
    assert [origin for origin, _, _ in await signed_log.signed()] == [
        f"{LINE}{line}" for line in (29_000_000, 29_000_001, 29_000_002)
    ]


async def test_a_partition_that_the_backup_lacked(
    signed_log: SignedLog, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "now_us", lambda: 29_000_000 * 60_000_000)
    await recovery.recover(database.dsn(), FIELD_KEYS, SEED_KEYS)
    await signed_log.root.execute("SELECT log.add_partition('audit')")
    for number in range(8):
        await write(signed_log, b"first", f"audit/{number}")
    await signed_log.checkpointer().once()
    origins = [origin for origin, _, _ in await signed_log.signed()]
    assert origins == [f"casino.example/one/audit.{n}/29000000" for n in (0, 1)]


async def test_a_line_that_is_gone_again(signed_log: SignedLog, database: Database) -> None:
    """A backup from before the recovery, restored under an audit that goes on running."""
    signer = signed_log.checkpointer()
    await signed_log.grow(5)
    await signer.once()
    await recovery.recover(database.dsn(), FIELD_KEYS, SEED_KEYS)
    await signed_log.grow(5)
    await signer.once()
    await signed_log.tamper(
        *cut_off(5),
        "DELETE FROM audit.checkpoint WHERE line > 1",
        "DELETE FROM audit.checkpoint_line",
    )
    signed_log.version = 5
    await write(signed_log, b"instead")
    await signer.once()
    assert (await signed_log.sizes(), diverged()) == ([5], 1)


async def test_a_replica_that_remembers_does_not_go_on_from_what_a_younger_one_was_told(
    signed_log: SignedLog,
) -> None:
    """A superuser has made everything fit, and an audit that was started after that has signed."""
    old = signed_log.checkpointer()
    await signed_log.grow(600)
    await old.once()
    await signed_log.tamper(
        "UPDATE log.events SET hash = sha256('x') WHERE type = 'X' AND position = 100",
        "DELETE FROM audit.checkpoint",
        "DELETE FROM audit.subtree",
    )
    await signed_log.grow(50)
    await signed_log.checkpointer().once()
    assert (await signed_log.sizes(), diverged()) == ([650], 0)
    await signed_log.grow(50)
    await old.once()
    assert (await signed_log.sizes(), diverged()) == ([650], 1)


async def test_a_replica_goes_on_from_what_another_one_has_signed(signed_log: SignedLog) -> None:
    both = signed_log.checkpointer(), signed_log.checkpointer()
    sizes = []
    for more in (3, 200, 53, 1, 300, 500):
        for signer in both:
            await signed_log.grow(more)
            await signer.once()
            sizes.append(signed_log.version)
    assert (await signed_log.sizes(), diverged()) == (sizes, 0)
