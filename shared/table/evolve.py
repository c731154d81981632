"""What each event does to a table. `evolve` never judges: whatever is in the log has happened."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from shared.cards import Card
from shared.games.play import Box, Cell, Decision, Face, Setup
from shared.games.registry import game
from shared.ids import event_id
from shared.table import events as e
from shared.table.state import (
    Betting,
    CardsAwaited,
    Config,
    Deciding,
    Hand,
    Seat,
    Shoe,
    Status,
    TableState,
    free_chips,
)

BURN = "burn"
"""The place of cards burned at the start of a shoe or by the pit."""


def evolve(state: TableState, event: e.Event) -> TableState:
    """The table after `event`, which is the next of its stream (version `state.version + 1`)."""
    changed = _APPLY[type(event)](state, event)
    return replace(changed, version=state.version + 1, now=getattr(event, "at", state.now))


def setup_of(opened: e.HandOpened) -> Setup:
    """What the game starts from, out of the event that carries it all."""
    return Setup(
        boxes=tuple(
            Box(
                box.box,
                box.owner,
                tuple((bet.player, bet.wager, bet.stake) for bet in box.bets),
                box.blind,
            )
            for box in opened.boxes
        ),
        stacks={stack.player: stack.chips for stack in opened.stacks},
        ante=opened.ante,
        first=opened.first,
        carried_pot=opened.carried_pot,
        entries=tuple((entry.box, entry.amount) for entry in opened.entries),
        entry=opened.entry or "ante",
    )


def decision_of(state: TableState, event: e.DecisionMade) -> Decision:
    """The decision in the game's words: cards named by position become the cards that lie there."""
    cards: dict[int, Card | None] = {}
    if state.hand is not None and event.positions:
        held = state.table.game.cells(state.hand.play).get(f"box{event.box}", ())
        cards = {cell.position: cell.card for cell in held}
    return Decision(
        box=event.box,
        do=event.action,
        amount=event.amount,
        cards=tuple(_named(cards.get(position)) for position in event.positions),
        insurance=tuple((stake.player, stake.stake) for stake in event.insurance),
    )


def _named(card: Card | None) -> Card:
    return Card(-1) if card is None else card  # a card nobody holds: the game says BAD_EXCHANGE


# ---- The table itself


def _table_opened(state: TableState, event: e.TableOpened) -> TableState:
    rules = game(event.game)
    settings = rules.settings(json.loads(event.rules_json))
    return replace(
        state,
        config=Config(
            table_id=event.table_id,
            name=event.name,
            game=rules,
            rules_json=event.rules_json,
            settings=settings,
            currency=event.currency,
            clocks=event.clocks,
            seats=event.seats,
            decks=rules.decks(settings),
            shoe_rules=rules.SHOE,
        ),
    )


def _table_claimed(state: TableState, event: e.TableClaimed) -> TableState:
    return _clock_graced(replace(state, node=event.node, epoch=event.epoch), event.at)


def _play_resumed(state: TableState, event: e.PlayResumed) -> TableState:
    return _clock_graced(state, event.at)


def _clock_graced(state: TableState, at: int) -> TableState:
    """Nobody is folded by our outage: a running clock gets at least the grace from now on."""
    least = at + state.table.clocks.grace_ms * 1000
    if state.deciding is not None and state.deciding.deadline < least:
        return replace(state, moved=(least, max(state.deciding.warn_at, at)))
    if state.deciding is None and 0 < _other_deadline(state) < least:
        return replace(state, moved=(least, 0))
    return state


def _other_deadline(state: TableState) -> int:
    betting, shoe = state.betting, state.shoe
    if betting is None:
        return 0
    if not betting.closed:
        return betting.deadline
    if shoe is None:
        return 0
    return shoe.seeds_deadline if shoe.cut_decided else shoe.cut_deadline


def _deadline_moved(state: TableState, event: e.DeadlineMoved) -> TableState:
    state = replace(state, moved=None)
    if state.deciding is not None:
        moved = replace(state.deciding, deadline=event.deadline, warn_at=event.warn_at)
        return replace(state, deciding=moved)
    if state.betting is not None and not state.betting.closed:
        return replace(state, betting=replace(state.betting, deadline=event.deadline))
    if state.shoe is None:
        return state
    if state.shoe.cut_decided:
        return replace(state, shoe=replace(state.shoe, seeds_deadline=event.deadline))
    return replace(state, shoe=replace(state.shoe, cut_deadline=event.deadline))


