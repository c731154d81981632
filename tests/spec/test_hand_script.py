"""The form of hand scripts, and the order in which their faults are found."""

import json
from typing import Any

import pytest

from shared.games.script import run_lines, run_script
from tests.spec.hands import Result, reason

SHOE = ["9c", "2d", "3c", "9d", "5h", "6h", "7s", "8s", "Tc", "Jd", "Qh", "Ks"]


def script(game: str = "battle", wager: str = "stake", /, **changes: Any) -> dict[str, Any]:
    """A battle that ann's nine wins at once, with some keys changed."""
    boxes = {"1": {"owner": "ann", "bets": {"ann": {wager: 100}}}}
    return {"game": game, "deck": SHOE, "boxes": boxes, **changes}


def one(**box: Any) -> dict[str, Any]:
    """A battle with one box, some of its keys changed."""
    return script(boxes={"1": {"owner": "ann", "bets": {"ann": {"stake": 100}}, **box}})


def deciding(**decision: Any) -> dict[str, Any]:
    """A battle that ann's deuce loses, with one decision."""
    return script(deck=["2c", *SHOE], decisions=[{"box": 1, "do": "surrender", **decision}])


def fault(value: Any) -> tuple[str, int | None]:
    error = run_script(value)["error"]
    return error["reason"], error["at"]


def without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: entry for name, entry in value.items() if name != key}


def test_the_examples_that_the_faults_are_made_from_have_none() -> None:
    assert "boxes" in run_script(script())
    assert "boxes" in run_script(deciding())


