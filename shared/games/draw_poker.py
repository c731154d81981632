"""Draw poker between players (DRW): ante, bet, exchange, bet, showdown. The house only deals.

Seats are indexes in dealing order: 0 is the first dealt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import sub

from shared.errors import RuleError
from shared.games import draw_betting as betting
from shared.games.draw_betting import Round
from shared.games.draw_entries import check_bets as check_bets
from shared.games.draw_entries import paid_in
from shared.games.draw_pots import Payout, showdown, uncontested
from shared.games.draw_settings import Settings
from shared.games.draw_settings import settings as settings
from shared.games.draw_steps import (
    MOST_EXCHANGED,
    NAMES,
    five_passes,
    looks,
    new_cards,
    turn_to_exchange,
)
from shared.games.play import (
    TIMEOUT,
    Cell,
    Decision,
    Decisions,
    Done,
    Due,
    Face,
    Line,
    Setup,
    ShoeRules,
    Show,
    Step,
    Turn,
    known,
)
from shared.games.poker import strength
from shared.quick import quick

NAME = "draw_poker"
VERSION = 1
WAGERS: tuple[str, ...] = ()  # Entries are not chosen: `Setup.entries` and the common amount.

NOBODY = -1
WAGER = "pot"
"""The wager of the result's lines: what a player put in all pots, and what came back (DRW-11)."""

SHOE = ShoeRules(
    cut_min_from_top=1,  # TAB-09
    cut_min_from_bottom=1,
    every_hand=True,
    publish_seed=False,  # DRW-14
)

# What a hand waits for, in the order it is played.
DEALING, LOOKING = "dealing", "looking"
BETTING_1, EXCHANGE, DRAWING, BETTING_2 = "betting1", "exchange", "drawing", "betting2"
SHOWDOWN, OVER = "showdown", "over"
_BETTING = (BETTING_1, BETTING_2)


@quick
@dataclass(frozen=True, slots=True)
class Seats:
    """What does not change during a hand: `boxes`, `players`, `stacks` before the entries by seat;
    `by_box` lists the seats in ascending order of boxes."""

    settings: Settings
    boxes: tuple[int, ...]
    players: tuple[str, ...]
    stacks: tuple[int, ...]
    by_box: tuple[int, ...]
    min_bet: int
    carried_pot: int


@quick
@dataclass(frozen=True, slots=True)
class Hand:
    """A hand in `phase`; `round` also holds, between rounds, who is still in and his chips.

    `opener` is the seat of the first bet (DRW-09), `exchanger` the seat whose exchange it is and
    `discards` the places in its hand that await new cards (DRW-08). `done` is the result once over.
    """

    seats: Seats
    phase: str
    round: Round
    cards: tuple[tuple[Cell, ...], ...]
    opener: int = NOBODY
    exchanger: int = NOBODY
    discards: tuple[int, ...] = ()
    done: Done | None = None


def decks(settings: Settings) -> int:
    """One deck."""
    return 1


def start(settings: Settings, setup: Setup) -> Hand:
    """The hand once all have paid in; `first` is dealt first or, where nobody sits there, the next
    player on (DRW-03). Raises what `check_bets` raises."""
    check_bets(settings, setup)
    boxes, paid = setup.boxes, paid_in(setup)
    count, at = len(boxes), 0
    if setup.first > boxes[0].number:  # seats are boxes from the first dealt on
        at = next((at for at, box in enumerate(boxes) if box.number >= setup.first), 0)
        boxes, paid = boxes[at:] + boxes[:at], paid[at:] + paid[:at]
    players = [box.owner for box in boxes]
    stacks = [setup.stacks[player] for player in players]
    min_bet = settings.min_bet or setup.ante
    seats = Seats(
        settings,
        tuple([box.number for box in boxes]),
        tuple(players),
        tuple(stacks),
        betting.going_round(count, count - at),
        min_bet,
        setup.carried_pot,
    )
    chips = tuple(map(sub, stacks, paid))
    now = betting.open_round(chips, (True,) * count, 0, min_bet, settings.side_pots)
    return Hand(seats, DEALING, now, ((),) * count)


