"""Oasis poker, «Покер с обменом карт» (OAS): five cards against the dealer's, one exchange."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from shared.cards import DECK
from shared.errors import RuleError
from shared.games import boxes
from shared.games.oasis_bets import check_bets as check_bets
from shared.games.oasis_options import BET, EXCHANGE, FOLD, betting, offer, paying
from shared.games.oasis_options import LOOK as LOOK
from shared.games.oasis_settings import EXCHANGES, Settings
from shared.games.oasis_settings import settings as settings
from shared.games.oasis_shares import (
    Playing,
    bonus_stands,
    insurance_limits,
    lines,
    playing,
)
from shared.games.play import (
    Cell,
    Deal,
    Decision,
    Decisions,
    Done,
    Due,
    Face,
    Setup,
    ShoeRules,
    Show,
    Slot,
    Step,
    Turn,
    known,
)
from shared.games.poker import ACE_KING, hand_name, strength
from shared.quick import quick

NAME = "oasis_poker"
VERSION = 1
WAGERS: tuple[str, ...] = ("ante", "bonus")

CARDS = 5
SHOE = ShoeRules(
    cut_min_from_top=3,  # OAS-02
    cut_min_from_bottom=3,
    every_hand=True,
    publish_seed=False,
)

# What a hand waits for, in the order it is played.
DEALING, DECIDING, LOOKING, DRAWING = "dealing", "bet", "looking", "drawing"
SEEING, FINAL, REVEALING, OVER = "seeing", "final", "revealing", "over"
_DECISIONS = (DECIDING, FINAL)

_BLIND_WORDS = (BET, FOLD)
_UNSEEN_WORDS, _SEEN_WORDS = (LOOK, BET, FOLD), (BET, FOLD, EXCHANGE)


@quick
@dataclass(frozen=True, slots=True)
class Hand:
    """A hand in `phase`. `chips`: those that can still be staked, of the players who can run out of
    them. `looked`: the boxes (indexes) that were looked at, in that order; `exchanging`: those that
    exchange, in the order of the exchange."""

    settings: Settings
    phase: str
    boxes: tuple[Playing, ...]
    chips: Mapping[str, int]
    dealer: tuple[Cell, ...] = ()
    looked: tuple[int, ...] = ()
    exchanging: tuple[int, ...] = ()


def decks(settings: Settings) -> int:
    """One deck."""
    return 1


def start(settings: Settings, setup: Setup) -> Hand:
    """The hand as betting closes; raises what `check_bets` raises."""
    check_bets(settings, setup)
    held = tuple([playing(box) for box in setup.boxes])
    return Hand(settings, DEALING, held, boxes.chips_left(setup))


def next_step(hand: Hand) -> Step:
    """What the hand waits for."""
    phase = hand.phase
    if phase in _DECISIONS:
        due = [_due(hand, hand.boxes[at]) for at in _to_decide(hand)]
        return Decisions(phase, tuple(due), False)
    if phase == LOOKING:
        return Show(_turns(hand.boxes[hand.looked[-1]], up=False))
    if phase == DEALING:
        return _five_passes(tuple([box.number for box in hand.boxes]))
    if phase == DRAWING:
        return Deal(tuple(Slot(f"box{box.number}", Face.DOWN) for box, _ in _drawn(hand)))
    if phase == SEEING:
        return Show(
            tuple(
                Turn(f"box{box.number}", box.cells[place].position, Face.OWNER)
                for box, place in _drawn(hand)
            )
        )
    if phase == REVEALING:
        return Show(_revealed(hand))
    return _settle(hand)


def _drawn(hand: Hand) -> Iterator[tuple[Playing, int]]:
    """The places that the exchange gives new cards, in its order (OAS-08)."""
    for at in hand.exchanging:
        for place in hand.boxes[at].discards:
            yield hand.boxes[at], place


@lru_cache(maxsize=1024)
def _five_passes(numbers: tuple[int, ...]) -> Deal:
    """Five passes, one card each; the dealer's fifth is face up (OAS-06)."""
    one_pass = tuple(Slot(f"box{number}", Face.DOWN) for number in numbers)
    dealers = [Slot("dealer", Face.DOWN)] * (CARDS - 1) + [Slot("dealer", Face.UP)]
    return Deal(tuple(slot for dealer in dealers for slot in (*one_pass, dealer)))


