"""Casino Hold'em (CHE): two cards a box against the dealer's two, with five on the board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from shared.errors import RuleError
from shared.games import boxes
from shared.games import settings as reading
from shared.games.payouts import Odds, share_cap, win
from shared.games.play import (
    Cell,
    Deal,
    Decision,
    Decisions,
    Done,
    Due,
    Face,
    Line,
    Option,
    Setup,
    ShoeRules,
    Show,
    Slot,
    Step,
    Turn,
    known,
)
from shared.games.poker import HAND_NAMES, PAIR_OF_FOURS, Strength, hand_name, strength
from shared.quick import quick

NAME = "casino_holdem"
VERSION = 1
WAGERS: tuple[str, ...] = ("ante",)
SHOE = ShoeRules(
    cut_min_from_top=3,  # CHE-08
    cut_min_from_bottom=3,
    every_hand=True,
    publish_seed=False,
)

ANTE_TABLE: Odds = {
    **dict.fromkeys(HAND_NAMES, Fraction(1)),
    "flush": Fraction(2),
    "full_house": Fraction(3),
    "four_of_a_kind": Fraction(10),
    "straight_flush": Fraction(20),
    "royal_flush": Fraction(100),
}
"""CHE-06."""

_BET = "bet"
_FOLD = "fold"
_MOST_BOXES = 22  # 2 cards a box and to the dealer, 5 on the board, of 52


@quick
@dataclass(frozen=True, slots=True)
class Settings:
    """Amounts in minor units."""

    limits: reading.Limits
    boxes: int
    ante_table: Odds


@quick
@dataclass(frozen=True, slots=True)
class Hand:
    """A hand; `antes`, `boxes` and `words` are in step with the boxes of the set-up, a word being
    empty until its box has decided. `chips` are those that can still be staked, of the players who
    can run out of them."""

    settings: Settings
    setup: Setup
    antes: tuple[int, ...]
    boxes: tuple[tuple[Cell, ...], ...]
    words: tuple[str, ...]
    chips: Mapping[str, int]
    dealer: tuple[Cell, ...] = ()
    board: tuple[Cell, ...] = ()
    looked: bool = False
    revealed: bool = False


def settings(raw: reading.Raw) -> Settings:
    """The settings of a hold'em table; `SettingError` names the one at fault."""
    reading.only(raw, (*reading.LIMITS, "boxes", "ante_table"))
    return Settings(
        limits=reading.limits(raw),
        boxes=reading.whole(raw, "boxes", 6, high=_MOST_BOXES),
        ante_table=reading.ratios(raw, "ante_table", ANTE_TABLE, HAND_NAMES),
    )


def decks(settings: Settings) -> int:
    """How many decks the shoe holds."""
    return 1


def check_bets(settings: Settings, setup: Setup, complete: bool = True) -> None:
    """Raise the first reason, in the order of the hand script, why these bets cannot stand."""
    boxes.check_shape(setup, settings.boxes, bettors_per_box=1)
    boxes.check_limits(setup, settings.limits, WAGERS, complete)
    boxes.check_chips(setup)


def start(settings: Settings, setup: Setup) -> Hand:
    """The hand as betting closes; raises what `check_bets` raises."""
    check_bets(settings, setup)
    return Hand(
        settings,
        setup,
        antes=tuple(sum(stake for _, _, stake in box.bets) for box in setup.boxes),
        boxes=((),) * len(setup.boxes),
        words=("",) * len(setup.boxes),
        chips=boxes.chips_left(setup),
    )


def next_step(hand: Hand) -> Step:
    """Cards, a look, decisions under one clock, the rest of the board, the dealer's cards."""
    if not hand.dealer:
        return _opening(tuple(box.number for box in hand.setup.boxes))
    if not hand.looked:
        return Show(_turns(hand, Face.OWNER))
    if "" in hand.words:
        return Decisions(
            _BET,
            tuple(
                _due(box.number, box.owner, 2 * ante, _has(hand, box.owner, 2 * ante))
                for box, ante, word in zip(hand.setup.boxes, hand.antes, hand.words, strict=True)
                if not word
            ),
            together=True,  # CHE-02
        )
    if _BET not in hand.words:  # CHE-02: if all fold, nothing more is shown
        return _settle(hand)
    if len(hand.board) == 3:
        return _TURN_AND_RIVER
    if not hand.revealed:
        dealers = tuple(Turn("dealer", cell.position, Face.UP) for cell in hand.dealer)
        return Show(dealers + _turns(hand, Face.UP))
    return _settle(hand)


_BOARD = Slot("board", Face.UP)
_TURN_AND_RIVER = Deal((_BOARD, _BOARD))


@lru_cache(maxsize=256)
def _opening(numbers: tuple[int, ...]) -> Deal:
    """Two passes to the boxes and the dealer, then three board cards (CHE-01)."""
    one_pass = (
        *(Slot(f"box{number}", Face.DOWN) for number in numbers),
        Slot("dealer", Face.DOWN),
    )
    return Deal(one_pass + one_pass + (_BOARD,) * 3)


def _turns(hand: Hand, face: Face) -> tuple[Turn, ...]:
    """The cards of all boxes that have not folded, in dealing order."""
    return tuple(
        Turn(f"box{box.number}", cell.position, face)
        for box, cards, word in zip(hand.setup.boxes, hand.boxes, hand.words, strict=True)
        if word != _FOLD
        for cell in cards
    )


