"""What wagers are worth: counted exactly, held against the reference figures and brute force."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from deploy.edge_command import edge_command
from shared.cards import DECK, Card
from shared.edge import baccarat as count_baccarat
from shared.edge import battle as count_battle
from shared.edge import holdem as count_holdem
from shared.edge import oasis as count_oasis
from shared.edge import oasis_sight as count_sights
from shared.edge import simulation
from shared.edge.answer import STRATEGIES, figures
from shared.edge.choices import odd_card
from shared.edge.stake import first_stake
from shared.errors import SettingError
from shared.games import baccarat, battle, casino_holdem, oasis_poker
from shared.games.poker import ACE_KING, PAIR_OF_FOURS, strength
from shared.games.registry import GAMES
from shared.games.settings import Limits
from tests.spec.hands import cards

FIGURES: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "figures.json").read_text()
)


def nothing(work: str, done: int, of: int) -> None:
    """No one watches."""


def answer(*words: str) -> Any:
    """What `croupier edge … --json` prints."""
    run = CliRunner().invoke(edge_command, [*words, "--json"], catch_exceptions=False)
    assert run.exit_code == 0
    return json.loads(run.stdout)


# ---- Baccarat


def test_BAC_figures_of_all_combinations() -> None:
    found = answer("baccarat")
    assert [set(each) for each in found] == [
        {"game", "wager", "strategy", "exact", "value", "fraction", "ci95", "hands"}
    ] * 3
    house = FIGURES["baccarat"]["house_edge_before_rounding"]
    for each in found:
        assert each["value"] == pytest.approx(-house[each["wager"]], abs=5e-10)
        assert float(Fraction(each["fraction"])) == each["value"]
        assert (each["exact"], each["ci95"], each["strategy"]) == (True, None, None)
        assert each["hands"] == FIGURES["baccarat"]["combinations"]["total"]


def test_BAC_figures_follow_the_settings() -> None:
    usual = count_baccarat.values(baccarat.settings({}))
    free = count_baccarat.values(baccarat.settings({"commission_percent": 0, "min": 33}))
    assert (free["player"], free["tie"]) == (usual["player"], usual["tie"])
    of_total = FIGURES["baccarat"]["combinations"]
    won = Fraction(of_total["banker"], of_total["total"])
    assert free["banker"] - usual["banker"] == won * Fraction(5, 100)


# ---- Battle


def test_BTL_figures_a_box_that_never_fights() -> None:
    (found,) = answer("battle", "--strategy", "never_fight")
    assert (found["wager"], found["fraction"], found["exact"]) == ("stake", "-23/311", True)
    assert found["fraction"] == FIGURES["battle"]["never_fight"]


ranks = st.lists(st.integers(0, 12), min_size=0, max_size=4)


@given(box=ranks, dealers=ranks, last=st.integers(0, 12))
def test_BTL_06_the_count_compares_as_the_rules_do(
    box: list[int], dealers: list[int], last: int
) -> None:
    mine = tuple(sorted(box[: len(dealers)]))
    theirs = tuple(sorted((*dealers[: len(mine)], last)))
    least = count_battle.least_winning(mine, theirs)
    for rank in range(13):
        own = sorted((*mine, rank), reverse=True)
        assert battle.beats(own, sorted(theirs, reverse=True)) == (rank >= least)


four = st.lists(st.integers(0, 12), min_size=4, max_size=4)


@given(box=four, dealers=st.lists(st.integers(0, 11), min_size=4, max_size=4))
def test_BTL_07_the_ways_to_win_on_five_cards(box: list[int], dealers: list[int]) -> None:
    mine, theirs = tuple(sorted(box)), tuple(sorted(dealers))
    left = [24 - box.count(rank) - dealers.count(rank) for rank in range(13)]
    ways = 0
    for drawn in range(12):  # BTL-04: an ace of the dealer's wins
        for own in range(13):
            hand = sorted((*mine, own), reverse=True)
            if battle.beats(hand, sorted((*theirs, drawn), reverse=True)):
                ways += left[drawn] * (left[own] - (own == drawn))
    assert count_battle.winning_ways(mine, theirs, 24) == ways


# ---- Casino Hold'em


def brute_force(hole: tuple[Card, ...], board: tuple[Card, ...]) -> int:
    """What a bet of 200 on an ante of 100 wins in all against the dealer's 990 hands."""
    settings = casino_holdem.settings({})
    own = strength(hole + board)
    total = 0
    for dealers in combinations([card for card in DECK if card not in hole + board], 2):
        value = strength(dealers + board)
        plays = value if value >= PAIR_OF_FOURS else None
        total += sum(casino_holdem.returned(settings, 100, own, plays)) - 300
    return total