def _to_decide(hand: Hand) -> list[int]:
    """The boxes that may decide now: one after the other in dealing order, at a table of class
    `vip` or `private` in any order (OAS-05); exchangers in the order of the exchange (OAS-08)."""
    if hand.phase == FINAL:
        return [at for at in hand.exchanging if hand.boxes[at].word == EXCHANGE][:1]
    due: list[int] = []
    for at, box in enumerate(hand.boxes):
        if not box.word:
            due.append(at)
            if not hand.settings.any_order:
                break
    return due


def _due(hand: Hand, box: Playing) -> Due:
    words = _words(hand, box)
    left = _cards_left(hand) if EXCHANGE in words else 0
    return offer(hand.settings, hand.chips, box, words, left)


def _words(hand: Hand, box: Playing) -> tuple[str, ...]:
    """What may be decided for the box at all (OAS-04, OAS-07, OAS-08). An open box is looked at
    first, but nobody has to look."""
    if hand.phase == FINAL or box.blind:
        return _BLIND_WORDS
    return _SEEN_WORDS if box.looked else _UNSEEN_WORDS


def _cards_left(hand: Hand) -> int:
    """What exchanges not yet asked for may take of the 52 (OAS-15)."""
    left = len(DECK) - CARDS * (len(hand.boxes) + 1)
    for box in hand.boxes:
        left -= len(box.discards)
    return left


def _turns(box: Playing, up: bool) -> tuple[Turn, ...]:
    """All cards of the box, shown to all or else to its owner."""
    return _turned(f"box{box.number}", tuple([cell.position for cell in box.cells]), up)


@lru_cache(maxsize=4096)
def _turned(hand: str, positions: tuple[int, ...], up: bool) -> tuple[Turn, ...]:
    face = Face.UP if up else Face.OWNER
    return tuple([Turn(hand, position, face) for position in positions])


def dealt(hand: Hand, cells: tuple[Cell, ...]) -> Hand:
    """The hand with the cards that the last `Deal` asked for."""
    if hand.phase == DEALING:
        each = len(hand.boxes) + 1
        held = tuple([box.holding(cells[at::each], False) for at, box in enumerate(hand.boxes)])
        return Hand(hand.settings, DECIDING, held, hand.chips, cells[each - 1 :: each])
    new = iter(cells)
    after = list(hand.boxes)
    for at in hand.exchanging:
        mine = list(after[at].cells)
        for place in after[at].discards:
            mine[place] = next(new)
        after[at] = after[at].holding(tuple(mine), True)
    return _next(hand, SEEING, tuple(after))


def shown(hand: Hand, cells: tuple[Cell, ...]) -> Hand:
    """The hand with the values that the last `Show` asked for."""
    seen = {cell.position: cell for cell in cells}
    after = list(hand.boxes)
    if hand.phase == LOOKING:
        at = hand.looked[-1]
        after[at] = after[at].holding(_seen(after[at].cells, seen), True)
        return _next(hand, DECIDING, tuple(after))
    if hand.phase == SEEING:
        for at in hand.exchanging:
            after[at] = after[at].holding(_seen(after[at].cells, seen), True)
        return _next(hand, FINAL, tuple(after))
    for at, box in enumerate(after):  # what was looked at is known, and not all is turned up
        if not box.looked and box.cells[0].position in seen:
            after[at] = box.holding(_seen(box.cells, seen), False)
    held, dealer = tuple(after), _seen(hand.dealer, seen)
    return Hand(hand.settings, OVER, held, hand.chips, dealer, hand.looked, hand.exchanging)


def _seen(held: tuple[Cell, ...], seen: Mapping[int, Cell]) -> tuple[Cell, ...]:
    return tuple([seen.get(cell.position, cell) for cell in held])


def _next(hand: Hand, phase: str, boxes: tuple[Playing, ...]) -> Hand:
    """The hand in its next phase. (Written out: `replace` would cost much of a hand's time.)"""
    return Hand(hand.settings, phase, boxes, hand.chips, hand.dealer, hand.looked, hand.exchanging)