@lru_cache(maxsize=256)
def _due(box: int, owner: str, price: int, can_bet: bool) -> Due:
    bet = (Option(_BET, price=price),) if can_bet else ()
    return Due(box, owner, (*bet, Option(_FOLD)))


def _has(hand: Hand, player: str, price: int) -> bool:
    return hand.chips.get(player, price) >= price


def dealt(hand: Hand, cells: tuple[Cell, ...]) -> Hand:
    """The hand with the cards that the last `Deal` asked for."""
    if hand.dealer:
        return replace(hand, board=hand.board + cells)
    count = len(hand.boxes)
    second = count + 1
    return replace(
        hand,
        boxes=tuple((cells[at], cells[second + at]) for at in range(count)),
        dealer=(cells[count], cells[second + count]),
        board=cells[2 * second :],
    )


def shown(hand: Hand, cells: tuple[Cell, ...]) -> Hand:
    """The hand with the values that the last `Show` asked for."""
    seen = {cell.position: cell for cell in cells}
    return replace(
        hand,
        boxes=tuple(tuple(seen.get(cell.position, cell) for cell in box) for box in hand.boxes),
        dealer=tuple(seen.get(cell.position, cell) for cell in hand.dealer),
        looked=True,
        revealed=hand.looked,
    )


def decide(hand: Hand, decision: Decision) -> Hand:
    """Take one box's `bet` of twice its ante, or its `fold` (CHE-02)."""
    if not hand.looked or "" not in hand.words:
        raise RuleError("DECISION_NOT_DUE", "no decision is due", "box")
    for at, box in enumerate(hand.setup.boxes):
        if box.number == decision.box and not hand.words[at]:
            break
    else:
        raise RuleError("NOT_YOUR_TURN", f"box {decision.box} has nothing to decide", "box")
    if decision.do not in (_BET, _FOLD):
        raise RuleError("ILLEGAL_DECISION", f"{decision.do!r} is not bet or fold", "action")
    chips = hand.chips
    if decision.do == _BET:
        price = 2 * hand.antes[at]
        if not _has(hand, box.owner, price):
            raise RuleError("INSUFFICIENT_CHIPS", f"the bet costs {price} chips", "action")
        if box.owner in chips:
            chips = {**chips, box.owner: chips[box.owner] - price}
    words = (*hand.words[:at], decision.do, *hand.words[at + 1 :])
    # Written out: `replace` would take much of a hand's time.
    return Hand(
        hand.settings,
        hand.setup,
        hand.antes,
        hand.boxes,
        words,
        chips,
        hand.dealer,
        hand.board,
        looked=True,
    )


def default(hand: Hand, box: int) -> Decision:
    """The clock folds: it stakes nothing more (TAB-06)."""
    return Decision(box, _FOLD)


def cells(hand: Hand) -> Mapping[str, tuple[Cell, ...]]:
    """The cards of the dealer, the board and each box, in the order they were dealt."""
    laid = {"dealer": hand.dealer, "board": hand.board}
    for box, cards in zip(hand.setup.boxes, hand.boxes, strict=True):
        laid[f"box{box.number}"] = cards
    return laid


def staked(hand: Hand) -> Mapping[str, int]:
    """What each player has staked in the hand, bets included."""
    sums: dict[str, int] = {}
    for box, ante, word in zip(hand.setup.boxes, hand.antes, hand.words, strict=True):
        sums[box.owner] = sums.get(box.owner, 0) + ante * (3 if word == _BET else 1)
    return sums


def _settle(hand: Hand) -> Done:
    board = known(hand.board)
    dealer = strength(known(hand.dealer) + board) if hand.revealed else 0
    plays = dealer >= PAIR_OF_FOURS  # CHE-03
    lines: list[Line] = []
    for box, ante, cards, word in zip(
        hand.setup.boxes, hand.antes, hand.boxes, hand.words, strict=True
    ):
        if word == _FOLD:
            lines.append(Line(box.number, box.owner, "ante", ante, 0))
            continue
        own = strength(known(cards) + board)
        ante_back, bet_back = returned(hand.settings, ante, own, dealer if plays else None)
        lines.append(Line(box.number, box.owner, "ante", ante, ante_back))
        lines.append(Line(box.number, box.owner, "bet", 2 * ante, bet_back))
    decided = ("CHE-02",) if not hand.revealed else ("CHE-05" if plays else "CHE-04", "CHE-06")
    return Done("settled", tuple(lines), clauses=decided)


def returned(
    settings: Settings, ante: int, own: Strength, dealer: Strength | None
) -> tuple[int, int]:
    """What goes back of ante and bet against a dealer of such strength, or (`None`) who does not
    play."""
    bet = 2 * ante
    if dealer is None:  # CHE-04
        ante_win, bet_win = win(ante, _odds(settings, own)), 0
    elif own > dealer:  # CHE-05
        ante_win, bet_win = win(ante, _odds(settings, own)), bet
    elif own < dealer:
        return 0, 0
    else:
        ante_win, bet_win = 0, 0
    ante_win, bet_win = share_cap(settings.limits.max_payout, ante_win, bet_win)  # CHE-07
    return ante + ante_win, bet + bet_win


def _odds(settings: Settings, own: Strength) -> Fraction:
    """CHE-06; below a pair of fours 1:1, whatever the table says (CHE-04)."""
    return settings.ante_table[hand_name(own)] if own >= PAIR_OF_FOURS else Fraction(1)
