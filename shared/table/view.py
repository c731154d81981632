"""What each viewer sees of a table: the public part once for all, and what is his alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from croupier.table.v1 import table_pb2
from croupier.type.v1.money_pb2 import Money

from shared.games.play import Cell, Face
from shared.table import events as e
from shared.table.codec import timestamp, to_message
from shared.table.envelope import running_hand
from shared.table.follow_deal import boxes_of
from shared.table.options import options
from shared.table.state import Shoe, Status, TableState, free_chips, next_clock, staked

_STATUS = {
    Status.OPEN: table_pb2.TABLE_STATUS_OPEN,
    Status.CLOSING: table_pb2.TABLE_STATUS_CLOSING,
    Status.CLOSED: table_pb2.TABLE_STATUS_CLOSED,
}
_FIELDS = {
    field.message_type.name: field.name
    for field in table_pb2.TableEvent.DESCRIPTOR.oneofs_by_name["event"].fields
    if field.message_type is not None
}


def summary(state: TableState) -> table_pb2.TableSummary:
    """A table's line in the lobby."""
    table = state.table
    return table_pb2.TableSummary(
        table_id=table.table_id,
        name=table.name,
        game=table.game.NAME,
        status=_STATUS[state.status],
        phase=phase(state),
        currency=table.currency,
        seats=table.seats,
        seated=len(state.seats),
        hands_played=state.hands_played,
        version=state.version,
        node=state.node,
        epoch=state.epoch,
        rules_json=table.rules_json,
        ante=table.ante,
        clocks=to_message(table.clocks),
    )


def phase(state: TableState) -> table_pb2.Phase.ValueType:
    """Where the table is, in a word."""
    if state.status is Status.CLOSED:
        return table_pb2.PHASE_CLOSED
    if state.hand is not None:
        return table_pb2.PHASE_DEALING if state.deciding is None else table_pb2.PHASE_DECIDING
    if state.betting is not None and not state.betting.closed:
        return table_pb2.PHASE_BETTING
    return table_pb2.PHASE_SHOE


def public_view(state: TableState) -> table_pb2.TableView:
    """What everybody may see. A card that lies face down, or only its player sees, is empty."""
    table = state.table
    view = table_pb2.TableView(
        table=summary(state),
        hand_id=running_hand(state),
        seats=[_seat(state, player) for player in state.seats],
        boxes=[to_message(box) for box in _boxes(state)],
        pot=_money(state, sum(staked(state, player) for player in state.seats)),
        carried_pot=_money(state, state.pot.carried),
        joining=[
            to_message(e.ConsentAsked(player, deadline))
            for player, deadline in state.joining.items()
            if deadline > 0
        ],
    )
    if state.hand is not None:
        view.hands.extend(_hands(table.game.cells(state.hand.play), _public_cards(state)))
    if state.shoe is not None:
        view.shoe.CopyFrom(_shoe(state.shoe))
    if state.next_shoe is not None:
        view.next_shoe.CopyFrom(_shoe(state.next_shoe))
    clock, deadline = next_clock(state)
    if deadline and not clock.startswith("join/"):
        view.deadline.CopyFrom(timestamp(deadline))
    if state.deciding is not None:
        view.warn_at.CopyFrom(timestamp(state.deciding.warn_at))
        view.decision_phase = state.deciding.phase
        view.deciding_boxes.extend(state.deciding.players)
    if state.last_result is not None:
        view.last_result.CopyFrom(to_message(state.last_result))
        view.last_hands.extend(_hands(state.last_cells, state.last_public))
    return view


def player_view(state: TableState, player: str) -> table_pb2.PlayerView:
    """What is this viewer's alone: his chips, his own cards and what he may do now."""
    view = table_pb2.PlayerView(player=player, options=options(state, player))
    seat = state.seats.get(player)
    if seat is None:
        return view
    view.chips.CopyFrom(_money(state, seat.chips))
    view.free_chips.CopyFrom(_money(state, free_chips(state, player)))
    view.pending_chips.CopyFrom(_money(state, sum(amount for _, amount in seat.requests)))
    if state.hand is not None:
        own = {f"box{box.number}" for box in state.hand.setup.boxes if box.owner == player}
        mine = {
            name: cells
            for name, cells in state.table.game.cells(state.hand.play).items()
            if name in own
        }
        view.hands.extend(_hands(mine, None))
    return view


def event_view(event: e.Event, version: int, hand_id: str, viewer: str) -> table_pb2.TableEvent:
    """The event as `viewer` may see it: cards shown to another player are left out."""
    out = table_pb2.TableEvent(version=version, type=type(event).__name__, hand_id=hand_id)
    message = to_message(event)
    if isinstance(event, e.CardsDealt):
        for card, shown in zip(event.cards, message.cards, strict=True):
            if card.face is Face.OWNER and card.viewer == viewer and card.card is not None:
                shown.card_plus_one = card.card + 1
    getattr(out, _FIELDS[out.type]).CopyFrom(message)
    return out


def _boxes(state: TableState) -> Iterable[e.BoxBets]:
    if state.hand is not None:
        return state.last_boxes
    return boxes_of(state.betting) if state.betting is not None else ()


def _shoe(shoe: Shoe) -> table_pb2.ShoeView:
    return table_pb2.ShoeView(
        shoe_id=shoe.shoe_id,
        commitment=shoe.commitment,
        root=shoe.root,
        size=shoe.size,
        next_position=shoe.next_position,
        cut_player=shoe.cut_player if shoe.cut_deadline else "",
    )


def _seat(state: TableState, player: str) -> table_pb2.SeatView:
    seat = state.seats[player]
    return table_pb2.SeatView(
        player=player,
        chips=_money(state, seat.chips),
        sitting_out=seat.sitting_out,
        leaving=seat.leaving,
        done_betting=seat.done,
        owed=_money(state, seat.owed),
    )


def _money(state: TableState, minor_units: int) -> Money:
    return Money(currency=state.table.currency, minor_units=minor_units)


def _public_cards(state: TableState) -> frozenset[int]:
    return state.hand.public if state.hand is not None else frozenset()


def _hands(cells: Mapping[str, tuple[Cell, ...]], visible: frozenset[int] | None) -> list[Any]:
    """Hands of cards; where `visible` is given, other positions lie face down."""
    return [
        table_pb2.CardHand(
            name=name,
            cards=[
                table_pb2.SeenCard(
                    position=cell.position,
                    card=str(cell.card)
                    if cell.card is not None and (visible is None or cell.position in visible)
                    else "",
                )
                for cell in held
            ],
        )
        for name, held in cells.items()
        if held
    ]
