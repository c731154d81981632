"""What the owner of a box of oasis poker may do, with its price and bounds, and who stakes with him
(OAS-07, OAS-14, OAS-15).

Everywhere `chips` are those that can still be staked, of the players who can run out of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from shared.games.oasis_settings import EXCHANGES, Settings, whole_prices
from shared.games.oasis_shares import Playing, Share, insurance_limits
from shared.games.play import Due, Option

Chips = Mapping[str, int]

LOOK = "look"
"""The word of an owner who looks at a box: no decision yet (OAS-05)."""
BET, FOLD, EXCHANGE = "bet", "fold", "exchange"

_LOOK_OPTION, _FOLD_OPTION = Option(LOOK), Option(FOLD)


def offer(settings: Settings, chips: Chips, box: Playing, words: tuple[str, ...], left: int) -> Due:
    """The options of these words, with `left` cards of the 52 to be had for an exchange."""
    owner = box.shares[box.owner_at]
    player, bet = owner.player, owner.bet
    can_bet = not chips or affords(chips, owner, bet)
    if not box.looked:
        return _unseen(box.number, player, bet, can_bet, LOOK in words)
    bets = (Option(BET, bet, insurance_max=_insurable(settings, chips, box)),) if can_bet else ()
    exchanges: tuple[Option, ...] = ()
    if EXCHANGE in words:
        priced = _priced(settings.prices, owner.ante, left)
        if chips:
            priced = tuple([each for each in priced if affords(chips, owner, each[1])])
        exchanges = _exchanges(priced)
    return Due(box.number, player, (*bets, _FOLD_OPTION, *exchanges))


@lru_cache(maxsize=1024)
def _unseen(number: int, player: str, bet: int, can_bet: bool, can_look: bool) -> Due:
    looks = (_LOOK_OPTION,) if can_look else ()
    bets = (Option(BET, bet),) if can_bet else ()
    return Due(number, player, (*looks, *bets, _FOLD_OPTION))


@lru_cache(maxsize=1024)
def _priced(
    prices: tuple[tuple[int, int], ...], ante: int, left: int
) -> tuple[tuple[int, int], ...]:
    """How many cards may be exchanged, as far as so many are left, and for how much."""
    priced = zip(EXCHANGES, whole_prices(prices, ante), strict=True)
    return tuple([(count, price) for count, price in priced if count <= left])


@lru_cache(maxsize=1024)
def _exchanges(priced: tuple[tuple[int, int], ...]) -> tuple[Option, ...]:
    if not priced:
        return ()
    counts, prices = zip(*priced, strict=True)
    return (Option(EXCHANGE, counts=counts, prices=prices),)


def affords(chips: Chips, share: Share, cost: int) -> bool:
    """Whether the share's bettor can pay so much more."""
    return chips.get(share.player, cost) >= cost


def _insurable(settings: Settings, chips: Chips, box: Playing) -> tuple[tuple[str, int], ...]:
    """The greatest insurance of each bettor if the box bets, as far as his chips go."""
    limits = insurance_limits(settings, betting(chips, box) if chips else box)
    if not limits:
        return ()
    if chips:
        for share in box.shares:
            if share.player in limits and share.player in chips:
                left = chips[share.player] - share.bet
                limits[share.player] = min(limits[share.player], left)
    return tuple([(player, limit) for player, limit in limits.items() if limit > 0])


def betting(chips: Chips, box: Playing) -> Playing:
    """The box with its bets made."""
    costs = {share.player: share.bet for share in box.shares} if chips else {}
    return box.decided(BET, paying(chips, box, costs), box.discards)


def paying(chips: Chips, box: Playing, costs: Mapping[str, int]) -> tuple[Share, ...]:
    """The shares of those who pay: a further bettor who cannot folds his (OAS-07)."""
    if not chips:
        return box.shares
    return tuple(
        [
            share
            if share is box.owner or affords(chips, share, costs[share.player])
            else replace(share, in_play=False)
            for share in box.shares
        ]
    )
