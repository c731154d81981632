"""Battle, «Бой» (BTL): one card against the dealer's, and up to four fights more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import ge
from typing import NoReturn

from shared.cards import DECK
from shared.errors import RuleError, SettingError
from shared.games import boxes
from shared.games import settings as reading
from shared.games.play import (
    Box,
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
    Slot,
    Step,
)
from shared.quick import quick

NAME = "battle"
VERSION = 1
WAGERS: tuple[str, ...] = ("stake",)
SHOE = ShoeRules(
    cut_min_from_top=1,  # BTL-01
    cut_min_from_bottom=1,
    cut_in_top_half=True,
    every_hand=False,
    publish_seed=True,
    burn=6,
    burn_on_dealer_change=1,  # TAB-08
    cards_behind_cut_card=104,
)

ODDS = (1, 1, 1, 2, 3)
"""What everything staked on a box pays, by the number of cards it won on (BTL-08)."""

_ACE = 12
_MOST_CARDS = 5
_MOST_BOXES = 19  # 5 cards a box and to the dealer, of the 104 behind the cut card
_FIGHT = "fight"
_SURRENDER = "surrender"
_FOUGHT = "fought"


@dataclass(frozen=True, slots=True)
class Settings:
    """Amounts in minor units."""

    limits: reading.Limits
    boxes: int
    bettors_per_box: int
    decks: int


@quick
@dataclass(frozen=True, slots=True)
class Share:
    """A bettor's part of a box: his first stake, all he has staked, and whether he fights on."""

    player: str
    first: int
    staked: int
    fights: bool = True


@quick
@dataclass(frozen=True, slots=True)
class Fighter:
    """A box in the coup, its shares in the order of the bets; `price` of its owner's fight.

    `word` is its decision of this round: none yet, `fight`, `fought` once the further bettors'
    stakes are taken too, or `surrender`. `won_on` counts the cards it won on.
    """

    number: int
    owner: str
    price: int
    shares: tuple[Share, ...]
    cards: tuple[Cell, ...] = ()
    word: str = ""
    won_on: int = 0
    live: bool = True

    def decided(self, word: str, shares: tuple[Share, ...], live: bool) -> Fighter:
        """The box after a decision."""
        return Fighter(
            self.number, self.owner, self.price, shares, self.cards, word, self.won_on, live
        )


@quick
@dataclass(frozen=True, slots=True)
class Hand:
    """A coup: all its cards lie face up. `chips` are those that can still be staked, of the players
    who can run out of them. `deciding`: the boxes that lost the comparison have the word."""

    setup: Setup
    fighters: tuple[Fighter, ...]
    chips: Mapping[str, int]
    dealer: tuple[Cell, ...] = ()
    deciding: bool = False


def settings(raw: reading.Raw) -> Settings:
    """The settings of a battle table; `SettingError` names the one at fault."""
    reading.only(raw, (*reading.LIMITS, "boxes", "bettors_per_box", "decks"))
    read = Settings(
        limits=reading.limits(raw),
        boxes=reading.whole(raw, "boxes", 7, high=_MOST_BOXES),
        bettors_per_box=reading.whole(raw, "bettors_per_box", 3, high=reading.MOST_BETTORS),
        decks=reading.whole(raw, "decks", 6, high=reading.MOST_DECKS),
    )
    if SHOE.burn + _MOST_CARDS * (read.boxes + 1) > len(DECK) * read.decks:
        raise SettingError(
            "boxes", "a coup on so many boxes may need more cards than the decks have"
        )
    return read


def decks(settings: Settings) -> int:
    """How many decks the shoe holds."""
    return settings.decks


def check_bets(settings: Settings, setup: Setup, complete: bool = True) -> None:
    """Raise the first reason, in the order of the hand script, why these bets cannot stand."""
    boxes.check_shape(setup, settings.boxes, settings.bettors_per_box)
    boxes.check_limits(setup, settings.limits, WAGERS, complete)
    boxes.check_chips(setup)


def start(settings: Settings, setup: Setup) -> Hand:
    """The coup as betting closes; raises what `check_bets` raises."""
    check_bets(settings, setup)
    return Hand(setup, tuple([_fighter(box) for box in setup.boxes]), boxes.chips_left(setup))


def _fighter(box: Box) -> Fighter:
    if len(box.bets) == 1:
        ((player, _, first),) = box.bets
        return Fighter(box.number, player, first, (Share(player, first, first),))
    firsts = {player: boxes.stake_of(box, player, WAGERS) for player in boxes.bettors(box)}
    shares = tuple(Share(player, first, first) for player, first in firsts.items())
    return Fighter(box.number, box.owner, firsts[box.owner], shares)


