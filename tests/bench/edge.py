"""All figures of `croupier edge` against the reference, then against hands played by the same
rules: `make edge`, a few minutes. Exits with 1 where they disagree.

Played hands are few and their cards always the same: a disagreement is one that stays.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from math import sqrt
from pathlib import Path
from random import Random
from typing import Any

from shared.cards import DECK
from shared.edge import holdem
from shared.edge.answer import figures
from shared.edge.choices import Choose
from shared.edge.simulation import play
from shared.games import battle, casino_holdem, oasis_poker
from shared.games.play import Box, Decision, Due, Game, Setup, known
from shared.games.poker import ACE_KING, LEAST, strength

FIGURES: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "figures.json").read_text()
)
STAKE = 100
PLAYED = 60_000
DEVIATIONS = 4.0


def reference() -> dict[tuple[str, str, str | None], str]:
    """What the figures should be, to all digits that are given."""
    baccarat = FIGURES["baccarat"]["house_edge_before_rounding"]
    oasis = FIGURES["oasis_poker"]
    known_: dict[tuple[str, str, str | None], str] = {
        ("baccarat", wager, None): f"{-edge:.9f}" for wager, edge in baccarat.items()
    }
    for strategy in ("always_fight", "best_play"):
        known_["battle", "stake", strategy] = f"{FIGURES['battle'][strategy]:.8f}"
    known_["battle", "stake", "never_fight"] = f"{float(Fraction(-23, 311)):.8f}"
    for strategy in ("always_bet", "best_play"):
        value = FIGURES["casino_holdem"][strategy]
        known_["casino_holdem", "ante", strategy] = f"{value:.8f}"
    for strategy, value in oasis["without_exchange"].items():
        known_["oasis_poker", "ante", strategy] = f"{value:.5f}"
    known_["oasis_poker", "bonus", None] = f"{oasis['bonus_default_table']:.5f}"
    return known_


def mean(rules: Game, choose: Choose) -> tuple[float, float]:
    """What a box won per unit of its first stake over `PLAYED` hands, and its standard error."""
    settings = rules.settings({})
    setup = Setup((Box(1, "player", (("player", rules.WAGERS[0], STAKE),)),))
    random = Random(rules.NAME)
    deck = list(DECK) * rules.decks(settings)
    won = []
    for _ in range(PLAYED):
        cards = random.sample(deck, 40)
        done = play(rules, settings, setup, cards, choose)
        won.append(sum(line.returned - line.stake for line in done.lines) / STAKE)
    average = sum(won) / PLAYED
    variance = sum((each - average) ** 2 for each in won) / (PLAYED - 1)
    return average, sqrt(variance / PLAYED)


def says(word: str, hand: Any, due: Due) -> Decision:
    """Always the same."""
    return Decision(due.box, word)


def bets_from(least: int, hand: oasis_poker.Hand, due: Due) -> Decision:
    """Oasis: looks, then bets on what is strong enough."""
    if due.options[0].do == "look":
        return Decision(due.box, "look")
    own = strength(known(hand.boxes[0].cells))
    return Decision(due.box, "bet" if own >= least else "fold")


def bets_by(sums: holdem.Sums, hand: casino_holdem.Hand, due: Due) -> Decision:
    """Hold'em: bets where a bet is worth more than the ante."""
    worth = sums.of_bet(known(hand.boxes[0]), known(hand.board))
    return Decision(due.box, "bet" if worth > -STAKE * holdem.WAYS else "fold")


def main() -> int:
    """Prints the figures and what disagrees."""
    wrong = 0
    exact: dict[tuple[str, str, str | None], float] = {}
    expected = reference()
    for name in ("baccarat", "battle", "casino_holdem", "oasis_poker"):
        for figure in figures(name, {}, None, 20_000, lambda work, done, of: None):
            key = (name, figure.wager, figure.strategy)
            exact[key] = float(figure.value)
            if key not in expected:
                print(f"{name:14}{figure.wager:8}{figure.strategy or '':26}{figure.value:+.5f}")
                continue
            digits = len(expected[key].partition(".")[2])
            agrees = f"{float(figure.value):.{digits}f}" == expected[key]
            wrong += not agrees
            words = f"{name:14}{figure.wager:8}{figure.strategy or '':26}"
            print(f"{words}{float(figure.value):+.9f}  {'as' if agrees else 'NOT'} {expected[key]}")
    sums = holdem.count({}, STAKE, lambda work, done, of: None)
    folds = float(holdem.values(sums, STAKE)[2])
    agrees = f"{folds:.6f}" == str(FIGURES["casino_holdem"]["best_play_fold_share"])
    wrong += not agrees
    print(f"casino_holdem best_play folds {folds:.6f}  {'as given' if agrees else 'NOT as given'}")
    played: Mapping[tuple[str, str, str], tuple[Game, Choose]] = {
        ("battle", "stake", "never_fight"): (battle, partial(says, "surrender")),
        ("battle", "stake", "always_fight"): (battle, partial(says, "fight")),
        ("casino_holdem", "ante", "always_bet"): (casino_holdem, partial(says, "bet")),
        ("casino_holdem", "ante", "best_play"): (casino_holdem, partial(bets_by, sums)),
        ("oasis_poker", "ante", "bet_everything"): (oasis_poker, partial(bets_from, 1)),
        ("oasis_poker", "ante", "bet_any_pair_or_better"): (
            oasis_poker,
            partial(bets_from, LEAST["pair"]),
        ),
        ("oasis_poker", "ante", "bet_ace_king_or_better"): (
            oasis_poker,
            partial(bets_from, ACE_KING),
        ),
    }
    for (name, wager, strategy), (rules, choose) in played.items():
        average, error = mean(rules, choose)
        off = (average - exact[name, wager, strategy]) / error
        wrong += abs(off) > DEVIATIONS
        print(
            f"{name:14}{strategy:26}played {average:+.4f} ± {error:.4f}: {off:+.1f} deviations off"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
