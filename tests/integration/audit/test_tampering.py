"""Promise 6: what a superuser does to the record is found, and named.

Each test forges as thoroughly as is said in its name; where the whole chain is computed anew, only
the meaning of the events can give it away (or a checkpoint that somebody else holds).
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from croupier.audit.v1 import audit_pb2 as pb
from croupier.shuffle.v1 import events_pb2 as shuffle

from services.wallet.orders import Command, Correct
from shared.log import Append, CommandKey, NewEvent, PostgresLog, event_hash, open_pool
from shared.money import Money
from shared.proofs.seeds import player_seed_commitment
from shared.table import events as e
from tests.integration.audit.conftest import Client, RealHouse
from tests.integration.audit.forging import event_of, forge, rewrite, scribble
from tests.servers import Database

SEED = bytes(range(16))


def checks(findings: list[pb.Finding]) -> set[int]:
    return {finding.check for finding in findings}


def words(findings: list[pb.Finding], check: int) -> list[str]:
    return [finding.message for finding in findings if finding.check == check]


def raise_stake(body: Any) -> None:
    body.stake += 2_000


async def test_a_changed_bet_contradicts_its_hash(real: RealHouse, client: Client) -> None:
    hand_id, _ = await real.play(2)
    bet = await event_of(real, "BetPlaced", hand_id)
    await scribble(real, bet, raise_stake)
    findings = await client.findings()
    [found] = [each for each in findings if each.check == pb.CHECK_CHAIN]
    assert (found.partition, found.position, found.stream, found.version, found.hand_id) == (
        bet.partition,
        bet.position,
        bet.stream,
        bet.version,
        hand_id,
    )
    assert found.message == "the event contradicts its own hash"
    # The stakes no longer add up to what the hand was opened with.
    assert "the rules give another HandOpened here" in words(findings, pb.CHECK_RULES)
    answer = await client.verify(hand_id)
    assert not answer.verified
    assert {pb.CHECK_CHAIN, pb.CHECK_RULES} <= checks(list(answer.findings))


async def test_other_hands_still_verify(real: RealHouse, client: Client) -> None:
    first, second = await real.play(2)
    await scribble(real, await event_of(real, "CardsDealt", second), _other_card)
    assert (await client.verify(first)).verified
    assert not (await client.verify(second)).verified


async def test_a_rewritten_event_contradicts_the_chain(real: RealHouse, client: Client) -> None:
    hand_id, _ = await real.play(2)
    bet = await event_of(real, "BetPlaced", hand_id)
    await rewrite(real, bet, raise_stake)
    [found] = [each for each in await client.findings() if each.check == pb.CHECK_CHAIN]
    assert (found.partition, found.position) == (bet.partition, bet.position)
    assert found.message == "the block that begins here contradicts the chain"


async def test_a_removed_event_is_missed(real: RealHouse, client: Client) -> None:
    hand_id, _ = await real.play(2)
    bet = await event_of(real, "BetPlaced", hand_id)
    await real.tamper(
        "DELETE FROM log.events WHERE partition = $1 AND position = $2", bet.partition, bet.position
    )
    findings = await client.findings()
    assert ("table.0", bet.position, "the event is missing") in {
        (each.partition, each.position, each.message) for each in findings
    }
    assert f"version {bet.version} is missing before this one" in words(findings, pb.CHECK_CHAIN)


async def test_a_head_moved_back_is_seen(real: RealHouse, client: Client) -> None:
    await real.play(1)
    head = await real.root.fetchval("SELECT position FROM log.partitions WHERE name = 'wallet.0'")
    await real.tamper("UPDATE log.partitions SET position = position - 1 WHERE name = 'wallet.0'")
    findings = await client.findings()
    assert "the head of the partition is not where its blocks lead" in words(
        findings, pb.CHECK_CHAIN
    )
    assert f"the streams of the partition have {head} events, the partition {head - 1}" in words(
        findings, pb.CHECK_CHAIN
    )


async def test_a_hand_behind_the_head_of_its_partition_does_not_verify(
    real: RealHouse, client: Client
) -> None:
    """The chain holds as far as it goes; the hand's events are there, and in no block of it."""
    [hand_id] = await real.play(1)
    bet = await event_of(real, "BetPlaced", hand_id)
    await real.tamper(
        """
        UPDATE log.partitions SET (position, head) = (
            SELECT first_position + count - 1, head FROM log.blocks
             WHERE partition = $1 AND first_position < $2
             ORDER BY first_position DESC LIMIT 1) WHERE name = $1
        """,
        bet.partition,
        bet.position,
    )
    await real.root.execute(
        "DELETE FROM log.blocks WHERE partition = $1 AND first_position >= $2",
        bet.partition,
        bet.position,
    )
    answer = await client.verify(hand_id)
    [found] = words(list(answer.findings), pb.CHECK_CHAIN)
    assert found.startswith("the partition ends before this hand")


