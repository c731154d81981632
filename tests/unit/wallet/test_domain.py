"""Decisions over balances: given accounts, when something is asked, then legs or a reason."""

from __future__ import annotations

from uuid import UUID

import pytest

from services.wallet.domain import (
    MAX_AMOUNT_MINOR,
    Account,
    Refused,
    Table,
    Transfer,
    TransferKind,
    buy_in,
    cash_out,
    check_player,
    correct,
    deposit,
    open_account,
    posted,
    settle,
    take_commission,
    take_fine,
    withdraw,
)
from shared.errors import CroupierError
from shared.money import MOST_MINOR, Money

ID = UUID("11111111-2222-3333-4444-555555555555")
BACCARAT = Table("b1", "EUR", "baccarat")
DRAW = Table("d1", "EUR", "draw_poker")
ANN = {"player/ann": Account("EUR", 1_000, 3)}
SEATED = {
    **ANN,
    "player/bob": Account("EUR", 0, 2),
    "table/b1/ann": Account("EUR", 500, 1),
    "table/b1/bob": Account("EUR", 200, 1),
    "table/d1/ann": Account("EUR", 500, 1),
    "table/d1/bob": Account("EUR", 200, 1),
    "table-pot/d1": Account("EUR", 60, 1),
    "house/b1": Account("EUR", -40, 7),
}


def legs(transfer: Transfer | Refused) -> dict[str, int]:
    assert isinstance(transfer, Transfer)
    assert sum(leg.minor_units for leg in transfer.postings) == 0
    return {leg.account: leg.minor_units for leg in transfer.postings}


def reason_of(refused: pytest.ExceptionInfo[CroupierError]) -> tuple[str, str]:
    return refused.value.reason, refused.value.field


def test_TAB_12_a_correction_moves_money_between_the_tables_house_and_the_player() -> None:
    given = correct(SEATED, ID, BACCARAT, "ann", "b1-9", Money("EUR", 25), "ruling-3")
    assert legs(given) == {"house/b1": -25, "player/ann": 25}
    assert (given.kind, given.hand_id, given.note) == (TransferKind.CORRECTION, "b1-9", "ruling-3")
    taken = correct(SEATED, ID, BACCARAT, "ann", "b1-9", Money("EUR", -25))
    assert legs(taken) == {"house/b1": 25, "player/ann": -25}


@pytest.mark.parametrize(
    ("hand_id", "amount", "reason", "field"),
    [
        ("b1-9", Money("EUR", 0), "BAD_AMOUNT", "amount"),
        ("b1-9", Money("EUR", -MAX_AMOUNT_MINOR - 1), "BAD_AMOUNT", "amount"),
        ("b1-9", Money("EUR", -1_001), "INSUFFICIENT_FUNDS", "amount"),
        ("b1-9", Money("USD", 5), "CURRENCY_MISMATCH", "currency"),
        ("d1-9", Money("EUR", 5), "BAD_REQUEST", "hand_id"),
        ("b1-9/x", Money("EUR", 5), "BAD_REQUEST", "hand_id"),
        ("b1-b-9", Money("EUR", 5), "BAD_REQUEST", "hand_id"),  # of a table named b1-b
        ("b1-09", Money("EUR", 5), "BAD_REQUEST", "hand_id"),
        ("b1-", Money("EUR", 5), "BAD_REQUEST", "hand_id"),
    ],
)
def test_TAB_12_what_no_correction_may_be(
    hand_id: str, amount: Money, reason: str, field: str
) -> None:
    with pytest.raises(CroupierError) as refused:
        correct(SEATED, ID, BACCARAT, "ann", hand_id, amount)
    assert reason_of(refused) == (reason, field)


def test_an_account_opens_empty_in_its_currency() -> None:
    assert open_account({}, "ann", "EUR") == Account("EUR", 0, 0)


def test_a_player_has_one_account_whatever_the_currency() -> None:
    with pytest.raises(CroupierError) as refused:
        open_account(ANN, "ann", "USD")
    assert reason_of(refused) == ("ACCOUNT_EXISTS", "player")


def test_an_account_has_a_currency_of_three_letters() -> None:
    with pytest.raises(CroupierError) as refused:
        open_account({}, "ann", "euro")
    assert reason_of(refused) == ("BAD_AMOUNT", "currency")


def test_a_deposit_comes_from_the_players_side_of_the_cashier() -> None:
    transfer = deposit(ANN, ID, "ann", Money("EUR", 250), "slip-17")
    assert legs(transfer) == {"cashier/ann": -250, "player/ann": 250}
    assert (transfer.id, transfer.kind, transfer.currency) == (ID, TransferKind.DEPOSIT, "EUR")
    assert transfer.note == "slip-17"


def test_postings_tell_what_the_account_holds_after_them_and_their_number() -> None:
    transfer = deposit(ANN, ID, "ann", Money("EUR", 250))
    after = {leg.account: (leg.balance_after, leg.sequence) for leg in transfer.postings}
    assert after == {"cashier/ann": (-250, 1), "player/ann": (1_250, 4)}


