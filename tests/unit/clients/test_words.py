"""What is typed at a table, as commands."""

from __future__ import annotations

from typing import Any

import pytest
from croupier.table.v1 import events_pb2
from croupier.table.v1.table_pb2 import (
    CardHand,
    Option,
    PlayerView,
    SeatView,
    SeenCard,
    TableSummary,
    TableView,
)
from croupier.type.v1.money_pb2 import Money

from clients.api.sight import Sight
from clients.cli.amounts import AmountError, parse_minor, write_minor, write_money
from clients.cli.play.words import NotNowError, NotUnderstoodError, command_of, possible

ME = "p_ann"
CARDS = ("2c", "Td", "Ah", "Ks", "9c")


def sight(*options: Option) -> Sight:
    table = TableView(
        table=TableSummary(game="any", currency="CHF", seats=5), seats=[SeatView(player=ME)]
    )
    held = [SeenCard(position=10 + place, card=card) for place, card in enumerate(CARDS)]
    you = PlayerView(player=ME, options=options, hands=[CardHand(name="box2", cards=held)])
    return Sight(ME, table, you)


def wager(word: str, least: int = 500, most: int = 100_000, box: int = 0) -> Option:
    return Option(command="place_bet", word=word, minimum=least, maximum=most, box=box)


def due(word: str, box: int = 2, **more: Any) -> Option:
    return Option(command="decide", word=word, box=box, **more)


BACCARAT = sight(wager("player"), wager("banker"), wager("tie"), Option(command="done_betting"))
HOLDEM = sight(due("bet", price=200), due("fold"), due("bet", box=4), due("fold", box=4))
OASIS = sight(
    due("bet", insurance_max=[events_pb2.InsuranceStake(player=ME, stake=500)]),
    due("fold"),
    due("exchange", counts=[1, 2, 5], prices=[100, 120, 150]),
)
DRAW = sight(
    due("check"), due("bet", minimum=100, maximum=5000), due("raise", minimum=7, maximum=7)
)


@pytest.mark.parametrize(
    ("line", "box", "word", "stake"),
    [
        ("banker 50", 1, "banker", 5000),
        ("b 50", 1, "banker", 5000),
        ("bet banker 12.5", 1, "banker", 1250),
        ("bet b 50 3", 1 + 2, "banker", 5000),
        ("PLAYER 0.50 on box 4", 4, "player", 50),
        ("tie 1'000 2", 2, "tie", 100_000),
    ],
)
def test_bets(line: str, box: int, word: str, stake: int) -> None:
    bet = command_of(line, BACCARAT).place_bet
    assert (bet.box, bet.wager, bet.stake.minor_units) == (box, word, stake)
    assert bet.stake.currency == "CHF"


def test_a_game_of_one_wager_needs_no_name_for_it() -> None:
    bet = command_of("bet 20", sight(wager("ante"))).place_bet
    assert (bet.wager, bet.stake.minor_units) == ("ante", 2000)
    assert command_of("ante 20 blind", sight(wager("ante"))).place_bet.blind


def test_an_entry_has_one_price_and_a_box_of_ones_own() -> None:
    table = sight(wager("entry", 500, 500, box=3), wager("entry", 500, 500, box=4))
    entry = command_of("entry", table).place_bet
    assert (entry.box, entry.stake.minor_units) == (3, 500)
    assert command_of("entry 5.00", table).place_bet.box == 3
    assert command_of("entry box 4", table).place_bet.box == 4
    assert command_of("entry 4", table).place_bet.box == 4


def test_decisions_go_to_the_first_box_due_unless_one_is_named() -> None:
    assert command_of("fold", HOLDEM).decide.box == 2
    assert command_of("f box 4", HOLDEM).decide.box == 4
    assert command_of("bet", HOLDEM).decide.action == "bet"
    with pytest.raises(NotNowError, match="cannot fold on box 3"):
        command_of("fold box 3", HOLDEM)


def test_cards_are_named_or_counted() -> None:
    assert list(command_of("exchange 2c 10d", OASIS).decide.positions) == [10, 11]
    assert list(command_of("ex ah 5", OASIS).decide.positions) == [12, 14]
    assert list(command_of("exchange td", OASIS).decide.positions) == [11]
    with pytest.raises(NotUnderstoodError, match="do not hold 'qs'"):
        command_of("exchange qs", OASIS)


def test_insurance_goes_with_the_bet() -> None:
    decision = command_of("bet insure 4.50", OASIS).decide
    assert [(one.player, one.stake) for one in decision.insurance] == [(ME, 450)]
    with pytest.raises(NotUnderstoodError, match="insure how much"):
        command_of("bet insure", OASIS)


def test_amounts_of_draw_poker() -> None:
    assert command_of("bet 40", DRAW).decide.amount.minor_units == 4000
    assert command_of("raise", DRAW).decide.amount.minor_units == 7
    assert not command_of("check", DRAW).decide.HasField("amount")
    with pytest.raises(NotUnderstoodError, match="how much"):
        command_of("bet", DRAW)
    with pytest.raises(NotUnderstoodError, match="what is 'x'"):
        command_of("bet 40 x", DRAW)