def _table_closing(state: TableState, event: e.TableClosing) -> TableState:
    return replace(state, status=Status.CLOSING)


def _table_closed(state: TableState, event: e.TableClosed) -> TableState:
    return replace(state, status=Status.CLOSED)


def _clock_expired(state: TableState, event: e.ClockExpired) -> TableState:
    if state.deciding is not None:
        return replace(state, deciding=replace(state.deciding, expired=True))
    if state.betting is not None and not state.betting.closed:
        return replace(state, betting=replace(state.betting, expired=True))
    if state.shoe is not None and state.shoe.cut_decided:
        return replace(state, shoe=replace(state.shoe, seeds_over=True))
    if state.shoe is not None:
        return replace(state, shoe=replace(state.shoe, cut_deadline=0))
    return state


# ---- Players and chips


def _with_seat(state: TableState, seat: Seat) -> TableState:
    return replace(state, seats={**state.seats, seat.player: seat})


def _player_joined(state: TableState, event: e.PlayerJoined) -> TableState:
    return _with_seat(state, Seat(event.player))


def _leave_requested(state: TableState, event: e.LeaveRequested) -> TableState:
    return _with_seat(state, replace(state.seats[event.player], leaving=True))


def _player_left(state: TableState, event: e.PlayerLeft) -> TableState:
    seat = state.seats[event.player]
    late = tuple((request, seat.player, amount) for request, amount in seat.requests)
    seats = {player: other for player, other in state.seats.items() if player != event.player}
    return replace(state, seats=seats, late_chips=state.late_chips + late)


def _sit_out_changed(state: TableState, event: e.SitOutChanged) -> TableState:
    return _with_seat(state, replace(state.seats[event.player], sitting_out=event.sitting_out))


def _chips_requested(state: TableState, event: e.ChipsRequested) -> TableState:
    seat = state.seats[event.player]
    request = (request_id(state, state.version + 1), event.amount)
    return _with_seat(state, replace(seat, requests=(*seat.requests, request)))


def _chips_arrived(state: TableState, event: e.ChipsArrived) -> TableState:
    if any(request == event.request_id for request, _, _ in state.late_chips):
        late = tuple(chips for chips in state.late_chips if chips[0] != event.request_id)
        back = (*state.going_back, (event.player, event.amount))
        return replace(state, late_chips=late, going_back=back)
    seat = state.seats[event.player]
    kept = tuple(request for request in seat.requests if request[0] != event.request_id)
    return _with_seat(state, replace(seat, chips=seat.chips + event.amount, requests=kept))


def _chips_denied(state: TableState, event: e.ChipsDenied) -> TableState:
    seat = state.seats.get(event.player)
    late = tuple(chips for chips in state.late_chips if chips[0] != event.request_id)
    state = replace(state, late_chips=late)
    if seat is None:
        return state
    kept = tuple(request for request in seat.requests if request[0] != event.request_id)
    return _with_seat(state, replace(seat, requests=kept))


def _cash_out_asked(state: TableState, event: e.CashOutAsked) -> TableState:
    seat = state.seats[event.player]
    amount = event.amount or free_chips(state, event.player)
    back = (*state.going_back, (event.player, amount))
    return _with_seat(replace(state, going_back=back), replace(seat, chips=seat.chips - amount))


def _cash_out_requested(state: TableState, event: e.CashOutRequested) -> TableState:
    if state.going_back and state.going_back[0] == (event.player, event.amount):
        return replace(state, going_back=state.going_back[1:])
    seat = state.seats[event.player]
    return _with_seat(state, replace(seat, chips=seat.chips - event.amount))


# ---- The shoe


def request_id(state: TableState, version: int) -> str:
    """The id of the event at `version` of this table's stream (its UUID as text)."""
    return str(event_id(f"table/{state.table.table_id}", version))


def _shoe_requested(state: TableState, event: e.ShoeRequested) -> TableState:
    return replace(state, shoe=Shoe(event.shoe_id, state.version + 1))