def next_step(hand: Hand) -> Step:
    """What the hand waits for."""
    phase, seats, now = hand.phase, hand.seats, hand.round
    if phase in _BETTING:
        seat = now.ring[0]
        due = Due(seats.boxes[seat], seats.players[seat], betting.options(now))
        return Decisions(phase, (due,), False)
    if phase == EXCHANGE:
        seat = hand.exchanger
        return turn_to_exchange(phase, seats.boxes[seat], seats.players[seat])
    if phase == DRAWING:
        return new_cards(seats.boxes[hand.exchanger], len(hand.discards))
    if phase == DEALING:
        return five_passes(seats.boxes)
    if phase == LOOKING:
        return looks(seats.boxes, tuple([cell.position for held in hand.cards for cell in held]))
    if phase == SHOWDOWN:
        return _turned_up(hand)
    assert hand.done is not None
    return hand.done


def _turned_up(hand: Hand) -> Show:
    """The hands of all who are still in (DRW-11)."""
    up, boxes = Face.UP, hand.seats.boxes
    turns: list[Turn] = []
    for seat in _live(hand.round):
        name = NAMES[boxes[seat]]
        turns += [Turn(name, cell.position, up) for cell in hand.cards[seat]]
    return Show(tuple(turns))


def _live(now: Round) -> tuple[int, ...]:
    return tuple([seat for seat, still_in in enumerate(now.live) if still_in])


def hidden_hands(hand: Hand) -> Mapping[int, tuple[Cell, ...]]:
    """The cards of the players still in, by box, as long as one of them may be harmed by its being
    seen: not at the showdown any more (DRW-13)."""
    if hand.phase in (SHOWDOWN, OVER):
        return {}
    return {hand.seats.boxes[seat]: hand.cards[seat] for seat in _live(hand.round)}


def dealt(hand: Hand, cells: tuple[Cell, ...]) -> Hand:
    """The hand with the cards that the last `Deal` asked for."""
    if hand.phase == DEALING:
        seats = len(hand.cards)
        cards = tuple([cells[seat::seats] for seat in range(seats)])
        return Hand(hand.seats, LOOKING, hand.round, cards)
    exchanger = hand.exchanger
    mine = list(hand.cards[exchanger])
    for place, cell in zip(hand.discards, cells, strict=True):
        mine[place] = cell
    held = list(hand.cards)
    held[exchanger] = tuple(mine)
    return _exchange_from(hand, hand.round, tuple(held), exchanger + 1)


def shown(hand: Hand, cells: tuple[Cell, ...]) -> Hand:
    """The hand with the values that the last `Show` asked for."""
    seen = {cell.position: cell for cell in cells}
    if hand.phase == SHOWDOWN:
        return _settle_showdown(hand, seen)
    cards = tuple([_seen(held, seen) for held in hand.cards])
    # The first round has been open since the start.
    return _going_on(Hand(hand.seats, BETTING_1, hand.round, cards))


def _seen(held: tuple[Cell, ...], seen: Mapping[int, Cell]) -> tuple[Cell, ...]:
    return tuple([seen.get(cell.position, cell) for cell in held])


def decide(hand: Hand, decision: Decision) -> Hand:
    """The hand after a decision; `RuleError` with the hand script's reasons, in their order."""
    phase, seats, now = hand.phase, hand.seats, hand.round
    if phase in _BETTING:
        seat = now.ring[0]
    elif phase == EXCHANGE:
        seat = hand.exchanger
    else:
        raise RuleError("DECISION_NOT_DUE", "no decision is due", "box")
    if seats.boxes[seat] != decision.box:
        raise RuleError("NOT_YOUR_TURN", f"it is box {seats.boxes[seat]}'s turn", "box")
    if phase == EXCHANGE:
        return _exchange(hand, decision)
    do = decision.do
    now = betting.fold(now) if do == TIMEOUT else betting.act(now, decision)
    opener = seat if do == "bet" and phase == BETTING_1 else hand.opener
    after = Hand(seats, phase, now, hand.cards, opener)
    if now.live.count(True) == 1:
        return _settle_uncontested(after)
    return _going_on(after)


