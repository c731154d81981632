"""Whether an input about the shoe may happen: offers, seeds, the cut, the seal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shared.errors import RuleError
from shared.table import events as e
from shared.table.checks_seats import in_time, seated
from shared.table.state import Shoe, TableState

MOST_SEEDS = 32
SEED_BYTES = range(16, 65)
COMMITMENT_BYTES = 32


def _in_use(state: TableState, shoe_id: str) -> Shoe:
    if state.shoe is None or state.shoe.shoe_id != shoe_id:
        raise RuleError("SHOE_NOT_FOUND", "that shoe is not in use here", "shoe_id")
    return state.shoe


def _known(state: TableState, shoe_id: str) -> Shoe:
    for shoe in (state.shoe, state.next_shoe):
        if shoe is not None and shoe.shoe_id == shoe_id:
            return shoe
    raise RuleError("SHOE_NOT_FOUND", "that shoe is neither in use here nor the next", "shoe_id")


def _shoe_offered(state: TableState, fact: e.ShoeOffered) -> None:
    if _known(state, fact.shoe_id).offered:
        raise RuleError("SHOE_EXISTS", "the shoe has been offered", "shoe_id")


def _seed_pledged(state: TableState, fact: e.SeedPledged) -> None:
    seated(state, fact.player)
    shoe = _known(state, fact.shoe_id)
    if len(fact.commitment) != COMMITMENT_BYTES:
        raise RuleError("SEED_REFUSED", "a commitment is 32 bytes", "commitment")
    if not shoe.offered or shoe.cut_offered:
        raise RuleError("SEED_REFUSED", "the shoe takes no seeds now", "shoe_id")
    if any(player == fact.player for player, _ in shoe.pledges):
        raise RuleError("SEED_REFUSED", "one seed a player and shoe", "commitment")
    if len(shoe.pledges) >= MOST_SEEDS:
        raise RuleError("SEED_REFUSED", f"{MOST_SEEDS} seeds a shoe at most", "commitment")


def _seed_revealed(state: TableState, fact: e.SeedRevealed) -> None:
    shoe = state.shoe
    if shoe is None or not shoe.cut_recorded or shoe.seeds_over:
        raise RuleError("SEED_REFUSED", "no seeds are asked for now", "seed")
    in_time(state, "seeds", fact.at, "SEED_REFUSED")
    if not any(player == fact.player for player, _ in shoe.pledges):
        raise RuleError("SEED_REFUSED", "you have pledged no seed", "seed")
    if any(player == fact.player for player, _ in shoe.reveals):
        raise RuleError("SEED_REFUSED", "your seed is here already", "seed")
    if len(fact.seed) not in SEED_BYTES:
        raise RuleError("SEED_REFUSED", "a seed is 16 to 64 bytes", "seed")


def _cut_chosen(state: TableState, fact: e.CutChosen) -> None:
    shoe = state.shoe
    if shoe is None or not shoe.cut_deadline or shoe.cut_player != fact.player:
        raise RuleError("CUT_NOT_OFFERED", "the cut is not offered to you", "place")
    in_time(state, "cut", fact.at, "CUT_NOT_OFFERED")
    size = state.table.decks * 52
    if fact.place and not state.table.shoe_rules.cut_allowed(fact.place, size):  # TAB-09
        low, high = state.table.shoe_rules.cut_range(size)
        raise RuleError("CUT_TOO_NEAR_EDGE", f"cut between {low} and {high}", "place")


def _cut_recorded(state: TableState, fact: e.CutRecorded) -> None:
    shoe = _in_use(state, fact.shoe_id)
    if not shoe.cut_decided or shoe.cut_recorded:
        raise RuleError("SHOE_NOT_CUT", "no cut waits to be recorded", "shoe_id")


def _shoe_ready(state: TableState, fact: e.ShoeReady) -> None:
    shoe = _in_use(state, fact.shoe_id)
    if shoe.sealed or not shoe.cut_decided:
        raise RuleError("SHOE_SEALED", "the shoe does not wait to be sealed", "shoe_id")


def _shoe_put_away(state: TableState, fact: e.ShoePutAway) -> None:
    if not any(shoe_id == fact.shoe_id for shoe_id, _, _ in state.putting_away):
        raise RuleError("SHOE_NOT_FOUND", "that shoe is not being put away", "shoe_id")


CHECK: Mapping[type[Any], Callable[[TableState, Any], None]] = {
    e.ShoeOffered: _shoe_offered,
    e.SeedPledged: _seed_pledged,
    e.SeedRevealed: _seed_revealed,
    e.CutChosen: _cut_chosen,
    e.CutRecorded: _cut_recorded,
    e.ShoeReady: _shoe_ready,
    e.ShoePutAway: _shoe_put_away,
}