def _shoe(change: Callable[[Shoe, Any], Shoe]) -> Callable[[TableState, Any], TableState]:
    """Apply an event to the shoe in use; one that is already gone stays gone."""

    def apply(state: TableState, event: Any) -> TableState:
        if state.shoe is None:
            return state
        return replace(state, shoe=change(state.shoe, event))

    return apply


def _shoe_offered(shoe: Shoe, event: e.ShoeOffered) -> Shoe:
    return replace(shoe, offered=True, commitment=event.commitment)


def _seed_pledged(shoe: Shoe, event: e.SeedPledged) -> Shoe:
    return replace(shoe, pledges=(*shoe.pledges, (event.player, event.commitment)))


def _seed_revealed(shoe: Shoe, event: e.SeedRevealed) -> Shoe:
    reveals = (*shoe.reveals, (event.player, event.seed))
    return replace(shoe, reveals=reveals, seeds_over=len(reveals) == len(shoe.pledges))


def _cut_offered(state: TableState, event: e.CutOffered) -> TableState:
    if state.shoe is None:
        return state
    shoe = replace(
        state.shoe, cut_player=event.player, cut_box=event.box, cut_deadline=event.deadline
    )
    return replace(state, shoe=shoe, last_cut_box=event.box)


def _cut_chosen(shoe: Shoe, event: e.CutChosen) -> Shoe:
    return replace(shoe, cut_deadline=0, cut_place=event.place, cut_decided=event.place > 0)


def _cut_left_to_dealer(shoe: Shoe, event: e.CutLeftToDealer) -> Shoe:
    return replace(shoe, cut_player="", cut_deadline=0, cut_place=0, cut_decided=True)


def _cut_recorded(shoe: Shoe, event: e.CutRecorded) -> Shoe:
    return replace(shoe, cut_recorded=True, cut_place=event.place)


def _seeds_due(shoe: Shoe, event: e.SeedsDue) -> Shoe:
    return replace(shoe, seeds_deadline=event.deadline)


def _shoe_ready(shoe: Shoe, event: e.ShoeReady) -> Shoe:
    return replace(
        shoe, root=event.root, size=event.size, cut_place=event.cut_place, seeds_over=True
    )


def _shoe_finished(state: TableState, event: e.ShoeFinished) -> TableState:
    over = (event.shoe_id, event.why, state.version + 1)
    return replace(state, shoe=None, cards=None, putting_away=(*state.putting_away, over))


def _shoe_put_away(state: TableState, event: e.ShoePutAway) -> TableState:
    left = tuple(over for over in state.putting_away if over[0] != event.shoe_id)
    return replace(state, putting_away=left)


# ---- Betting


def _betting_opened(state: TableState, event: e.BettingOpened) -> TableState:
    seats = {player: replace(seat, done=False) for player, seat in state.seats.items()}
    return replace(state, seats=seats, betting=Betting(event.hand_id, event.number))


def _betting(change: Callable[[Betting, Any], Betting]) -> Callable[[TableState, Any], TableState]:
    """Apply an event to the open betting window."""

    def apply(state: TableState, event: Any) -> TableState:
        if state.betting is None:
            return state
        return replace(state, betting=change(state.betting, event))

    return apply


def _bet_placed(state: TableState, event: e.BetPlaced) -> TableState:
    betting = state.betting
    if betting is None:
        return state
    key = (event.box, event.player, event.wager)
    others = tuple(bet for bet in betting.bets if bet[:3] != key)
    owners = dict(betting.owners)
    owners.setdefault(event.box, event.player)
    blind = betting.blind
    if owners[event.box] == event.player:
        blind = blind | {event.box} if event.blind else blind - {event.box}
    betting = replace(betting, bets=(*others, (*key, event.stake)), owners=owners, blind=blind)
    seat = replace(state.seats[event.player], done=False)
    return _with_seat(replace(state, betting=betting), seat)


def _betting_clock_started(betting: Betting, event: e.BettingClockStarted) -> Betting:
    return replace(betting, deadline=event.deadline)


