"""What a run of bots tells of itself, while it lasts and at its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from croupier.audit.v1.audit_pb2 import Finding
from croupier.table.v1.events_pb2 import HandSettled
from croupier.table.v1.table_pb2 import CardHand, TableView
from croupier.type.v1.money_pb2 import Money
from croupier.wallet.v1.wallet_pb2 import GetLedgerResponse


@dataclass(frozen=True, slots=True)
class TableProgress:
    """A table in a run: its newest view, how many hands it settled in this run, the newest results
    (oldest first), and the last hand's result and cards."""

    view: TableView
    hands: int
    results: tuple[str, ...]
    last: HandSettled | None
    last_hands: tuple[CardHand, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """A run so far. `wanted`: hands asked for, `None` without end. `names` are the bots' first
    names by player id. Staked and returned (stakes included) are sums over all settled lines."""

    elapsed_s: float
    hands: int
    wanted: int | None
    tables: Mapping[str, TableProgress]
    names: Mapping[str, str]
    staked_minor: int
    returned_minor: int
    currency: str
    connected: bool


@dataclass(frozen=True, slots=True)
class Ledger:
    """The wallet's books, and whether wallet and audit had applied all that the log holds."""

    totals: tuple[GetLedgerResponse.Total, ...]
    sums: tuple[Money, ...]
    caught_up: bool

    @property
    def balanced(self) -> bool:
        """Whether money was neither made nor lost."""
        return self.caught_up and all(money.minor_units == 0 for money in self.sums)


@dataclass(frozen=True, slots=True)
class Verified:
    """What the audit found when it verified everything. `complete`: it came to the end."""

    hands: int
    failed: int
    events: int
    findings: tuple[Finding, ...]
    complete: bool

    @property
    def clean(self) -> bool:
        """Whether everything was looked at and nothing was found."""
        return self.complete and not self.failed and not self.findings


@dataclass(frozen=True, slots=True)
class Summary:
    """A run as it ended. `refusals` counts, by reason, commands of the bots that were refused;
    `still_seated` bots whose seat was not free in time."""

    hands: int
    wanted: int | None
    elapsed_s: float
    by_table: Mapping[str, int]
    bots: int
    staked_minor: int
    returned_minor: int
    currency: str
    refusals: Mapping[str, int]
    reconnects: int
    still_seated: int

    def ok(self, ledger: Ledger, verified: Verified) -> bool:
        """Whether the run did what was asked and everything checks out."""
        enough = self.wanted is None or self.hands >= self.wanted
        return enough and not self.still_seated and ledger.balanced and verified.clean