def test_the_accounts_after_a_transfer_are_those_its_postings_tell() -> None:
    transfer = deposit(ANN, ID, "ann", Money("EUR", 250))
    assert posted(transfer) == {
        "cashier/ann": Account("EUR", -250, 1),
        "player/ann": Account("EUR", 1_250, 4),
    }


def test_a_withdrawal_may_take_all_there_is() -> None:
    transfer = withdraw(ANN, ID, "ann", Money("EUR", 1_000), "slip-18")
    assert legs(transfer) == {"player/ann": -1_000, "cashier/ann": 1_000}
    assert (transfer.kind, transfer.note) == (TransferKind.WITHDRAWAL, "slip-18")
    assert posted(transfer)["player/ann"].balance == 0


def test_a_withdrawal_takes_no_more_than_there_is() -> None:
    with pytest.raises(CroupierError) as refused:
        withdraw(ANN, ID, "ann", Money("EUR", 1_001))
    assert reason_of(refused) == ("INSUFFICIENT_FUNDS", "amount")


@pytest.mark.parametrize("order", [deposit, withdraw])
@pytest.mark.parametrize(
    ("player", "amount", "note", "reason"),
    [
        ("ann", Money("EUR", 0), "", ("BAD_AMOUNT", "amount")),
        ("ann", Money("EUR", -5), "", ("BAD_AMOUNT", "amount")),
        ("ann", Money("EUR", MAX_AMOUNT_MINOR + 1), "", ("BAD_AMOUNT", "amount")),
        ("ann", Money("EUR", 5), "for my aunt", ("BAD_REQUEST", "note")),
        ("ann", Money("EUR", 5), "x" * 65, ("BAD_REQUEST", "note")),
        ("ann", Money("USD", 5), "", ("CURRENCY_MISMATCH", "currency")),
        ("bob", Money("EUR", 5), "", ("ACCOUNT_NOT_FOUND", "player")),
    ],
)
def test_what_the_cashier_refuses(order, player, amount, note, reason) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(CroupierError) as refused:
        order(ANN, ID, player, amount, note)
    assert reason_of(refused) == reason


def test_the_largest_deposit_is_taken() -> None:
    transfer = deposit(ANN, ID, "ann", Money("EUR", MAX_AMOUNT_MINOR))
    assert legs(transfer)["player/ann"] == MAX_AMOUNT_MINOR


def test_no_account_holds_more_than_64_bits() -> None:
    rich = {"player/ann": Account("EUR", MOST_MINOR, 1)}
    with pytest.raises(CroupierError) as refused:
        deposit(rich, ID, "ann", Money("EUR", 1))
    assert reason_of(refused) == ("BAD_AMOUNT", "amount")


def test_a_buy_in_fills_the_escrow() -> None:
    transfer = buy_in(ANN, ID, BACCARAT, "ann", 400)
    assert legs(transfer) == {"player/ann": -400, "table/b1/ann": 400}


def test_a_second_buy_in_adds_to_the_escrow() -> None:
    transfer = buy_in(SEATED, ID, BACCARAT, "ann", 400)
    assert isinstance(transfer, Transfer)
    assert posted(transfer)["table/b1/ann"] == Account("EUR", 900, 2)


@pytest.mark.parametrize(
    ("table", "player", "amount", "reason"),
    [
        (BACCARAT, "ann", 1_001, "INSUFFICIENT_FUNDS"),
        (BACCARAT, "bob", 10, "ACCOUNT_NOT_FOUND"),
        (Table("u1", "USD", "baccarat"), "ann", 10, "CURRENCY_MISMATCH"),
        (BACCARAT, "ann", 0, "BAD_AMOUNT"),
        (BACCARAT, "ann", -10, "BAD_AMOUNT"),
        (BACCARAT, "ann", MAX_AMOUNT_MINOR + 1, "BAD_AMOUNT"),
    ],
)
def test_a_buy_in_is_refused_with_its_reason(
    table: Table, player: str, amount: int, reason: str
) -> None:
    assert buy_in(ANN, ID, table, player, amount) == Refused(reason)


def test_a_cash_out_pays_the_player() -> None:
    transfer = cash_out(SEATED, ID, BACCARAT, "ann", 500)
    assert legs(transfer) == {"table/b1/ann": -500, "player/ann": 500}
    assert transfer.kind is TransferKind.CASH_OUT


def test_a_cash_out_of_nothing_moves_nothing() -> None:
    assert legs(cash_out(SEATED, ID, BACCARAT, "ann", 0)) == {}


@pytest.mark.parametrize(
    ("player", "amount", "reason"),
    [
        ("ann", 501, "INSUFFICIENT_CHIPS"),
        ("ann", -1, "BAD_AMOUNT"),
        ("cid", 1, "ACCOUNT_NOT_FOUND"),
    ],
)
def test_a_table_cannot_cash_out_what_is_not_there(player: str, amount: int, reason: str) -> None:
    with pytest.raises(CroupierError) as refused:
        cash_out(SEATED, ID, BACCARAT, player, amount)
    assert refused.value.reason == reason


