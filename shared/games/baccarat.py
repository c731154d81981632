"""Baccarat (BAC): wagers on the player's or the banker's hand, or on a tie. No decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from shared.cards import DECK, Card
from shared.errors import RuleError
from shared.games import boxes
from shared.games import settings as reading
from shared.games.payouts import win
from shared.games.play import (
    Box,
    Cell,
    Deal,
    Decision,
    Done,
    Face,
    Line,
    Setup,
    ShoeRules,
    Slot,
    Step,
)
from shared.quick import quick

NAME = "baccarat"
VERSION = 1
WAGERS: tuple[str, ...] = ("player", "banker", "tie")

TIE_ODDS = Fraction(8)  # BAC-09


@quick
@dataclass(frozen=True, slots=True)
class Settings:
    """Amounts in minor units; `commission_percent` of a banker win is owed (BAC-09, BAC-10)."""

    limits: reading.Limits
    boxes: int
    bettors_per_box: int
    decks: int
    commission_percent: Fraction
    commission_unit: int


@quick
@dataclass(frozen=True, slots=True)
class Hand:
    """A coup: all its cards lie face up."""

    settings: Settings
    setup: Setup
    player: tuple[Cell, ...] = ()
    banker: tuple[Cell, ...] = ()


def settings(raw: reading.Raw) -> Settings:
    """The settings of a baccarat table; `SettingError` names the one at fault."""
    reading.only(
        raw,
        (
            *reading.LIMITS,
            "boxes",
            "bettors_per_box",
            "decks",
            "commission_percent",
            "commission_unit",
        ),
    )
    return Settings(
        limits=reading.limits(raw),
        boxes=reading.whole(raw, "boxes", 7, high=reading.MOST_BOXES),
        bettors_per_box=reading.whole(raw, "bettors_per_box", 3, high=reading.MOST_BETTORS),
        decks=reading.whole(raw, "decks", 8, high=reading.MOST_DECKS),
        commission_percent=reading.ratio(raw, "commission_percent", Fraction(5), most=100),
        commission_unit=reading.whole(raw, "commission_unit", 100),
    )


def decks(settings: Settings) -> int:
    """How many decks the shoe holds."""
    return settings.decks


def burn_by_first_card(first: Card) -> int:
    """How many cards are burned face down after the first was turned up (BAC-03)."""
    return value(first) or 10


SHOE = ShoeRules(
    cut_min_from_top=1,  # BAC-03
    cut_min_from_bottom=1,
    every_hand=False,
    publish_seed=True,
    burn_by=burn_by_first_card,
    cards_behind_cut_card=7,  # BAC-03, BAC-12
)


def check_bets(settings: Settings, setup: Setup, complete: bool = True) -> None:
    """Raise the first reason, in the order of the hand script, why these bets cannot stand."""
    boxes.check_shape(setup, settings.boxes, settings.bettors_per_box)
    sides: dict[str, str] = {}
    for box in setup.boxes:
        for player, wager, _ in box.bets:
            # BAC-01: never both sides in one coup, on any box.
            if wager != "tie" and sides.setdefault(player, wager) != wager:
                raise RuleError("BOTH_SIDES", f"{player} bets on player and banker", "wager")
    for box in setup.boxes:
        for player, wager, stake in box.bets:
            # BAC-09b: the commission of a win must be whole minor units.
            if wager == "banker" and _commission(settings, stake)[1]:
                raise RuleError(
                    "STAKE_NOT_DIVISIBLE",
                    f"{settings.commission_percent} % of {player}'s {stake} is not whole",
                    "stake",
                )
    boxes.check_limits(setup, settings.limits, WAGERS, complete)
    boxes.check_chips(setup)


def start(settings: Settings, setup: Setup) -> Hand:
    """The coup as betting closes; raises what `check_bets` raises."""
    check_bets(settings, setup)
    return Hand(settings, setup)


def value(card: Card) -> int:
    """Ace 1, 2–9 their number, ten and pictures 0 (BAC-02)."""
    rank = card >> 2
    return 1 if rank == 12 else rank + 2 if rank < 8 else 0


_POINTS = tuple([value(card) for card in DECK])


def total(cells: tuple[Cell, ...]) -> int:
    """The points of a hand (BAC-02). The cards are face up, so they are all known."""
    points = 0
    for cell in cells:
        if cell.card is not None:
            points += _POINTS[cell.card]
    return points % 10


_PLAYER = Slot("player", Face.UP)
_BANKER = Slot("banker", Face.UP)
_FIRST_FOUR = Deal((_PLAYER, _BANKER, _PLAYER, _BANKER))  # BAC-04
_PLAYERS_THIRD = Deal((_PLAYER,))
_BANKERS_THIRD = Deal((_BANKER,))


def next_step(hand: Hand) -> Step:
    """The first four cards, then the thirds that the rules want, then the result."""
    if not hand.player:
        return _FIRST_FOUR
    player, banker = total(hand.player[:2]), total(hand.banker[:2])
    if player >= 8 or banker >= 8:  # BAC-05
        return _settle(hand)
    if len(hand.player) == 2 and player <= 5:  # BAC-06
        return _PLAYERS_THIRD
    if len(hand.banker) == 2 and banker_draws(banker, hand.player[2:]):
        return _BANKERS_THIRD
    return _settle(hand)


def banker_draws(banker: int, players_third: tuple[Cell, ...]) -> bool:
    """Whether the banker's two cards worth `banker` draw a third (BAC-07, BAC-08)."""
    if not players_third:  # BAC-08
        return banker <= 5
    drawn = total(players_third)
    match banker:  # BAC-07
        case 3:
            return drawn != 8
        case 4:
            return 2 <= drawn <= 7
        case 5:
            return 4 <= drawn <= 7
        case 6:
            return 6 <= drawn <= 7
        case _:
            return banker <= 2


