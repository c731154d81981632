"""What every wager of a game is worth under the strategies there are for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import perm
from typing import Any

from shared.cards import DECK
from shared.edge import baccarat as count_baccarat
from shared.edge import battle as count_battle
from shared.edge import holdem as count_holdem
from shared.edge import oasis as count_oasis
from shared.edge.cores import spread
from shared.edge.figure import Figure, Report
from shared.edge.oasis_sight import DEALERS as SIGHT_DEALERS
from shared.edge.oasis_sight import SIGHTS, best_play
from shared.edge.simulation import CHOICES, PLAYERS, simulate
from shared.edge.stake import first_stake
from shared.errors import SettingError
from shared.games import baccarat, battle, casino_holdem, draw_poker, oasis_poker
from shared.games.draw_settings import Settings as DrawSettings
from shared.games.oasis_settings import Settings as OasisSettings
from shared.games.registry import game

HANDS = 400_000
"""Played where nothing is counted, if nobody says how many."""

STRATEGIES: Mapping[str, tuple[str, ...]] = {
    baccarat.NAME: (),
    battle.NAME: tuple(count_battle.PLANS),
    casino_holdem.NAME: ("always_bet", "best_play"),
    oasis_poker.NAME: (*count_oasis.BET_FROM, "best_play", *CHOICES[oasis_poker.NAME]),
    draw_poker.NAME: tuple(CHOICES[draw_poker.NAME]),
}
"""The strategies of each game by name; baccarat leaves nothing to decide."""


def figures(
    name: str, raw: dict[str, Any], strategy: str | None, hands: int, report: Report
) -> list[Figure]:
    """The figures of the game `name` under the settings `raw` of the hand script (TAB-11) and one
    strategy, or all. `hands` are played where counting all would take too long.

    `SettingError` names the setting at fault, or `game` or `strategy`.
    """
    settings = game(name).settings(raw)
    chosen = STRATEGIES[name] if strategy is None else (strategy,)
    for each in chosen:
        if each not in STRATEGIES[name]:
            known = ", ".join(STRATEGIES[name]) or "none: there is nothing to decide"
            raise SettingError("strategy", f"strategies of {name} are {known}")
    match name:
        case baccarat.NAME:
            return _baccarat(settings, report)
        case battle.NAME:
            return _battle(settings, chosen, report)
        case casino_holdem.NAME:
            return _holdem(settings, raw, chosen, report)
        case oasis_poker.NAME:
            return _oasis(settings, raw, chosen, hands, report)
    return _draw(settings, raw, chosen, hands, report)


def _baccarat(settings: baccarat.Settings, report: Report) -> list[Figure]:
    report("all coups", 0, 1)
    values = count_baccarat.values(settings)
    report("all coups", 1, 1)
    orders = count_baccarat.orders(settings)
    return [Figure(baccarat.NAME, wager, None, value, orders) for wager, value in values.items()]


def _battle(settings: battle.Settings, chosen: Iterable[str], report: Report) -> list[Figure]:
    parts = [(settings.decks, strategy) for strategy in chosen]
    report("all coups", 0, len(parts))
    values: dict[str, Fraction] = {}
    for strategy, value in spread(_battle_value, parts):
        values[strategy] = value
        report("all coups", len(values), len(parts))
    orders = perm(len(DECK) * settings.decks, 2 * len(battle.ODDS))
    wager = battle.WAGERS[0]
    return [Figure(battle.NAME, wager, each, values[each], orders) for each in chosen]


def _battle_value(part: tuple[int, str]) -> tuple[str, Fraction]:
    decks, strategy = part
    return strategy, count_battle.value(decks, strategy)


# ---- Casino Hold'em


def _holdem(
    settings: casino_holdem.Settings, raw: dict[str, Any], chosen: Iterable[str], report: Report
) -> list[Figure]:
    ante = first_stake(settings.limits, (), settings.ante_table.values())
    always, best, _ = count_holdem.values(count_holdem.count(raw, ante, report), ante)
    values = {"always_bet": always, "best_play": best}
    hands = count_holdem.SIGHTS * count_holdem.WAYS
    wager = casino_holdem.WAGERS[0]
    return [Figure(casino_holdem.NAME, wager, each, values[each], hands) for each in chosen]


# ---- Oasis and draw poker


def _oasis(
    settings: OasisSettings,
    raw: dict[str, Any],
    chosen: Iterable[str],
    hands: int,
    report: Report,
) -> list[Figure]:
    name = oasis_poker.NAME
    ante, bonus = oasis_poker.WAGERS
    prices = [Fraction(*price) for price in settings.prices]
    stake = first_stake(settings.limits, prices, settings.bet_table.values())
    counted = [each for each in chosen if each in count_oasis.BET_FROM]
    values = count_oasis.values(settings, stake, counted) if counted else {}
    all_pairs = count_oasis.HANDS * count_oasis.DEALERS
    made: list[Figure] = []
    for strategy in chosen:
        if strategy in values:
            made.append(Figure(name, ante, strategy, values[strategy], all_pairs))
        elif strategy == "best_play":
            report("all sights", 0, 1)
            best = best_play(settings, stake)
            report("all sights", 1, 1)
            made.append(Figure(name, ante, strategy, best, SIGHTS * SIGHT_DEALERS))
        else:
            made.append(_simulated(name, ante, raw, strategy, stake, stake, hands, report))
    # The bonus has no strategy: it is held to the end, an exchange would lose it (OAS-13).
    worth = count_oasis.bonus(settings)
    return [*made, Figure(name, bonus, None, worth, count_oasis.HANDS)]


def _draw(
    settings: DrawSettings,
    raw: dict[str, Any],
    chosen: Iterable[str],
    hands: int,
    report: Report,
) -> list[Figure]:
    """What the players win together, by player: without a rake nothing, whatever they do."""
    name, wager = draw_poker.NAME, "ante"
    if not settings.rake.percent:
        return [Figure(name, wager, each, Fraction(0), 0) for each in chosen]
    ante = 100
    return [
        _simulated(name, wager, raw, each, ante, ante * PLAYERS, hands, report) for each in chosen
    ]


def _simulated(
    name: str,
    wager: str,
    raw: dict[str, Any],
    strategy: str,
    stake: int,
    staked: int,
    hands: int,
    report: Report,
) -> Figure:
    result = simulate(name, raw, strategy, stake, hands, report)
    within = result.within() / staked
    return Figure(name, wager, strategy, result.mean() / staked, result.count, within)
