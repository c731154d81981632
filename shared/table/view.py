"""What each viewer sees of a table: the public part once for all, and what is his alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from croupier.table.v1 import table_pb2
from croupier.type.v1.money_pb2 import Money

from shared.games import draw_poker
from shared.games.play import Cell, Face
from shared.table import events as e
from shared.table.codec import timestamp, to_message, write
from shared.table.envelope import running_hand
from shared.table.follow_deal import boxes_of
from shared.table.options import options
from shared.table.state import Hand, Seat, Shoe, Status, TableState, clocks, free_chips, staked

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
    )
    pot = 0
    for player, seat in state.seats.items():
        _write_seat(state, seat, view.seats.add())
        pot += staked(state, player)
    _write_money(state, pot, view.pot)
    _write_money(state, state.pot.carried, view.carried_pot)
    for box in _boxes(state):
        write(box, view.boxes.add())
    for player, deadline in state.joining.items():
        write(e.ConsentAsked(player, deadline), view.joining.add())
    if state.hand is not None:
        _write_hands(table.game.cells(state.hand.play), state.hand.public, view.hands)
        if table.between_players:
            _write_round(state, state.hand, view.betting_round)
    if state.shoe is not None:
        view.shoe.CopyFrom(_shoe(state.shoe))
    if state.next_shoe is not None:
        view.next_shoe.CopyFrom(_shoe(state.next_shoe))
    for clock, deadline in clocks(state).items():
        if not clock.startswith("join/"):  # of what is left there is one at most
            view.deadline.CopyFrom(timestamp(deadline))
    if state.deciding is not None:
        view.warn_at.CopyFrom(timestamp(state.deciding.warn_at))
        view.decision_phase = state.deciding.phase
        view.deciding_boxes.extend(state.deciding.players)
    incident = state.incident
    if incident is not None:
        view.incident.incident = incident.name
        view.incident.position = incident.position
        view.incident.confirmed = incident.confirmed
    if state.last_result is not None:
        write(state.last_result, view.last_result)
        _write_hands(state.last_cells, state.last_public, view.last_hands)
    return view


def player_view(state: TableState, player: str) -> table_pb2.PlayerView:
    """What is this viewer's alone: his chips, his own cards and what he may do now."""
    view = table_pb2.PlayerView(player=player, options=options(state, player))
    seat = state.seats.get(player)
    if seat is None:
        return view
    _write_money(state, seat.chips, view.chips)
    _write_money(state, free_chips(state, player), view.free_chips)
    _write_money(state, sum([amount for _, amount in seat.requests]), view.pending_chips)
    if state.hand is not None:
        own = {f"box{box.number}" for box in state.hand.setup.boxes if box.owner == player}
        mine = {
            name: cells
            for name, cells in state.table.game.cells(state.hand.play).items()
            if name in own
        }
        _write_hands(mine, None, view.hands)
    return view


def event_view(event: e.Event, version: int, hand_id: str, viewer: str) -> table_pb2.TableEvent:
    """The event as `viewer` may see it: cards shown to another player are left out."""
    out = table_pb2.TableEvent()
    write_event_view(event, version, hand_id, viewer, out)
    return out


def write_event_view(
    event: e.Event, version: int, hand_id: str, viewer: str, out: table_pb2.TableEvent
) -> None:
    """The same into a message that is there already, and empty."""
    name = type(event).__name__
    out.version = version
    out.type = name
    out.hand_id = hand_id
    message = getattr(out, _FIELDS[name])
    message.SetInParent()  # an event may have no field that is set
    write(event, message)
    if isinstance(event, e.CardsDealt):
        for card, shown in zip(event.cards, message.cards, strict=True):
            if card.face is Face.OWNER and card.viewer == viewer and card.card is not None:
                shown.card_plus_one = card.card + 1


def is_private(event: e.Event) -> bool:
    """Whether `event_view` is not the same for everybody."""
    return isinstance(event, e.CardsDealt) and any(card.face is Face.OWNER for card in event.cards)


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
        cut_at=shoe.cut_place if shoe.cut_recorded or shoe.sealed else 0,
    )


def _write_seat(state: TableState, seat: Seat, view: table_pb2.SeatView) -> None:
    view.player = seat.player
    view.sitting_out = seat.sitting_out
    view.leaving = seat.leaving
    view.done_betting = seat.done
    _write_money(state, seat.chips, view.chips)
    _write_money(state, seat.owed, view.owed)


def _write_round(state: TableState, hand: Hand, view: table_pb2.BettingRoundView) -> None:
    level, least_raise, stakes = draw_poker.standing(hand.play)
    _write_money(state, level, view.level)
    _write_money(state, least_raise, view.least_raise)
    for stake in stakes:
        seen = view.stakes.add(box=stake.box, player=stake.player, folded=stake.folded)
        _write_money(state, stake.in_round, seen.in_round)
        _write_money(state, stake.in_hand, seen.in_hand)


def _write_money(state: TableState, minor_units: int, money: Money) -> None:
    money.currency = state.table.currency
    money.minor_units = minor_units


def _write_hands(
    cells: Mapping[str, tuple[Cell, ...]], visible: frozenset[int] | None, view: Any
) -> None:
    """Hands of cards; where `visible` is given, other positions lie face down."""
    for name, held in cells.items():
        if held:
            hand = view.add()
            hand.name = name
            for cell in held:
                seen = hand.cards.add()
                seen.position = cell.position
                if cell.card is not None and (visible is None or cell.position in visible):
                    seen.card = str(cell.card)