def default(hand: Hand, box: int) -> Decision:
    """The clock's decision for a box: «пас», the cards are mucked, in any phase (TAB-06)."""
    return Decision(box, TIMEOUT)


def _going_on(hand: Hand) -> Hand:
    """The hand as it is while somebody has to act in the round, else what follows; a round can be
    over before it begins (DRW-12)."""
    return hand if hand.round.to_act else _close_round(hand)


def _close_round(hand: Hand) -> Hand:
    """What follows a round in which all who remain are level."""
    now = hand.round
    # DRW-12: while a player still in has no chips, a round that nobody bets is not carried.
    unplayed = not now.level and 0 not in [now.chips[seat] for seat in _live(now)]
    if hand.phase == BETTING_1:
        if unplayed:  # DRW-06
            return _carry(hand, "ante", "DRW-06")
        return _exchange_from(hand, now, hand.cards, 0)
    if unplayed and hand.seats.settings.check_carries:  # DRW-10
        return _carry(hand, "half_pot", "DRW-10")
    return Hand(hand.seats, SHOWDOWN, now, hand.cards, hand.opener)


def _exchange_from(hand: Hand, now: Round, cards: tuple[tuple[Cell, ...], ...], seat: int) -> Hand:
    """The exchange of the next player still in from `seat` on; after the last the second round, of
    the opener or the next one on, else of the first dealt (DRW-08, DRW-09)."""
    for exchanger in range(seat, len(cards)):
        if now.live[exchanger]:
            return Hand(hand.seats, EXCHANGE, now, cards, hand.opener, exchanger)
    second = betting.next_round(now, max(hand.opener, 0), hand.seats.min_bet)
    return _going_on(Hand(hand.seats, BETTING_2, second, cards, hand.opener))


def _exchange(hand: Hand, decision: Decision) -> Hand:
    """DRW-08: up to three cards at once; a player who runs out of time folds."""
    exchanger, cards = hand.exchanger, hand.cards
    if decision.do == TIMEOUT:
        now = betting.leave(hand.round, exchanger)
        after = Hand(hand.seats, EXCHANGE, now, cards, hand.opener)
        if now.live.count(True) == 1:
            return _settle_uncontested(after)
        return _exchange_from(after, now, cards, exchanger + 1)
    if decision.do != "exchange":
        raise RuleError("ILLEGAL_DECISION", f"{decision.do!r} is not allowed now", "action")
    named = decision.cards
    if not named:
        return _exchange_from(hand, hand.round, cards, exchanger + 1)
    if len(named) > MOST_EXCHANGED or len(set(named)) < len(named):
        raise RuleError("BAD_EXCHANGE", "up to three different cards", "positions")
    held = [cell.card for cell in cards[exchanger]]
    discards = []
    for card in named:
        if card not in held:
            raise RuleError("BAD_EXCHANGE", "a card is not held", "positions")
        discards.append(held.index(card))
    now, opener = hand.round, hand.opener
    return Hand(hand.seats, DRAWING, now, cards, opener, exchanger, tuple(discards))


def cells(hand: Hand) -> Mapping[str, tuple[Cell, ...]]:
    """Each box's cards as they lie: a new card has taken the place of the discarded one."""
    boxes, cards = hand.seats.boxes, hand.cards
    return {NAMES[boxes[seat]]: cards[seat] for seat in hand.seats.by_box}