def next_step(hand: Hand) -> Step:
    """A card to every live box and the dealer, then the losers' decisions, round by round."""
    if hand.deciding:
        chips, due = hand.chips, []
        for fighter in hand.fighters:
            if fighter.live and not fighter.word:
                owner, price = fighter.owner, fighter.price
                can_fight = not chips or _has(chips, owner, price)
                due.append(_due(fighter.number, owner, price, can_fight))
        return Decisions("fight", tuple(due), True)  # BTL-05
    live = tuple([fighter.number for fighter in hand.fighters if fighter.live])
    return _round(live) if live else _settle(hand)


@lru_cache(maxsize=256)
def _round(live: tuple[int, ...]) -> Deal:
    """One card to every live box in order, one to the dealer (BTL-02)."""
    return Deal((*(Slot(f"box{number}", Face.UP) for number in live), Slot("dealer", Face.UP)))


@lru_cache(maxsize=256)
def _due(box: int, owner: str, price: int, can_fight: bool) -> Due:
    fight = (Option(_FIGHT, price=price),) if can_fight else ()
    return Due(box, owner, (*fight, Option(_SURRENDER)))


def _has(chips: Mapping[str, int], player: str, price: int) -> bool:
    return chips.get(player, price) >= price


def dealt(hand: Hand, cells: tuple[Cell, ...]) -> Hand:
    """Lay the round's cards and compare each live box with the dealer, the highest number first."""
    dealer = (*hand.dealer, cells[-1])
    count = len(dealer)
    dealers = _ranks(dealer)
    ace = dealers[0] == _ACE  # in this round: the coup does not outlive one (BTL-04)
    last = ace or count == _MOST_CARDS  # BTL-07
    chips, deciding = hand.chips, False
    fighters = list(hand.fighters)
    at, next_cell = len(fighters), len(cells) - 1
    for fighter in hand.fighters[::-1]:  # BTL-02
        at -= 1
        if not fighter.live:
            continue
        next_cell -= 1
        cards = (*fighter.cards, cells[next_cell])
        won_on, live = 0, not last
        if not ace and beats(_ranks(cards), dealers):
            won_on, live = count, False
            if chips:
                chips = _paid(chips, fighter.shares, won_on)
        elif live:
            deciding = True
        fighters[at] = Fighter(
            fighter.number, fighter.owner, fighter.price, fighter.shares, cards, "", won_on, live
        )
    return Hand(hand.setup, tuple(fighters), chips, dealer, deciding)


def _paid(chips: Mapping[str, int], shares: tuple[Share, ...], cards: int) -> Mapping[str, int]:
    """The chips after a win, paid at once so that they serve the player's other boxes (BTL-03)."""
    left = dict(chips)
    for share in shares:
        if share.fights and share.player in left:
            left[share.player] += _back(share, cards)
    return left


def _rank(cell: Cell) -> int:
    """BTL-01: only ranks count. Every card of a coup lies face up."""
    card = cell.card
    assert card is not None
    return card >> 2


def _ranks(cells: tuple[Cell, ...]) -> list[int]:
    if len(cells) == 1:
        return [_rank(cells[0])]
    return sorted([_rank(cell) for cell in cells], reverse=True)


def beats(box: list[int], dealer: list[int]) -> bool:
    """Whether a box's ranks, sorted from the top, win: the highest is higher than the dealer's and
    none of the others, pair by pair, is lower (BTL-03 for one card, BTL-06)."""
    if box[0] <= dealer[0]:
        return False
    return len(box) == 1 or all(map(ge, box, dealer))


def _back(share: Share, cards: int) -> int:
    """What a share gets back when its box wins on so many cards, the stakes included (BTL-08)."""
    return share.staked * (1 + ODDS[cards - 1])


def shown(hand: Hand, cells: tuple[Cell, ...]) -> NoReturn:
    """Never asked for: every card is dealt face up."""
    raise AssertionError("battle turns no cards")


def decide(hand: Hand, decision: Decision) -> Hand:
    """Take one box's `fight` or `surrender`; the next round begins when all have decided.

    Whatever the order of arrival, the further bettors' stakes are taken box by box in ascending
    order, so that a decision waits for those of lower boxes (BTL-05).
    """
    if not hand.deciding:
        raise RuleError("DECISION_NOT_DUE", "no decision is due", "box")
    box, do = decision.box, decision.do
    at = _undecided(hand, box)
    fighters = list(hand.fighters)
    fighter = fighters[at]
    owner, price, shares = fighter.owner, fighter.price, fighter.shares
    chips, fights = hand.chips, do == _FIGHT
    if fights:
        if owner in chips:
            if chips[owner] < price:
                raise RuleError("INSUFFICIENT_CHIPS", f"a fight costs {price} chips", "action")
            chips = _without(chips, owner, price)
        shares = _owner_added(shares, owner)
    elif do != _SURRENDER:
        raise RuleError("ILLEGAL_DECISION", f"{do!r} is not fight or surrender", "action")
    fighters[at] = Fighter(box, owner, price, shares, fighter.cards, do, 0, fights)
    chips, all_decided = _take_shares(fighters, chips)
    return Hand(hand.setup, tuple(fighters), chips, hand.dealer, not all_decided)