@pytest.mark.parametrize(
    ("line", "command", "action"),
    [
        ("join", "join", "join"),
        ("leave", "leave", "leave"),
        ("done", "done_betting", "done_betting"),
        ("buy 100", "buy_chips", "buy_chips"),
        ("cash", "cash_out", "cash_out"),
        ("cash 5", "cash_out", "cash_out"),
        ("back 2", "take_back_bets", "take_back_bets"),
        ("back", "take_back_bets", "take_back_bets"),
        ("cut 100", "cut_shoe", "cut_shoe"),
        ("cut", "cut_shoe", "cut_shoe"),
        ("out", "sit_out", "sit_out"),
        ("in", "sit_out", "sit_out"),
        ("admit", "admit_bettor", "admit_bettor"),
        ("object", "object_to_join", "object_to_join"),
    ],
)
def test_the_other_commands(line: str, command: str, action: str) -> None:
    offered = sight(Option(command=command, box=2, word="p_bob"))
    assert command_of(line, offered).WhichOneof("action") == action
    with pytest.raises(NotNowError):
        command_of(line, sight())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "say something"),
        ("xyzzy", "means nothing here"),
        ("banker", "how much"),
        ("banker much", "is no amount"),
        ("banker 5 x", "is no number"),
        ("banker 5 1 1", "what is '1'"),
        ("bet 5", "bet on player, banker, tie"),
    ],
)
def test_what_is_not_understood_is_said_so(line: str, message: str) -> None:
    with pytest.raises(NotUnderstoodError, match=message):
        command_of(line, BACCARAT)


@pytest.mark.parametrize(("said", "why"), [(False, "too little"), (True, "already")])
def test_why_one_cannot_be_done_is_told(said: bool, why: str) -> None:
    betting = sight(Option(command="take_back_bets", box=2))
    betting.table.seats[0].done_betting = said
    with pytest.raises(NotNowError, match=why):
        command_of("done", betting)


def test_a_bet_before_its_time_may_be_right_later() -> None:
    with pytest.raises(NotNowError, match="no bets can be placed now"):
        command_of("banker 50", sight())


def test_buying_and_objecting_need_to_know_how_much_and_whom() -> None:
    with pytest.raises(NotUnderstoodError, match="how much"):
        command_of("buy", sight(Option(command="buy_chips")))
    two = sight(
        Option(command="object_to_join", word="p_x"), Option(command="object_to_join", word="p_y")
    )
    with pytest.raises(NotUnderstoodError, match=r"whom\? p_x, p_y"):
        command_of("object", two)
    with pytest.raises(NotUnderstoodError, match=r"whom\? p_x, p_y"):
        command_of("object p_z", two)
    assert command_of("object p_y", two).object_to_join.player == "p_y"


def test_another_is_let_in_on_ones_box_by_name() -> None:
    guests = sight(
        *(
            Option(command="admit_bettor", box=box, word=player)
            for box in (2, 3)
            for player in ("p_Bob123456789", "p_cid")
        )
    )
    admitted = command_of("admit p_bo", guests).admit_bettor
    assert (admitted.box, admitted.bettor) == (2, "p_Bob123456789")
    assert command_of("admit p_cid 3", guests).admit_bettor.box == 3
    with pytest.raises(NotUnderstoodError, match=r"whom\? p_Bob123, p_cid"):
        command_of("admit", guests)
    with pytest.raises(NotNowError, match="on box 4"):
        command_of("admit p_cid 4", guests)
    assert (
        "admit PLAYER [BOX]",
        "lets another bet on your box: p_Bob123, p_cid",
    ) in possible(guests)


def test_sitting_out_is_told_between_hands_and_the_way_back_always() -> None:
    out = ("out", "sits out, the seat stays yours; `in` again later")
    again = ("in", "plays again")
    offered = Option(command="sit_out")
    assert possible(sight(offered, Option(command="done_betting")))[-1] == out
    assert possible(sight(offered, due("fold"))) == [("fold", "gives the hand up")]
    away = sight(offered)
    away.table.seats[0].sitting_out = True
    assert possible(away) == [again]


def test_what_may_be_typed_is_listed_with_its_bounds() -> None:
    assert ("player|banker|tie AMOUNT [BOX]", "5.00 to 1 000.00") in possible(BACCARAT)
    assert ("exchange CARDS…", "1 card for 1.00, 2 cards for 1.20, 5 cards for 1.50") in possible(
        OASIS
    )
    assert ("bet [insure AMOUNT]", "insurance up to 5.00") in possible(OASIS)
    assert ("fold box 4", "gives the hand up") in possible(HOLDEM)
    assert ("bet AMOUNT", "1.00 to 50.00 in this round") in possible(DRAW)
    drawing = possible(sight(due("exchange", counts=range(4))))
    assert drawing == [("exchange CARDS…", "0 to 3 cards, by name or by place from 1")]
    assert ("entry [BOX]", "5.00") in possible(sight(wager("entry", 500, 500, 1)))


@pytest.mark.parametrize(
    ("written", "minor"), [("50", 5000), ("12.5", 1250), ("12,05", 1205), ("1'000.00", 100_000)]
)
def test_amounts_are_read(written: str, minor: int) -> None:
    assert parse_minor(written) == minor


@pytest.mark.parametrize("written", ["", "-5", "1.234", "1e3", "½", "9" * 16])
def test_what_is_no_amount(written: str) -> None:
    with pytest.raises(AmountError):
        parse_minor(written)


def test_amounts_are_written_without_floats() -> None:
    assert write_minor(1_234_567_89) == "1 234 567.89"
    assert write_minor(-5) == "-0.05"
    assert write_minor(5, sign=True) == "+0.05"
    assert write_minor(0, sign=True) == "0.00"
    assert write_money(Money(currency="CHF", minor_units=2**63 - 1)).endswith("758.07 CHF")
    assert parse_minor(write_minor(123_456_789)) == 123_456_789


@pytest.mark.parametrize("box", ["²", "①", "x", "1" * 5_000])
def test_what_is_no_number_is_not_understood(box: str) -> None:
    with pytest.raises(NotUnderstoodError, match="is no number"):
        command_of(f"banker 50 {box}", BACCARAT)
