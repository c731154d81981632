"""How bots decide, card by card."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from croupier.table.v1 import events_pb2
from croupier.table.v1.table_pb2 import (
    CardHand,
    Command,
    Option,
    PlayerView,
    SeatView,
    SeenCard,
    TableSummary,
    TableView,
)
from croupier.type.v1.money_pb2 import Money

from clients.api.sight import Sight
from clients.bots.hand_reading import (
    Made,
    four_to_a_flush,
    four_to_a_straight,
    has_ace_king,
    made,
    matched,
)
from clients.bots.strategies import STRATEGIES, round_stake
from shared.cards import Card, parse_card

ME = "p_ann"


def cards(text: str) -> list[Card]:
    return [parse_card(card) for card in text.split()]


def hand(name: str, text: str, first: int = 0) -> CardHand:
    return CardHand(
        name=name,
        cards=[
            SeenCard(position=first + place, card=card) for place, card in enumerate(text.split())
        ],
    )


def sight(
    game: str, *options: Option, mine: str = "", dealer: str = "", board: str = "", staked: int = 0
) -> Sight:
    boxes = [events_pb2.BoxBets(box=1, owner=ME)]
    if staked:
        boxes[0].bets.add(player=ME, wager="ante", stake=staked)
    table = TableView(
        table=TableSummary(game=game, currency="CHF", seats=5),
        seats=[SeatView(player="p_bob"), SeatView(player=ME)],
        boxes=boxes,
        hands=[hand("dealer", dealer, 50), hand("board", board, 60)],
    )
    you = PlayerView(
        player=ME,
        options=options,
        hands=[hand("box1", mine)],
        free_chips=Money(currency="CHF", minor_units=100_000),
    )
    return Sight(ME, table, you)


def due(*words: str, **more: Any) -> tuple[Option, ...]:
    return tuple(Option(command="decide", box=1, word=word, **more) for word in words)


def decided(game: str, options: tuple[Option, ...], **view: Any) -> Command:
    command = STRATEGIES[game](Random(1)).decide(sight(game, *options, **view), options)
    assert command is not None
    return command


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("2c 4d 6h 8s Tc", Made.HIGH_CARD),
        ("2c 2d 6h 8s Tc", Made.PAIR),
        ("2c 2d 6h 6s Tc", Made.TWO_PAIR),
        ("2c 2d 2h 6s Tc", Made.THREE_OF_A_KIND),
        ("Ac 2d 3h 4s 5c", Made.STRAIGHT),
        ("Tc Jd Qh Ks Ac", Made.STRAIGHT),
        ("2c 4c 6c 8c Tc", Made.FLUSH),
        ("2c 2d 2h 6s 6c", Made.FULL_HOUSE),
        ("2c 2d 2h 2s 6c", Made.FOUR_OF_A_KIND),
        ("Ac 2c 3c 4c 5c", Made.STRAIGHT_FLUSH),
        ("2c 2d 2h 6s 6c 6d Kh", Made.FULL_HOUSE),
        ("2c", Made.HIGH_CARD),
        ("", Made.HIGH_CARD),
    ],
)
def test_what_a_hand_has_made(text: str, what: Made) -> None:
    assert made(cards(text)) is what


def test_draws_and_matches() -> None:
    assert four_to_a_flush(cards("2c 4c 6c 8c Td")) == cards("2c 4c 6c 8c")
    assert four_to_a_flush(cards("2c 4c 6c 8d Td")) == []
    assert four_to_a_straight(cards("5c 6d 7h 8s Kc")) == cards("5c 6d 7h 8s")
    assert four_to_a_straight(cards("Jc Qd Kh As 2c")) == []
    assert matched(cards("2c 2d 6h 8s Tc")) == cards("2c 2d")
    assert has_ace_king(cards("Ac Kd 2h"))
    assert not has_ace_king(cards("Ac Qd 2h"))


def test_battle_fights_where_the_next_card_often_wins() -> None:
    options = due("fight", "surrender")
    assert decided("battle", options, mine="9c", dealer="9d").decide.action == "fight"
    assert decided("battle", options, mine="2c", dealer="Ad").decide.action == "surrender"
    assert decided("battle", due("surrender"), mine="9c", dealer="9d").decide.action == "surrender"


@pytest.mark.parametrize(
    ("mine", "board", "action"),
    [
        ("2c 2d", "7h 9s Jc", "bet"),
        ("Ac 3d", "7h 9s Jc", "bet"),
        ("Kc 3d", "7h 9s 4c", "bet"),
        ("Qc 6d", "7h 9s 4c", "bet"),
        ("Qc 2d", "7h 9s 4c", "fold"),
        ("2c 3d", "7h 9s Jc", "fold"),
        ("2c 3c", "7c 9c Jd", "bet"),
        ("8c 5d", "6h 7s Kc", "bet"),
    ],
)
def test_holdem_folds_low_cards_without_a_pair_or_a_draw(
    mine: str, board: str, action: str
) -> None:
    options = due("bet", "fold")
    assert decided("casino_holdem", options, mine=mine, board=board).decide.action == action


def test_oasis_looks_first() -> None:
    assert decided("oasis_poker", due("look")).decide.action == "look"


def test_oasis_bets_a_pair_and_exchanges_one_card_of_a_draw() -> None:
    options = (*due("bet", "fold"), *due("exchange", counts=[1, 2, 5]))
    assert decided("oasis_poker", options, mine="2c 2d 7h 9s Jc").decide.action == "bet"
    exchange = decided("oasis_poker", options, mine="2c 4c 7c 9c Jd").decide
    assert (exchange.action, list(exchange.positions)) == ("exchange", [4])
    assert decided("oasis_poker", options, mine="2c 4c 7d 9s Jh").decide.action == "fold"


def test_oasis_bets_ace_king_when_it_helps() -> None:
    first = (*due("bet", "fold"), *due("exchange", counts=[1, 2, 5]))
    ace_king = "Ac Kd 7h 9s 2c"
    assert decided("oasis_poker", first, mine=ace_king, dealer="Qd").decide.action == "fold"
    assert decided("oasis_poker", first, mine=ace_king, dealer="9d").decide.action == "bet"
    final = due("bet", "fold")
    assert decided("oasis_poker", final, mine=ace_king, dealer="Qd").decide.action == "bet"


def test_draw_poker_bets_what_is_strong_calls_with_a_pair_and_folds_the_rest() -> None:
    opening = due("check", "bet", minimum=100, maximum=500)
    strong = decided("draw_poker", opening, mine="Kc Kd 2h 5s 9c").decide
    assert (strong.action, strong.amount.minor_units) == ("bet", 100)
    assert decided("draw_poker", opening, mine="3c Kd 2h 5s 9c").decide.action == "check"
    facing = due("call", "fold")
    assert decided("draw_poker", facing, mine="3c 3d 2h 5s 9c").decide.action == "call"
    assert decided("draw_poker", facing, mine="3c Kd 2h 5s 9c").decide.action == "fold"


@pytest.mark.parametrize(
    ("mine", "dropped"),
    [
        ("Kc Kd 2h 5s 9c", [2, 3, 4]),
        ("2c 4c 7c 9c Jd", [4]),
        ("5c 6d 7h 8s 2c", [4]),
        ("2c 4d 7h 9s Jc", [0, 1, 2]),
        ("5c 6d 7h 8s 9c", []),
    ],
)
def test_draw_poker_keeps_what_belongs_together(mine: str, dropped: list[int]) -> None:
    exchange = due("exchange", counts=[0, 1, 2, 3])
    decision = decided("draw_poker", exchange, mine=mine).decide
    assert list(decision.positions) == dropped


def test_draw_poker_keeps_a_card_that_was_exposed() -> None:
    assert decided("draw_poker", due("keep", "redeal"), mine="").decide.action == "keep"


def test_what_is_not_offered_is_not_said() -> None:
    strategy = STRATEGIES["casino_holdem"](Random(1))
    options = due("something_new")
    assert strategy.decide(sight("casino_holdem", *options, mine="2c 2d"), options) is None


@pytest.mark.parametrize("game", sorted(STRATEGIES))
def test_a_first_stake_is_within_the_bounds_and_made_once(game: str) -> None:
    word = {"baccarat": "banker", "battle": "stake", "draw_poker": "entry"}.get(game, "ante")
    offers = [Option(command="place_bet", word=word, minimum=510, maximum=90_000)]
    if game == "baccarat":
        offers.append(Option(command="place_bet", word="player", minimum=510, maximum=90_000))
    for seed in range(20):
        strategy = STRATEGIES[game](Random(seed))
        bet = strategy.bet(sight(game, *offers))
        assert bet is not None
        assert 510 <= bet.place_bet.stake.minor_units <= 100_000 // 40
        assert bet.place_bet.stake.minor_units % 100 == 0
        again = strategy.bet(sight(game, *offers, staked=600))
        assert again is None
        assert strategy.bet(sight(game)) is None


def test_stakes_are_round_where_there_is_room() -> None:
    assert round_stake(777, 500, 1000) == 700
    assert round_stake(777, 710, 790) == 760
    assert round_stake(777, 777, 779) == 777
    assert round_stake(10, 500, 1000) == 500
    assert round_stake(5, 3, 4) == 4


def test_a_bot_takes_the_box_of_its_place_or_one_that_is_free() -> None:
    view = sight("baccarat")
    assert view.free_box() == 2
    view.table.boxes.add(box=2, owner="p_bob")
    assert view.free_box() == 1
    del view.table.boxes[:]
    for box in range(1, 6):
        view.table.boxes.add(box=box, owner="p_bob")
    assert view.free_box() == 2
