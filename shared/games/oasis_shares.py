"""A box of oasis poker and its bettors' shares: prices paid, insurance, and what comes back.

Amounts are minor units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shared.games.oasis_settings import Settings
from shared.games.payouts import share_cap, win
from shared.games.play import Box, Cell, Line, known
from shared.games.poker import ACE_KING, Strength, hand_name, strength
from shared.quick import quick

_BET = "bet"


@quick
@dataclass(frozen=True, slots=True)
class Share:
    """A bettor's part of a box: his first stakes, what he paid for an exchange, his insurance, and
    whether he is still `in_play` (a further bettor without chips folds his share, OAS-07)."""

    player: str
    ante: int
    bonus: int
    price: int = 0
    insurance: int = 0
    in_play: bool = True

    @property
    def bet(self) -> int:
        """OAS-07."""
        return 2 * self.ante

    def exchanging(self, price: int) -> Share:
        """The share once it has paid for an exchange (OAS-07)."""
        return Share(self.player, self.ante, self.bonus, price)


@quick
@dataclass(frozen=True, slots=True)
class Playing:
    """A box in a hand; the share at `owner_at` is its owner's. `word`: what was decided last, empty
    before; `looked`: the owner has seen the cards; `discards`: the places in the hand that an
    exchange gives new cards."""

    number: int
    owner_at: int
    blind: bool
    shares: tuple[Share, ...]
    cells: tuple[Cell, ...] = ()
    looked: bool = False
    word: str = ""
    discards: tuple[int, ...] = ()

    @property
    def owner(self) -> Share:
        """The share of the one who decides (TAB-02)."""
        return self.shares[self.owner_at]

    def holding(self, cells: tuple[Cell, ...], looked: bool) -> Playing:
        """The box with these cards. (Written out, as `decided`: `replace` costs a hand's time.)"""
        return Playing(
            self.number,
            self.owner_at,
            self.blind,
            self.shares,
            cells,
            looked,
            self.word,
            self.discards,
        )

    def decided(self, word: str, shares: tuple[Share, ...], discards: tuple[int, ...]) -> Playing:
        """The box after a decision."""
        return Playing(
            self.number, self.owner_at, self.blind, shares, self.cells, self.looked, word, discards
        )

    def strength(self) -> Strength | None:
        """The strength of the hand as it lies, `None` where a card of it was shown to nobody."""
        cards = known(self.cells)
        return strength(cards) if len(cards) == len(self.cells) > 0 else None


def playing(box: Box) -> Playing:
    """The box as betting closes."""
    if len(box.bets) == 1:
        ((player, _, ante),) = box.bets
        return Playing(box.number, 0, box.blind, (Share(player, ante, 0),))
    antes: dict[str, int] = {}
    bonuses: dict[str, int] = {}
    for player, wager, stake in box.bets:
        sums = antes if wager == "ante" else bonuses
        sums[player] = sums.get(player, 0) + stake
    owner_at = 0 if len(antes) == 1 else list(antes).index(box.owner)
    shares = [Share(player, ante, bonuses.get(player, 0)) for player, ante in antes.items()]
    return Playing(box.number, owner_at, box.blind, tuple(shares))


def caps(settings: Settings, box: Playing) -> Mapping[str, int]:
    """What each bettor still in play may win of ante and bet: the max payout shared by antes,
    rounded down, the odd units to the owner (OAS-12); nothing where the table has no max payout."""
    most = settings.limits.max_payout
    if most is None:
        return {}
    in_play = [share for share in box.shares if share.in_play]
    antes = sum(share.ante for share in in_play)
    parts = {
        share.player: most * share.ante // antes for share in in_play if share is not box.owner
    }
    parts[box.owner.player] = most - sum(parts.values())
    return parts


def insurance_limits(settings: Settings, box: Playing) -> dict[str, int]:
    """Each bettor's greatest insurance, where it is above zero (OAS-14). `box` is as it would be
    with the bet made; only an open box with a game in its hand may be insured."""
    own = box.strength() if box.looked else None
    if own is None or own < settings.insurance_from:
        return {}
    odds = settings.bet_table[hand_name(own)]
    parts = caps(settings, box)
    limits: dict[str, int] = {}
    for share in box.shares:
        if share.in_play:
            part = parts.get(share.player)
            bet_win = win(share.bet, odds)
            limit = bet_win if part is None else min(bet_win, part - share.ante)
            if limit > 0:
                limits[share.player] = limit
    return limits


def bonus_stands(box: Playing) -> bool:
    """Whether there is a bonus on the box that no exchange has lost (OAS-13)."""
    for share in box.shares:
        if share.bonus:
            return not box.discards
    return False


def lines(settings: Settings, box: Playing, dealer: Strength | None) -> list[Line]:
    """What became of the box's wagers, by bettor and wager. `dealer` is `None` where all folded and
    the dealer's cards stay down: then only a bonus can still win."""
    bets = box.word == _BET
    parts = caps(settings, box) if bets else {}
    own = box.strength() if bets or bonus_stands(box) else None
    made: list[Line] = []
    for share in box.shares:
        ante = bet = 0
        plays_on = bets and share.in_play
        if plays_on and own is not None and dealer is not None:
            ante, bet = _ante_and_bet(settings, share, own, dealer, parts.get(share.player))
        made.append(Line(box.number, share.player, "ante", share.ante, ante))
        if plays_on:
            made.append(Line(box.number, share.player, "bet", share.bet, bet))
        if share.bonus:
            back = _bonus(settings, share, own) if own is not None and not box.discards else 0
            made.append(Line(box.number, share.player, "bonus", share.bonus, back))
        if share.price:  # OAS-07: stays with the house
            made.append(Line(box.number, share.player, "exchange", share.price, 0))
        if share.insurance and own is not None and dealer is not None:
            back = _insurance(settings, share, own, dealer)
            made.append(Line(box.number, share.player, "insurance", share.insurance, back))
    return made


def _ante_and_bet(
    settings: Settings, share: Share, own: Strength, dealer: Strength, cap: int | None
) -> tuple[int, int]:
    """What comes back of ante and bet (OAS-10 to OAS-12)."""
    if dealer < ACE_KING:
        ante_win, bet_win = share.ante, 0
    elif own > dealer:
        ante_win, bet_win = share.ante, win(share.bet, settings.bet_table[hand_name(own)])
    elif own < dealer:
        return 0, 0
    else:
        ante_win, bet_win = 0, 0
    ante_win, bet_win = share_cap(cap, ante_win, bet_win)
    return share.ante + ante_win, share.bet + bet_win


def _bonus(settings: Settings, share: Share, own: Strength) -> int:
    """OAS-13: paid on the first five cards, whatever the dealer has."""
    odds = settings.bonus_table[hand_name(own)]
    return share.bonus + win(share.bonus, odds) if odds else 0


def _insurance(settings: Settings, share: Share, own: Strength, dealer: Strength) -> int:
    """OAS-14: 1:1 against a dealer who has no game."""
    if dealer < ACE_KING:
        return 2 * share.insurance
    beaten = settings.insurance_back_when_beaten and dealer >= own
    return share.insurance if beaten else 0