def _bets_taken_back(state: TableState, event: e.BetsTakenBack | e.BetsReturned) -> TableState:
    if state.betting is None:
        return state
    bets = tuple(bet for bet in state.betting.bets if bet[:2] != (event.box, event.player))
    owners: dict[int, str] = {}
    for box, player, _, _ in bets:
        owners.setdefault(box, player)  # the next first bettor owns the box (TAB-02)
    betting = replace(
        state.betting, bets=bets, owners=owners, blind=state.betting.blind & owners.keys()
    )
    if bets:
        return replace(state, betting=betting)
    seats = {player: replace(seat, done=False) for player, seat in state.seats.items()}
    return replace(state, betting=replace(betting, deadline=0, expired=False), seats=seats)


def _bettor_admitted(betting: Betting, event: e.BettorAdmitted) -> Betting:
    return replace(betting, admitted=betting.admitted | {(event.box, event.bettor)})


def _bets_done(state: TableState, event: e.BetsDone) -> TableState:
    return _with_seat(state, replace(state.seats[event.player], done=True))


def _betting_closed(betting: Betting, event: e.BettingClosed) -> Betting:
    return replace(betting, closed=True, deadline=0)


# ---- The hand


def _hand_opened(state: TableState, event: e.HandOpened) -> TableState:
    setup = setup_of(event)
    table = state.table
    return replace(
        state,
        betting=None,
        hand=Hand(event.hand_id, event.number, setup, table.game.start(table.settings, setup)),
        last_boxes=event.boxes,
        last_result=None,
        last_cells={},
    )


def _cards_due(state: TableState, event: e.CardsDue) -> TableState:
    return replace(state, deciding=None, cards=CardsAwaited(state.version + 1, event.slots))


def _cards_dealt(state: TableState, event: e.CardsDealt) -> TableState:
    shoe, hand = state.shoe, state.hand
    if shoe is None or not event.cards:
        return replace(state, cards=None)
    state = replace(state, cards=None)
    cells = tuple(Cell(card.position, card.card) for card in event.cards)
    fresh = event.cards[0].position >= shoe.next_position
    if fresh:
        shoe = replace(shoe, next_position=event.cards[-1].position + 1)
        if event.cards[0].hand == BURN:
            shoe = _burned(state, shoe, event.cards)
        state = replace(state, shoe=shoe)
    if hand is None or event.cards[0].hand == BURN:
        return state
    rules = state.table.game
    play = rules.dealt(hand.play, cells) if fresh else rules.shown(hand.play, cells)
    seen = hand.public | {card.position for card in event.cards if card.face is Face.UP}
    return replace(state, hand=replace(hand, play=play, public=seen))


def _burned(state: TableState, shoe: Shoe, cards: tuple[e.DealtCard, ...]) -> Shoe:
    """The burn at the start of a shoe: a first card turned up says how many follow (BAC-03)."""
    burn_by = state.table.shoe_rules.burn_by
    first = cards[0].card
    if burn_by is not None and not shoe.burn_started and first is not None:
        return replace(shoe, burn_started=True, burn_left=burn_by(first))
    return replace(shoe, burn_started=True, burn_left=0)


def _decisions_due(state: TableState, event: e.DecisionsDue) -> TableState:
    players: Mapping[int, str] = dict(zip(event.boxes, event.players, strict=True))
    return replace(state, deciding=Deciding(event.phase, players, event.warn_at, event.deadline))


def _decided(state: TableState, decision: Decision) -> TableState:
    hand, deciding = state.hand, state.deciding
    if hand is None or deciding is None:
        return state
    left = {box: player for box, player in deciding.players.items() if box != decision.box}
    return replace(
        state,
        hand=replace(hand, play=state.table.game.decide(hand.play, decision)),
        deciding=replace(deciding, players=left) if left else None,
    )


def _decision_made(state: TableState, event: e.DecisionMade) -> TableState:
    return _decided(state, decision_of(state, event))


def _decision_defaulted(state: TableState, event: e.DecisionDefaulted) -> TableState:
    if state.hand is None:
        return state
    return _decided(state, state.table.game.default(state.hand.play, event.box))


