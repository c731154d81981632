"""The wallet's answers to a table's money events: each once, with the amounts that were due."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from croupier.table.v1 import events_pb2 as table_pb
from croupier.type.v1.money_pb2 import Money
from croupier.wallet.v1 import events_pb2 as pb

from services.audit.verify.findings import Read
from services.audit.verify.postings import (
    Expected,
    MoneyAsked,
    PostingsWalk,
    check_answer,
    expected_transfer,
)
from shared.table import events as e
from tests.unit.audit.given import Evidence, as_read, played, told

LINES = (
    e.SettledLine(1, "ann", "banker", 2_000, 3_900),
    e.SettledLine(1, "ann", "tie", 100, 0),
    e.SettledLine(2, "bob", "player", 500, 500),
)


def asked(body: Any, version: int = 7) -> Read:
    """A table's event."""
    return replace(as_read(table_pb.TableClosed(), "table/t1", version), body=body)


def legs(body: Any) -> dict[str, int]:
    expected = expected_transfer(asked(body))
    assert expected is not None
    return dict(expected.legs)


def test_what_each_money_event_calls_for() -> None:
    assert legs(e.ChipsRequested("ann", 70)) == {"player/ann": -70, "table/t1/ann": 70}
    assert legs(e.CashOutRequested("ann", 70)) == {"table/t1/ann": -70, "player/ann": 70}
    assert legs(e.CommissionTaken("ann", 75, 100)) == {
        "table/t1/ann": -100,
        "commission/t1": 100,
    }
    assert legs(e.CommissionTaken("ann", 25, 0)) == {}
    assert expected_transfer(asked(e.BettingClosed())) is None


def test_a_settlement_is_netted_by_player_against_the_house() -> None:
    assert legs(e.HandSettled("h", "banker", LINES)) == {"table/t1/ann": 1_800, "house/t1": -1_800}


def test_a_pot_and_a_rake_are_legs_too() -> None:
    lines = (e.SettledLine(1, "ann", "pot", 100, 0), e.SettledLine(2, "bob", "pot", 100, 50))
    assert legs(e.HandSettled("h", "carried", lines, pot_change=140, rake=10)) == {
        "table-pot/t1": 140,
        "table/t1/ann": -100,
        "table/t1/bob": -50,
        "house/t1": 10,
    }


def test_a_waiting_pot_is_paid_out_and_a_fine_goes_to_the_house() -> None:
    shares = (e.PotShare("ann", 70), e.PotShare("bob", 30), e.PotShare("ann", 5))
    assert legs(e.PotPaid(shares, "windows_passed")) == {
        "table/t1/ann": 75,
        "table/t1/bob": 30,
        "table-pot/t1": -105,
    }
    assert legs(e.FineTaken("ann", 40)) == {"table/t1/ann": -40, "house/t1": 40}


async def test_a_posting_left_out_is_told() -> None:
    evidence = await Evidence.of(await played(1))
    evidence.wallet = [each for each in evidence.wallet if not each.hand_id]
    assert told(evidence.findings()) == ["the wallet has posted no transfer for this"]


async def test_a_posting_twice_is_told() -> None:
    evidence = await Evidence.of(await played(1))
    settlement = evidence.wallet[-1]
    evidence.wallet.append(settlement._replace(version=settlement.version + 1))
    assert told(evidence.findings()) == ["the wallet has posted this a second time"]


SETTLED = asked(e.HandSettled("h", "banker", LINES))
MONEY = MoneyAsked(SETTLED, Expected(pb.TRANSFER_KIND_SETTLEMENT, {"a": 5, "b": -5}, "h"), "EUR")


def transfer(**changes: Any) -> Read:
    fields: dict[str, Any] = {
        "transfer_id": str(SETTLED.event.id),
        "transfer_kind": pb.TRANSFER_KIND_SETTLEMENT,
        "currency": "EUR",
        "hand_id": "h",
        "postings": [
            pb.Posting(account="b", minor_units=-5),
            pb.Posting(account="a", minor_units=5),
        ],
    }
    body = pb.TransferPosted(**(fields | changes))
    return as_read(body, causation_id=SETTLED.event.id)


def answered(*answers: Read) -> list[str]:
    return told(check_answer(MONEY, answers))


def test_the_transfer_that_was_due() -> None:
    assert answered(transfer()) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"transfer_id": str(UUID(int=1))}, "the transfer is not called after its cause"),
        ({"currency": "USD"}, "the transfer is of another kind, currency or hand"),
        ({"hand_id": ""}, "the transfer is of another kind, currency or hand"),
        (
            {"transfer_kind": pb.TRANSFER_KIND_CASH_OUT},
            "the transfer is of another kind, currency or hand",
        ),
        ({"postings": []}, "the transfer moves other amounts than were due"),
    ],
)
def test_another_transfer_than_was_due(changes: dict[str, Any], message: str) -> None:
    assert answered(transfer(**changes)) == [message]


