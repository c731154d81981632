"""The names of accounts."""

from __future__ import annotations

import pytest

from shared.ledger.accounts import (
    MAY_OWE,
    AccountKind,
    cashier_account,
    commission_account,
    escrow_account,
    house_account,
    kind_of,
    owner_of,
    player_account,
    pot_account,
    table_and_player,
    wallet_stream,
)


@pytest.mark.parametrize(
    ("account", "name", "kind", "owner"),
    [
        (player_account("ann"), "player/ann", AccountKind.PLAYER, "ann"),
        (escrow_account("b1", "ann"), "table/b1/ann", AccountKind.ESCROW, "b1"),
        (pot_account("b1"), "table-pot/b1", AccountKind.POT, "b1"),
        (house_account("b1"), "house/b1", AccountKind.HOUSE, "b1"),
        (commission_account("b1"), "commission/b1", AccountKind.COMMISSION, "b1"),
        (cashier_account("ann"), "cashier/ann", AccountKind.CASHIER, "ann"),
    ],
)
def test_each_kind_has_its_name_and_an_owner_whose_stream_guards_it(
    account: str, name: str, kind: AccountKind, owner: str
) -> None:
    assert (account, kind_of(account), owner_of(account)) == (name, kind, owner)
    assert wallet_stream(owner) == f"wallet/{owner}"


def test_an_escrow_names_table_and_player() -> None:
    assert table_and_player("table/b1/ann") == ("b1", "ann")


def test_only_the_houses_side_may_be_negative() -> None:
    players_money = {AccountKind.PLAYER, AccountKind.ESCROW, AccountKind.POT}
    assert frozenset(AccountKind) - players_money == MAY_OWE


def test_a_name_of_no_kind_is_no_account() -> None:
    with pytest.raises(ValueError, match="chips"):
        kind_of("chips/ann")
