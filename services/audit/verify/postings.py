"""What the wallet made of a table's money events: each exactly once, with exactly the amounts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from croupier.wallet.v1 import events_pb2 as wallet

from services.audit.verify.findings import Check, Finding, Read
from shared.ledger.accounts import (
    commission_account,
    escrow_account,
    house_account,
    player_account,
    pot_account,
)
from shared.quick import quick
from shared.table import events as table


@quick
@dataclass(frozen=True, slots=True)
class Expected:
    """The transfer that a money event calls for. `legs`: minor units by account, none zero."""

    kind: int
    legs: Mapping[str, int]
    hand_id: str = ""
    buy_in: bool = False


_MONEY = frozenset(
    (
        table.ChipsRequested,
        table.CashOutRequested,
        table.HandSettled,
        table.PotPaid,
        table.FineTaken,
        table.CommissionTaken,
    )
)


def expected_transfer(read: Read) -> Expected | None:
    """What an event of a table asks of the wallet; None where it moves no money."""
    body = read.body
    if type(body) not in _MONEY:
        return None
    table_id = read.event.stream.removeprefix("table/")
    match body:
        case table.ChipsRequested():
            return Expected(
                wallet.TRANSFER_KIND_BUY_IN,
                _legs(
                    {
                        player_account(body.player): -body.amount,
                        escrow_account(table_id, body.player): body.amount,
                    }
                ),
                buy_in=True,
            )
        case table.CashOutRequested():
            return Expected(
                wallet.TRANSFER_KIND_CASH_OUT,
                _legs(
                    {
                        escrow_account(table_id, body.player): -body.amount,
                        player_account(body.player): body.amount,
                    }
                ),
            )
        case table.HandSettled():
            return Expected(
                wallet.TRANSFER_KIND_SETTLEMENT, _settlement(table_id, body), body.hand_id
            )
        case table.PotPaid():
            return Expected(wallet.TRANSFER_KIND_SETTLEMENT, _pot_paid(table_id, body))
        case table.FineTaken():
            return Expected(
                wallet.TRANSFER_KIND_FINE,
                _legs(
                    {
                        escrow_account(table_id, body.player): -body.amount,
                        house_account(table_id): body.amount,
                    }
                ),
            )
        case table.CommissionTaken():
            return Expected(
                wallet.TRANSFER_KIND_COMMISSION,
                _legs(
                    {
                        escrow_account(table_id, body.player): -body.taken,
                        commission_account(table_id): body.taken,
                    }
                ),
            )
        case _:
            return None


def _settlement(table_id: str, settled: table.HandSettled) -> dict[str, int]:
    """Each escrow gets what came back less what was staked; the house is the other side."""
    legs: dict[str, int] = {pot_account(table_id): settled.pot_change}
    for line in settled.lines:
        escrow = escrow_account(table_id, line.player)
        legs[escrow] = legs.get(escrow, 0) + line.returned - line.stake
    legs[house_account(table_id)] = -sum(legs.values())
    return _legs(legs)


def _pot_paid(table_id: str, paid: table.PotPaid) -> dict[str, int]:
    """The waiting pot goes to the escrows of those who get it."""
    legs: dict[str, int] = {}
    for share in paid.shares:
        escrow = escrow_account(table_id, share.player)
        legs[escrow] = legs.get(escrow, 0) + share.amount
    legs[pot_account(table_id)] = -sum(legs.values())
    return _legs(legs)


def _legs(amounts: Mapping[str, int]) -> dict[str, int]:
    return {account: amount for account, amount in amounts.items() if amount}


@quick
@dataclass(frozen=True, slots=True)
class MoneyAsked:
    """A money event of a table, and the transfer that must answer it."""

    read: Read
    expected: Expected
    currency: str


@dataclass(slots=True)
class PostingsWalk:
    """Money events of a table on one side, the wallet's events about the table on the other; they
    may come in any order of the two, and whatever finds its match is forgotten."""

    asked: dict[UUID, MoneyAsked] = field(default_factory=dict)
    answers: dict[UUID, list[Read]] = field(default_factory=dict)

    def ask(self, money: MoneyAsked) -> None:
        """The next money event of the table."""
        self.asked[money.read.event.id] = money

    def answer(self, read: Read) -> None:
        """The next event of the wallet about the table; those of the cashier are passed over."""
        cause = read.event.causation_id
        if cause is not None and _answers_a_table(read):
            self.answers.setdefault(cause, []).append(read)

    def match(self) -> Iterator[Finding]:
        """Checks what has both sides; the latest answer may not be whole yet and waits."""
        for cause in list(self.answers)[:-1]:
            money = self.asked.pop(cause, None)
            if money is not None:
                yield from check_answer(money, self.answers.pop(cause))

    def end(self, applied: int) -> Iterator[Finding]:
        """Both sides are over; `applied` is the position up to which the wallet has come."""
        for cause, money in self.asked.items():
            answers = self.answers.pop(cause, [])
            if answers or money.read.event.position <= applied:
                yield from check_answer(money, answers)
        for answers in self.answers.values():
            for read in answers:
                yield read.finding(
                    Check.POSTINGS, "the wallet has answered what no table asked, or answered twice"
                )


def _answers_a_table(read: Read) -> bool:
    if read.event.type == "TransferPosted":
        return read.body.transfer_kind in TABLE_KINDS
    return read.event.type in ("ChipsFunded", "ChipsRefused")


TABLE_KINDS = frozenset(
    {
        wallet.TRANSFER_KIND_BUY_IN,
        wallet.TRANSFER_KIND_CASH_OUT,
        wallet.TRANSFER_KIND_SETTLEMENT,
        wallet.TRANSFER_KIND_COMMISSION,
        wallet.TRANSFER_KIND_FINE,
    }
)
"""The transfers that answer an event of a table; all others are the cashier's."""


