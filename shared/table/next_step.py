"""What a table waits for: whoever owns it asks for it, with the same request ids."""

from __future__ import annotations

from dataclasses import dataclass

from shared.quick import quick
from shared.table.apply_seats import request_id
from shared.table.envelope import running_hand
from shared.table.events import CardSlot
from shared.table.state import TableState, next_clock


@quick
@dataclass(frozen=True, slots=True)
class OpenShoe:
    """A shoe is to be opened."""

    request_id: str
    shoe_id: str
    decks: int
    cut_low: int
    cut_high: int
    behind_cut_card: int
    publish: bool


@quick
@dataclass(frozen=True, slots=True)
class RecordCut:
    """Seeds pledged, then the cut, are to be put on record (place 0: the dealer cuts)."""

    request_id: str
    shoe_id: str
    pledges: tuple[tuple[str, bytes], ...]
    player: str
    place: int


@quick
@dataclass(frozen=True, slots=True)
class SealShoe:
    """Seeds revealed, then the seal; `record` holds the cut where it is not yet on record."""

    request_id: str
    shoe_id: str
    reveals: tuple[tuple[str, bytes], ...]
    record: RecordCut | None


@quick
@dataclass(frozen=True, slots=True)
class Cards:
    """Cards are to be dealt or shown."""

    request_id: str
    shoe_id: str
    hand_id: str
    slots: tuple[CardSlot, ...]


@quick
@dataclass(frozen=True, slots=True)
class PutAway:
    """A shoe is to be retired, and why."""

    request_id: str
    shoe_id: str
    why: str


@quick
@dataclass(frozen=True, slots=True)
class Chips:
    """The wallet's word on a buy-in is awaited."""

    request_id: str
    player: str
    amount: int


ShoeErrand = OpenShoe | RecordCut | SealShoe | Cards | PutAway
Errand = ShoeErrand | Chips


@quick
@dataclass(frozen=True, slots=True)
class Waiting:
    """All that the table waits for: errands to others, and the clock that runs out next with its
    deadline (microseconds; "" and 0: none)."""

    errands: tuple[Errand, ...]
    clock: str
    deadline: int


def next_step(state: TableState) -> Waiting:
    """What is due now, and until when."""
    return Waiting(errands_of(state), *next_clock(state))


def errands_of(state: TableState) -> tuple[Errand, ...]:
    """What is due now. Each errand's request id follows from the event that made it due, so a new
    owner asks again with the same id and gets the same answer (architecture, 5)."""
    errands: list[Errand] = []
    shoe = _shoe_errand(state)
    if shoe is not None:
        errands.append(shoe)
    if state.next_shoe is not None and not state.next_shoe.offered:
        errands.append(opening_of(state, state.next_shoe.shoe_id))
    if state.cards is not None and state.shoe is not None:
        errands.append(
            Cards(
                request_id(state, state.cards.version),
                state.shoe.shoe_id,
                running_hand(state),
                state.cards.slots,
            )
        )
    for shoe_id, why, version in state.putting_away:
        errands.append(PutAway(request_id(state, version), shoe_id, why))
    for seat in state.seats.values():
        for request, amount in seat.requests:
            errands.append(Chips(request, seat.player, amount))
    errands.extend([Chips(*late) for late in state.late_chips])
    return tuple(errands)


def _shoe_errand(state: TableState) -> OpenShoe | RecordCut | SealShoe | None:
    shoe = state.shoe
    if shoe is None or shoe.sealed:
        return None
    request = request_id(state, shoe.request_version)
    if not shoe.offered:
        return opening_of(state, shoe.shoe_id)
    if not shoe.cut_decided:
        return None
    record = RecordCut(request, shoe.shoe_id, shoe.pledges, shoe.cut_player, shoe.cut_place)
    if shoe.pledges and not shoe.cut_recorded:
        return record
    if shoe.pledges and not shoe.seeds_over:
        return None
    return SealShoe(request, shoe.shoe_id, shoe.reveals, None if shoe.cut_recorded else record)


def opening_of(state: TableState, shoe_id: str) -> OpenShoe:
    """How a shoe of this table is, or was, opened: its id tells the version of its request."""
    table = state.table
    size = table.decks * 52
    low, high = table.shoe_rules.cut_range(size)
    return OpenShoe(
        request_id=request_id(state, int(shoe_id.rpartition("-s")[2])),
        shoe_id=shoe_id,
        decks=table.decks,
        cut_low=low,
        cut_high=high,
        # In a shoe too small for it the cut card is met by the first coup, its last (BTL-09).
        behind_cut_card=min(table.shoe_rules.cards_behind_cut_card, size - 1),
        publish=table.shoe_rules.publish_seed,
    )
