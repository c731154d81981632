"""What the house does by itself: the one derived event that a state calls for next, if any.

`decide` asks until there is none, so a table never rests in a state in which something is due that
needs nobody. Order matters and is the order below.
"""

from __future__ import annotations

from collections.abc import Mapping

from shared.errors import RuleError
from shared.games import baccarat, play
from shared.games.play import Box, Deal, Decisions, Done, Face, Setup, Show
from shared.table import events as e
from shared.table.evolve import BURN, setup_of
from shared.table.state import Betting, Hand, Seat, Shoe, Status, TableState, free_chips, staked

OUTCOMES: Mapping[str, Mapping[str, str]] = {
    "baccarat": {
        "card_exposed": "void",
        "wrong_card_count": "void",
        "wrong_order": "void",
        "dealer_change": "go_on",
    },
}
"""What an incident leads to at each game (TAB-08)."""


def next_derived(state: TableState) -> e.Derived | None:
    """The derived event that comes next, or None: the table waits for someone or something."""
    if state.moved is not None:
        return e.DeadlineMoved(*state.moved)
    if state.going_back:
        return e.CashOutRequested(*state.going_back[0])
    if state.incident:
        return e.IncidentResolved(state.incident, OUTCOMES[state.table.game.NAME][state.incident])
    if state.voided and (state.hand is not None or state.betting is not None):
        return e.HandVoided(_hand_id(state), state.voided)
    if state.hand is not None:
        return _in_hand(state, state.hand)
    if state.betting is not None and state.betting.closed:
        return _before_deal(state, state.betting)
    return _between_hands(state)


def _hand_id(state: TableState) -> str:
    if state.hand is not None:
        return state.hand.hand_id
    return state.betting.hand_id if state.betting is not None else ""


# ---- In a hand


def _in_hand(state: TableState, hand: Hand) -> e.Derived | None:
    if state.cards is not None:
        return None
    deciding = state.deciding
    if deciding is not None and deciding.expired:
        box = min(deciding.players)  # TAB-06, in the order of the boxes
        return e.DecisionDefaulted(box, state.table.game.default(hand.play, box).do)
    match state.table.game.next_step(hand.play):
        case Deal(slots):
            return _cards_due(state, hand, slots)
        case Show(turns):
            return _cards_to_show(state, hand, turns)
        case Decisions() as decisions:
            return _decisions_due(state, decisions)
        case Done() as done:
            return _settled(hand, done)


def _cards_due(state: TableState, hand: Hand, slots: tuple[play.Slot, ...]) -> e.CardsDue | None:
    shoe = state.shoe
    if shoe is None:
        return None
    return e.CardsDue(
        shoe.shoe_id,
        tuple(
            e.CardSlot(position, slot.hand, slot.face, _viewer(hand, slot.hand, slot.face))
            for position, slot in enumerate(slots, start=shoe.next_position)
        ),
    )


def _cards_to_show(
    state: TableState, hand: Hand, turns: tuple[play.Turn, ...]
) -> e.CardsDue | None:
    if state.shoe is None:
        return None
    slots = tuple(
        e.CardSlot(turn.position, turn.hand, turn.face, _viewer(hand, turn.hand, turn.face))
        for turn in sorted(turns, key=lambda turn: turn.position)
    )
    return e.CardsDue(state.shoe.shoe_id, slots)


def _viewer(hand: Hand, place: str, face: Face) -> str:
    """Who sees a card that only the owner of its box may see (TAB-05)."""
    if face is not Face.OWNER:
        return ""
    number = int(place.removeprefix("box"))
    return next(box.owner for box in hand.setup.boxes if box.number == number)


def _decisions_due(state: TableState, decisions: Decisions) -> e.DecisionsDue | None:
    """A clock for decisions newly due; one that runs is not started again (TAB-06)."""
    players = {due.box: due.player for due in decisions.due}
    deciding = state.deciding
    if (
        deciding is not None
        and deciding.phase == decisions.phase
        and players.keys() <= deciding.players.keys()
    ):
        return None
    clocks = state.table.clocks
    warn_at = state.now + clocks.decision_warn_ms * 1000
    return e.DecisionsDue(
        phase=decisions.phase,
        boxes=tuple(players),
        players=tuple(players.values()),
        warn_at=warn_at,
        deadline=warn_at + clocks.decision_default_ms * 1000,
    )