def test_the_house_takes_the_other_side_of_a_hand() -> None:
    transfer = settle(SEATED, ID, BACCARAT, "b1-9", {"ann": 95, "bob": -200}, 0, 0)
    assert legs(transfer) == {"table/b1/ann": 95, "table/b1/bob": -200, "house/b1": 105}
    assert (transfer.kind, transfer.hand_id) == (TransferKind.SETTLEMENT, "b1-9")


def test_a_house_that_has_nothing_still_pays() -> None:
    transfer = settle(SEATED, ID, BACCARAT, "b1-9", {"ann": 10**9}, 0, 0)
    assert posted(transfer)["house/b1"].balance == -40 - 10**9


def test_a_hand_that_moved_nothing_is_a_transfer_without_postings() -> None:
    transfer = settle(SEATED, ID, BACCARAT, "b1-9", {"ann": 0, "bob": 0}, 0, 0)
    assert transfer == Transfer(ID, TransferKind.SETTLEMENT, "EUR", (), "b1-9")


def test_players_win_from_each_other_and_the_house_takes_its_rake() -> None:
    transfer = settle(SEATED, ID, DRAW, "d1-9", {"ann": 190, "bob": -200}, 0, 10)
    assert legs(transfer) == {"table/d1/ann": 190, "table/d1/bob": -200, "house/d1": 10}


def test_a_carried_pot_waits_in_an_account_of_its_own() -> None:
    transfer = settle(SEATED, ID, DRAW, "d1-9", {"ann": -20, "bob": -20}, 40, 0)
    assert legs(transfer) == {"table/d1/ann": -20, "table/d1/bob": -20, "table-pot/d1": 40}


def test_a_carried_pot_is_won() -> None:
    transfer = settle(SEATED, ID, DRAW, "d1-9", {"ann": 80, "bob": -20}, -60, 0)
    assert legs(transfer) == {"table/d1/ann": 80, "table/d1/bob": -20, "table-pot/d1": -60}


@pytest.mark.parametrize(
    ("table", "nets", "pot_change", "rake", "reason"),
    [
        (BACCARAT, {"bob": -201}, 0, 0, "INSUFFICIENT_CHIPS"),
        (BACCARAT, {"cid": 5}, 0, 0, "ACCOUNT_NOT_FOUND"),
        (BACCARAT, {"ann": 5}, 5, 0, "BAD_AMOUNT"),
        (BACCARAT, {"ann": 5}, 0, 5, "BAD_AMOUNT"),
        (DRAW, {"ann": 5, "bob": -4}, 0, 0, "BAD_AMOUNT"),
        (DRAW, {"ann": 5, "bob": -4}, 0, -1, "BAD_AMOUNT"),
        (DRAW, {"ann": 5, "bob": -10}, 0, 4, "BAD_AMOUNT"),
        (DRAW, {"ann": 61}, -61, 0, "INSUFFICIENT_CHIPS"),
        (BACCARAT, {"ann": 2**63}, 0, 0, "BAD_AMOUNT"),
    ],
)
def test_a_settlement_that_contradicts_the_chips_or_its_game_is_no_settlement(
    table: Table, nets: dict[str, int], pot_change: int, rake: int, reason: str
) -> None:
    with pytest.raises(CroupierError) as refused:
        settle(SEATED, ID, table, "h", nets, pot_change, rake)
    assert refused.value.reason == reason


def test_BAC_11_commission_comes_out_of_the_players_chips() -> None:
    transfer = take_commission(SEATED, ID, BACCARAT, "ann", 100)
    assert legs(transfer) == {"table/b1/ann": -100, "commission/b1": 100}
    assert transfer.kind is TransferKind.COMMISSION


@pytest.mark.parametrize(
    ("player", "taken", "reason"),
    [("bob", 201, "INSUFFICIENT_CHIPS"), ("bob", -1, "BAD_AMOUNT")],
)
def test_BAC_11_commission_is_never_more_than_the_chips_that_are_there(
    player: str, taken: int, reason: str
) -> None:
    with pytest.raises(CroupierError) as refused:
        take_commission(SEATED, ID, BACCARAT, player, taken)
    assert refused.value.reason == reason


def test_DRW_15_a_fine_comes_out_of_the_players_chips_and_is_the_houses() -> None:
    transfer = take_fine(SEATED, ID, DRAW, "ann", 50)
    assert legs(transfer) == {"table/d1/ann": -50, "house/d1": 50}
    assert transfer.kind is TransferKind.FINE


def test_DRW_15_a_fine_is_never_more_than_the_chips_that_are_there() -> None:
    with pytest.raises(CroupierError) as refused:
        take_fine(SEATED, ID, DRAW, "bob", 201)
    assert refused.value.reason == "INSUFFICIENT_CHIPS"


@pytest.mark.parametrize("player", ["a", "p_ABC-123", "x" * 64])
def test_ids_of_players(player: str) -> None:
    check_player(player)


@pytest.mark.parametrize("player", ["", "a/b", "x" * 65, "ä", "a\n"])
def test_what_cannot_be_a_player(player: str) -> None:
    with pytest.raises(CroupierError) as refused:
        check_player(player)
    assert reason_of(refused) == ("BAD_REQUEST", "player")
