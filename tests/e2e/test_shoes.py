"""Shoes at a real house: players' seeds, an account of each, new keys, a loss of the log."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import asyncpg
import pytest
from croupier.table.v1 import events_pb2

from clients.api.house import find_house
from clients.bots.closing import settle, verify_everything
from clients.bots.run import open_tables, play_hands
from tests.e2e.houses import HouseOnDisk, database_of
from tests.polling import eventually

GAMES = ("baccarat", "casino_holdem", "draw_poker")


async def play(house: HouseOnDisk, hands: int) -> None:
    """Bots play hands of three games; everything verifies."""
    found = find_house(house.file)
    tables = await open_tables(found, GAMES)
    summary = await play_hands(found, tables, hands, lambda _: None, seats=2, seed=1)
    assert summary.hands == hands
    assert (await settle(found)).balanced
    verified = await verify_everything(found, lambda _: None)
    assert verified.clean, verified.findings


async def told(house: HouseOnDisk, *words: str) -> Any:
    """What a command prints as JSON."""
    ran = await house.run(*words, "--json")
    assert ran.status == 0, ran
    return json.loads(ran.out)


async def payloads(house: HouseOnDisk, kind: Any) -> list[Any]:
    """All events of a type in the log."""
    connection = await asyncpg.connect(database_of(house))
    try:
        rows = await connection.fetch(
            "SELECT payload FROM log.events WHERE type = $1", kind.DESCRIPTOR.name
        )
    finally:
        await connection.close()
    return [kind.FromString(row["payload"]) for row in rows]


@pytest.fixture(scope="module")
def played(open_house: HouseOnDisk) -> HouseOnDisk:
    asyncio.run(play(open_house, 24))
    return open_house


async def test_seeds_of_those_who_play_are_in_their_shoes(played: HouseOnDisk) -> None:
    """By the client library alone: no bot has a line about seeds."""
    ready = await payloads(played, events_pb2.ShoeReady)
    assert len(ready) >= 8
    assert {len(shoe.seeds_used) for shoe in ready} == {2}
    assert [shoe for shoe in ready if shoe.seeds_left_out] == []
    pledged = {each.shoe_id for each in await payloads(played, events_pb2.SeedPledged)}
    # While one shoe is played, seeds for the next are pledged.
    assert pledged > {shoe.shoe_id for shoe in ready}


async def test_every_shoe_is_accounted_for_and_secret_ones_are_derived_again(
    played: HouseOnDisk,
) -> None:
    async def all_checked() -> bool:
        totals: dict[str, int] = (await told(played, "shoes"))["totals"]
        return totals["unchecked"] == 0

    await eventually(all_checked, within_s=30)
    answer = await told(played, "shoes", "--limit", "1000")
    totals, shoes = answer["totals"], answer["shoes"]
    ended = sum(totals[why] for why in ENDS)
    assert len(shoes) == totals["opened"] == totals["open"] + ended
    assert totals["failed"] == totals["not_requested"] == totals["seeds_withheld"] == 0
    checked = [shoe for shoe in shoes if shoe["checked_at"]]
    assert len(checked) >= 6
    assert all(shoe["holds"] and not shoe["publish"] for shoe in checked)
    shown = await played.run("shoes", "--only", "open")
    assert f"{totals['opened']} shoes opened" in shown.out
    assert "made ready" in shown.out


async def test_whoever_opens_a_shoe_is_seen_by_its_players(played: HouseOnDisk) -> None:
    [hand] = await told(played, "hands", "--table", "casino_holdem-1", "--limit", "1")
    opened = await told(played, "disclose", hand["shoe_id"], "--why", "complaint 17")
    assert len(opened["cards"]) == 52
    token = (await played.run("token", "--role", "player", "--subject", hand["players"][0])).out
    assert token

    async def seen() -> bool:
        lines = await told(played, "--token", token.strip(), "disclosures")
        return [line["why"] for line in lines] == ["complaint 17"]

    await eventually(seen, within_s=30)
    mine = await told(played, "--token", token.strip(), "disclosures")
    assert mine[0]["to"] == "local-auditor"
    assert hand["hand_id"] in mine[0]["hand_ids"]


@pytest.mark.timeout(240)
async def test_after_a_change_of_keys_the_house_goes_on_and_the_old_seed_key_may_go(
    played: HouseOnDisk,
) -> None:
    kept = {line["id"]: line for line in await told(played, "keys", "list")}
    assert kept["s1"]["seeds"] >= 6
    assert (await played.run("keys", "rotate")).status == 0
    refused = await played.run("keys", "forget", "s1")
    assert (refused.status, "still seals with s1" in refused.err) == (1, True)
    assert (await played.run("down")).status == 0
    assert (await played.run("up", "--detach")).status == 0

    async def resealed() -> bool:
        lines = {line["id"]: line for line in await told(played, "keys", "list")}
        return bool(lines["s1"]["seeds"] == 0 and lines["s2"]["seeds"] >= 6)

    await eventually(resealed, within_s=30)
    assert (await played.run("keys", "forget", "s1")).status == 0
    await play(played, 6)  # and verifies all that was sealed with the first deployment key


@pytest.mark.timeout(240)
async def test_after_a_loss_of_the_log_no_open_shoe_is_dealt_from(played: HouseOnDisk) -> None:
    opened = (await told(played, "shoes", "--only", "open"))["shoes"]
    before = {shoe["shoe_id"] for shoe in opened}
    assert before
    done = await told(played, "log", "recover")
    assert done["shoes"] + done["tables"] >= len(before)
    assert done["failures"] == []
    await play(played, 6)
    answer = await told(played, "shoes", "--limit", "1000")
    ends = {shoe["shoe_id"]: shoe["retire_reason"] for shoe in answer["shoes"]}
    assert {ends[shoe_id] for shoe_id in before} == {"log_recovered"}
    assert answer["totals"]["log_recovered"] == len(before)
    # Retired, and of a game that publishes its seeds: any player makes it again.
    sealed = [shoe["shoe_id"] for shoe in opened if shoe["publish"] and shoe["root"]]
    assert sealed
    whole = await told(played, "verify-card", "--shoe", sealed[0])
    assert whole["holds"], whole["problems"]
    assert len(whole["player_seeds"]) == 2
    assert len(whole["order"].split()) == 52 * whole["decks"]


ENDS = ("played", "redeal", "table_closed", "aborted", "log_recovered")
