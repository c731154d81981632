"""Accounts, deposits, withdrawals and statements as a caller sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from croupier.wallet.v1 import wallet_pb2 as pb
from croupier.wallet.v1.events_pb2 import (
    TRANSFER_KIND_BUY_IN,
    TRANSFER_KIND_CORRECTION,
    TRANSFER_KIND_DEPOSIT,
    TRANSFER_KIND_SETTLEMENT,
    TRANSFER_KIND_WITHDRAWAL,
)

from services.wallet import enquiries
from shared.errors import CroupierError
from tests.integration.wallet.conftest import Ledger, Service, Tables


async def test_a_player_opens_his_account_and_finds_it_empty(service: Service) -> None:
    ann = service.player("ann")
    opened = await ann.open()
    assert (opened.player, opened.balance.currency, opened.balance.minor_units) == ("ann", "EUR", 0)
    assert await ann.account() == opened


async def test_an_operator_opens_and_sees_a_players_account(service: Service) -> None:
    opened = await service.operator.open(player="ann")
    assert await service.player("ann").account() == opened
    assert await service.operator.account("ann") == opened
    assert await service.auditor.account("ann") == opened


async def test_money_goes_in_and_out_and_each_answer_tells_the_balance_after_it(
    service: Service, ledger: Ledger
) -> None:
    ann = service.player("ann")
    await ann.open()
    first = await service.operator.deposit("ann", 1_000, note="slip-1")
    second = await ann.withdraw(300)
    third = await service.operator.withdraw(100, player="ann")
    balances = [answer.balance_after.minor_units for answer in (first, second, third)]
    assert balances == [1_000, 700, 600]
    assert await ledger.balance("cashier/ann") == -600
    await ledger.check()


async def test_the_same_command_again_gets_the_first_answer_and_moves_nothing(
    service: Service, ledger: Ledger
) -> None:
    ann = service.player("ann")
    opening, depositing, withdrawing = (str(uuid4()) for _ in range(3))
    opened = await ann.open(command_id=opening)
    deposited = await service.operator.deposit("ann", 1_000, command_id=depositing)
    withdrawn = await ann.withdraw(300, command_id=withdrawing)
    assert await ann.open(command_id=opening) == opened
    assert await service.operator.deposit("ann", 1_000, command_id=depositing) == deposited
    assert await ann.withdraw(300, command_id=withdrawing) == withdrawn
    assert (await ann.account()).balance.minor_units == 700
    assert len((await ledger.check()).transfers) == 2


async def test_a_player_who_names_himself_asks_for_the_same(service: Service) -> None:
    ann = await service.player_with("ann", 1_000)
    command = str(uuid4())
    first = await ann.withdraw(300, command_id=command)
    assert await ann.withdraw(300, command_id=command, player="ann") == first


async def test_the_same_command_id_with_another_body_is_refused(service: Service) -> None:
    ann = await service.player_with("ann", 1_000)
    command = str(uuid4())
    await ann.withdraw(300, command_id=command)
    for again in (ann.withdraw(301, command_id=command), ann.open(command_id=command)):
        with pytest.raises(CroupierError) as refused:
            await again
        assert (refused.value.reason, refused.value.field) == ("COMMAND_BODY_DIFFERS", "command_id")
    assert (await ann.account()).balance.minor_units == 700


async def test_a_command_id_belongs_to_its_caller_and_player(service: Service) -> None:
    ann = await service.player_with("ann", 1_000)
    bob = await service.player_with("bob", 1_000)
    command = str(uuid4())
    await ann.withdraw(1, command_id=command)
    await bob.withdraw(2, command_id=command)
    await service.operator.withdraw(3, player="ann", command_id=command)
    await service.operator.withdraw(4, player="bob", command_id=command)
    assert (await ann.account()).balance.minor_units == 996
    assert (await bob.account()).balance.minor_units == 994


async def test_a_refused_command_is_not_remembered(service: Service) -> None:
    ann = await service.player_with("ann", 100)
    command = str(uuid4())
    with pytest.raises(CroupierError) as refused:
        await ann.withdraw(150, command_id=command)
    assert refused.value.reason == "INSUFFICIENT_FUNDS"
    await service.operator.deposit("ann", 100)
    answer = await ann.withdraw(150, command_id=command)
    assert answer.balance_after.minor_units == 50


REFUSALS: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("ann", "open", {}, "ACCOUNT_EXISTS", "player"),
    ("bob", "open", {"currency": "euro"}, "BAD_AMOUNT", "currency"),
    ("ann", "open", {"player": "bob"}, "ROLE_NOT_ALLOWED", "player"),
    ("ann", "open", {"command_id": "seven"}, "BAD_REQUEST", "command_id"),
    ("operator", "open", {"player": "a/b"}, "BAD_REQUEST", "player"),
    ("operator", "open", {"player": ""}, "BAD_REQUEST", "player"),
    ("auditor", "open", {"player": "bob"}, "ROLE_NOT_ALLOWED", ""),
    ("operator", "deposit", {"player": "bob", "amount": 5}, "ACCOUNT_NOT_FOUND", "player"),
    ("operator", "deposit", {"player": "ann", "amount": 0}, "BAD_AMOUNT", "amount"),
    ("operator", "deposit", {"player": "ann", "amount": -5}, "BAD_AMOUNT", "amount"),
    (
        "operator",
        "deposit",
        {"player": "ann", "amount": 5, "currency": "USD"},
        "CURRENCY_MISMATCH",
        "currency",
    ),
    (
        "operator",
        "deposit",
        {"player": "ann", "amount": 5, "currency": ""},
        "BAD_AMOUNT",
        "currency",
    ),
    (
        "operator",
        "deposit",
        {"player": "ann", "amount": 5, "note": "for my aunt"},
        "BAD_REQUEST",
        "note",
    ),
    ("ann", "deposit", {"player": "ann", "amount": 5}, "ROLE_NOT_ALLOWED", ""),
    ("ann", "withdraw", {"amount": 101}, "INSUFFICIENT_FUNDS", "amount"),
    ("ann", "withdraw", {"amount": 5, "player": "bob"}, "ROLE_NOT_ALLOWED", "player"),
    ("operator", "withdraw", {"amount": 5}, "BAD_REQUEST", "player"),
    ("bob", "account", {}, "ACCOUNT_NOT_FOUND", "player"),
    ("ann", "account", {"player": "bob"}, "ROLE_NOT_ALLOWED", "player"),
    ("ann", "accounts", {}, "ROLE_NOT_ALLOWED", ""),
    ("operator", "accounts", {"page_size": -1}, "BAD_REQUEST", "page_size"),
    ("operator", "accounts", {"page_token": "%"}, "BAD_PAGE_TOKEN", "page_token"),
    ("bob", "transfers", {}, "ACCOUNT_NOT_FOUND", "player"),
    ("ann", "transfers", {"page_size": -1}, "BAD_REQUEST", "page_size"),
    ("ann", "transfers", {"page_token": "%"}, "BAD_PAGE_TOKEN", "page_token"),
    ("ann", "transfers", {"page_token": "YW5u"}, "BAD_PAGE_TOKEN", "page_token"),
    ("ann", "transfers", {"page_token": "MTEx" * 2_000}, "BAD_PAGE_TOKEN", "page_token"),
    ("ann", "transfers", {"player": "bob"}, "ROLE_NOT_ALLOWED", "player"),
    ("ann", "transfers", {"account": "house/b1"}, "ROLE_NOT_ALLOWED", "account"),
    ("ann", "transfers", {"account": "table/b1/bob"}, "ROLE_NOT_ALLOWED", "account"),
    ("ann", "transfers", {"account": "ann"}, "ROLE_NOT_ALLOWED", "account"),
    ("ann", "transfers", {"account": "player"}, "ROLE_NOT_ALLOWED", "account"),
    ("operator", "transfers", {"account": "house/b1"}, "ACCOUNT_NOT_FOUND", "player"),
    ("ann", "ledger", {}, "ROLE_NOT_ALLOWED", ""),
]


async def test_what_is_refused_and_why(service: Service) -> None:
    await service.player_with("ann", 100)
    clients = {"operator": service.operator, "auditor": service.auditor}
    told = []
    for who, method, arguments, _, _ in REFUSALS:
        client = clients.get(who) or service.player(who)
        with pytest.raises(CroupierError) as refused:
            await getattr(client, method)(**arguments)
        told.append((who, method, arguments, refused.value.reason, refused.value.field))
    assert told == REFUSALS
    assert (await service.operator.account("ann")).balance.minor_units == 100


async def test_TAB_12_a_settled_hand_is_corrected_by_a_transfer_of_its_own(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    ann = await service.player_with("ann", 1_000)
    with pytest.raises(CroupierError, match="TABLE_NOT_FOUND"):
        await service.pit.correct("ann", 50)
    await tables.open("b1")
    await tables.buy_in("b1", "ann", 500)
    await tables.settle("b1", "b1-9", ("ann", 100, 0))
    await ledger.follow()
    with pytest.raises(CroupierError, match="HAND_NOT_FOUND"):
        await service.pit.correct("ann", 50, hand="b1-8")
    command = str(uuid4())
    given = await service.pit.correct("ann", 200, command_id=command, note="ruling-1")
    assert given.balance_after.minor_units == 700
    assert await service.pit.correct("ann", 200, command_id=command, note="ruling-1") == given
    taken = await service.pit.correct("ann", -30)
    assert taken.balance_after.minor_units == 670
    # Its own correction is no settlement, even of a player who is called like the table.
    await service.player_with("b1", 10)
    with pytest.raises(CroupierError, match="HAND_NOT_FOUND"):
        await service.pit.correct("b1", 1, hand="b1-8")
    assert await ledger.balance("house/b1") == -70
    with pytest.raises(CroupierError, match="INSUFFICIENT_FUNDS"):
        await service.pit.correct("ann", -671)
    with pytest.raises(CroupierError, match="ROLE_NOT_ALLOWED"):
        await service.operator.correct("ann", 1)
    newest, *_ = (await ann.transfers()).transfers
    assert (newest.transfer_kind, newest.hand_id) == (TRANSFER_KIND_CORRECTION, "b1-9")
    await ledger.check()


async def test_an_account_shows_the_chips_at_each_table(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    ann = await service.player_with("ann", 1_000)
    for table in ("b2", "b1", "b3"):
        await tables.open(table)
        await tables.buy_in(table, "ann", 100)
    await tables.cash_out("b3", "ann", 100)
    await ledger.follow()
    account = await ann.account()
    assert account.balance.minor_units == 800
    chips = [
        (each.table_id, each.amount.currency, each.amount.minor_units) for each in account.at_tables
    ]
    assert chips == [("b1", "EUR", 100), ("b2", "EUR", 100)]


@dataclass
class _Restless:
    """A wallet's connection: behind each of its answers the tables are followed."""

    connection: asyncpg.Connection[asyncpg.Record]
    ledger: Ledger

    async def fetch(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        rows = await self.connection.fetch(statement, *arguments)
        await self.ledger.follow()
        return rows


async def test_an_account_and_its_chips_are_shown_as_of_one_moment(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    """Chips that are bought meanwhile are not counted twice, nor cashed ones left out."""
    await service.player_with("ann", 1_000)
    await tables.open("b1")
    connection = await asyncpg.connect(ledger.dsn)
    restless: Any = _Restless(connection, ledger)
    await tables.buy_in("b1", "ann", 400)
    bought = await enquiries.account_of(restless, "ann")
    assert bought is not None
    assert (bought.balance, bought.at_tables) == (1_000, {})
    await tables.cash_out("b1", "ann", 300)
    [cashed] = await enquiries.accounts_after(restless, "", 10)
    assert (cashed.balance, cashed.at_tables) == (600, {"b1": 400})
    [now] = await enquiries.accounts_after(restless, "", 10)
    assert (now.balance, now.at_tables) == (900, {"b1": 100})
    await connection.close()


async def test_a_statement_is_newest_first_and_comes_in_pages(service: Service) -> None:
    ann = await service.player_with("ann", 1_000)
    for amount in (1, 2, 3, 4):
        await ann.withdraw(amount)
    seen: list[pb.Transfer] = []
    token = ""
    sizes = []
    while True:
        page = await ann.transfers(page_size=2, page_token=token)
        sizes.append(len(page.transfers))
        seen += page.transfers
        token = page.next_page_token
        if not token:
            break
    assert sizes == [2, 2, 1]
    assert [each.change.minor_units for each in seen] == [-4, -3, -2, -1, 1_000]
    assert [each.balance_after.minor_units for each in seen] == [990, 994, 997, 999, 1_000]
    assert {each.transfer_kind for each in seen[:4]} == {TRANSFER_KIND_WITHDRAWAL}
    assert seen[4].transfer_kind == TRANSFER_KIND_DEPOSIT
    assert [each.at.ToNanoseconds() for each in seen] == sorted(
        (each.at.ToNanoseconds() for each in seen), reverse=True
    )


async def test_a_page_stays_what_it_is_while_money_moves(service: Service) -> None:
    ann = await service.player_with("ann", 1_000)
    await ann.withdraw(1)
    first = await ann.transfers(page_size=1)
    await ann.withdraw(2)
    second = await ann.transfers(page_size=1, page_token=first.next_page_token)
    assert [each.change.minor_units for each in second.transfers] == [1_000]
    assert second.next_page_token == ""


async def test_a_player_sees_his_hands_at_a_table_and_nobody_elses_money(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    ann = await service.player_with("ann", 1_000)
    await service.player_with("bob", 1_000)
    await tables.open("b1")
    await tables.buy_in("b1", "ann", 100)
    await tables.buy_in("b1", "bob", 100)
    await tables.settle("b1", "b1-9", ("ann", 50, 97), ("bob", 50, 0))
    await ledger.follow()
    mine = (await ann.transfers(account="table/b1/ann")).transfers
    all_of_it = (await service.auditor.transfers(account="table/b1/ann")).transfers
    assert [each.transfer_kind for each in mine] == [TRANSFER_KIND_SETTLEMENT, TRANSFER_KIND_BUY_IN]
    assert (mine[0].hand_id, mine[0].change.minor_units, mine[0].balance_after.minor_units) == (
        "b1-9",
        47,
        147,
    )
    assert [leg.account for leg in mine[0].postings] == ["table/b1/ann"]
    assert [leg.account for leg in mine[1].postings] == ["player/ann", "table/b1/ann"]
    assert [(leg.account, leg.minor_units) for leg in all_of_it[0].postings] == [
        ("house/b1", 3),
        ("table/b1/ann", 47),
        ("table/b1/bob", -50),
    ]
    house = (await service.operator.transfers(account="house/b1")).transfers
    assert [each.balance_after.minor_units for each in house] == [3]


async def test_accounts_come_in_pages_by_name(service: Service) -> None:
    for player in ("cid", "ann", "dan", "bob", "Eve"):
        await service.player_with(player, 10)
    names: list[str] = []
    token = ""
    while True:
        page = await service.auditor.accounts(page_size=2, page_token=token)
        assert len(page.accounts) <= 2
        names += [account.player for account in page.accounts]
        token = page.next_page_token
        if not token:
            break
    assert names == ["Eve", "ann", "bob", "cid", "dan"]


async def test_a_page_has_no_more_than_500_entries(service: Service, ledger: Ledger) -> None:
    await ledger.root.execute(
        """
        INSERT INTO wallet.accounts (account, currency, balance, postings, opened_at)
        SELECT 'player/p' || n, 'EUR', 0, 0, now() FROM generate_series(1, 501) AS n
        """
    )
    page = await service.operator.accounts(page_size=10_000)
    assert len(page.accounts) == 500
    assert page.next_page_token
    assert len((await service.operator.accounts()).accounts) == 100


async def test_the_ledger_sums_to_zero_in_each_currency(
    service: Service, tables: Tables, ledger: Ledger
) -> None:
    await service.player_with("ann", 1_000)
    await service.player("uma").open("USD")
    await service.operator.deposit("uma", 70, "USD")
    await tables.open("b1")
    await tables.buy_in("b1", "ann", 500)
    await tables.settle("b1", "b1-9", ("ann", 500, 0))
    await ledger.follow()
    books = await service.auditor.ledger()
    assert [(each.currency, each.minor_units) for each in books.sums] == [("EUR", 0), ("USD", 0)]
    totals = [
        (total.account_kind, total.amount.currency, total.amount.minor_units, total.accounts)
        for total in books.totals
    ]
    assert totals == [
        ("cashier", "EUR", -1_000, 1),
        ("cashier", "USD", -70, 1),
        ("house", "EUR", 500, 1),
        ("player", "EUR", 500, 1),
        ("player", "USD", 70, 1),
        ("table", "EUR", 0, 1),
    ]