def dealt(hand: Hand, cells: tuple[Cell, ...]) -> Hand:
    """The hand with the cards that the last `Deal` asked for."""
    if not hand.player:
        return Hand(hand.settings, hand.setup, cells[::2], cells[1::2])
    if len(hand.player) == 2 and total(hand.player) <= 5:  # BAC-06: the player's third comes first
        return Hand(hand.settings, hand.setup, hand.player + cells, hand.banker)
    return Hand(hand.settings, hand.setup, hand.player, hand.banker + cells)


def shown(hand: Hand, cells: tuple[Cell, ...]) -> Hand:
    """Never asked for: every card is dealt face up."""
    raise AssertionError("baccarat turns no cards")


def decide(hand: Hand, decision: Decision) -> Hand:
    """Always refused: a coup waits for nobody."""
    raise RuleError("DECISION_NOT_DUE", "there is nothing to decide in baccarat", "box")


def default(hand: Hand, box: int) -> Decision:
    """Always refused: a coup waits for nobody."""
    raise RuleError("DECISION_NOT_DUE", "there is nothing to decide in baccarat", "box")


def cells(hand: Hand) -> Mapping[str, tuple[Cell, ...]]:
    """The cards of both hands, in the order they were dealt."""
    return {"player": hand.player, "banker": hand.banker}


def staked(hand: Hand) -> Mapping[str, int]:
    """What each player has staked in the coup."""
    return boxes.first_stakes(hand.setup)


def _settle(hand: Hand) -> Done:
    player, banker = total(hand.player), total(hand.banker)
    result = "player" if player > banker else "banker" if banker > player else "tie"
    commission: dict[str, int] = {}
    lines: list[Line] = []
    for box in hand.setup.boxes:
        for bettor, wager, stake in _by_bettor(box):
            lines.append(Line(box.number, bettor, wager, stake, _returned(result, wager, stake)))
            if wager == result == "banker":
                owed, _ = _commission(hand.settings, stake)
                if owed:
                    commission[bettor] = commission.get(bettor, 0) + owed
    clauses = _clauses(len(hand.player), len(hand.banker), max(player, banker), result)
    return Done(result, tuple(lines), tuple(commission.items()), clauses=clauses)


def _by_bettor(box: Box) -> Sequence[tuple[str, str, int]]:
    """Each bettor's wagers by name, bets on the same wager together."""
    if len(box.bets) == 1:
        return box.bets
    sums: dict[str, dict[str, int]] = {}
    for bettor, wager, stake in box.bets:
        of_bettor = sums.setdefault(bettor, {})
        of_bettor[wager] = of_bettor.get(wager, 0) + stake
    return [
        (bettor, wager, of_bettor[wager])
        for bettor, of_bettor in sums.items()
        for wager in sorted(of_bettor)
    ]


def _returned(result: str, wager: str, stake: int) -> int:
    """BAC-09. The commission of a banker win is owed, not taken from it (BAC-10)."""
    if wager == result:
        return stake + (win(stake, TIE_ODDS) if wager == "tie" else stake)
    return stake if result == "tie" else 0


def _clauses(players: int, bankers: int, best: int, result: str) -> tuple[str, ...]:
    """The clauses that decided a coup of so many cards and a `best` total, for people."""
    if players == 3:
        drawn = "BAC-07"
    elif bankers == 3 or best < 8:
        drawn = "BAC-08"
    else:
        drawn = "BAC-05"
    return (drawn, "BAC-09", "BAC-10") if result == "banker" else (drawn, "BAC-09")


def _commission(settings: Settings, stake: int) -> tuple[int, int]:
    """The commission of a banker win of `stake` in minor units, and what is left of a fraction."""
    percent = settings.commission_percent
    return divmod(stake * percent.numerator, 100 * percent.denominator)


def round_commission(owed_minor: int, unit_minor: int, leaving: bool) -> int:
    """What is settled of a sum owed: whole commission units (BAC-11).

    As the shoe ends a remainder up to half a unit is dropped and a greater one rounded up; a player
    who is `leaving` before pays every remainder as a whole unit.
    """
    units, remainder = divmod(owed_minor, unit_minor)
    if remainder and (leaving or 2 * remainder > unit_minor):
        units += 1
    return units * unit_minor


def settle_commission(owed_minor: int, unit_minor: int, leaving: bool, chips_minor: int) -> int:
    """What a player pays of the commission he owes, never more than his chips (BAC-11)."""
    return min(round_commission(owed_minor, unit_minor, leaving), chips_minor)


def free_chips(chips_minor: int, owed_minor: int) -> int:
    """What a player may stake or cash: his chips without those he owes (BAC-10)."""
    return max(chips_minor - owed_minor, 0)