def _hand_settled(state: TableState, event: e.HandSettled) -> TableState:
    change: dict[str, int] = {}
    for line in event.lines:
        change[line.player] = change.get(line.player, 0) + line.returned - line.stake
    owed = {booked.player: booked.amount for booked in event.commission}
    seats = {
        player: replace(
            seat,
            chips=seat.chips + change.get(player, 0),
            owed=seat.owed + owed.get(player, 0),
        )
        for player, seat in state.seats.items()
    }
    cells = state.table.game.cells(state.hand.play) if state.hand is not None else {}
    return replace(
        _hand_over(state),
        seats=seats,
        hands_played=state.hands_played + 1,
        last_result=event,
        last_cells=cells,
        last_public=state.hand.public if state.hand is not None else frozenset(),
    )


def _hand_voided(state: TableState, event: e.HandVoided) -> TableState:
    """All stakes of the hand go back; the shoe it was dealt from is changed."""
    shoe = replace(state.shoe, spoiled=True) if state.shoe is not None else None
    return replace(_hand_over(state), voided="", shoe=shoe)


def _hand_over(state: TableState) -> TableState:
    return replace(state, hand=None, betting=None, deciding=None, cards=None, moved=None)


def _commission_taken(state: TableState, event: e.CommissionTaken) -> TableState:
    seat = state.seats[event.player]
    return _with_seat(state, replace(seat, chips=seat.chips - event.taken, owed=0))


# ---- The pit


def _incident_reported(state: TableState, event: e.IncidentReported) -> TableState:
    return replace(state, incident=event.incident)


def _incident_resolved(state: TableState, event: e.IncidentResolved) -> TableState:
    voided = event.incident if event.outcome == "void" else ""
    return replace(state, incident="", voided=voided)


def _hand_ruled_void(state: TableState, event: e.HandRuledVoid) -> TableState:
    return replace(state, voided="management")


_APPLY: Mapping[type[Any], Callable[[TableState, Any], TableState]] = {
    e.TableOpened: _table_opened,
    e.TableClaimed: _table_claimed,
    e.DeadlineMoved: _deadline_moved,
    e.PlayResumed: _play_resumed,
    e.TableClosing: _table_closing,
    e.TableClosed: _table_closed,
    e.ClockExpired: _clock_expired,
    e.PlayerJoined: _player_joined,
    e.LeaveRequested: _leave_requested,
    e.PlayerLeft: _player_left,
    e.SitOutChanged: _sit_out_changed,
    e.ChipsRequested: _chips_requested,
    e.ChipsArrived: _chips_arrived,
    e.ChipsDenied: _chips_denied,
    e.CashOutAsked: _cash_out_asked,
    e.CashOutRequested: _cash_out_requested,
    e.ShoeRequested: _shoe_requested,
    e.ShoeOffered: _shoe(_shoe_offered),
    e.SeedPledged: _shoe(_seed_pledged),
    e.SeedRevealed: _shoe(_seed_revealed),
    e.CutOffered: _cut_offered,
    e.CutChosen: _shoe(_cut_chosen),
    e.CutRecorded: _shoe(_cut_recorded),
    e.CutLeftToDealer: _shoe(_cut_left_to_dealer),
    e.SeedsDue: _shoe(_seeds_due),
    e.ShoeReady: _shoe(_shoe_ready),
    e.ShoeFinished: _shoe_finished,
    e.ShoePutAway: _shoe_put_away,
    e.BettingOpened: _betting_opened,
    e.BetPlaced: _bet_placed,
    e.BettingClockStarted: _betting(_betting_clock_started),
    e.BetsTakenBack: _bets_taken_back,
    e.BetsReturned: _bets_taken_back,
    e.BettorAdmitted: _betting(_bettor_admitted),
    e.BetsDone: _bets_done,
    e.BettingClosed: _betting(_betting_closed),
    e.HandOpened: _hand_opened,
    e.CardsDue: _cards_due,
    e.CardsDealt: _cards_dealt,
    e.DecisionsDue: _decisions_due,
    e.DecisionMade: _decision_made,
    e.DecisionDefaulted: _decision_defaulted,
    e.HandSettled: _hand_settled,
    e.HandVoided: _hand_voided,
    e.CommissionTaken: _commission_taken,
    e.IncidentReported: _incident_reported,
    e.IncidentResolved: _incident_resolved,
    e.HandRuledVoid: _hand_ruled_void,
}
