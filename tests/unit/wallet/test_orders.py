"""Commands of people: what they bring about, and the answer that the log gives again."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from services.wallet import records
from services.wallet.domain import Account, Posting, Refused, Table, Transfer, TransferKind
from services.wallet.orders import (
    AccountAnswer,
    Command,
    Correct,
    Deposit,
    OpenAccount,
    Order,
    TransferAnswer,
    Withdraw,
    answer_in,
    carry_out,
)
from services.wallet.records import Cause
from services.wallet.table_events import BuyIn
from shared.errors import CroupierError
from shared.events import decode
from shared.log import CommandKey
from shared.money import Money
from tests.unit.wallet.given import AT, CORRELATION, raw

KEY = CommandKey("player:ann", UUID(int=1), bytes(32))
CAUSE = Cause("player:ann", None, CORRELATION)
ANN = {"player/ann": Account("EUR", 1_000, 3)}


def command(order: Order) -> Command:
    return Command(KEY, CORRELATION, "ann", order)


def test_a_command_stands_in_the_players_stream_and_needs_two_accounts() -> None:
    asked = command(OpenAccount("EUR"))
    assert asked.stream == "wallet/ann"
    assert asked.accounts == ("player/ann", "cashier/ann")


def test_the_transfer_of_a_command_has_the_same_id_again_and_no_other_has_it() -> None:
    asked = command(Deposit(Money("EUR", 5), ""))
    others = [
        replace(asked, player="bob"),
        replace(asked, key=replace(KEY, caller="operator:ann")),
        replace(asked, key=replace(KEY, command_id=UUID(int=2))),
    ]
    assert asked.transfer_id == command(Withdraw(Money("EUR", 9), "")).transfer_id
    assert len({asked.transfer_id, *(other.transfer_id for other in others)}) == 4


def test_an_order_to_open_an_account() -> None:
    assert carry_out({}, {}, command(OpenAccount("EUR"))) == Account("EUR")


def test_an_order_to_correct_a_hand_needs_its_table() -> None:
    asked = command(Correct("b1", "b1-9", Money("EUR", 5), ""))
    assert asked.accounts == ("player/ann", "house/b1")
    assert (asked.tables, command(OpenAccount("EUR")).tables) == (("b1",), ())
    tables = {"b1": Table("b1", "EUR", "baccarat")}
    transfer = carry_out(ANN, tables, asked, {"b1-9"})
    assert isinstance(transfer, Transfer)
    assert transfer.hand_id == "b1-9"
    with pytest.raises(CroupierError, match="HAND_NOT_FOUND"):
        carry_out(ANN, tables, asked, {"b1-8"})
    with pytest.raises(CroupierError, match="TABLE_NOT_FOUND"):
        carry_out(ANN, {}, asked)


def test_an_order_to_deposit() -> None:
    transfer = carry_out(ANN, {}, command(Deposit(Money("EUR", 5), "n1")))
    assert isinstance(transfer, Transfer)
    assert (transfer.kind, transfer.note) == (TransferKind.DEPOSIT, "n1")
    assert transfer.id == command(OpenAccount("EUR")).transfer_id


def test_an_order_to_withdraw() -> None:
    transfer = carry_out(ANN, {}, command(Withdraw(Money("EUR", 5), "n2")))
    assert isinstance(transfer, Transfer)
    assert (transfer.kind, transfer.note) == (TransferKind.WITHDRAWAL, "n2")


def test_an_order_that_is_refused() -> None:
    with pytest.raises(CroupierError) as refused:
        carry_out({}, {}, command(Withdraw(Money("EUR", 5), "")))
    assert refused.value.reason == "ACCOUNT_NOT_FOUND"


def test_the_event_of_an_opened_account_holds_its_answer() -> None:
    event = records.account_opened("ann", "EUR", AT, CAUSE)
    assert (event.type, event.actor, event.hand_id) == ("AccountOpened", "player:ann", None)
    assert (event.causation_id, event.correlation_id) == (None, CORRELATION)
    assert answer_in("ann", event.type, event.payload) == AccountAnswer("EUR", AT)


def test_the_event_of_a_transfer_holds_its_answer() -> None:
    transfer = carry_out(ANN, {}, command(Withdraw(Money("EUR", 5), "n2")))
    assert isinstance(transfer, Transfer)
    event = records.transfer_posted(transfer, AT, CAUSE)
    assert answer_in("ann", event.type, event.payload) == TransferAnswer(
        transfer.id, Money("EUR", 995)
    )


def test_the_event_of_a_transfer_tells_all_of_it() -> None:
    transfer = Transfer(
        UUID(int=9),
        TransferKind.SETTLEMENT,
        "EUR",
        (Posting("table/b1/ann", -5, 295, 2), Posting("house/b1", 5, 5, 1)),
        "b1-9",
    )
    cause = Cause.of(raw("HandSettled", b""))
    event = records.transfer_posted(transfer, AT, cause)
    body = decode(event.type, event.payload)
    assert (event.actor, event.hand_id) == ("wallet", "b1-9")
    assert event.causation_id == raw("HandSettled", b"").id
    assert event.correlation_id == CORRELATION
    assert (body.transfer_id, body.currency, body.hand_id) == (str(UUID(int=9)), "EUR", "b1-9")
    assert (
        body.transfer_kind
        == body.DESCRIPTOR.file.enum_types_by_name["TransferKind"]
        .values_by_name["TRANSFER_KIND_SETTLEMENT"]
        .number
    )
    assert [
        (leg.account, leg.minor_units, leg.balance_after, leg.sequence) for leg in body.postings
    ] == [
        ("table/b1/ann", -5, 295, 2),
        ("house/b1", 5, 5, 1),
    ]


def test_the_kinds_of_transfers_have_the_numbers_of_the_wire() -> None:
    from croupier.wallet.v1.events_pb2 import TransferKind as OnTheWire

    for kind in TransferKind:
        assert OnTheWire.Name(kind.value) == f"TRANSFER_KIND_{kind.name}"  # type: ignore[arg-type]


def test_a_table_hears_of_the_chips_it_asked_for() -> None:
    asked = BuyIn("b1", "ann", 70)
    cause = Cause.of(raw("ChipsRequested", b""))
    funded = records.chips_answer(
        asked, "EUR", Transfer(UUID(int=9), TransferKind.BUY_IN, "EUR", ()), cause
    )
    refused = records.chips_answer(asked, "EUR", Refused("INSUFFICIENT_FUNDS"), cause)
    for event, name, reason in (
        (funded, "ChipsFunded", None),
        (refused, "ChipsRefused", "INSUFFICIENT_FUNDS"),
    ):
        body = decode(event.type, event.payload)
        assert event.type == name
        assert event.causation_id == UUID(body.request_id) == raw("ChipsRequested", b"").id
        assert (body.table_id, body.player) == ("b1", "ann")
        assert (body.amount.currency, body.amount.minor_units) == ("EUR", 70)
        assert getattr(body, "reason", None) == reason
