"""TAB-08: a hand that is dealt again is one hand, with two shoes."""

from __future__ import annotations

from shared.table import events as e
from tests.integration.audit.conftest import Client, RealHouse


async def test_a_hand_dealt_again_is_one_hand(real: RealHouse, client: Client) -> None:
    await real.house.open_table("t2", "casino_holdem")
    await real.house.seat("t2", "cid", 50_000)
    hand_id = await real.house.play("t2", ("cid", 3, "ante", 1_000))
    incident = e.IncidentReported("pit", "wrong_card_count", by_pit=True)
    await real.house.give("t2", incident)
    table = real.house.tables["t2"]
    if table.shoe is not None and table.shoe.cut_deadline:
        await real.house.give("t2", e.CutChosen("cid", 0))
    await real.house.give("t2", e.DecisionMade("cid", 3, "fold"))
    await real.settle()

    types = [step.type for step in (await client.replay(hand_id)).steps]
    assert types.count("HandOpened") == 2
    assert types.index("HandRedealt") < types.index("HandSettled")
    assert (await client.verify(hand_id)).verified
    assert await client.findings() == []

    [hand] = (await client.hands(player="cid")).hands
    assert (hand.hand_id, hand.number) == (hand_id, 1)
    shoes = await real.root.fetch(
        "SELECT DISTINCT shoe_id FROM audit.cards WHERE hand_id = $1", hand_id
    )
    assert len(shoes) == 2
    assert hand.shoe_id in {row["shoe_id"] for row in shoes}
    bets = await real.root.fetch(
        "SELECT wager, stake_minor, returned_minor FROM audit.bets WHERE hand_id = $1", hand_id
    )
    assert [tuple(bet) for bet in bets] == [("ante", 1_000, 0)]
