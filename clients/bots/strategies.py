"""How a bot plays each game: sensibly, by rules of thumb, from the options that its view holds.

A strategy says the next bet (`None`: no more in this hand) and answers a decision that is due. It
never says what the view does not offer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Protocol

from croupier.table.v1.table_pb2 import Command, Option

from clients.api import commands
from clients.api.sight import Sight
from clients.bots.hand_reading import (
    ACE,
    Made,
    four_to_a_flush,
    four_to_a_straight,
    has_ace_king,
    made,
    matched,
)
from shared.cards import Card

_FULL_SHARE = 40
"""A first stake is a fortieth of the free chips at most, so that there is enough to go on with."""


class Strategy(Protocol):
    """How to play one game."""

    def bet(self, sight: Sight) -> Command | None:
        """The next bet, `None` when there is none to make."""
        ...

    def decide(self, sight: Sight, due: Sequence[Option]) -> Command | None:
        """One of the decisions that are `due`; `None` to wait."""
        ...


class Baccarat:
    """Banker and player about evenly, a small tie now and then."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def bet(self, sight: Sight) -> Command | None:
        staked = sight.staked()
        if staked:
            if sight.staked("tie") or self._random.random() > 0.1:
                return None
            return _stake(sight, self._random, "tie")
        return _stake(sight, self._random, self._random.choice(("player", "banker")))

    def decide(self, sight: Sight, due: Sequence[Option]) -> Command | None:
        return None


class OneBox:
    """A first stake on one box a hand; what follows is the game's own."""

    def __init__(self, wager: str, random: Random) -> None:
        self._wager = wager
        self._random = random

    def bet(self, sight: Sight) -> Command | None:
        return None if sight.staked() else _stake(sight, self._random, self._wager)


class Battle(OneBox):
    """Fights while the next card wins often enough, as if it were the last."""

    def __init__(self, random: Random) -> None:
        super().__init__("stake", random)

    def decide(self, sight: Sight, due: Sequence[Option]) -> Command | None:
        box = due[0].box
        mine, dealers = sight.cards(f"box{box}"), sight.cards("dealer")
        cards_next = len(mine) + 1
        odds = {4: 2, 5: 3}.get(cards_next, 1)
        # Fighting stakes one more and gets (odds + 1) times all of it with this chance.
        worth_it = _chance_to_win(mine, dealers) * (odds + 1) * cards_next > 1
        return _first(due, "fight" if worth_it else "surrender", "surrender")


class CasinoHoldem(OneBox):
    """Folds little: low cards without a pair or a draw."""

    def __init__(self, random: Random) -> None:
        super().__init__("ante", random)

    def decide(self, sight: Sight, due: Sequence[Option]) -> Command | None:
        hole = sight.cards(f"box{due[0].box}")
        cards = hole + sight.cards("board")
        high = max((card.rank for card in hole), default=0)
        good = (
            made(cards) > Made.HIGH_CARD
            or high >= ACE - 1
            or bool(four_to_a_flush(cards))
            or bool(four_to_a_straight(cards))
            or (high == ACE - 2 and min(card.rank for card in hole) >= 4)
        )
        return _first(due, "bet" if good else "fold", "fold")


class OasisPoker(OneBox):
    """Bets on a pair or better and on ace-king with help, exchanges one card of a good draw."""

    def __init__(self, random: Random) -> None:
        super().__init__("ante", random)

    def decide(self, sight: Sight, due: Sequence[Option]) -> Command | None:
        by_word = {option.word: option for option in due}
        if "look" in by_word:
            return commands.decide(by_word["look"].box, "look")
        box = due[0].box
        placed = sight.placed_cards(f"box{box}")
        cards = [card for _, card in placed]
        dealer = sight.cards("dealer")
        if made(cards) >= Made.PAIR:
            return _first(due, "bet", "fold")
        exchange = by_word.get("exchange")
        if exchange is not None and 1 in exchange.counts:
            keep = four_to_a_flush(cards) or four_to_a_straight(cards)
            drop = [position for position, card in placed if keep and card not in keep]
            if len(drop) == 1:
                return commands.decide(box, "exchange", positions=drop)
        helped = any(card.rank == seen.rank for card in cards for seen in dealer)
        final = exchange is None
        good = has_ace_king(cards) and (helped or final)
        return _first(due, "bet" if good else "fold", "fold")


