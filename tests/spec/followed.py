"""The wallet beside a table that is told as a story: its own decisions, over accounts in memory."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import uuid4

from services.wallet.domain import Account, Accounts, Table, Transfer, posted
from services.wallet.table_events import MONEY_EVENTS, BuyIn, Instruction, decide, instruction_in
from shared.ledger.accounts import escrow_account, player_account, pot_account
from shared.table import events as e
from shared.table.codec import TableCodec
from shared.table.state import TableState
from tests.unit.wallet.given import raw

MUCH = 10**9


class Followed:
    """The accounts of a table's players, each with `MUCH` on it at first."""

    def __init__(self, table: Table, players: Iterable[str], codec: TableCodec) -> None:
        self._table = table
        self._codec = codec
        self._accounts: Accounts = {
            player_account(player): Account(table.currency, MUCH) for player in players
        }

    def follow(self, events: Iterable[tuple[e.Event, str]]) -> None:
        """Applies what the table says, with the hand of each event. The wallet may refuse nothing
        but a buy-in, and here does not: what has not arrived was never asked for."""
        for event, hand_id in events:
            asked = self._asked(event, hand_id)
            if asked is not None:
                decided = decide(
                    self._accounts, {self._table.table_id: self._table}, uuid4(), asked
                )
                assert isinstance(decided, Transfer)
                self._accounts = {**self._accounts, **posted(decided)}

    def _asked(self, event: e.Event, hand_id: str) -> Instruction | None:
        if isinstance(event, e.ChipsArrived):
            return BuyIn(self._table.table_id, event.player, event.amount)
        kind = type(event).__name__
        if kind not in MONEY_EVENTS or isinstance(event, e.TableOpened | e.ChipsRequested):
            return None
        return instruction_in(raw(kind, self._codec.encode(event, hand_id), self._table.table_id))

    def agrees_with(self, state: TableState) -> bool:
        """Whether every escrow holds what its player has at the table, and the waiting pot what is
        carried."""
        chips = {
            escrow_account(self._table.table_id, player): seat.chips
            for player, seat in state.seats.items()
        }
        chips[pot_account(self._table.table_id)] = state.pot.carried
        held = {
            name: account.balance
            for name, account in self._accounts.items()
            if name.startswith("table")
        }
        return all(held.get(name, 0) == chips.get(name, 0) for name in held.keys() | chips.keys())