BAD: list[Any] = [
    None,
    [],
    "battle",
    3,
    {},
    without(script(), "game"),
    script(game=None),
    script(game=["battle"]),
    script("roulette"),
    without(script(), "deck"),
    script(deck="9c 2d"),
    script(deck=[9, 2]),
    script(deck=None),
    without(script(), "boxes"),
    script(boxes={}),
    script(boxes=[]),
    script(boxes={"1": []}),
    script(boxes={"one": script()["boxes"]["1"]}),
    script(boxes={"01": script()["boxes"]["1"]}),
    script(boxes={"1.0": script()["boxes"]["1"]}),
    script(boxes={"": script()["boxes"]["1"]}),
    script(boxes={"-0": script()["boxes"]["1"]}),
    script(boxes={"9" * 5000: script()["boxes"]["1"]}),
    script(seats=[]),
    script(Rules={}),
    script(rules=[]),
    script(rules={"decks": "6"}),
    script(rules={"ante_table": {}}),
    script(rules={"max": 100, "max_payout": 299}),
    script(stacks=[]),
    script(stacks={"ann": "100"}),
    script(stacks={"ann": None}),
    script(decisions={}),
    script(decisions=[1]),
    one(owner=1),
    one(owner="bob"),
    one(blind=False),
    one(bets=[]),
    one(bets={}),
    one(bets={"ann": []}),
    one(bets={"ann": {}}),
    one(bets={"ann": {"ante": 100}}),
    one(bets={"ann": {"stake": 100, "bonus": 1}}),
    one(bets={"ann": {"stake": "100"}}),
    one(bets={"ann": {"stake": True}}),
    one(bets={"ann": {"stake": None}}),
    one(bets={"ann": {"stake": 100}, "bob": {}}),
    deciding(box="1"),
    deciding(box=1.0),
    deciding(box=True),
    deciding(do=1),
    deciding(card="2c"),
    deciding(cards=["2c"]),
    deciding(amount=5),
    deciding(insurance={}),
    script(decisions=[{"box": 1}]),
    script(decisions=[{"do": "fight"}]),
    script("baccarat", "stake"),
    script("baccarat", boxes={"1": {"owner": "ann", "bets": {"ann": {}}}}),
    script("casino_holdem", "ante", rules={"bettors_per_box": 2}),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_BAD_SCRIPT_a_script_not_in_the_form(number: int) -> None:
    assert fault(BAD[number]) == ("BAD_SCRIPT", None)


def test_BAD_STAKE_a_number_that_is_no_positive_integer() -> None:
    for stake in (0, -1, 1.5, 100.0):
        assert fault(one(bets={"ann": {"stake": stake}})) == ("BAD_STAKE", None)
    for stack in (-1, 0.5):
        assert fault(script(stacks={"bob": stack})) == ("BAD_STAKE", None)
    assert fault(script(stacks={"ann": 0})) == ("INSUFFICIENT_CHIPS", None)


@pytest.mark.parametrize("number", ["0", "8", "-1", "9999999999", "9" * 1000])
def test_TOO_MANY_BOXES_a_number_outside_the_table(number: str) -> None:
    boxes = {number: script()["boxes"]["1"]}
    assert fault(script(boxes=boxes)) == ("TOO_MANY_BOXES", None)


def test_the_deck_is_looked_through_to_its_end() -> None:
    assert fault(script(deck=[*SHOE, "1c"])) == ("UNKNOWN_CARD", None)
    assert fault(script(deck=[*SHOE, "10c"])) == ("UNKNOWN_CARD", None)
    assert "boxes" in run_script(script(deck=[*SHOE, *["Ad"] * 6]))
    assert fault(script(deck=[*SHOE, *["Ad"] * 7])) == ("DUPLICATE_CARD", None)
    assert fault(script(deck=[*SHOE, "9c"], rules={"decks": 1})) == ("DUPLICATE_CARD", None)


def test_DECK_TOO_SHORT_only_when_a_card_is_needed() -> None:
    assert run_script(script(deck=SHOE[:2]))["cards_used"] == 2
    assert fault(script(deck=SHOE[:1])) == ("DECK_TOO_SHORT", None)
    assert fault(script(deck=[])) == ("DECK_TOO_SHORT", None)
    fought = script(deck=["2c", "9c"], decisions=[{"box": 1, "do": "fight"}])
    assert fault(fought) == ("DECK_TOO_SHORT", None)


def test_decisions_too_few_and_too_many() -> None:
    lost = script(deck=["2c", "9c", "2d", "9d"])
    assert fault(lost) == ("DECISION_MISSING", None)
    assert fault({**lost, "decisions": []}) == ("DECISION_MISSING", None)
    enough = [{"box": 1, "do": "fight"}, {"box": 1, "do": "surrender"}]
    assert "boxes" in run_script({**lost, "decisions": enough})
    # The hand is played to its end before what is left over counts.
    extra = [*enough, {"box": 7, "do": "nonsense"}, {"box": 1, "do": "fight"}]
    assert fault({**lost, "decisions": extra}) == ("DECISION_NOT_DUE", 2)


def test_a_boxs_turn_is_asked_before_its_word_and_its_chips() -> None:
    lost = script(deck=["2c", "9c"], stacks={"ann": 100})
    for decision, why in (
        ({"box": 2, "do": "fly"}, "NOT_YOUR_TURN"),
        ({"box": 99, "do": "timeout"}, "NOT_YOUR_TURN"),
        ({"box": 1, "do": "fly"}, "ILLEGAL_DECISION"),
        ({"box": 1, "do": "look"}, "ILLEGAL_DECISION"),
        ({"box": 1, "do": "Fight"}, "ILLEGAL_DECISION"),
        ({"box": 1, "do": "fight"}, "INSUFFICIENT_CHIPS"),
    ):
        assert fault({**lost, "decisions": [decision]}) == (why, 0)


ORDER: list[tuple[str, dict[str, Any]]] = [
    # What is wrong with the set-up, in the order in which it is found.
    ("BAD_SCRIPT", {"rules": {"decks": 0}}),
    ("UNKNOWN_CARD", {"deck": ["Xx", *SHOE]}),
    ("DUPLICATE_CARD", {"deck": ["9c"] * 9}),
    ("BAD_STAKE", {"1": {"ann": {"tie": 0}}}),
    ("TOO_MANY_BOXES", {"8": {"ann": {"tie": 50}}}),
    ("TOO_MANY_BETTORS", {"2": {name: {"tie": 50} for name in ("ann", "bob", "cid", "dee")}}),
    ("BOTH_SIDES", {"3": {"ann": {"player": 50, "banker": 50}}}),
    ("STAKE_NOT_DIVISIBLE", {"4": {"bob": {"banker": 51}}}),
    ("STAKE_BELOW_MINIMUM", {"5": {"ann": {"tie": 49}}}),
    ("STAKE_ABOVE_MAXIMUM", {"6": {"ann": {"tie": 201}}}),
    ("INSUFFICIENT_CHIPS", {"7": {"eve": {"tie": 51}}}),
]


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_of_many_faults_in_the_set_up_the_first_reason_counts(first: int) -> None:
    faulty: dict[str, Any] = {
        "game": "baccarat",
        "deck": SHOE,
        "rules": {"min": 50, "max": 200},
        "stacks": {"eve": 50},
        "boxes": {},
    }
    for _, change in reversed(ORDER[first:]):
        for key, value in change.items():
            if key in ("rules", "deck"):
                faulty[key] = value
            else:
                faulty["boxes"][key] = {"owner": next(iter(value)), "bets": value}
    assert fault(faulty) == (ORDER[first][0], None)


def test_every_box_is_asked_one_reason_before_the_next_reason() -> None:
    boxes = {
        "1": {"owner": "ann", "bets": {"ann": {"stake": 1000}}},
        "2": {"owner": "ann", "bets": {"ann": {"stake": 1}}},
    }
    assert fault(script(boxes=boxes, rules={"min": 10, "max": 100}))[0] == "STAKE_BELOW_MINIMUM"


@pytest.mark.parametrize(
    ("game", "wager"), [("battle", "stake"), ("casino_holdem", "ante"), ("oasis_poker", "ante")]
)
def test_every_bettor_has_the_games_first_wager_and_none_it_does_not_know(
    game: str, wager: str
) -> None:
    unknown = {"1": {"owner": "ann", "bets": {"ann": {wager: 50, "tie": 1}}}}
    assert fault(script(game, boxes=unknown)) == ("BAD_SCRIPT", None)
    missing = {"1": {"owner": "ann", "bets": {"ann": {wager: 50}, "bob": {}}}}
    assert fault(script(game, boxes=missing)) == ("BAD_SCRIPT", None)
    bonus = {"1": {"owner": "ann", "bets": {"ann": {wager: 50}, "bob": {"bonus": 5}}}}
    assert fault(script(game, boxes=bonus)) == ("BAD_SCRIPT", None)


OASIS_DECK = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]


