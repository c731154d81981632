"""Draw poker, clause by clause: the pots, won, split or carried (DRW-07, DRW-10, DRW-11)."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.games import draw_poker
from shared.games.draw_entries import entries, in_proportion
from shared.games.draw_pots import Rake, showdown, uncontested
from shared.games.play import Box, Setup
from tests.spec.hands import Live
from tests.spec.poker_hands import draw, fault, passes, put, won

ACES = "Ac Ad 7h 5c 3c"
KINGS = "Kc Kd 7d 5d 3d"
QUEENS = "Qc Qd 7s 5h 3h"
JACKS = "Jc Jd 8c 5s 3s"
SIDE = {"all_in": "side_pots"}
STAND = "1 exchange, 2 exchange"
NO_RAKE = Rake(Fraction(0), None)


@pytest.mark.parametrize(
    ("unplayed", "result", "entry"),
    [
        ("all_check", "carried", "half_pot"),
        ("tie", "showdown", None),
        ("both", "carried", "half_pot"),
    ],
)
def test_DRW_10_nobody_bets_after_the_exchange(
    unplayed: str, result: str, entry: str | None
) -> None:
    rules = {"unplayed_after_exchange": unplayed}
    decisions = f"1 bet 10, 2 call, {STAND}, 1 check, 2 check"
    played = draw({1: 100, 2: 100}, decisions, [ACES, KINGS], rules=rules, carried_pot=5)
    assert (played["result"], played["next_entry"]) == (result, entry)
    assert played["carried_pot"] == (45 if entry else 0)


TIED = ["Ac Kd 9h 5c 3c", "Ah Kc 9d 5d 3d"]


@pytest.mark.parametrize("unplayed", ["all_check", "tie", "both"])
def test_DRW_10_a_tied_showdown(unplayed: str) -> None:
    rules = {"unplayed_after_exchange": unplayed}
    decisions = f"1 bet 10, 2 call, {STAND}, 1 bet 10, 2 call"
    played = draw({1: 100, 2: 100}, decisions, TIED, rules=rules, carried_pot=5)
    if unplayed == "all_check":
        assert (played["result"], played["next_entry"]) == ("showdown", None)
        assert won(played) == {"p1": 33, "p2": 32}
    else:
        assert (played["result"], played["next_entry"]) == ("carried", "half_pot")
        assert won(played) == {"p1": 0, "p2": 0}
        assert played["carried_pot"] == 65


@pytest.mark.parametrize(("pot", "half"), [(100, 50), (101, 51), (1, 1)])
def test_DRW_10_half_the_pot_rounded_up_is_the_entry(pot: int, half: int) -> None:
    result = draw({1: 100, 2: 100}, "1 bet 10, 2 fold", entry="half_pot", carried_pot=pot)
    assert put(result) == {"p1": half + 10, "p2": half}
    assert won(result) == {"p1": 2 * half + 10 + pot, "p2": 0}


def test_DRW_10_who_pays_the_half_pot_is_a_setting() -> None:
    players = {1: "ann", 2: "bob", 4: "cid"}
    everyone = draw_poker.settings({})
    assert entries(everyone, 10, 101, "half_pot", players, ["ann"]) == {1: 51, 2: 51, 4: 51}
    newcomers = draw_poker.settings({"half_pot_paid_by": "newcomers"})
    assert entries(newcomers, 10, 101, "half_pot", players, ["ann"]) == {1: 0, 2: 51, 4: 51}
    assert entries(newcomers, 10, 101, None, players, ["ann"]) == {1: 10, 2: 10, 4: 10}


def test_DRW_10_a_seats_own_entry_replaces_the_common_one() -> None:
    result = draw({1: (100, 0), 2: 100}, "1 bet 10, 2 fold", entry="half_pot", carried_pot=101)
    assert put(result) == {"p1": 10, "p2": 51}
    poor = draw({1: (100, 0), 2: 50}, "", entry="half_pot", carried_pot=101)
    assert fault(poor) == ("INSUFFICIENT_CHIPS", None)
    assert draw({1: (0, 0), 2: (9, 0)}, STAND)["result"] == "showdown"


def test_DRW_10_the_pot_goes_back_in_proportion() -> None:
    assert in_proportion(100, {"ann": 60, "bob": 30, "cid": 10}) == {
        "ann": 60,
        "bob": 30,
        "cid": 10,
    }
    assert in_proportion(11, {"ann": 10, "bob": 10, "cid": 10}) == {"ann": 4, "bob": 4, "cid": 3}


# ---- The showdown


def test_DRW_11_one_pot_for_each_distinct_amount() -> None:
    decisions = "1 bet 90, 2 call, 3 call, 4 call, 1 exchange, 2 exchange, 3 exchange, 4 exchange"
    hands = [QUEENS, JACKS, KINGS, ACES]
    result = draw({1: 100, 2: 100, 3: 60, 4: 30}, decisions, hands, rules=SIDE, carried_pot=7)
    # 30 of each and the carried pot to box 4, 30 more of three to box 3, the last 40 to box 1.
    assert won(result) == {"p1": 80, "p2": 0, "p3": 90, "p4": 127}


def test_DRW_11_what_nobody_could_match_returns() -> None:
    result = draw({1: 100, 2: 40}, f"1 bet 90, 2 call, {STAND}", [KINGS, ACES], rules=SIDE)
    assert won(result) == {"p1": 60, "p2": 80}


def test_DRW_11_folded_chips_stay_in_the_pots() -> None:
    decisions = "1 bet 10, 2 raise 30, 3 call, 1 fold, 2 exchange, 3 exchange"
    result = draw({1: 100, 2: 100, 3: 25}, decisions, [QUEENS, KINGS, ACES], rules=SIDE)
    assert put(result) == {"p1": 20, "p2": 40, "p3": 25}
    assert won(result) == {"p1": 0, "p2": 15, "p3": 70}


def test_DRW_11_what_nobody_could_match_returns_to_one_who_folded_as_well() -> None:
    # A newcomer pays half of 101 and folds to a bet of 10; the others put in 20 each.
    decisions = "1 bet 10, 2 fold, 3 call, 1 exchange, 3 exchange, 1 bet 10, 3 call"
    result = draw(
        {1: (100, 0), 2: 100, 3: (100, 0)},
        decisions,
        [KINGS, QUEENS, ACES],
        entry="half_pot",
        carried_pot=101,
    )
    assert put(result) == {"p1": 20, "p2": 51, "p3": 20}
    assert won(result) == {"p1": 0, "p2": 31, "p3": 161}


def test_DRW_11_what_only_folded_players_put_in_is_dead_money() -> None:
    result = showdown([10, 40, 60, 10], {0: 9, 3: 5}, 0, NO_RAKE, ties_carry=False)
    assert result.won == (100, 0, 20, 0)


def test_DRW_11_who_paid_nothing_plays_for_the_carried_pot_alone() -> None:
    seats = {1: (10, 0), 2: (51, 51), 3: (51, 51)}
    decisions = "1 exchange, 2 exchange, 3 exchange"
    best_first = draw(seats, decisions, [ACES, QUEENS, KINGS], entry="half_pot", carried_pot=101)
    assert won(best_first) == {"p1": 101, "p2": 0, "p3": 102}
    best_last = draw(seats, decisions, [KINGS, QUEENS, ACES], entry="half_pot", carried_pot=101)
    assert won(best_last) == {"p1": 0, "p2": 0, "p3": 203}


def test_DRW_11_odd_units_of_each_pot_one_each_to_the_lowest_boxes() -> None:
    tie = dict.fromkeys((0, 1, 2), 5)
    assert showdown([10, 10, 10], tie, 2, NO_RAKE, ties_carry=False).won == (11, 11, 10)
    side = showdown([10, 20, 20], {**tie, 0: 4}, 1, NO_RAKE, ties_carry=False)
    assert side.won == (0, 26, 25)
    # Two pots, of 28 and of 7, each with an odd unit of its own.
    both = showdown([7, 10, 10, 8], tie, 0, NO_RAKE, ties_carry=False)
    assert both.won == (10, 13, 12, 0)


def test_DRW_03_the_winners_are_those_of_the_lowest_pot() -> None:
    result = showdown([10, 30, 30], {0: 9, 1: 7, 2: 8}, 0, NO_RAKE, ties_carry=False)
    assert (result.won, result.winners) == ((30, 0, 40), (0,))
    tie = showdown([10, 10, 10], {0: 7, 1: 9, 2: 9}, 0, NO_RAKE, ties_carry=False)
    assert tie.winners == (1, 2)


def test_DRW_03_the_result_names_the_winners_boxes() -> None:
    boxes = (2, 3, 5)
    setup = Setup(
        tuple(Box(number, f"p{number}", ()) for number in boxes),
        {f"p{number}": 10 for number in boxes},
        ante=10,
        first=3,
    )
    played = Live(draw_poker, {}, setup, passes(TIED[0], QUEENS, TIED[1]))
    for number in (3, 5, 2):
        played.decide(number, "exchange")
    assert played.done.winners == (5,)
    split = Live(draw_poker, {}, setup, passes(TIED[0], JACKS.replace("Jc Jd", "Jc Td"), TIED[1]))
    for number in (3, 5, 2):
        split.decide(number, "exchange")
    assert (split.done.winners, split.done.clauses) == ((2, 3), ("DRW-11",))


def test_DRW_10_of_several_pots_only_the_tied_are_carried() -> None:
    main = showdown([10, 30, 30], {0: 9, 1: 9, 2: 8}, 3, NO_RAKE, ties_carry=True)
    assert (main.won, main.carried, main.winners) == ((0, 40, 0), 33, ())
    side = showdown([10, 30, 30], {0: 9, 1: 8, 2: 8}, 3, NO_RAKE, ties_carry=True)
    assert (side.won, side.carried, side.winners) == ((33, 0, 0), 40, (0,))
    # What nobody matched goes back all the same.
    excess = showdown([10, 30], {0: 9, 1: 9}, 0, NO_RAKE, ties_carry=True)
    assert (excess.won, excess.carried) == ((0, 20), 20)


# ---- The rake


@pytest.mark.parametrize(
    ("rules", "returned"),
    [
        ({}, 205),
        ({"rake_percent": 5}, 195),
        ({"rake_percent": 2.5}, 200),
        ({"rake_percent": 5, "rake_cap": 3}, 202),
        ({"rake_percent": 5, "rake_cap": 0}, 205),
        ({"rake_percent": 100}, 0),
    ],
)
def test_DRW_01_the_rake_is_a_percentage_of_the_pot_up_to_a_cap(
    rules: dict[str, object], returned: int
) -> None:
    decisions = f"1 bet 90, 2 call, {STAND}"
    result = draw({1: 100, 2: 100}, decisions, [ACES, KINGS], rules=rules, carried_pot=5)
    assert won(result) == {"p1": returned, "p2": 0}


def test_DRW_01_no_rake_of_what_nobody_matched() -> None:
    rules = {"rake_percent": 10}
    assert won(draw({1: 100, 2: 100}, "1 bet 90, 2 fold", rules=rules)) == {"p1": 108, "p2": 0}
    alone = uncontested([100, 10], 0, 30, Rake(Fraction(10), None))
    assert (alone.won, alone.rake) == ((135, 0), 5)
    shown = showdown([100, 40], {0: 8, 1: 9}, 0, Rake(Fraction(10), None), ties_carry=False)
    assert (shown.won, shown.rake) == ((60, 72), 8)


def test_DRW_01_the_cap_holds_for_all_pots_of_a_hand_together() -> None:
    rake = Rake(Fraction(10), 8)
    three = showdown([20, 50, 50], {0: 9, 1: 8, 2: 7}, 0, rake, ties_carry=False)
    # 6 of the 60, then 2 of the 60 beside it.
    assert (three.won, three.rake) == ((54, 58, 0), 8)


def test_DRW_01_no_rake_of_a_pot_that_is_carried() -> None:
    tied = showdown([20, 20], {0: 9, 1: 9}, 0, Rake(Fraction(10), None), ties_carry=True)
    assert (tied.carried, tied.rake) == (40, 0)


# ---- All showdowns, against a division written out chip by chip


def by_the_chip(put: list[int], strengths: dict[int, int], carried: int) -> list[int]:
    """DRW-11 once more: chip after chip of each seat goes into the pot of that height, or back to
    the seat if no other has one of that height."""
    pots: dict[tuple[int, ...], int] = {}
    lowest = min(put[seat] for seat in strengths)
    claims = {height: tuple(s for s in strengths if put[s] >= height) for height in range(999)}
    matched = sorted(put)[-2]
    heights = [height for chips in put for height in range(1, min(chips, matched) + 1)]
    top = max(put[seat] for seat in strengths)
    for height in heights:
        seats = claims[min(height, top)]
        pots[seats] = pots.get(seats, 0) + 1
    pots[claims[lowest]] = pots.get(claims[lowest], 0) + carried
    won = [max(0, chips - matched) for chips in put]
    for seats, amount in pots.items():
        best = [seat for seat in seats if strengths[seat] == max(strengths[s] for s in seats)]
        for at in range(amount):
            won[best[at % len(best)]] += 1
    return won


@st.composite
def showdowns(draw: st.DrawFn) -> tuple[list[int], dict[int, int], int]:
    put = draw(st.lists(st.integers(0, 40), min_size=2, max_size=5))
    seats = draw(st.sets(st.integers(0, len(put) - 1), min_size=2))
    strengths = {seat: draw(st.integers(1, 3)) for seat in sorted(seats)}
    return put, strengths, draw(st.integers(0, 9))


@given(showdowns())
def test_DRW_11_as_divided_chip_by_chip(case: tuple[list[int], dict[int, int], int]) -> None:
    put, strengths, carried = case
    result = showdown(put, strengths, carried, NO_RAKE, ties_carry=False)
    assert list(result.won) == by_the_chip(put, strengths, carried)
    assert sum(result.won) == sum(put) + carried


@given(showdowns(), st.integers(0, 100), st.integers(0, 20) | st.none(), st.booleans())
def test_DRW_11_no_chip_is_made_or_lost(
    case: tuple[list[int], dict[int, int], int], percent: int, cap: int | None, ties_carry: bool
) -> None:
    put, strengths, carried = case
    result = showdown(put, strengths, carried, Rake(Fraction(percent), cap), ties_carry)
    assert sum(result.won) + result.carried + result.rake == sum(put) + carried
    assert min(*result.won, result.carried, result.rake) >= 0
    assert cap is None or result.rake <= cap