def check_answer(money: MoneyAsked, answers: Sequence[Read]) -> Iterator[Finding]:
    """The wallet's events that name a money event as their cause, once it has come past it."""
    asked, expected, currency = money.read, money.expected, money.currency
    posted = [answer for answer in answers if answer.event.type == "TransferPosted"]
    words = [answer for answer in answers if answer.event.type in ("ChipsFunded", "ChipsRefused")]
    if expected.buy_in:
        yield from _check_word(asked, currency, posted, words)
        if not posted:
            return
    if not posted:
        # A transfer of nothing may be left out.
        if expected.legs:
            yield asked.finding(Check.POSTINGS, "the wallet has posted no transfer for this")
        return
    for second in posted[1:]:
        yield second.finding(Check.POSTINGS, "the wallet has posted this a second time")
    yield from _check_transfer(asked, expected, currency, posted[0])


def _check_word(
    asked: Read, currency: str, posted: Sequence[Read], words: Sequence[Read]
) -> Iterator[Finding]:
    """A buy-in is answered once: funded with a transfer or refused without."""
    if len(words) != 1:
        yield asked.finding(Check.POSTINGS, f"the wallet has answered this {len(words)} times")
        return
    word = words[0]
    if (word.event.type == "ChipsFunded") != bool(posted):
        yield word.finding(Check.POSTINGS, "chips are funded with a transfer, and only so")
    told = (word.body.player, word.body.amount.minor_units, word.body.amount.currency)
    if told != (asked.body.player, asked.body.amount, currency):
        yield word.finding(Check.POSTINGS, "other chips were answered than were asked for")


def _check_transfer(
    asked: Read, expected: Expected, currency: str, posted: Read
) -> Iterator[Finding]:
    body: wallet.TransferPosted = posted.body
    if body.transfer_id != str(asked.event.id):
        yield posted.finding(Check.POSTINGS, "the transfer is not called after its cause")
    if (body.transfer_kind, body.currency, body.hand_id) != (
        expected.kind,
        currency,
        expected.hand_id,
    ):
        yield posted.finding(Check.POSTINGS, "the transfer is of another kind, currency or hand")
    legs = [(posting.account, posting.minor_units) for posting in body.postings]
    if sorted(legs) != sorted(expected.legs.items()):
        yield posted.finding(Check.POSTINGS, "the transfer moves other amounts than were due")
    if posted.event.recorded_at < asked.event.recorded_at:
        yield posted.finding(Check.POSTINGS, "posted before it was due")