def staked(hand: Hand) -> Mapping[str, int]:
    """What each player has put in the pots so far, his entry included."""
    put = _put(hand, range(len(hand.cards)))
    return dict(zip(hand.seats.players, put, strict=True))


@dataclass(frozen=True, slots=True)
class InPot:
    """What the player of a box has put in, in minor units: in the betting round (nothing between
    rounds), and in the hand, his entry included."""

    box: int
    player: str
    in_round: int
    in_hand: int
    folded: bool


def standing(hand: Hand) -> tuple[int, int, tuple[InPot, ...]]:
    """How the betting stands, in minor units: the highest bet of the round, what a bet or a raise
    above it has to add at least (DRW-05), and what each player has put in, in dealing order."""
    now = hand.round
    betting_on = hand.phase in _BETTING
    put = _put(hand, range(len(hand.cards)))
    seats = zip(hand.seats.boxes, hand.seats.players, now.bets, put, now.live, strict=True)
    stakes = tuple(
        [
            InPot(box, who, bet if betting_on else 0, paid, not live)
            for box, who, bet, paid, live in seats
        ]
    )
    return now.level if betting_on else 0, now.full if betting_on else 0, stakes


def _put(hand: Hand, seats: Iterable[int]) -> list[int]:
    """What these seats have put in."""
    stacks, chips, bets = hand.seats.stacks, hand.round.chips, hand.round.bets
    return [stacks[seat] - chips[seat] + bets[seat] for seat in seats]


def _carry(hand: Hand, entry: str, clause: str) -> Hand:
    """Nobody played for the pot: it stays for the next hand."""
    put = _put(hand, hand.seats.by_box)
    nothing = Payout((0,) * len(put), hand.seats.carried_pot + sum(put), 0, (), tuple(put))
    return _over(hand, "carried", put, nothing, entry, clause)


def _settle_uncontested(hand: Hand) -> Hand:
    """All but one have folded: he takes the pot and shows nothing (DRW-07)."""
    seats, put = hand.seats, _put(hand, hand.seats.by_box)
    winner = seats.by_box.index(hand.round.live.index(True))
    payout = uncontested(put, winner, seats.carried_pot, seats.settings.rake)
    return _over(hand, "uncontested", put, payout, None, "DRW-07")


def _settle_showdown(hand: Hand, seen: Mapping[int, Cell]) -> Hand:
    """The hands still in, as they were shown, for the pots that each paid into (DRW-11)."""
    seats, live, put = hand.seats, hand.round.live, _put(hand, hand.seats.by_box)
    strengths = {
        at: strength(known(_seen(hand.cards[seat], seen)))
        for at, seat in enumerate(seats.by_box)
        if live[seat]
    }
    payout = showdown(
        put, strengths, seats.carried_pot, seats.settings.rake, seats.settings.tie_carries
    )
    if payout.carried:
        return _over(hand, "carried", put, payout, "half_pot", "DRW-10")
    return _over(hand, "showdown", put, payout, None, "DRW-11")


def _over(
    hand: Hand, result: str, put: list[int], payout: Payout, next_entry: str | None, clause: str
) -> Hand:
    """The result; what was `put` in, as the payout, in the order of the boxes."""
    seats, won = hand.seats, payout.won
    boxes, players = seats.boxes, seats.players
    lines = [
        Line(boxes[seat], players[seat], WAGER, put[at], won[at])
        for at, seat in enumerate(seats.by_box)
    ]
    left: tuple[tuple[str, int], ...] = ()
    if payout.carried:
        who = [players[seat] for seat in seats.by_box]
        left = tuple(zip(who, payout.left, strict=True))
    done = Done(
        result,
        tuple(lines),
        carried_pot=payout.carried,
        next_entry=next_entry,
        winners=tuple([boxes[seats.by_box[at]] for at in payout.winners]),
        rake=payout.rake,
        carried_by=left,
        clauses=(clause,),
    )
    return Hand(seats, OVER, hand.round, hand.cards, hand.opener, done=done)
