"""Which hand each event of a table belongs to, as its envelope in the log says."""

from __future__ import annotations

from collections.abc import Iterable

from shared.table import events as e
from shared.table.state import TableState

_OF_NO_HAND = frozenset(
    (
        e.TableOpened,
        e.TableClaimed,
        e.ShoesLost,
        e.TableClosing,
        e.TableClosed,
        e.JoinAsked,
        e.ConsentAsked,
        e.JoinObjected,
        e.JoinFailed,
        e.PlayerJoined,
        e.PenaltyGiven,
        e.FineTaken,
        e.LeaveRequested,
        e.PlayerLeft,
        e.SitOutChanged,
        e.ChipsRequested,
        e.ChipsArrived,
        e.ChipsDenied,
        e.CashOutAsked,
        e.CashOutRequested,
        e.ShoeRequested,
        e.ShoePutAway,
    )
)


def running_hand(state: TableState) -> str:
    """The hand between its BettingOpened and its end; empty between hands."""
    if state.hand is not None:
        return state.hand.hand_id
    return state.betting.hand_id if state.betting is not None else ""


def hand_ids(before: TableState, events: Iterable[e.Event]) -> list[str]:
    """The hand id of each of the events that follow the state `before`; empty where there is none.

    From BettingOpened to HandSettled or HandVoided everything but chips, seats, the next shoe
    and the table's own affairs belongs to the hand.
    """
    current = running_hand(before)
    following = before.next_shoe.shoe_id if before.next_shoe is not None else ""
    ids: list[str] = []
    for event in events:
        if isinstance(event, e.BettingOpened):
            current = event.hand_id
        of_next_shoe = (
            isinstance(event, (e.ShoeOffered, e.SeedPledged)) and event.shoe_id == following
        )
        ids.append("" if of_next_shoe or type(event) in _OF_NO_HAND else current)
        if isinstance(event, (e.HandSettled, e.HandVoided)):
            current = ""
    return ids