def _other_card(body: Any) -> None:
    body.cards[0].card_plus_one = body.cards[0].card_plus_one % 52 + 1


async def test_a_forged_card_is_not_what_shuffle_showed(real: RealHouse, client: Client) -> None:
    hand_id, _ = await real.play(2)
    dealt = await event_of(real, "CardsDealt", hand_id)
    position = 0

    def change(body: Any) -> None:
        nonlocal position
        position = body.cards[0].position
        _other_card(body)

    await forge(real, dealt, change)
    for findings in (await client.findings(), list((await client.verify(hand_id)).findings)):
        assert pb.CHECK_CHAIN not in checks(findings)
        assert f"the card at position {position} is not the one shuffle showed" in words(
            findings, pb.CHECK_PROOFS
        )


async def test_a_forged_card_in_shuffles_log_does_not_prove(
    real: RealHouse, client: Client
) -> None:
    hand_id, _ = await real.play(2)
    shown = await event_of(real, "CardsShown", hand_id)

    def change(body: Any) -> None:
        proof = body.cards[0].open
        proof.card = "2c" if proof.card != "2c" else "3c"

    await forge(real, shown, change)
    for findings in (await client.findings(), list((await client.verify(hand_id)).findings)):
        assert pb.CHECK_CHAIN not in checks(findings)
        [found] = [each for each in findings if "does not prove against the seal" in each.message]
        assert (found.stream, found.version) == (shown.stream, shown.version)
        assert found.hand_id == hand_id


async def test_a_forged_seal_proves_nothing(real: RealHouse, client: Client) -> None:
    [hand_id] = await real.play(1)
    await forge(real, await event_of(real, "ShoeSealed"), _other_root)
    findings = list((await client.verify(hand_id)).findings)
    assert "players were told another seal, cut or seeds" in words(findings, pb.CHECK_SHOE)
    assert len(words(findings, pb.CHECK_PROOFS)) >= 4


def _other_root(body: Any) -> None:
    body.root = bytes(32)


def _pay_more(body: Any) -> None:
    body.lines[0].returned += 100


async def test_a_forged_settlement_breaks_the_rules_and_the_postings(
    real: RealHouse, client: Client
) -> None:
    hand_id, _ = await real.play(2)
    settled = await event_of(real, "HandSettled", hand_id)
    await forge(real, settled, _pay_more)
    for findings in (await client.findings(), list((await client.verify(hand_id)).findings)):
        assert pb.CHECK_CHAIN not in checks(findings)
        rule = next(each for each in findings if each.check == pb.CHECK_RULES)
        assert rule.message == "the rules give another HandSettled here"
        assert (rule.hand_id, rule.version) == (hand_id, settled.version)
        assert words(findings, pb.CHECK_POSTINGS) == [
            "the transfer moves other amounts than were due"
        ]


async def test_a_forged_transfer_is_not_what_was_due(real: RealHouse, client: Client) -> None:
    hand_id, _ = await real.play(2)

    def shift(body: Any) -> None:
        body.postings[0].minor_units += 7
        body.postings[1].minor_units -= 7

    await forge(real, await event_of(real, "TransferPosted", hand_id), shift)
    findings = await client.findings()
    assert words(findings, pb.CHECK_POSTINGS) == ["the transfer moves other amounts than were due"]
    assert any("the books hold" in message for message in words(findings, pb.CHECK_LEDGER))
    answer = await client.verify(hand_id)
    assert words(list(answer.findings), pb.CHECK_POSTINGS)


async def test_a_transfer_out_of_balance_is_named(real: RealHouse, client: Client) -> None:
    [hand_id] = await real.play(1)

    def unbalance(body: Any) -> None:
        body.postings[0].minor_units += 7

    await forge(real, await event_of(real, "TransferPosted", hand_id), unbalance)
    assert "the transfer does not sum to zero" in words(await client.findings(), pb.CHECK_LEDGER)


async def test_a_posting_changed_in_the_books_is_found(real: RealHouse, client: Client) -> None:
    await real.play(1)
    await real.tamper(
        "UPDATE wallet.postings SET amount = amount + 1"
        " WHERE account = 'table/t1/ann' AND sequence = 1"
    )
    [found] = await client.findings()
    assert found.check == pb.CHECK_LEDGER
    assert found.message.startswith("table/t1/ann: 2 postings in the books make ")


async def test_a_balance_changed_in_the_books_is_found(real: RealHouse, client: Client) -> None:
    await real.play(1)
    await real.tamper(
        "UPDATE wallet.accounts SET balance = balance + 500 WHERE account = 'player/ann'"
    )
    messages = words(await client.findings(), pb.CHECK_LEDGER)
    assert len(messages) == 2
    assert messages[0].startswith("player/ann: the books hold 500 EUR after 2 postings")
    assert messages[1] == "all accounts in EUR sum to 500, not zero"


