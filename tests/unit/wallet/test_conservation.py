"""Whatever is asked in whatever order: money is neither made nor lost, only the house may owe."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from services.wallet.domain import Account, Table, Transfer, posted
from services.wallet.orders import Command, Deposit, OpenAccount, Withdraw, carry_out
from services.wallet.table_events import (
    BuyIn,
    CashOut,
    Commission,
    Fine,
    Instruction,
    Settlement,
    decide,
)
from shared.errors import CroupierError
from shared.ledger.accounts import MAY_OWE, kind_of, player_account
from shared.log import CommandKey
from shared.money import Money

TABLES = {
    "b1": Table("b1", "EUR", "baccarat"),
    "d1": Table("d1", "EUR", "draw_poker"),
    "u1": Table("u1", "USD", "baccarat"),
}
players = st.sampled_from(["ann", "bob", "cid"])
tables = st.sampled_from(sorted(TABLES))
amounts = st.integers(-10, 200)
currencies = st.sampled_from(["EUR", "USD"])
nets = st.dictionaries(players, st.integers(-100, 100), max_size=3)


def a_command(player: str, order: OpenAccount | Deposit | Withdraw) -> Command:
    return Command(CommandKey("p", UUID(int=0), bytes(32)), UUID(int=0), player, order)


def a_pool_hand(table: str, nets: dict[str, int], rake: int) -> Settlement:
    return Settlement(table, "h", nets, -sum(nets.values()) - rake, rake)


money = st.builds(Money, currencies, amounts)
commands = st.builds(
    a_command,
    players,
    st.builds(OpenAccount, currencies)
    | st.builds(Deposit, money, st.just(""))
    | st.builds(Withdraw, money, st.just("")),
)
instructions = (
    st.builds(BuyIn, tables, players, amounts)
    | st.builds(CashOut, tables, players, amounts)
    | st.builds(Commission, tables, players, amounts)
    | st.builds(Fine, tables, players, amounts)
    | st.builds(Settlement, tables, st.just("h"), nets, st.integers(-50, 50), st.integers(-5, 5))
    | st.builds(Settlement, tables, st.just("h"), nets, st.just(0), st.just(0))
    | st.builds(a_pool_hand, st.just("d1"), nets, st.integers(0, 5))
)


@settings(max_examples=300, deadline=None)
@given(st.lists(commands | instructions, max_size=60))
def test_money_is_conserved(asked: list[Command | Instruction]) -> None:
    accounts: dict[str, Account] = {}
    for number, one in enumerate(asked):
        try:
            decision = (
                carry_out(accounts, {}, one)
                if isinstance(one, Command)
                else decide(accounts, TABLES, UUID(int=number), one)
            )
        except CroupierError:
            continue
        if isinstance(decision, Account):
            assert isinstance(one, Command)
            accounts[player_account(one.player)] = decision
        if isinstance(decision, Transfer):
            check_transfer(accounts, decision)
            accounts |= posted(decision)
        for currency in ("EUR", "USD"):
            assert sum(each.balance for each in accounts.values() if each.currency == currency) == 0


def check_transfer(before: dict[str, Account], transfer: Transfer) -> None:
    assert sum(leg.minor_units for leg in transfer.postings) == 0
    names = [leg.account for leg in transfer.postings]
    assert len(set(names)) == len(names)
    for leg in transfer.postings:
        account = before.get(leg.account, Account(transfer.currency))
        assert leg.minor_units != 0
        assert account.currency == transfer.currency
        assert leg.balance_after == account.balance + leg.minor_units
        assert leg.sequence == account.postings + 1
        assert leg.balance_after >= 0 or kind_of(leg.account) in MAY_OWE
