"""What tables say, and what it does to accounts and to the log."""

from __future__ import annotations

import asyncio

import pytest
from croupier.table.v1 import events_pb2 as table_events
from croupier.wallet.v1.events_pb2 import ChipsRefused
from google.protobuf.message import Message

from services.wallet import books as wallet_books
from shared.errors import CroupierError
from tests.integration.wallet.conftest import Ledger, Service, Tables, hand_settled


async def at_b1(service: Service, tables: Tables) -> None:
    """Ann and bob sit at table b1 with 500 each, and have 500 left."""
    for player in ("ann", "bob"):
        await service.player_with(player, 1_000)
    await tables.open("b1")
    for player in ("ann", "bob"):
        await tables.buy_in("b1", player, 500)


async def with_a_pot_at_d1(service: Service, tables: Tables) -> None:
    """Ann and bob bought 500 each at draw table d1, and left a pot of 40 unplayed."""
    for player in ("ann", "bob"):
        await service.player_with(player, 1_000)
    await tables.open("d1", game="draw_poker")
    for player in ("ann", "bob"):
        await tables.buy_in("d1", player, 500)
    await tables.settle("d1", "d1-7", ("ann", 20, 0), ("bob", 20, 0), pot_change=40)


async def test_a_buy_in_is_funded_and_told(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    await service.player_with("ann", 1_000)
    await tables.open("b1")
    request = await tables.buy_in("b1", "ann", 400)
    assert await ledger.follow() == {"wallet.0"}
    assert await ledger.balance("player/ann") == 600
    assert await ledger.balance("table/b1/ann") == 400
    assert await ledger.events_of("b1") == ["TransferPosted", "ChipsFunded"]
    answers = await tables.log.find_by_causation([request])
    assert [answer.type for answer in answers] == ["TransferPosted", "ChipsFunded"]
    assert {answer.actor for answer in answers} == {"wallet"}
    await ledger.check()


async def test_a_buy_in_that_is_refused_is_told_with_its_reason(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    await service.player_with("ann", 1_000)
    await tables.open("b1")
    await tables.open("u1", "USD")
    expected = {
        await tables.buy_in("b1", "ann", 1_001): "INSUFFICIENT_FUNDS",
        await tables.buy_in("u1", "ann", 10): "CURRENCY_MISMATCH",
        await tables.buy_in("b1", "bob", 10): "ACCOUNT_NOT_FOUND",
        await tables.buy_in("b1", "ann", 0): "BAD_AMOUNT",
    }
    await ledger.follow()
    answers = await tables.log.find_by_causation(expected)
    assert {answer.type for answer in answers} == {"ChipsRefused"}
    reasons = {
        answer.causation_id: ChipsRefused.FromString(answer.payload).reason for answer in answers
    }
    assert reasons == expected
    assert await ledger.balance("player/ann") == 1_000
    await ledger.check()


async def test_a_second_buy_in_of_one_batch_sees_what_the_first_left(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    await service.player_with("ann", 1_000)
    await tables.open("b1")
    await tables.open("b2")
    await tables.buy_in("b1", "ann", 600)
    await tables.buy_in("b2", "ann", 600)
    await ledger.follow()
    assert await ledger.events_of("b2") == ["ChipsRefused"]
    assert await ledger.balance("player/ann") == 400


async def test_a_hand_is_one_transfer_of_many_legs(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    await at_b1(service, tables)
    settled = await tables.settle("b1", "b1-9", ("ann", 100, 195), ("ann", 20, 0), ("bob", 300, 0))
    await ledger.follow()
    assert await ledger.balance("table/b1/ann") == 575
    assert await ledger.balance("table/b1/bob") == 200
    assert await ledger.balance("house/b1") == 225
    [posted] = await tables.log.find_by_causation([settled])
    assert (posted.type, posted.hand_id) == ("TransferPosted", "b1-9")
    assert str(settled) in (await ledger.check()).transfers


async def test_a_hand_that_moved_nothing_has_its_transfer_all_the_same(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    await at_b1(service, tables)
    settled = await tables.settle("b1", "b1-9", ("ann", 100, 100))
    await ledger.follow()
    books = await ledger.check()
    assert str(settled) in books.transfers
    assert str(settled) not in {posting[2] for posting in books.postings}


async def test_the_house_pays_what_it_does_not_have(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    await at_b1(service, tables)
    await tables.settle("b1", "b1-9", ("ann", 500, 10_000))
    await ledger.follow()
    assert await ledger.balance("house/b1") == -9_500


async def test_a_pot_waits_and_is_won_less_the_rake(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    await with_a_pot_at_d1(service, tables)
    await ledger.follow()
    assert await ledger.balance("table-pot/d1") == 40
    await tables.settle("d1", "d1-9", ("ann", 20, 75), ("bob", 20, 0), pot_change=-40, rake=5)
    await ledger.follow()
    assert await ledger.balance("table-pot/d1") == 0
    assert await ledger.balance("house/d1") == 5
    assert await ledger.balance("table/d1/ann") == 535
    await ledger.check()


async def test_a_waiting_pot_goes_back_and_a_fine_is_the_houses(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    await with_a_pot_at_d1(service, tables)
    shares = [table_events.PotShare(player=player, amount=20) for player in ("ann", "bob")]
    await tables.write("d1", table_events.PotPaid(shares=shares, why="table_closed"))
    await tables.write("d1", table_events.FineTaken(player="bob", amount=50))
    await ledger.follow()
    assert await ledger.balance("table-pot/d1") == 0
    assert await ledger.balance("table/d1/ann") == 500
    assert await ledger.balance("table/d1/bob") == 450
    assert await ledger.balance("house/d1") == 50
    await ledger.check()


async def test_BAC_11_commission_is_taken_and_the_rest_cashed_out(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    await at_b1(service, tables)
    await tables.settle("b1", "b1-9", ("ann", 100, 200))
    await tables.take_commission("b1", "ann", 100)
    await tables.cash_out("b1", "ann", 500)
    await ledger.follow()
    assert await ledger.balance("commission/b1") == 100
    assert await ledger.balance("table/b1/ann") == 0
    assert await ledger.balance("player/ann") == 1_000
    await ledger.check()


async def test_what_is_answered_is_not_answered_again(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    await at_b1(service, tables)
    await tables.buy_in("b1", "bob", 501)
    await tables.settle("b1", "b1-9", ("ann", 100, 0))
    await tables.cash_out("b1", "ann", 400)
    await ledger.follow()
    before = await ledger.check()
    told = await ledger.events_of("b1")
    await service.operator.deposit("bob", 10)
    assert await ledger.follow() == frozenset()
    assert await ledger.events_of("b1") == told
    assert (await ledger.check()).transfers >= before.transfers
    assert await ledger.balance("table/b1/bob") == 500


async def test_any_cut_of_the_sequence_gives_the_same_books(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    await at_b1(service, tables)
    for hand in range(20):
        won = 20 if hand % 3 else 0
        await tables.settle("b1", f"b1-{hand}", ("ann", 10, won), ("bob", 10, 20 - won))
    events = await ledger.table_log()
    for start, end in ((0, 1), (1, 2), (2, 9), (9, 9), (9, 22), (22, len(events))):
        await ledger.follow(events[start:end])
    books = await ledger.check()
    assert books.accounts["table/b1/ann"] == ("EUR", 500 - 200 + 13 * 20, 21)
    assert books.accounts["table/b1/bob"] == ("EUR", 500 - 200 + 7 * 20, 21)


async def test_more_than_one_append_holds_is_told_in_several(
    service: Service, tables: Tables, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wallet_books, "MAX_APPEND_EVENTS", 3)
    monkeypatch.setattr(wallet_books, "MAX_CALL_APPENDS", 2)
    await at_b1(service, tables)
    await tables.open("b2")
    await tables.open("b3")
    for table in ("b1", "b2", "b3"):
        await tables.buy_in(table, "ann", 100)
        await tables.write(table, *(hand_settled(f"{table}-{n}", ("ann", 1, 0)) for n in range(5)))
    await ledger.follow()
    assert await ledger.events_of("b3") == [
        "TransferPosted",
        "ChipsFunded",
        *["TransferPosted"] * 5,
    ]
    assert len(await ledger.events_of("b1")) == 4 + 7
    await ledger.check()


async def test_the_word_on_chips_is_in_the_append_of_their_transfer(
    service: Service, tables: Tables, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wallet_books, "MAX_APPEND_EVENTS", 3)
    await at_b1(service, tables)
    await ledger.follow()
    appends = await ledger.root.fetch(
        """
        SELECT array_agg(e.type ORDER BY e.position) AS types FROM log.blocks AS b
          JOIN log.events AS e ON e.partition = b.partition
           AND e.position BETWEEN b.first_position AND b.first_position + b.count - 1
         WHERE e.stream = 'wallet/b1' GROUP BY b.first_position ORDER BY b.first_position
        """
    )
    assert [each["types"] for each in appends] == [["TransferPosted", "ChipsFunded"]] * 2


async def test_large_settlements_are_told_in_appends_that_fit(
    service: Service, tables: Tables, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wallet_books, "MAX_APPEND_BYTES", 500)
    await at_b1(service, tables)
    await tables.write("b1", *(hand_settled(f"b1-{n}", ("ann", 1, 0)) for n in range(9)))
    await ledger.follow()
    sizes = await ledger.root.fetch(
        """
        SELECT sum(octet_length(e.payload)) AS size, b.count FROM log.blocks AS b
          JOIN log.events AS e ON e.partition = b.partition
           AND e.position BETWEEN b.first_position AND b.first_position + b.count - 1
         WHERE e.stream = 'wallet/b1' GROUP BY b.append_id, b.count
        """
    )
    assert sum(row["count"] for row in sizes) == 4 + 9
    assert max(row["size"] for row in sizes) <= 500
    assert max(row["count"] for row in sizes) > 1


async def test_what_the_ledger_cannot_follow_is_an_error_and_nothing_is_done(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    await at_b1(service, tables)
    await ledger.follow()
    before = await ledger.check()
    bodies: list[tuple[Message, str]] = [
        (hand_settled("h", ("ann", 501, 0)), "INSUFFICIENT_CHIPS"),
        (hand_settled("h", ("cid", 0, 5)), "ACCOUNT_NOT_FOUND"),
        (hand_settled("h", ("ann", 5, 0), rake=5), "BAD_AMOUNT"),
        (table_events.CashOutRequested(player="ann", amount=501), "INSUFFICIENT_CHIPS"),
        (table_events.CommissionTaken(player="ann", taken=501), "INSUFFICIENT_CHIPS"),
        (table_events.ChipsRequested(player="", amount=5), "BAD_REQUEST"),
    ]
    for body, reason in bodies:
        done = len(await ledger.table_log())
        await tables.settle("b1", "b1-7", ("ann", 5, 0))
        await tables.write("b1", body)
        with pytest.raises(CroupierError) as refused:
            await ledger.follow((await ledger.table_log())[done:])
        assert refused.value.reason == reason
        assert await ledger.check() == before


async def spread(ledger: Ledger, service: Service, tables: Tables) -> tuple[list[str], list[str]]:
    """Four wallet partitions; eight players with money and four tables all over them."""
    for _ in range(3):
        await ledger.root.execute("SELECT log.add_partition('wallet')")
    players = [f"p{n}" for n in range(8)]
    for player in players:
        await service.player_with(player, 1_000)
    names = [f"b{n}" for n in range(4)]
    for table in names:
        await tables.open(table)
    await ledger.follow()
    found = await ledger.root.fetchval(
        "SELECT count(DISTINCT log.partition_of('wallet/' || id)) FROM unnest($1::text[]) AS id",
        players + names,
    )
    assert found == 4
    return players, names


async def test_wallets_that_follow_different_tables_never_wait_for_each_other_in_a_circle(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    """Each transaction touches several partitions; all take their heads in one order."""
    players, names = await spread(ledger, service, tables)
    for turn in range(10):
        done = len(await ledger.table_log())
        for n, player in enumerate(players):
            await tables.buy_in(names[(n + turn) % 4], player, 3)
            await tables.buy_in(names[(n + turn + 1) % 4], player, 3)
        fresh = (await ledger.table_log())[done:]
        shares = [[event for event in fresh if event.stream == f"table/{t}"] for t in names]
        await asyncio.gather(*(ledger.follow(share) for share in shares))
    books = await ledger.check()
    chips = [books.accounts[f"table/{t}/{p}"][1] for t in names for p in players]
    assert sum(chips) == 10 * 8 * 2 * 3
    assert {books.accounts[f"player/{player}"][1] for player in players} == {1_000 - 60}


async def test_buy_ins_and_withdrawals_race_for_the_same_money_across_partitions(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    players, names = await spread(ledger, service, tables)
    done = len(await ledger.table_log())
    for n in range(80):
        await tables.buy_in(names[n % 4], players[n % 8], 90)
    fresh = (await ledger.table_log())[done:]
    withdrawals = [
        asyncio.create_task(service.player(players[n % 8]).withdraw(70)) for n in range(80)
    ]
    for start in range(0, 80, 4):
        await ledger.follow(fresh[start : start + 4])
    answers = await asyncio.gather(*withdrawals, return_exceptions=True)
    reasons = {answer.reason for answer in answers if isinstance(answer, CroupierError)}
    assert reasons <= {"INSUFFICIENT_FUNDS"}
    assert not [a for a in answers if isinstance(a, Exception) and not isinstance(a, CroupierError)]
    books = await ledger.check()
    # Each is left with less than anybody still asked for.
    assert all(books.accounts[f"player/{player}"][1] < 90 for player in players)