def _settled(hand: Hand, done: Done) -> e.HandSettled:
    return e.HandSettled(
        hand_id=hand.hand_id,
        result=done.result,
        lines=tuple(
            e.SettledLine(line.box, line.player, line.bet, line.stake, line.returned)
            for line in done.lines
        ),
        commission=tuple(e.CommissionBooked(*booked) for booked in done.commission),
        clauses=done.clauses,
        carried_pot=done.carried_pot,
        next_entry=done.next_entry or "",
        winners=done.winners,
    )


# ---- Betting is over: the shoe is cut, sealed and burned if it is new, then the hand opens


def _before_deal(state: TableState, betting: Betting) -> e.Derived | None:
    shoe = state.shoe
    if shoe is None or not shoe.offered or state.cards is not None:
        return None
    if not shoe.sealed:
        return _cut(state, betting, shoe)
    burning = _burn(state, shoe)
    if burning is not None:
        return burning
    return _hand_opened(state, betting, shoe)


def _cut(state: TableState, betting: Betting, shoe: Shoe) -> e.Derived | None:
    clocks = state.table.clocks
    if shoe.cut_decided:
        if shoe.cut_recorded and not shoe.seeds_over and not shoe.seeds_deadline:
            return e.SeedsDue(state.now + clocks.seed_ms * 1000)
        return None
    if shoe.cut_deadline:
        return None
    if shoe.cut_box:  # it was offered, and declined or left to the clock
        return e.CutLeftToDealer()
    box = _cutting_box(betting, state.last_cut_box)
    low, high = state.table.shoe_rules.cut_range(state.table.decks * 52)
    return e.CutOffered(
        player=betting.owners[box],
        box=box,
        minimum=low,
        maximum=high,
        deadline=state.now + clocks.cut_ms * 1000,
    )


def _cutting_box(betting: Betting, last: int) -> int:
    """The lowest occupied box, moving on by one box each shoe (TAB-09)."""
    boxes = sorted(betting.owners)
    return next((box for box in boxes if box > last), boxes[0])


def _burn(state: TableState, shoe: Shoe) -> e.CardsDue | None:
    """The burn of a new shoe: so many face down, or a first card that tells how many (BAC-03)."""
    rules = state.table.shoe_rules
    if not shoe.burn_started and rules.burn_by is not None:
        return e.CardsDue(shoe.shoe_id, (e.CardSlot(shoe.next_position, BURN, Face.UP),))
    count = shoe.burn_left if shoe.burn_started else rules.burn
    if not count:
        return None
    return e.CardsDue(
        shoe.shoe_id,
        tuple(e.CardSlot(shoe.next_position + n, BURN, Face.DOWN) for n in range(count)),
    )


def _hand_opened(state: TableState, betting: Betting, shoe: Shoe) -> e.HandOpened:
    table = state.table
    bettors = dict.fromkeys(player for _, player, _, _ in betting.bets)
    return e.HandOpened(
        hand_id=betting.hand_id,
        number=betting.number,
        game=table.game.NAME,
        rules_version=table.game.VERSION,
        rules_json=table.rules_json,
        shoe_id=shoe.shoe_id,
        next_position=shoe.next_position,
        boxes=boxes_of(betting),
        stacks=tuple(e.Stack(p, state.seats[p].chips - state.seats[p].owed) for p in bettors),
    )


def boxes_of(betting: Betting) -> tuple[e.BoxBets, ...]:
    """The bets as the boxes stand, ascending (TAB-01), each bettor's in the order placed."""
    return tuple(
        e.BoxBets(
            box,
            betting.owners[box],
            tuple(
                e.BetLine(player, wager, stake)
                for number, player, wager, stake in betting.bets
                if number == box
            ),
            box in betting.blind,
        )
        for box in sorted(betting.owners)
    )


# ---- Between hands: leaving, closing, a new shoe, the betting window