async def test_a_published_seed_that_was_swapped_is_found(real: RealHouse, client: Client) -> None:
    await real.play(1)
    for player in ("ann", "bob"):
        await real.house.give("t1", e.LeaveRequested(player))
    await real.house.give("t1", e.TableClosing("pit", "done"))
    await real.settle()
    assert await client.findings() == []

    def swap(body: Any) -> None:
        body.server_seed = bytes(32)

    await forge(real, await event_of(real, "ShoeRetired"), swap)
    assert words(await client.findings(), pb.CHECK_SHOE) == [
        "the server seed is not the one that was committed to"
    ]


@pytest.mark.parametrize("kind", ["BetPlaced", "CardsDealt", "CardsShown", "TransferPosted"])
async def test_bytes_that_are_no_message_are_told(
    kind: str, real: RealHouse, client: Client
) -> None:
    [hand_id] = await real.play(1)
    event = await event_of(real, kind, hand_id)
    await real.tamper(
        "UPDATE log.events SET payload = '\\xff' WHERE partition = $1 AND position = $2",
        event.partition,
        event.position,
    )
    for findings in (await client.findings(), list((await client.verify(hand_id)).findings)):
        assert any(
            (each.stream, each.version) == (event.stream, event.version)
            and ("cannot be read" in each.message or "the payload is no" in each.message)
            for each in findings
        )


async def test_money_that_moves_by_a_transfer_of_no_table_is_looked_at(
    real: RealHouse, client: Client
) -> None:
    """It sums to zero, and nobody who walks over a table comes upon it."""
    await real.play(1)

    def from_the_house(body: Any) -> None:
        for posting in body.postings:
            if posting.account.startswith("cashier/"):
                posting.account = "house/t1"

    await forge(real, await event_of(real, "TransferPosted"), from_the_house)
    assert words(await client.findings(), pb.CHECK_POSTINGS) == [
        "the transfer has not the legs of its kind"
    ]


async def test_TAB_12_a_correction_names_a_settled_hand(real: RealHouse, client: Client) -> None:
    first, second = await real.play(2)
    order = Correct("t1", first, Money("EUR", 700), "ruling-1")
    key = CommandKey("pit:pia", uuid4(), bytes(32))
    await real.wallet.cashier.execute(Command(key, uuid4(), "ann", order))
    assert await client.findings() == []
    assert (await client.verify(first)).verified
    row = await real.root.fetchrow(
        "SELECT stream, version FROM log.events WHERE hand_id = $1 AND type = 'TransferPosted'"
        " AND causation_id IS NULL",
        first,
    )
    assert row is not None
    [correction] = await real.wallet.log.read_stream(row["stream"], row["version"] - 1, 1)

    def name_another(body: Any) -> None:
        body.hand_id = "t1-99"

    await forge(real, correction, name_another)
    for findings in (await client.findings(), list((await client.verify(first)).findings)):
        assert words(findings, pb.CHECK_POSTINGS) == ["the corrected hand was not settled"]
    assert (await client.verify(second)).verified


LEFT_OUT = "a seed was left out as used before, and no shoe had it"


async def test_a_seed_is_left_out_as_used_before_only_where_it_was(
    real: RealHouse, database: Database, client: Client
) -> None:
    """A house that could say so of an honest player's seed would know the order."""
    shoe = real.house.tables["t1"].shoe
    assert shoe is not None
    commitment = player_seed_commitment(shoe.shoe_id, "ann", SEED)
    await real.house.give("t1", e.SeedPledged("ann", commitment, shoe_id=shoe.shoe_id))
    bets = (("ann", 1, "banker", 2_000), ("bob", 2, "player", 500))
    await real.house.play("t1", *bets, cut=77)
    await real.house.give("t1", e.SeedRevealed("ann", SEED))
    await real.play(1)
    assert await client.findings() == []

    told = await event_of(real, "SeedOpened")
    payload = shuffle.SeedReused(player="ann", epoch=1).SerializeToString()
    said = told._replace(type="SeedReused", payload=payload)
    await real.tamper(
        "UPDATE log.events SET type = 'SeedReused', payload = $3, hash = $4"
        " WHERE partition = $1 AND position = $2",
        told.partition,
        told.position,
        payload,
        event_hash(told.stream, told.version, said),
    )

    def leave_out(body: Any) -> None:
        body.withheld.extend(body.used)
        del body.used[:]

    await forge(real, await event_of(real, "ShoeSealed"), leave_out)
    assert LEFT_OUT in words(await client.findings(), pb.CHECK_SHOE)

    following = real.house.tables["t1"].next_shoe
    assert following is not None
    pool = await open_pool(database.dsn("croupier_shuffle"), 1)
    async with PostgresLog(pool) as log:
        stream = f"shuffle/{following.shoe_id}"
        earlier = NewEvent("SeedOpened", told.payload, "test")
        version = len(await log.read_stream(stream))
        await log.append([Append(uuid4(), stream, version, (earlier,))])
    await pool.close()
    assert LEFT_OUT not in words(await client.findings(), pb.CHECK_SHOE)