def _undecided(hand: Hand, box: int) -> int:
    for at, fighter in enumerate(hand.fighters):
        if fighter.number == box and fighter.live and not fighter.word:
            return at
    raise RuleError("NOT_YOUR_TURN", f"box {box} has nothing to decide", "box")


def _without(chips: Mapping[str, int], player: str, price: int) -> Mapping[str, int]:
    return {**chips, player: chips[player] - price} if player in chips else chips


def _added(share: Share) -> Share:
    """The share after a stake equal to the first was added (BTL-05)."""
    return Share(share.player, share.first, share.staked + share.first)


def _owner_added(shares: tuple[Share, ...], owner: str) -> tuple[Share, ...]:
    after = list(shares)
    for at, share in enumerate(after):
        if share.player == owner:
            after[at] = _added(share)
    return tuple(after)


def _take_shares(
    fighters: list[Fighter], chips: Mapping[str, int]
) -> tuple[Mapping[str, int], bool]:
    """Take the further bettors' stakes of the boxes up to the first that has not decided; who has
    no chips for his surrenders his share (BTL-05). Changes `fighters`; gives the chips left and
    whether all have decided."""
    for at, fighter in enumerate(fighters):
        if not fighter.live:
            continue
        if not fighter.word:
            return chips, False
        if len(fighter.shares) == 1 or fighter.word != _FIGHT:
            continue
        shares: list[Share] = []
        for share in fighter.shares:
            if share.player == fighter.owner or not share.fights:
                shares.append(share)
            elif _has(chips, share.player, share.first):
                chips = _without(chips, share.player, share.first)
                shares.append(_added(share))
            else:
                shares.append(Share(share.player, share.first, share.staked, fights=False))
        fighters[at] = fighter.decided(_FOUGHT, tuple(shares), True)
    return chips, True


def staying(hand: Hand, box: int) -> tuple[str, ...]:
    """Who still has a stake on the box, in the order of the first bets (TAB-06)."""
    shares = [fighter.shares for fighter in hand.fighters if fighter.number == box]
    return tuple([share.player for of_box in shares for share in of_box if share.fights])


def default(hand: Hand, box: int) -> Decision:
    """The clock surrenders: it stakes nothing more (TAB-06)."""
    return Decision(box, _SURRENDER)


def cells(hand: Hand) -> Mapping[str, tuple[Cell, ...]]:
    """The cards of the dealer and of each box, in the order they were dealt."""
    laid = {"dealer": hand.dealer}
    for fighter in hand.fighters:
        laid[f"box{fighter.number}"] = fighter.cards
    return laid


def staked(hand: Hand) -> Mapping[str, int]:
    """What each player has staked in the coup, fights included."""
    sums: dict[str, int] = {}
    for fighter in hand.fighters:
        for share in fighter.shares:
            sums[share.player] = sums.get(share.player, 0) + share.staked
    return sums


def paid(hand: Hand) -> Mapping[str, int]:
    """What each player has been paid in the coup so far, at once, his stakes on it included
    (BTL-03)."""
    sums: dict[str, int] = {}
    for fighter in hand.fighters:
        for share in fighter.shares:
            if fighter.won_on and share.fights:
                back = _back(share, fighter.won_on)
                sums[share.player] = sums.get(share.player, 0) + back
    return sums


def _settle(hand: Hand) -> Done:
    lines = []
    wins, surrendered = set(), False
    for fighter in hand.fighters:
        won_on = fighter.won_on
        if won_on:
            wins.add(won_on)
        elif fighter.word == _SURRENDER:
            surrendered = True
        for share in fighter.shares:
            back = _back(share, won_on) if won_on and share.fights else 0
            lines.append(Line(fighter.number, share.player, "stake", share.staked, back))
    return Done("settled", tuple(lines), clauses=_clauses(hand.dealer, wins, surrendered))


def _clauses(dealer: tuple[Cell, ...], wins: set[int], surrendered: bool) -> tuple[str, ...]:
    """The clauses that decided the coup, for people; `wins` are the numbers of cards won on."""
    clauses: list[str] = []
    if 1 in wins:
        clauses.append("BTL-03")
    if _rank(dealer[-1]) == _ACE:
        clauses.append("BTL-04")
    if surrendered:
        clauses.append("BTL-05")
    if wins and wins != {1}:
        clauses.append("BTL-06")
    if len(dealer) == _MOST_CARDS:
        clauses.append("BTL-07")
    if wins:
        clauses.append("BTL-08")
    return tuple(clauses)