def counted(
    outcomes: count_holdem.Outcomes, hole: tuple[Card, ...], board: tuple[Card, ...]
) -> int:
    """The same as it is counted."""
    one, other = hole
    ranks = count_holdem.ranks_of(board)
    total = outcomes.plain(ranks)[count_holdem.BY_RANK.at[one.rank][other.rank]]
    for suit, (suited, others) in count_holdem.suits_of(board):
        if len(suited) >= 3:
            pair = count_holdem.BY_SUIT.at[2 * one.rank + (one.suit == suit)]
            change = outcomes.change(suited, others)
            total += change[pair[2 * other.rank + (other.suit == suit)]]
    return total


@pytest.mark.parametrize(
    "board",
    [
        "2c 7d 9h Js Ac",
        "Kd Ks 4h 4c 9d",
        "2h 5h 9h Jc Jd",
        "Ah Kh Qh Jh 2c",
        "3s 4s 5s 6s 9s",
    ],
)
def test_CHE_05_the_count_of_a_board_is_that_of_the_dealers_hands(board: str) -> None:
    outcomes = count_holdem.Outcomes(casino_holdem.settings({}), 100)
    laid = cards(board)
    rest = [card for card in DECK if card not in laid]
    random = Random(board)
    for _ in range(8):
        hole = tuple(random.sample(rest, 2))
        assert counted(outcomes, hole, laid) == brute_force(hole, laid)


def test_CHE_02_the_count_of_a_sight_is_that_of_all_its_boards() -> None:
    outcomes = count_holdem.Outcomes(casino_holdem.settings({}), 100)
    flop, hole = cards("2h 7h Jh"), cards("Ah Js")
    suited = count_holdem.ranks_of(flop)
    flushes: dict[count_holdem.Suited, list[int]] = {}
    for size in (0, 1, 2):
        for drawn in combinations([rank for rank in range(13) if rank not in suited], size):
            changes = count_holdem.flush_changes(outcomes, tuple(sorted(suited + drawn)))
            count_holdem.add(flushes, changes)
    sums = count_holdem.Sums({suited: count_holdem.plain_sum(outcomes, suited)}, flushes)
    rest = [card for card in DECK if card not in flop + hole]
    boards = [flop + drawn for drawn in combinations(rest, 2)]
    by_board = [counted(outcomes, hole, board) for board in Random(1).sample(boards, 200)]
    by_sight = sums.of_bet(hole, flop)
    assert len(boards) * 990 == count_holdem.WAYS
    assert min(by_board) * len(boards) < by_sight < max(by_board) * len(boards)
    assert by_sight == sum(counted_once(outcomes, hole, boards))


def counted_once(
    outcomes: count_holdem.Outcomes, hole: tuple[Card, ...], boards: list[tuple[Card, ...]]
) -> list[int]:
    """The counts of boards with three hearts or more, those alike counted once."""
    known: dict[Any, int] = {}
    found = []
    for board in boards:
        alike = tuple(sorted((card.rank, card.suit == 2) for card in board))
        if alike not in known:
            known[alike] = counted(outcomes, hole, board)
        found.append(known[alike])
    return found


def test_CHE_02_every_sight_is_counted_once_and_folded_where_a_bet_is_worth_less() -> None:
    assert sum(many for _, many in count_holdem.flops()) == 22_100
    assert len(list(count_holdem.flops())) == 1_755
    # Bets that lose as much as a fold on flops of three ranks, twice as much on the others.
    lost = -100 * count_holdem.WAYS
    ranks_ = {tuple(sorted((a, b, c))) for a in range(13) for b in range(13) for c in range(13)}
    plain = {flop: [lost * (1 + (len(set(flop)) < 3))] * 91 for flop in ranks_}
    nothing_: dict[count_holdem.Suited, list[int]] = {
        key: [0] * 351 for flop, _ in count_holdem.flops() for _, key in count_holdem.suits_of(flop)
    }
    always, best, folds = count_holdem.values(count_holdem.Sums(plain, nothing_), 100)
    paired = Fraction(13 * 6 * 48 + 13 * 4, 22_100)
    assert [always, best, folds] == [-1 - paired, Fraction(-1), Fraction(1)]


