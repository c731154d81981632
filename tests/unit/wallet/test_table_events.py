"""What the wallet reads in a table's events, and what it makes of it."""

from __future__ import annotations

from uuid import UUID

import pytest
from croupier.table.v1 import events_pb2 as table_events
from google.protobuf.message import Message

from services.wallet.domain import Account, Refused, Table, Transfer, TransferKind
from services.wallet.table_events import (
    MONEY_EVENTS,
    BuyIn,
    CashOut,
    Commission,
    Fine,
    Instruction,
    Settlement,
    TableOpening,
    accounts_in,
    decide,
    instruction_in,
    table_of,
)
from shared.errors import CroupierError
from shared.events import EVENT_TYPES
from tests.unit.wallet.given import line, raw, recorded, share

ID = UUID(int=7)
TABLE = Table("b1", "EUR", "baccarat")
ACCOUNTS = {
    "player/ann": Account("EUR", 1_000, 1),
    "table/b1/ann": Account("EUR", 300, 1),
}

READINGS: list[tuple[Message, Instruction]] = [
    (
        table_events.TableOpened(table_id="b1", currency="EUR", game="baccarat"),
        TableOpening(TABLE),
    ),
    (table_events.ChipsRequested(player="ann", amount=70), BuyIn("b1", "ann", 70)),
    (table_events.CashOutRequested(player="ann", amount=70), CashOut("b1", "ann", 70)),
    (
        table_events.CommissionTaken(player="ann", owed=96, taken=100),
        Commission("b1", "ann", 100),
    ),
    (
        table_events.HandSettled(
            hand_id="b1-9",
            lines=[
                line("ann", 100, 0),
                line("ann", 100, 195, "banker"),
                line("bob", 50, 50, "tie"),
            ],
            pot_change=0,
            rake=0,
        ),
        Settlement("b1", "b1-9", {"ann": -5, "bob": 0}, 0, 0),
    ),
    (
        table_events.HandSettled(hand_id="d1-9", lines=[line("ann", 5, 0)], pot_change=4, rake=1),
        Settlement("b1", "d1-9", {"ann": -5}, 4, 1),
    ),
    (table_events.FineTaken(player="ann", amount=70), Fine("b1", "ann", 70)),
    (
        table_events.PotPaid(shares=[share("ann", 30), share("bob", 20), share("ann", 1)]),
        Settlement("b1", "", {"ann": 31, "bob": 20}, -51, 0),
    ),
]


@pytest.mark.parametrize(("body", "instruction"), READINGS)
def test_a_money_event_is_read(body: Message, instruction: Instruction) -> None:
    assert instruction_in(recorded(body)) == instruction


def test_every_money_event_is_an_event_of_tables_and_read_here() -> None:
    assert {EVENT_TYPES[name].category for name in MONEY_EVENTS} == {"table"}
    assert {body.DESCRIPTOR.name for body, _ in READINGS} == MONEY_EVENTS


def test_the_table_is_the_stream_whatever_the_event_says() -> None:
    body = table_events.TableOpened(table_id="other", currency="EUR", game="baccarat")
    assert table_of(recorded(body)) == "b1"
    assert instruction_in(recorded(body)) == TableOpening(TABLE)


@pytest.mark.parametrize(
    ("body", "reason", "field"),
    [
        (table_events.TableOpened(currency="euro", game="baccarat"), "BAD_AMOUNT", "currency"),
        (table_events.TableOpened(currency="EUR"), "BAD_REQUEST", "game"),
        (table_events.ChipsRequested(amount=1), "BAD_REQUEST", "player"),
        (table_events.CashOutRequested(player="a/b", amount=1), "BAD_REQUEST", "player"),
        (table_events.CommissionTaken(taken=1), "BAD_REQUEST", "player"),
        (table_events.FineTaken(amount=1), "BAD_REQUEST", "player"),
        (table_events.PotPaid(shares=[share("", 1)]), "BAD_REQUEST", "player"),
        (table_events.PotPaid(shares=[share("ann", -1)]), "BAD_AMOUNT", "shares"),
        (table_events.HandSettled(lines=[line("", 1, 1)]), "BAD_REQUEST", "player"),
        (table_events.HandSettled(lines=[line("ann", -1, 0)]), "BAD_AMOUNT", "lines"),
        (table_events.HandSettled(lines=[line("ann", 0, -1)]), "BAD_AMOUNT", "lines"),
    ],
)
def test_what_no_table_may_say(body: Message, reason: str, field: str) -> None:
    with pytest.raises(CroupierError) as refused:
        instruction_in(recorded(body))
    assert (refused.value.reason, refused.value.field) == (reason, field)


def test_bytes_that_are_no_such_event() -> None:
    with pytest.raises(CroupierError) as refused:
        instruction_in(raw("HandSettled", b"\xff\xff\xff"))
    assert refused.value.reason == "BAD_REQUEST"


@pytest.mark.parametrize(
    ("instruction", "kind"),
    [
        (BuyIn("b1", "ann", 70), TransferKind.BUY_IN),
        (CashOut("b1", "ann", 70), TransferKind.CASH_OUT),
        (Settlement("b1", "h", {"ann": -70}, 0, 0), TransferKind.SETTLEMENT),
        (Commission("b1", "ann", 70), TransferKind.COMMISSION),
        (Fine("b1", "ann", 70), TransferKind.FINE),
    ],
)
def test_a_decision_touches_only_accounts_that_were_asked_for(
    instruction: Instruction, kind: TransferKind
) -> None:
    decision = decide(ACCOUNTS, {"b1": TABLE}, ID, instruction)
    assert isinstance(decision, Transfer)
    assert (decision.id, decision.kind) == (ID, kind)
    assert {leg.account for leg in decision.postings} <= set(accounts_in(instruction))
    assert decision.postings


def test_a_table_is_remembered_and_needs_no_account() -> None:
    opening = TableOpening(TABLE)
    assert decide({}, {}, ID, opening) == TABLE
    assert accounts_in(opening) == ()


def test_a_buy_in_beyond_the_account_is_refused_and_no_error() -> None:
    decision = decide(ACCOUNTS, {"b1": TABLE}, ID, BuyIn("b1", "ann", 1_001))
    assert decision == Refused("INSUFFICIENT_FUNDS")


@pytest.mark.parametrize(
    "instruction",
    [
        BuyIn("b2", "ann", 70),
        CashOut("b2", "ann", 70),
        Settlement("b2", "h", {"ann": -70}, 0, 0),
        Commission("b2", "ann", 70),
        Fine("b2", "ann", 70),
    ],
)
def test_a_table_that_was_never_opened_moves_no_money(instruction: Instruction) -> None:
    with pytest.raises(CroupierError) as refused:
        decide(ACCOUNTS, {"b1": TABLE}, ID, instruction)
    assert refused.value.reason == "TABLE_NOT_FOUND"
