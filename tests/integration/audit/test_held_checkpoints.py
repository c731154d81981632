"""Promise 6: what a superuser does to the record, however thoroughly, is found against the last
checkpoint that somebody else holds."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from croupier.audit.v1 import audit_pb2 as pb

from shared.checkpoints.checkpoint import Checkpoint
from shared.checkpoints.signed_note import NoteSigner
from shared.errors import CroupierError
from shared.log.patience import Pool
from shared.rpc.access import Role
from tests.integration.audit import by_the_book
from tests.integration.audit.conftest import Client, RealHouse, refused
from tests.integration.audit.forging import event_of, forge, scribble
from tests.integration.audit.signed_log import SIGNER, sign
from tests.services import token

ROOT = Path(__file__).resolve().parents[3]
KEY = str(SIGNER.verifier)


async def forget_what_was_signed(real: RealHouse) -> None:
    """The superuser makes the trees, and the checkpoints, fit what he has made of the log: he
    cannot sign, so he has the house do it."""
    for table in ("audit.checkpoint", "audit.subtree"):
        await real.root.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
        await real.root.execute(f"DELETE FROM {table}")


def rename(body: Any) -> None:
    """A change that no rule, card or cent contradicts."""
    body.name = "Another table"


async def cut_off(real: RealHouse) -> None:
    """Takes the last append of a partition away, its block, its stream's version and the head
    with it."""
    block = await real.root.fetchrow(
        "SELECT first_position, count FROM log.blocks WHERE partition = 'table.0'"
        " ORDER BY first_position DESC LIMIT 1"
    )
    assert block is not None
    first, count = block["first_position"], block["count"]
    for sql in (
        "DELETE FROM log.events WHERE partition = 'table.0' AND position >= $1",
        "DELETE FROM log.blocks WHERE partition = 'table.0' AND first_position >= $1",
        "UPDATE log.partitions SET position = $1 - 1, head = (SELECT head FROM log.blocks"
        " WHERE partition = 'table.0' ORDER BY first_position DESC LIMIT 1) WHERE name = 'table.0'",
    ):
        await real.root.execute(sql, first)
    await real.root.execute(
        "UPDATE log.streams SET version = version - $1 WHERE stream = 'table/t1'", count
    )


def of_checkpoints(findings: list[pb.Finding]) -> list[tuple[str, int, str]]:
    return [
        (each.partition, each.position, each.message)
        for each in findings
        if each.check == pb.CHECK_CHECKPOINT
    ]


async def croupier(client: Client, *words: str) -> tuple[int, str, str]:
    """Runs `croupier words…` as an auditor of this house: status, output and errors."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "deploy.main"),
        *("--address", client.address, "--token", token(Role.AUDITOR), *words),
        cwd=ROOT,
        env={**os.environ, "CROUPIER_HOUSE": "none/house.json"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_a_superuser_who_makes_everything_fit_is_found_by_what_others_hold(
    real: RealHouse, client: Client, pool: Pool, tmp_path: Path
) -> None:
    await real.play(2)
    await sign(pool)
    held, file = await client.notes(), tmp_path / "held.txt"
    assert set(held) == {"table.0", "shuffle.0", "wallet.0"}
    saved = await croupier(client, "checkpoint", "save", str(file))
    assert saved[0] == 0, saved
    assert file.read_text() == "".join(held.values())
    assert KEY in saved[2]
    await real.play(1)
    await sign(pool)
    assert await client.findings(list(held.values())) == []
    good = await croupier(client, "checkpoint", "check", str(file), "--key", KEY)
    assert good[0] == 0, good
    assert "casino.example/one/table.0" in good[1]

    await forge(real, await event_of(real, "TableOpened"), rename)
    _, size, root = by_the_book.opened((await client.notes())["table.0"], KEY)
    [kept] = of_checkpoints(await client.findings())
    assert kept[:2] == ("table.0", size)
    assert "is kept here" in kept[2]

    await forget_what_was_signed(real)
    await sign(pool)
    assert await client.findings() == []  # all that the house has agrees with itself
    _, held_size, held_root = by_the_book.opened(held["table.0"], KEY)
    _, again, other_root = by_the_book.opened((await client.notes())["table.0"], KEY)
    assert again == size
    assert other_root != root
    [found] = await client.findings(list(held.values()))
    assert (found.check, found.partition, found.position) == (
        pb.CHECK_CHECKPOINT,
        "table.0",
        held_size,
    )
    assert f"the first {held_size} events are not those that were signed" in found.message
    assert held_root.hex() in found.message
    status, out, _ = await croupier(client, "checkpoint", "check", str(file), "--key", KEY)
    assert status == 1
    assert f"table.0, {held_size} events: the first {held_size} of the {size}" in out
    assert "✓ casino.example/one/wallet.0" in out
    status, out, _ = await croupier(client, "verify", "--all", "--against", str(file))
    assert status == 1
    assert "checkpoint at table.0" in out


async def test_a_tail_that_was_cut_off_is_missed(
    real: RealHouse, client: Client, pool: Pool
) -> None:
    await real.play(1)
    await sign(pool)
    held = await client.notes()
    _, size, _ = by_the_book.opened(held["table.0"], KEY)
    await real.root.execute("SET session_replication_role = replica")
    for table in ("log.events", "log.blocks", "log.partitions", "log.streams"):
        await real.root.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
    await cut_off(real)
    await forget_what_was_signed(real)
    await sign(pool)
    [found] = of_checkpoints(await client.findings(list(held.values())))
    assert found[:2] == ("table.0", size)
    assert f"{size} events were signed, and no more than " in found[2]


async def test_an_event_that_kept_its_hash_is_computed_anew(
    real: RealHouse, client: Client, pool: Pool
) -> None:
    """The hash that stands beside an event proves nothing."""
    await real.play(1)
    await sign(pool)
    await scribble(real, await event_of(real, "TableOpened"), rename)
    findings = await client.findings()
    assert [each[0] for each in of_checkpoints(findings)] == ["table.0"]
    assert {pb.CHECK_CHAIN, pb.CHECK_CHECKPOINT} <= {each.check for each in findings}


async def test_a_kept_checkpoint_that_is_not_ours_is_a_finding(
    real: RealHouse, client: Client, pool: Pool
) -> None:
    await real.play(1)
    await sign(pool)
    await real.root.execute("ALTER TABLE audit.checkpoint DISABLE TRIGGER ALL")
    await real.root.execute(
        "UPDATE audit.checkpoint SET note = replace(note, 'table.0', 'table.1')"
        " WHERE partition = 'table.0'"
    )
    [found] = of_checkpoints(await client.findings())
    assert found[0] == "table.0"
    assert "the signature is not one of casino.example/one" in found[2]


async def test_what_is_no_checkpoint_of_this_house_is_refused(
    real: RealHouse, client: Client, pool: Pool
) -> None:
    await real.play(1)
    await sign(pool)
    note = (await client.notes())["table.0"]

    async def refusal(*against: str, table_id: str = "") -> tuple[str, str]:
        with pytest.raises(CroupierError) as error:
            await client.verify_all(table_id, against)
        return refused(error)

    text = note.partition("\n\n")[0] + "\n"
    for wrong in (
        "",
        text,
        note.replace("table.0", "wallet.0"),
        NoteSigner("casino.example/two", SIGNER.private_key).sign(text),
        replace(SIGNER, private_key=bytes(32)).sign(text),
        SIGNER.sign(Checkpoint("casino.example/two/table.0", 3, bytes(32)).text()),
        SIGNER.sign("another text\n"),
    ):
        assert await refusal(note, wrong) == ("BAD_REQUEST", "against")
    gone = SIGNER.sign(Checkpoint("casino.example/one/table.7", 3, bytes(32)).text())
    assert await refusal(gone) == ("PARTITION_NOT_FOUND", "against")
    assert await refusal(note, table_id="t1") == ("BAD_REQUEST", "against")
    assert await refusal(*[note] * 10_001) == ("BAD_REQUEST", "against")


async def test_everybody_may_keep_checkpoints_and_auditors_prove_events(
    real: RealHouse, client: Client, pool: Pool
) -> None:
    await real.play(1)
    await sign(pool)
    await real.play(1)
    await sign(pool)
    player = replace(client, role=Role.PLAYER, subject="ann")
    first = await player.call(
        "ListCheckpoints", pb.ListCheckpointsRequest(page_size=2), pb.ListCheckpointsResponse
    )
    rest = await player.call(
        "ListCheckpoints",
        pb.ListCheckpointsRequest(page_token=first.next_page_token),
        pb.ListCheckpointsResponse,
    )
    listed = [*first.checkpoints, *rest.checkpoints]
    assert [each.partition for each in listed] == ["shuffle.0", "table.0", "wallet.0"]
    assert (first.verifier_key, rest.next_page_token) == (KEY, "")
    got = await player.call(
        "GetCheckpoint", pb.GetCheckpointRequest(partition="table.0"), pb.GetCheckpointResponse
    )
    assert (got.checkpoint, got.verifier_key) == (listed[1], KEY)
    origin, size, root = by_the_book.opened(got.checkpoint.note, KEY)
    assert (origin, got.checkpoint.size) == ("casino.example/one/table.0", size)
    assert got.checkpoint.HasField("signed_at")
    proof = await player.call(
        "ProveConsistency",
        pb.ProveConsistencyRequest(partition="table.0", from_size=5, to_size=size),
        pb.ProveConsistencyResponse,
    )
    events = (await client.events(partition="table.0")).events
    before = by_the_book.root([event.hash for event in events[:5]])
    assert by_the_book.roots_of_consistency(5, size, proof.path, before) == (before, root)
    request = pb.ProveInclusionRequest(partition="table.0", position=3, size=size)
    with pytest.raises(CroupierError) as error:
        await player.call("ProveInclusion", request, pb.ProveInclusionResponse)
    assert error.value.reason == "ROLE_NOT_ALLOWED"
    included = await client.call("ProveInclusion", request, pb.ProveInclusionResponse)
    assert included.event_hash == events[2].hash
    hashed = by_the_book.leaf(events[2].hash)
    assert by_the_book.root_of_inclusion(hashed, 2, size, included.path) == root
