"""Transfers that no table's walk looks at: the cashier's have the legs of their kind and correct
settled hands only (TAB-12); those of a table stand where its walk finds them.

A transfer of nobody could move money from a house to a player and still sum to zero, in the log
and in the books.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field

from croupier.wallet.v1 import events_pb2 as wallet

from services.audit.verify.findings import Check, Finding, Read
from services.audit.verify.postings import TABLE_KINDS
from shared.ledger.accounts import (
    AccountKind,
    cashier_account,
    house_account,
    player_account,
    wallet_stream,
)
from shared.log import RecordedEvent

_HAND_NUMBER = re.compile(r"[1-9][0-9]{0,18}")


@dataclass(slots=True)
class CashierWalk:
    """A walk over the wallet's events, then over the tables' for the hands that were settled.

    `tables` holds the names of the tables' streams. `corrected` are the corrections by hand, until
    the hand's settlement is met.
    """

    tables: Container[str]
    corrected: dict[str, list[Read]] = field(default_factory=dict)

    def step(self, read: Read) -> Iterator[Finding]:
        """The next event of the wallet, of any stream."""
        if read.event.type != "TransferPosted":
            return
        kind = read.body.transfer_kind
        if kind in TABLE_KINDS:
            yield from self._of_a_table(read)
            return
        legs = {posting.account: posting.minor_units for posting in read.body.postings}
        owner = read.event.stream.removeprefix(wallet_stream(""))
        if not _has_the_legs_of_its_kind(read.body, owner, legs):
            yield read.finding(Check.POSTINGS, "the transfer has not the legs of its kind")
        elif kind == wallet.TRANSFER_KIND_CORRECTION:
            self.corrected.setdefault(read.body.hand_id, []).append(read)

    def _of_a_table(self, read: Read) -> Iterator[Finding]:
        """Whether the walk over a table will come upon it, and it is about that table alone."""
        table_id = read.event.stream.removeprefix(wallet_stream(""))
        if read.event.causation_id is None or f"table/{table_id}" not in self.tables:
            yield read.finding(Check.POSTINGS, "the wallet has posted what no table asked for")
            return
        for posting in read.body.postings:
            kind, _, owner = posting.account.partition("/")
            if kind != AccountKind.PLAYER and owner.partition("/")[0] != table_id:
                yield read.finding(Check.POSTINGS, "the transfer moves money of another table")
                return

    def settled(self, event: RecordedEvent) -> None:
        """A table has settled a hand."""
        if event.hand_id is not None:
            self.corrected.pop(event.hand_id, None)

    def end(self) -> Iterator[Finding]:
        """All tables are walked over: what is left was never settled."""
        for reads in self.corrected.values():
            for read in reads:
                yield read.finding(Check.POSTINGS, "the corrected hand was not settled")


def _has_the_legs_of_its_kind(
    body: wallet.TransferPosted, owner: str, legs: dict[str, int]
) -> bool:
    if len(body.postings) != 2 or len(legs) != 2:
        return False
    amount = legs.get(player_account(owner), 0)
    match body.transfer_kind:
        case wallet.TRANSFER_KIND_DEPOSIT:
            other, right = cashier_account(owner), amount > 0 and not body.hand_id
        case wallet.TRANSFER_KIND_WITHDRAWAL:
            other, right = cashier_account(owner), amount < 0 and not body.hand_id
        case wallet.TRANSFER_KIND_CORRECTION:
            table_id, _, number = body.hand_id.rpartition("-")
            other = house_account(table_id)
            right = amount != 0 and _HAND_NUMBER.fullmatch(number) is not None
        case _:
            return False
    return right and other in legs
