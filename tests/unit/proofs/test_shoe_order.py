"""The permutation: exhaustively for few cards, draw by draw where values are rejected."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product
from math import factorial

import pytest

from shared.proofs.shoe_order import (
    BLOCK_BYTES,
    Draws,
    card_order,
    card_salts,
    cut,
    dealer_cut,
    permuted,
)

SEED = bytes(range(32))


class Script:
    """A source that gives what it is told to, then zeros, and counts its calls."""

    def __init__(self, *values: int) -> None:
        self.script = b"".join(value.to_bytes(2, "big") for value in values)
        self.calls = 0

    def generate(self, count: int) -> bytes:
        given, self.script = self.script[:count], self.script[count:]
        self.calls += 1
        return given.ljust(count, b"\x00")


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_each_permutation_comes_from_exactly_one_series_of_draws(count: int) -> None:
    """With draws that are uniform and independent, every order is then equally likely."""
    bounds = range(count, 1, -1)
    seen: Counter[tuple[int, ...]] = Counter()
    for series in product(*(range(bound) for bound in bounds)):
        draws = iter(zip(series, bounds, strict=True))

        def below(bound: int, draws: object = draws) -> int:
            value, expected = next(draws)  # type: ignore[call-overload]
            assert bound == expected
            return int(value)

        seen[tuple(permuted(range(count), below))] += 1
    assert set(seen) == set(permutations(range(count)))
    assert set(seen.values()) == {1}
    assert sum(seen.values()) == factorial(count)


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 7, 52, 416, 832, 32_769, 65_536])
def test_every_answer_has_equally_many_values_behind_it(bound: int) -> None:
    source = Script(*range(65_536))
    draws = Draws(source)
    accepted = 65_536 // bound * bound
    answers = Counter(draws.below(bound) for _ in range(accepted))
    assert set(answers) == set(range(bound))
    assert set(answers.values()) == {65_536 // bound}


def test_values_above_the_greatest_multiple_are_drawn_again() -> None:
    draws = Draws(Script(65_535, 65_520, 65_519, 7))
    # 416 × 157 = 65,312: everything from there on is rejected.
    assert draws.below(416) == 7
    assert Draws(Script(65_312, 65_311)).below(416) == 415


def test_rejections_across_a_block_take_the_next_block() -> None:
    source = Script(*[65_535] * (BLOCK_BYTES // 2), 51)
    assert Draws(source).below(52) == 51
    assert source.calls == 2


def test_bytes_are_drawn_in_blocks_and_used_in_order() -> None:
    source = Script(*range(BLOCK_BYTES // 2 + 1))
    draws = Draws(source)
    assert draws.take(16) + draws.take(16) == b"".join(i.to_bytes(2, "big") for i in range(16))
    for _ in range(BLOCK_BYTES // 16 - 2):
        draws.take(16)
    assert source.calls == 1
    assert draws.take(2) == (BLOCK_BYTES // 2).to_bytes(2, "big")
    assert source.calls == 2


@pytest.mark.parametrize(("at", "expected"), [(1, [1, 2, 3, 0]), (3, [3, 0, 1, 2])])
def test_the_cut_moves_the_top_under_the_rest(at: int, expected: list[int]) -> None:
    assert cut(range(4), at) == expected


@pytest.mark.parametrize("decks", [1, 6, 8, 16])
def test_a_shoe_has_every_card_as_often_as_it_has_decks(decks: int) -> None:
    order = card_order(SEED, "shoe", [("ann", b"x" * 16)], decks, 10)
    assert Counter(order) == dict.fromkeys(range(52), decks)


def test_the_order_changes_with_seed_shoe_and_each_players_part() -> None:
    base = card_order(SEED, "shoe", [("ann", b"x" * 16)], 1, 10)
    others = [
        card_order(SEED[::-1], "shoe", [("ann", b"x" * 16)], 1, 10),
        card_order(SEED, "shoe-2", [("ann", b"x" * 16)], 1, 10),
        card_order(SEED, "shoe", [("ann", b"y" * 16)], 1, 10),
        card_order(SEED, "shoe", [("bob", b"x" * 16)], 1, 10),
        card_order(SEED, "shoe", [], 1, 10),
        card_order(SEED, "shoe", [("ann", b"x" * 16), ("bob", b"z" * 16)], 1, 10),
    ]
    assert len({base, *others}) == 7


def test_two_seeds_in_the_other_order_are_another_shoe() -> None:
    ann, bob = ("ann", b"x" * 16), ("bob", b"y" * 16)
    assert card_order(SEED, "shoe", [ann, bob], 1, 1) != card_order(SEED, "shoe", [bob, ann], 1, 1)


def test_the_cut_is_a_rotation_of_the_same_shuffle() -> None:
    uncut = card_order(SEED, "shoe", [], 1, 0)
    assert card_order(SEED, "shoe", [], 1, 20) == uncut[20:] + uncut[:20]


def test_salts_are_sixteen_bytes_each_and_all_different() -> None:
    salts = card_salts(SEED, "shoe", [], 832)
    assert {len(salt) for salt in salts} == {16}
    assert len(set(salts)) == 832


def test_the_dealers_cut_stays_in_its_range_and_reaches_its_ends() -> None:
    cuts = {dealer_cut(SEED, f"shoe-{i}", 3, 6) for i in range(100)}
    assert cuts == {3, 4, 5, 6}
    assert dealer_cut(SEED, "shoe", 5, 5) == 5