def test_a_transfer_before_it_was_due() -> None:
    early = transfer()
    early = replace(
        early,
        event=early.event._replace(recorded_at=early.event.recorded_at - timedelta(seconds=1)),
    )
    assert answered(early) == ["posted before it was due"]


def test_a_transfer_of_nothing_may_be_left_out() -> None:
    nothing = replace(MONEY, expected=replace(MONEY.expected, legs={}))
    assert told(check_answer(nothing, [])) == []
    assert told(check_answer(nothing, [transfer(postings=[])])) == []


# ---- Buy-ins

REQUESTED = asked(e.ChipsRequested("ann", 70), 8)
BUY_IN = MoneyAsked(
    REQUESTED,
    Expected(pb.TRANSFER_KIND_BUY_IN, {"player/ann": -70, "table/t1/ann": 70}, buy_in=True),
    "EUR",
)
POSTED = as_read(
    pb.TransferPosted(
        transfer_id=str(REQUESTED.event.id),
        transfer_kind=pb.TRANSFER_KIND_BUY_IN,
        currency="EUR",
        postings=[
            pb.Posting(account="player/ann", minor_units=-70),
            pb.Posting(account="table/t1/ann", minor_units=70),
        ],
    )
)


def word(kind: Any, player: str = "ann", amount: int = 70, currency: str = "EUR") -> Read:
    return as_read(kind(player=player, amount=Money(currency=currency, minor_units=amount)))


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([POSTED, word(pb.ChipsFunded)], None),
        ([word(pb.ChipsRefused)], None),
        ([], "the wallet has answered this 0 times"),
        ([POSTED], "the wallet has answered this 0 times"),
        (
            [POSTED, word(pb.ChipsFunded), word(pb.ChipsRefused)],
            "the wallet has answered this 2 times",
        ),
        ([word(pb.ChipsFunded)], "chips are funded with a transfer, and only so"),
        ([POSTED, word(pb.ChipsRefused)], "chips are funded with a transfer, and only so"),
        (
            [POSTED, word(pb.ChipsFunded, player="bob")],
            "other chips were answered than were asked for",
        ),
        ([word(pb.ChipsRefused, amount=71)], "other chips were answered than were asked for"),
        ([word(pb.ChipsRefused, currency="USD")], "other chips were answered than were asked for"),
    ],
)
def test_a_buy_in_is_funded_or_refused_once(answers: list[Read], message: str | None) -> None:
    assert told(check_answer(BUY_IN, answers)) == ([] if message is None else [message])


# ---- Both sides together


def test_what_the_cashier_does_answers_no_table() -> None:
    walk = PostingsWalk()
    deposit = pb.TransferPosted(transfer_kind=pb.TRANSFER_KIND_DEPOSIT)
    walk.answer(as_read(deposit, causation_id=UUID(int=1)))
    walk.answer(as_read(pb.TransferPosted(transfer_kind=pb.TRANSFER_KIND_BUY_IN)))
    walk.answer(as_read(pb.AccountOpened(player="ann"), causation_id=UUID(int=1)))
    assert walk.answers == {}


def test_answers_wait_for_the_question_and_for_each_other() -> None:
    walk = PostingsWalk()
    walk.ask(BUY_IN)
    walk.answer(replace(POSTED, event=POSTED.event._replace(causation_id=REQUESTED.event.id)))
    assert told(walk.match()) == []
    funded = word(pb.ChipsFunded)
    walk.answer(replace(funded, event=funded.event._replace(causation_id=REQUESTED.event.id)))
    walk.answer(transfer())
    assert told(walk.match()) == []
    assert list(walk.asked) == []
    walk.ask(MONEY)
    assert told(walk.end(0)) == []


def test_an_answer_that_came_first_waits_in_the_middle() -> None:
    walk = PostingsWalk()
    walk.answer(transfer())
    walk.answer(replace(POSTED, event=POSTED.event._replace(causation_id=REQUESTED.event.id)))
    assert told(walk.match()) == []
    assert len(walk.answers) == 2


def test_what_the_wallet_has_not_come_to_is_nothing_wrong() -> None:
    walk = PostingsWalk()
    walk.ask(MONEY)
    assert told(walk.end(SETTLED.event.position - 1)) == []
    assert told(walk.end(SETTLED.event.position)) == ["the wallet has posted no transfer for this"]


def test_a_posting_again_later_is_told() -> None:
    walk = PostingsWalk()
    walk.ask(MONEY)
    walk.answer(transfer())
    walk.answer(replace(POSTED, event=POSTED.event._replace(causation_id=REQUESTED.event.id)))
    assert told(walk.match()) == []
    walk.answer(transfer())
    walk.ask(BUY_IN)
    assert told(walk.end(0)) == [
        "the wallet has answered this 0 times",
        "the wallet has answered what no table asked, or answered twice",
    ]