def test_CHE_06_the_table_and_the_cap_of_the_settings_are_what_is_paid() -> None:
    laid, hole = cards("Ah Kh Qh 2c 2d"), cards("Jh Th")
    rich = count_holdem.Outcomes(casino_holdem.settings({"ante_table": {"royal_flush": 200}}), 100)
    capped = count_holdem.Outcomes(casino_holdem.settings({"max_payout": 150}), 100)
    usual = counted(count_holdem.Outcomes(casino_holdem.settings({}), 100), hole, laid)
    assert counted(rich, hole, laid) - usual == 990 * 100 * 100
    assert counted(capped, hole, laid) == 990 * 150


# ---- Oasis poker


def test_OAS_figures_without_an_exchange() -> None:
    expected = FIGURES["oasis_poker"]
    values = count_oasis.values(oasis_poker.settings({}), 100, count_oasis.BET_FROM)
    for strategy, value in values.items():
        assert float(value) == pytest.approx(expected["without_exchange"][strategy], abs=5.01e-6)


def test_OAS_figures_of_the_bonus_and_of_a_sound_exchange() -> None:
    words = ("oasis_poker", "--hands", "20", "--strategy", "exchange_one_of_a_draw")
    ante, bonus = answer(*words)
    assert (ante["wager"], ante["hands"], ante["exact"]) == ("ante", 20, False)
    low, high = ante["ci95"]
    assert low <= ante["value"] <= high
    assert (bonus["wager"], bonus["strategy"], bonus["exact"]) == ("bonus", None, True)
    assert bonus["value"] == pytest.approx(FIGURES["oasis_poker"]["bonus_default_table"], abs=5e-6)


def test_OAS_09_the_dealer_plays_as_often_as_he_should() -> None:
    kinds = count_oasis.kinds()
    plays = sum(kind.count for kind in kinds if kind.strength >= ACE_KING)
    of_all = f"{plays}/{sum(kind.count for kind in kinds)}"
    assert of_all == FIGURES["oasis_poker"]["dealer_plays"]


@pytest.mark.parametrize(
    "hand", ["Ac Kd 4h 3s 2d", "Ac Kc 9c 3c 2c", "2c 2d 9c Tc Jc", "8c 7c 6c 5c 4c"]
)
def test_OAS_10_the_dealers_hands_are_counted_without_the_players_cards(hand: str) -> None:
    held = cards(hand)
    own = strength(held)
    (kind,) = (
        kind
        for kind in count_oasis.kinds()
        if kind.strength == own and sorted(kind.ranks) == sorted(card.rank for card in held)
    )
    # The same for all hands of the kind: the ways the suits lie are counted together.
    dealers = count_oasis.Dealers()
    everything = dealers.weaker(kind, 7463)
    assert everything == kind.count * count_oasis.DEALERS
    random = Random(hand)
    weaker = sampled = 0
    rest = [card for card in DECK if card not in held]
    for _ in range(4_000):
        sampled += 1
        weaker += strength(random.sample(rest, 5)) < own
    share = dealers.weaker(kind, own) / everything
    assert abs(weaker / sampled - share) < 0.04  # five standard deviations at most


@pytest.mark.parametrize("hand", ["Ac Kd 4h 3s 2d", "Ac Kc 9c 3c 2d", "2c 2d 9c Tc Jc"])
@pytest.mark.parametrize("opened", ["Kc", "7h", "Js"])
def test_OAS_06_the_dealers_hands_are_counted_with_the_open_card(hand: str, opened: str) -> None:
    held, (open_card,) = cards(hand), cards(opened)
    own = strength(held)
    (kind,) = (kind for kind in count_oasis.kinds() if kind.cards and kind.strength == own)
    suited = tuple(sorted(card.rank for card in held if card.suit == open_card.suit))
    weaker = count_sights.weaker(count_oasis.Dealers(), kind, open_card.rank, suited)
    assert weaker(7463) == count_sights.DEALERS
    random = Random(hand + opened)
    rest = [card for card in DECK if card not in held and card != open_card]
    drawn = [strength((open_card, *random.sample(rest, 4))) for _ in range(4_000)]
    for value in (ACE_KING, own):
        share = sum(1 for each in drawn if each < value) / len(drawn)
        assert abs(weaker(value) / count_sights.DEALERS - share) < 0.04


def test_OAS_06_every_hand_and_open_card_is_counted_once() -> None:
    counts = [
        count
        for kind in count_oasis.kinds()
        for rank in range(13)
        for _, count in count_sights.suits_of(kind, rank)
    ]
    assert sum(counts) == count_sights.SIGHTS


