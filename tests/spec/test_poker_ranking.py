"""HND: the order of hands, checked against counts and against a comparison written out by hand."""

import json
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.cards import DECK, Card, parse_card
from shared.games.poker import ACE_KING, HAND_NAMES, LEAST, PAIR_OF_FOURS, hand_name, strength
from tests.spec.poker_hands import all_hands

FIGURES = Path(__file__).parents[1] / "vectors" / "figures.json"


def cards(text: str) -> list[Card]:
    return [parse_card(word) for word in text.split()]


def of(text: str) -> int:
    return strength(cards(text))


EXAMPLES = {
    "high_card": "7c 5d 4c 3c 2c",
    "pair": "Ac Ad Kc Qc Jc",
    "two_pair": "Ac Ad Kc Kd Qc",
    "three_of_a_kind": "Ac Ad Ah Kc Qc",
    "straight": "Ac Kd Qc Jc Tc",
    "flush": "Ac Kc Qc Jc 9c",
    "full_house": "Ac Ad Ah Kc Kd",
    "four_of_a_kind": "Ac Ad Ah As Kc",
    "straight_flush": "Kc Qc Jc Tc 9c",
    "royal_flush": "Ac Kc Qc Jc Tc",
}


def by_hand(five: list[Card]) -> tuple[int, list[int]]:
    """HND-01 to HND-03 once more, in the plainest way: (kind, cards in the order they count)."""
    ranks = sorted((card.rank for card in five), reverse=True)
    groups = sorted(Counter(ranks).items(), key=lambda item: (-item[1], -item[0]))
    shape = [count for _, count in groups]
    order = [rank for rank, _ in groups]
    flush = len({card.suit for card in five}) == 1
    if ranks == [12, 3, 2, 1, 0]:
        order = [3, 2, 1, 0, -1]
    straight = shape == [1] * 5 and order[0] - order[4] == 4
    if straight and flush:
        return (9 if order[0] == 12 else 8), order
    if flush:
        return 5, order
    if straight:
        return 4, order
    kinds = {(4, 1): 7, (3, 2): 6, (3, 1, 1): 3, (2, 2, 1): 2, (2, 1, 1, 1): 1}
    return kinds.get(tuple(shape), 0), order


hands = st.lists(st.sampled_from(DECK), min_size=5, max_size=5, unique=True)
sevens = st.lists(st.sampled_from(DECK), min_size=7, max_size=7, unique=True)


def test_HND_01_suits_never_count() -> None:
    assert of("Ac Kd 9h 4s 2c") == of("Ad Kh 9s 4c 2d")
    assert of("Ac Kc 9c 4c 2c") == of("As Ks 9s 4s 2s")


def test_HND_01_ace_is_low_in_the_wheel_only() -> None:
    wheel = of("Ac 2d 3h 4s 5c")
    assert hand_name(wheel) == "straight"
    assert wheel < of("2d 3h 4s 5c 6d")
    assert hand_name(of("Qc Kd Ah 2s 3c")) == "high_card"
    assert hand_name(of("Ac 2c 3c 4c 5c")) == "straight_flush"


@pytest.mark.parametrize("name", HAND_NAMES)
def test_HND_02_every_kind_has_its_name(name: str) -> None:
    assert hand_name(of(EXAMPLES[name])) == name


def test_HND_02_the_kinds_stand_in_their_order() -> None:
    strengths = [of(EXAMPLES[name]) for name in HAND_NAMES]
    assert strengths == sorted(strengths)


def test_HND_02_two_royals_tie() -> None:
    assert of("Ac Kc Qc Jc Tc") == of("Ah Kh Qh Jh Th")


def test_HND_02_counts_of_all_five_card_hands() -> None:
    counts: Counter[str] = Counter()
    for hand, ways in all_hands():
        counts[hand_name(strength(hand))] += ways
    assert dict(counts) == json.loads(FIGURES.read_text())["hand_counts_five_cards"]


@given(hands, hands)
def test_HND_03_compares_as_written_by_hand(first: list[Card], second: list[Card]) -> None:
    ours, theirs = strength(first), strength(second)
    assert (ours > theirs) == (by_hand(first) > by_hand(second))
    assert (ours == theirs) == (by_hand(first) == by_hand(second))
    assert HAND_NAMES.index(hand_name(ours)) == by_hand(first)[0]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("3c 3d 4h 5s 7c", "2c 2d Ah Ks Qc"),
        ("Ac Ad 3h 4s 6c", "Ah As 3c 4d 5c"),
        ("Kc Kd 2h 2s Ac", "Kh Ks 2c 2d Qc"),
        ("Kc Kd 3h 3s 4c", "Kh Ks 2c 2d Ac"),
        ("3c 3d 3h 2s 2c", "2d 2h 2s Ac Ad"),
        ("Ac Kc 7c 4c 3c", "Ad Kd 7d 4d 2d"),
    ],
)
def test_HND_03_the_cards_that_make_it_then_the_rest(better: str, worse: str) -> None:
    assert of(better) > of(worse)


@given(sevens)
def test_HND_03_only_the_best_five_of_seven_count(seven: list[Card]) -> None:
    assert strength(seven) == max(strength(five) for five in combinations(seven, 5))


@pytest.mark.parametrize("count", [0, 4, 8])
def test_fewer_than_five_cards_or_more_than_seven_have_no_strength(count: int) -> None:
    with pytest.raises(ValueError):
        strength(DECK[:count])


def test_least_strengths_are_the_boundaries_of_the_kinds() -> None:
    for name, least in LEAST.items():
        assert hand_name(least) == name
        if name != "high_card":
            assert hand_name(least - 1) == HAND_NAMES[HAND_NAMES.index(name) - 1]


def test_OAS_09_ace_king_is_the_weakest_hand_with_both() -> None:
    assert of("Ac Kd 4h 3s 2c") == ACE_KING
    assert of("Ac Qd Jh Ts 9c") < ACE_KING


def test_CHE_03_a_pair_of_fours_begins_with_the_least_kickers() -> None:
    assert of("4c 4d 5h 3s 2c") == PAIR_OF_FOURS
    assert of("3c 3d Ah Ks Qc") < PAIR_OF_FOURS