def oasis(*decisions: dict[str, Any], **box: Any) -> dict[str, Any]:
    """An oasis hand in which ann holds 2c 2h 3c 3h 4c and the dealer 2d 2s 3d 3s 4d."""
    return {
        "game": "oasis_poker",
        "deck": OASIS_DECK,
        "boxes": {"1": {"owner": "ann", "bets": {"ann": {"ante": 100}}, **box}},
        "decisions": [{"box": 1, **decision} for decision in decisions],
    }


def test_an_open_box_is_looked_at_unasked_when_its_first_decision_comes() -> None:
    exchange = {"do": "exchange", "cards": ["4c"]}
    result = run_script(oasis(exchange, {"do": "bet"}))
    assert result["cards"]["box1"] == ["2c", "2h", "3c", "3h", "4h"]
    assert fault(oasis({"do": "look"})) == ("ILLEGAL_DECISION", 0)
    assert fault(oasis(exchange, blind=True)) == ("ILLEGAL_DECISION", 0)
    assert fault(oasis(blind="yes")) == ("BAD_SCRIPT", None)


def test_an_exchange_names_cards_and_one_that_does_not_exist_is_not_held() -> None:
    assert fault(oasis({"do": "exchange"})) == ("BAD_SCRIPT", None)
    assert fault(oasis({"do": "exchange", "cards": "4c"})) == ("BAD_SCRIPT", None)
    assert fault(oasis({"do": "exchange", "cards": [4]})) == ("BAD_SCRIPT", None)
    assert fault(oasis({"do": "exchange", "cards": ["4x"]})) == ("BAD_EXCHANGE", 0)
    assert fault(oasis({"do": "exchange", "cards": ["4d"]})) == ("BAD_EXCHANGE", 0)


def test_an_insurance_is_judged_with_its_decision() -> None:
    assert fault(oasis({"do": "bet", "insurance": []})) == ("BAD_SCRIPT", None)
    assert fault(oasis({"do": "bet", "insurance": {"ann": "5"}})) == ("BAD_SCRIPT", None)
    assert fault(oasis({"do": "bet", "insurance": {"ann": 0.5}})) == ("BAD_STAKE", 0)
    assert fault(oasis({"do": "timeout", "insurance": {"ann": 5}})) == ("INSURANCE_NOT_ALLOWED", 0)
    assert "boxes" in run_script(oasis({"do": "timeout"}))