class DrawPoker(OneBox):
    """Bets a good pair or better, calls with a pair, draws to what it has."""

    def __init__(self, random: Random) -> None:
        super().__init__("entry", random)

    def decide(self, sight: Sight, due: Sequence[Option]) -> Command | None:
        by_word = {option.word: option for option in due}
        if "keep" in by_word:  # A card was exposed by mistake: it is his choice (TAB-08).
            return commands.decide(due[0].box, "keep")
        box = due[0].box
        placed = sight.placed_cards(f"box{box}")
        cards = [card for _, card in placed]
        if "exchange" in by_word:
            return _draw(box, placed, by_word["exchange"])
        holds = made(cards)
        pair = max((card.rank for card in matched(cards)), default=0)
        strong = holds >= Made.TWO_PAIR or (holds == Made.PAIR and pair >= ACE - 3)
        if strong:
            for word in ("raise", "bet") if self._random.random() < 0.3 else ("bet",):
                if word in by_word:
                    least = by_word[word].minimum
                    return commands.decide(box, word, amount=sight.money(least))
        words = ("call", "check", "fold") if holds >= Made.PAIR else ("check", "fold")
        return _first(due, *words)


STRATEGIES: Mapping[str, Callable[[Random], Strategy]] = {
    "baccarat": Baccarat,
    "battle": Battle,
    "casino_holdem": CasinoHoldem,
    "oasis_poker": OasisPoker,
    "draw_poker": DrawPoker,
}
"""A strategy for each game, by the game's name; made with the dice it throws."""


def _stake(sight: Sight, random: Random, wager: str) -> Command | None:
    """A stake on the wager, where it is offered."""
    offered = sight.options("place_bet", wager)
    if not offered:
        return None
    own_box = sight.free_box()
    option = next((one for one in offered if one.box in (0, own_box)), offered[0])
    most = max(option.minimum, min(option.maximum, sight.you.free_chips.minor_units // _FULL_SHARE))
    wanted = random.randint(option.minimum, most)
    return sight.bet(option, round_stake(wanted, option.minimum, most))


def round_stake(wanted: int, minimum: int, maximum: int) -> int:
    """A stake near `wanted` within the bounds, in whole units where there is room for one.

    Tables refuse stakes of which a commission or price is no whole minor unit; multiples of 100,
    else of 20 or 5, suit the usual percentages and prices.
    """
    for step in (100, 20, 5, 1):
        lowest = -(-minimum // step) * step
        highest = maximum // step * step
        if 0 < lowest <= highest:
            return max(lowest, min(highest, wanted // step * step))
    return minimum


def _first(due: Sequence[Option], *words: str) -> Command | None:
    """The first of the words that is offered for the first box due."""
    offered = {option.word for option in due if option.box == due[0].box}
    for word in words:
        if word in offered:
            return commands.decide(due[0].box, word)
    return None


def _draw(box: int, placed: Sequence[tuple[int, Card]], exchange: Option) -> Command:
    """Keeps what belongs together, four to a straight or flush, else the two highest cards."""
    cards = [card for _, card in placed]
    if made(cards) >= Made.STRAIGHT:
        keep = cards
    else:
        keep = matched(cards) or four_to_a_flush(cards) or four_to_a_straight(cards)
        keep = keep or sorted(cards, key=lambda card: card.rank)[-2:]
    drop = [position for position, card in placed if card not in keep]
    most = max(exchange.counts, default=0)
    return commands.decide(box, "exchange", positions=drop[:most])


def _chance_to_win(mine: Sequence[Card], dealers: Sequence[Card]) -> float:
    """The chance that the next two cards win a fight at once, ranks taken as equally likely."""
    wins = 0
    for my_next in range(13):
        # The dealer's ace loses at once (BTL-04).
        for dealers_next in range(12):
            ours = sorted([card.rank for card in mine] + [my_next], reverse=True)
            theirs = sorted([card.rank for card in dealers] + [dealers_next], reverse=True)
            wins += ours[0] > theirs[0] and all(a >= b for a, b in zip(ours, theirs, strict=False))
    return wins / 169