def _between_hands(state: TableState) -> e.Derived | None:
    betting = state.betting
    for seat in state.seats.values():
        if seat.leaving and not staked(state, seat.player):
            return leaving(state, seat)
    if betting is not None and betting.bets:
        return _while_betting(state, betting)
    if state.status is not Status.OPEN:
        return _closing(state)
    shoe = state.shoe
    if shoe is not None and shoe.sealed and not another_hand(state, shoe):
        return _shoe_over(state, shoe, "played")
    if shoe is None:
        rules = state.table.shoe_rules
        return e.ShoeRequested(
            f"{state.table.table_id}-s{state.version + 1}", state.table.decks, rules.publish_seed
        )
    if betting is None:
        hand_id = f"{state.table.table_id}-{state.version + 1}"
        return e.BettingOpened(hand_id, state.hands_played + 1, shoe.shoe_id, shoe.next_position)
    return None


def another_hand(state: TableState, shoe: Shoe) -> bool:
    """Whether the shoe serves another hand; one not yet dealt from always does."""
    if shoe.spoiled:
        return False
    if not shoe.next_position:
        return True
    return state.table.shoe_rules.another_hand(shoe.size - shoe.next_position)


def leaving(state: TableState, seat: Seat) -> e.Derived:
    """A player goes: his commission is settled, his chips go back, the seat is free (TAB-05)."""
    if seat.owed:
        return _commission(state, seat, leaving=True)
    if seat.chips:
        return e.CashOutRequested(seat.player, seat.chips)
    return e.PlayerLeft(seat.player)


def _commission(state: TableState, seat: Seat, leaving: bool) -> e.CommissionTaken:
    unit = state.table.settings.commission_unit
    taken = baccarat.settle_commission(seat.owed, unit, leaving, seat.chips)
    return e.CommissionTaken(seat.player, seat.owed, taken)


def _shoe_over(state: TableState, shoe: Shoe, why: str) -> e.Derived:
    for seat in state.seats.values():  # BAC-10: settled when the shoe ends
        if seat.owed:
            return _commission(state, seat, leaving=False)
    return e.ShoeFinished(shoe.shoe_id, why)


def _closing(state: TableState) -> e.Derived | None:
    if state.status is Status.CLOSED:
        return None
    for seat in state.seats.values():
        return leaving(state, seat)
    if state.shoe is not None:
        return e.ShoeFinished(state.shoe.shoe_id, "table_closed")
    return e.TableClosed()


def _while_betting(state: TableState, betting: Betting) -> e.Derived | None:
    if not betting.deadline and not betting.expired:
        return e.BettingClockStarted(state.now + state.table.clocks.betting_ms * 1000)
    if not betting.expired and not all_done(state):
        return None
    offender = _offender(state, betting)
    if offender is not None:
        return offender
    return e.BettingClosed()


def all_done(state: TableState) -> bool:
    """Whether nobody who could still bet wants to: the window closes before its deadline."""
    return all(
        seat.done or seat.sitting_out or seat.leaving or free_chips(state, seat.player) <= 0
        for seat in state.seats.values()
    )


def _offender(state: TableState, betting: Betting) -> e.BetsReturned | None:
    """The first bets that cannot stand now that no more come: too small by themselves, else of the
    player with the most boxes, his highest first (OAS-04)."""
    table = state.table
    boxes = boxes_of(betting)
    whole = setup_of(e.HandOpened(boxes=boxes))
    try:
        table.game.check_bets(table.settings, whole)
    except RuleError as refused:
        why = refused.reason
    else:
        return None
    for box in whole.boxes:
        for player in dict.fromkeys(bettor for bettor, _, _ in box.bets):
            own = tuple(bet for bet in box.bets if bet[0] == player)
            alone = Setup(boxes=(Box(box.number, player, own, box.blind),))
            try:
                table.game.check_bets(table.settings, alone)
            except RuleError as refused:
                return e.BetsReturned(player, box.number, refused.reason)
    owned: dict[str, list[int]] = {}
    for box in whole.boxes:
        owned.setdefault(box.owner, []).append(box.number)
    player = max(owned, key=lambda owner: (len(owned[owner]), owner))
    return e.BetsReturned(player, max(owned[player]), why)