def decide(hand: Hand, decision: Decision) -> Hand:
    """The hand after an owner's decision; `RuleError` with the reasons of the hand script, in their
    order."""
    if hand.phase not in _DECISIONS:
        raise RuleError("DECISION_NOT_DUE", "no decision is due", "box")
    for at in _to_decide(hand):
        if hand.boxes[at].number == decision.box:
            break
    else:
        raise RuleError("NOT_YOUR_TURN", f"it is not the turn of box {decision.box}", "box")
    box = hand.boxes[at]
    if decision.do not in _words(hand, box):
        raise RuleError("ILLEGAL_DECISION", f"{decision.do!r} is not allowed now", "action")
    if decision.do == LOOK:
        looked = (*hand.looked, at)
        return Hand(hand.settings, LOOKING, hand.boxes, hand.chips, hand.dealer, looked)
    if decision.do == EXCHANGE:
        return _exchange(hand, at, decision)
    if decision.do == BET:
        return _bet(hand, at, decision)
    _refuse_insurance(decision)
    return _decided(hand, at, box.decided(FOLD, box.shares, box.discards), {})


def staying(hand: Hand, box: int) -> tuple[str, ...]:
    """Who still has a stake on the box, in the order of the first bets (TAB-06)."""
    shares = [each.shares for each in hand.boxes if each.number == box]
    return tuple([share.player for of_box in shares for share in of_box if share.in_play])


def default(hand: Hand, box: int) -> Decision:
    """The clock folds: it stakes nothing more (TAB-06)."""
    return Decision(box, FOLD)


def _exchange(hand: Hand, at: int, decision: Decision) -> Hand:
    """The cards named are put before the box and the price on them (OAS-07, OAS-15)."""
    box, named = hand.boxes[at], decision.cards
    held = [cell.card for cell in box.cells]
    if len(named) not in EXCHANGES or len(set(named)) < len(named):
        raise RuleError("BAD_EXCHANGE", "one, two or five different cards", "positions")
    if any(card not in held for card in named):
        raise RuleError("BAD_EXCHANGE", "a card is not held", "positions")
    if len(named) > _cards_left(hand):
        raise RuleError("NOT_ENOUGH_CARDS", "fewer cards are left of the 52", "positions")
    _refuse_insurance(decision)
    count = EXCHANGES.index(len(named))
    costs = {share.player: hand.settings.prices_of(share.ante)[count] for share in box.shares}
    shares = [
        share.exchanging(costs[share.player]) if share.in_play else share
        for share in paying(hand.chips, box, costs)
    ]
    places = tuple([held.index(card) for card in named])
    return _decided(hand, at, box.decided(EXCHANGE, tuple(shares), places), costs)


def _bet(hand: Hand, at: int, decision: Decision) -> Hand:
    """Twice the antes, and with it the insurance (OAS-07, OAS-14)."""
    after = betting(hand.chips, hand.boxes[at])
    if decision.insurance:
        after = _insured(hand, after, dict(decision.insurance))
    costs: Mapping[str, int] = {}
    if hand.chips:
        costs = {share.player: share.bet + share.insurance for share in after.shares}
    return _decided(hand, at, after, costs)


def _insured(hand: Hand, box: Playing, insured: Mapping[str, int]) -> Playing:
    """The betting box with its bettors' insurance (OAS-14)."""
    limits = insurance_limits(hand.settings, box)
    for player in insured:
        if player not in limits:
            raise RuleError("INSURANCE_NOT_ALLOWED", f"{player} cannot insure", "insurance")
    for player, stake in insured.items():
        if stake <= 0:
            raise RuleError("BAD_STAKE", f"{player}'s {stake} is not a stake", "insurance")
    for player, stake in insured.items():
        if stake > limits[player]:
            raise RuleError(
                "INSURANCE_ABOVE_LIMIT", f"{player} may insure {limits[player]}", "insurance"
            )
    shares = (replace(share, insurance=insured.get(share.player, 0)) for share in box.shares)
    return box.decided(box.word, tuple(shares), box.discards)