def draw(*decisions: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Draw poker for ann on box 1 and bob on box 3."""
    return {
        "game": "draw_poker",
        "ante": 10,
        "seats": [seat(1, "ann"), seat(3, "bob")],
        "deck": OASIS_DECK,
        "decisions": list(decisions),
        **changes,
    }


def seat(box: Any, player: Any, stack: Any = 100, **others: Any) -> dict[str, Any]:
    return {"box": box, "player": player, "stack": stack, **others}


CHECKS = ({"box": 1, "do": "check"}, {"box": 3, "do": "check"})


def test_a_draw_poker_script_has_its_own_form() -> None:
    result = run_script(draw(*CHECKS))
    assert result.keys() == {
        *("result", "carried_pot", "next_entry"),
        *("cards", "cards_used", "seats"),
    }
    assert result["seats"] == {
        "ann": {"put": 10, "won": 0, "stack": 90},
        "bob": {"put": 10, "won": 0, "stack": 90},
    }
    assert fault(draw(*CHECKS, first=3)) == ("NOT_YOUR_TURN", 0)
    own_entry = [seat(1, "ann", entry=0), seat(3, "bob", entry=25)]
    assert run_script(draw(*CHECKS, seats=own_entry))["carried_pot"] == 25
    half = run_script(draw(*CHECKS, carried_pot=45, entry="half_pot"))
    assert half["carried_pot"] == 45 + 23 + 23


@pytest.mark.parametrize(
    "changes",
    [
        {"boxes": {}},
        {"stacks": {}},
        {"ante": "10"},
        {"ante": None},
        {"carried_pot": "0"},
        {"entry": "all"},
        {"entry": 10},
        {"first": "1"},
        {"first": 2},
        {"rules": {"all_in": "yes"}},
        {"rules": {"max": 10}},
        {"seats": {}},
        {"seats": []},
        {"seats": [seat(1, "ann")]},
        {"seats": [seat(1, "ann"), 3]},
        {"seats": [seat(1, "ann"), seat(1, "bob")]},
        {"seats": [seat(1, "ann"), seat(3, "ann")]},
        {"seats": [seat(1, "ann"), seat("3", "bob")]},
        {"seats": [seat(1, "ann"), seat(3, 5)]},
        {"seats": [seat(1, "ann"), seat(3, "bob", "100")]},
        {"seats": [seat(1, "ann"), seat(3, "bob", entry="1")]},
        {"seats": [seat(1, "ann"), seat(3, "bob", blind=True)]},
        {"seats": [seat(1, "ann"), {"box": 3, "player": "bob"}]},
        {"decisions": [{"box": 1, "do": "bet"}]},
        {"decisions": [{"box": 1, "do": "raise"}]},
        {"decisions": [{"box": 1, "do": "exchange"}]},
        {"decisions": [{"box": 1, "do": "bet", "amount": "10"}]},
        {"decisions": [{"box": 1, "do": "bet", "amount": 10, "insurance": {}}]},
    ],
)
def test_BAD_SCRIPT_a_draw_poker_script_not_in_the_form(changes: dict[str, Any]) -> None:
    assert fault(draw(**changes)) == ("BAD_SCRIPT", None)


def test_BAD_SCRIPT_a_draw_poker_script_that_lacks_something() -> None:
    for key in ("ante", "seats", "deck"):
        assert fault(without(draw(), key)) == ("BAD_SCRIPT", None)


def test_BAD_STAKE_in_draw_poker() -> None:
    for changes in (
        {"ante": 0},
        {"ante": 2.5},
        {"carried_pot": -1},
        {"carried_pot": 0.5},
        {"seats": [seat(1, "ann"), seat(3, "bob", -1)]},
        {"seats": [seat(1, "ann"), seat(3, "bob", entry=-1)]},
    ):
        assert fault(draw(**changes)) == ("BAD_STAKE", None)
    for amount in (0, -5, 10.5):
        assert fault(draw({"box": 1, "do": "bet", "amount": amount})) == ("BAD_STAKE", 0)


def test_lines_that_are_no_json_are_bad_scripts_and_the_others_still_run() -> None:
    good = json.dumps(script())
    twice = good.replace('"game": "battle"', '"game": "battle", "game": "battle"')
    lines = [
        good,
        "{",
        "",
        "   ",
        good.replace("100", "NaN"),
        good.replace("100", "Infinity"),
        twice,
        "[" * 100_000,
        "9" * 10_000,
        good.replace("100", "1" * 5000),
        good.replace("100", "9" * 1001),
        '"\ud800"',
        good,
    ]
    results = list(run_lines("\n".join(lines).encode(errors="surrogatepass")))
    reasons = ["" if "boxes" in result else reason(result) for result in results]
    assert reasons == ["", *["BAD_SCRIPT"] * 9, ""]


def test_a_script_nested_however_deep_is_refused() -> None:
    # Of some depths, which depend on the caller's, JSON can be read but not named in a message.
    odds = json.dumps(script("casino_holdem", "ante", rules={"ante_table": {"pair": 1}}))
    for depth in range(850, 1010):
        (result,) = run_lines(odds.replace(": 1}", f": {'[' * depth}{']' * depth}}}").encode())
        assert reason(result) == "BAD_SCRIPT"


def test_one_script_may_take_many_lines() -> None:
    pretty = json.dumps(script(), indent=2)
    assert list(run_lines(pretty.encode())) == [run_script(script())]
    assert list(run_lines(json.dumps(script()).encode())) == [run_script(script())]


def test_only_a_line_feed_ends_a_script() -> None:
    odd = one(owner="a\u2028b\x85c", bets={"a\u2028b\x85c": {"stake": 100}})
    text = json.dumps(odd, ensure_ascii=False)
    assert list(run_lines(f"{text}\r\n{text}\n".encode())) == [run_script(odd)] * 2


def test_no_text_is_no_script() -> None:
    assert list(run_lines(b"")) == []
    assert list(run_lines(b"\n \n")) == []


def test_a_result_is_json_and_an_error_has_words_for_a_person() -> None:
    def check(result: Result) -> None:
        assert json.loads(json.dumps(result)) == result

    check(run_script(script()))
    check(run_script(script("roulette")))
    assert "roulette" in run_script(script("roulette"))["error"]["message"]
