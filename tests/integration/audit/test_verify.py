"""What was played verifies: hand by hand, table by table, all of it."""

from __future__ import annotations

from croupier.audit.v1 import audit_pb2 as pb

from tests.integration.audit.conftest import Client, RealHouse


async def test_every_hand_verifies(real: RealHouse, client: Client) -> None:
    for hand_id in await real.play(3):
        answer = await client.verify(hand_id)
        assert list(answer.findings) == []
        assert answer.verified
        assert answer.events > 8
        assert pb.CHECK_RULES in answer.checks_done
        assert pb.CHECK_LEDGER not in answer.checks_done


async def test_everything_verifies(real: RealHouse, client: Client) -> None:
    await real.play(3)
    *_, last = await client.verify_all()
    assert last.done
    assert not last.findings
    assert (last.hands_verified, last.hands_total, last.hands_failed) == (3, 3, 0)
    assert set(last.checks_done) == set(pb.Check.values()) - {pb.CHECK_UNSPECIFIED}