def _refuse_insurance(decision: Decision) -> None:
    if decision.insurance:
        raise RuleError("INSURANCE_NOT_ALLOWED", "insurance comes with a bet", "insurance")


def _decided(hand: Hand, at: int, box: Playing, costs: Mapping[str, int]) -> Hand:
    """The hand once the box has decided and those still in play have paid; `INSUFFICIENT_CHIPS`
    where one cannot."""
    chips = hand.chips
    if chips and costs:
        chips = dict(chips)
        for share in box.shares:
            if share.in_play and share.player in chips:
                chips[share.player] -= costs[share.player]
                if chips[share.player] < 0:
                    raise RuleError(
                        "INSUFFICIENT_CHIPS", f"{share.player} lacks the chips", "action"
                    )
    phase, after = hand.phase, _with(hand.boxes, at, box)
    decided = Hand(hand.settings, phase, after, chips, hand.dealer, hand.looked, hand.exchanging)
    words = [box.word for box in after]
    if phase == FINAL:
        return decided if EXCHANGE in words else _last(decided)
    if "" in words:
        return decided
    # OAS-05: at a table of any order the exchange begins with the box that was looked at first.
    begin = hand.looked[0] if hand.settings.any_order and hand.looked else 0
    order = (*range(begin, len(after)), *range(begin))
    exchanging = tuple([at for at in order if words[at] == EXCHANGE])
    if not exchanging:
        return _last(decided)
    return Hand(hand.settings, DRAWING, after, chips, hand.dealer, hand.looked, exchanging)


def _last(hand: Hand) -> Hand:
    """All decisions are made: what must be turned up is, then the hand is settled."""
    return _next(hand, REVEALING if _turned_up(hand) else OVER, hand.boxes)


def _turned_up(hand: Hand) -> list[Playing]:
    """The boxes that bet; of those that folded only what a bonus needs."""
    return [
        box
        for box in hand.boxes
        if box.word == BET or (bonus_stands(box) and _bonus_may_pay(hand, box))
    ]


def _revealed(hand: Hand) -> tuple[Turn, ...]:
    """The dealer's cards, if anybody bets against them, and the hands that are turned up."""
    turns: list[Turn] = []
    bets = False
    for box in _turned_up(hand):
        turns += _turns(box, up=True)
        bets = bets or box.word == BET
    if not bets:
        return tuple(turns)
    hidden = hand.dealer[: CARDS - 1]
    return (*_turned("dealer", tuple([cell.position for cell in hidden]), up=True), *turns)


def _bonus_may_pay(hand: Hand, box: Playing) -> bool:
    """Whether the bonus of a folded box wins, or nobody has yet seen if it does (OAS-13)."""
    own = box.strength()
    return own is None or hand.settings.bonus_table[hand_name(own)] > 0


def cells(hand: Hand) -> Mapping[str, tuple[Cell, ...]]:
    """The cards of the dealer and of each box as they lie: a new card has taken the place of the
    discarded one."""
    laid = {"dealer": hand.dealer}
    for box in hand.boxes:
        laid[f"box{box.number}"] = box.cells
    return laid


def staked(hand: Hand) -> Mapping[str, int]:
    """What each player has staked in the hand so far, prices and insurance included."""
    sums: dict[str, int] = {}
    for box in hand.boxes:
        for share in box.shares:
            bet = share.bet if box.word == BET and share.in_play else 0
            paid = share.ante + share.bonus + share.price + share.insurance + bet
            sums[share.player] = sums.get(share.player, 0) + paid
    return sums


def _settle(hand: Hand) -> Done:
    """OAS-09 to OAS-14."""
    turned_up = known(hand.dealer)
    dealer = strength(turned_up) if len(turned_up) == CARDS else None
    made = [line for box in hand.boxes for line in lines(hand.settings, box, dealer)]
    clauses = ("OAS-07",) if dealer is None else ("OAS-09", "OAS-10")
    if dealer is not None and dealer >= ACE_KING:
        clauses = (*clauses, "OAS-11")
    return Done("settled", tuple(made), clauses=clauses)


def _with(after: tuple[Playing, ...], at: int, box: Playing) -> tuple[Playing, ...]:
    boxes = list(after)
    boxes[at] = box
    return tuple(boxes)