@pytest.mark.parametrize(
    ("hand", "odd"),
    [
        ("2c 9c Jc Kc 3d", "3d"),
        ("5c 6d 7h 8s Kc", "Kc"),
        ("5c 6d 7h 9s Kc", None),
        ("Ac 2d 3h 4s 9c", None),
        ("7c 8c 9c Tc 7d", "7d"),
        ("2c 9c Jc Kc 2d", None),
        ("2c 2d 9h Js Kc", None),
    ],
)
def test_OAS_07_which_card_a_sound_player_exchanges(hand: str, odd: str | None) -> None:
    held = cards(hand)
    found = odd_card(held, len({card.rank for card in held}) == 5)
    assert (str(found) if found is not None else None) == odd


# ---- Draw poker, and what all have in common


def test_DRW_01_without_a_rake_the_players_win_together_nothing() -> None:
    (found,) = answer("draw_poker")
    assert (found["value"], found["fraction"], found["exact"]) == (0, "0", True)


def test_DRW_01_the_rake_is_what_the_players_lose() -> None:
    (free,) = answer("draw_poker", "--hands", "300", "--set", "rake_percent=0.0")
    (cheap,) = answer("draw_poker", "--hands", "300", "--set", "rake_percent=2.5")
    (dear,) = answer("draw_poker", "--hands", "300", "--set", "rake_percent=5")
    assert 0 == free["value"] > cheap["value"] > dear["value"]
    assert dear["value"] == pytest.approx(2 * cheap["value"], rel=0.05)  # the same cards
    (capped,) = answer(
        "draw_poker", "--hands", "300", "--set", "rake_percent=5", "--set", "rake_cap=0"
    )
    assert (capped["value"], capped["exact"]) == (0, False)


def test_a_simulation_is_the_same_on_any_number_of_cores() -> None:
    told: list[tuple[str, int, int]] = []
    name, strategy = oasis_poker.NAME, "exchange_one_of_a_draw"
    hands = 2 * simulation.HANDS_A_PART

    def report(work: str, done: int, of: int) -> None:
        told.append((work, done, of))

    together = simulation.simulate(name, {}, strategy, 100, hands, report)
    alone = simulation.Sum()
    for number in (0, 1):
        part = simulation.Part(name, {}, strategy, 100, simulation.HANDS_A_PART, number)
        alone += simulation.play_box(part)
    assert together == alone
    assert told == [(strategy, done, hands) for done in (0, hands // 2, hands)]


def test_every_game_has_its_strategies() -> None:
    assert STRATEGIES.keys() == GAMES.keys()
    for name in GAMES:
        with pytest.raises(SettingError) as refused:
            figures(name, {}, "guess", 2, nothing)
        assert refused.value.field == "strategy"


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["nowhere"], "game"),
        (["baccarat", "--set", "boxes"], "boxes"),
        (["baccarat", "--set", "=1"], "set"),
        (["baccarat", "--set", "decks=8", "--set", "decks=8"], "decks"),
        (["baccarat", "--set", "decks=NaN"], "decks"),
        (["baccarat", "--set", "decks=0"], "decks"),
        (["battle", "--set", "decks=1.5"], "decks"),
        (["battle", "--set", "colour=red"], "colour"),
        (["battle", "--set", "max=5", "--set", "min=6"], "max"),
        (["casino_holdem", "--set", 'ante_table={"flush": -1}'], "ante_table"),
        (["oasis_poker", "--set", "exchange_price=cheap"], "exchange_price"),
        (["oasis_poker", "--set", "min=101", "--set", "max=104"], "max"),
        (["draw_poker", "--set", "rake_percent=101"], "rake_percent"),
    ],
)
def test_TAB_11_a_bad_setting_is_refused_with_its_name(words: list[str], field: str) -> None:
    refused = CliRunner().invoke(edge_command, words)
    assert isinstance(refused.exception, SettingError)
    assert refused.exception.field == field


def test_a_word_may_be_given_bare_and_the_answer_read_by_people() -> None:
    words = ["oasis_poker", "--strategy", "bet_everything", "--set", "table_class=vip"]
    shown = CliRunner().invoke(edge_command, words, catch_exceptions=False).stdout
    assert "bet_everything" in shown
    assert "-0.16607245" in shown


def test_the_stake_is_the_least_that_divides() -> None:
    fifth, third = Fraction(6, 5), Fraction(1, 3)
    assert first_stake(Limits(), (), ()) == 100
    assert first_stake(Limits(), (), (third,)) == 102
    assert first_stake(Limits(min=7), (fifth,), (third,)) == 15
    assert first_stake(Limits(min=7, max=12), (fifth,), (third,)) == 10
    assert first_stake(Limits(max=40), (fifth,), (third,)) == 30
    assert first_stake(Limits(max=4), (), (fifth,)) == 4
    with pytest.raises(SettingError):
        first_stake(Limits(max=4), (fifth,), ())
