"""Events in sentences."""

from __future__ import annotations

import pytest
from croupier.table.v1 import events_pb2 as e
from croupier.table.v1.table_pb2 import CardHand, SeenCard, TableEvent

from clients.cli.names import Names
from clients.cli.rules import CLAUSES, INCIDENTS, OUTCOMES, RULES, clause_text
from clients.cli.story import holding, own_lines, points, result_line, tell
from shared.cards import DECK, parse_card
from shared.games import baccarat
from shared.games.play import Cell
from shared.games.registry import GAMES
from shared.table.follow_hand import OUTCOMES as BY_GAME

NAMES = Names("p_me", {"p_bob": "Bob"})


def card(text: str) -> int:
    return int(parse_card(text)) + 1


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (TableEvent(player_joined=e.PlayerJoined(player="p_me")), "You sit down."),
        (TableEvent(player_joined=e.PlayerJoined(player="p_bob")), "Bob sits down."),
        (TableEvent(player_left=e.PlayerLeft(player="p_stranger42")), "p_strang leaves the table."),
        (TableEvent(chips_arrived=e.ChipsArrived(player="p_bob", amount=5)), ""),
        (
            TableEvent(chips_arrived=e.ChipsArrived(player="p_me", amount=50_000)),
            "Your chips are here: 500.00.",
        ),
        (
            TableEvent(chips_denied=e.ChipsDenied(player="p_me", reason="INSUFFICIENT_FUNDS")),
            "No chips: insufficient funds.",
        ),
        (TableEvent(chips_denied=e.ChipsDenied(player="p_bob", reason="X")), ""),
        (TableEvent(cut_offered=e.CutOffered(player="p_me")), "You are offered the cut."),
        (TableEvent(cut_offered=e.CutOffered()), ""),
        (TableEvent(cut_chosen=e.CutChosen(player="p_bob", place=9)), "Bob cuts at 9."),
        (
            TableEvent(cut_chosen=e.CutChosen(player="p_me")),
            "You leave the cut to the dealer.",
        ),
        (
            TableEvent(shoe_ready=e.ShoeReady(size=52, root=b"\1\2\3\4", seeds_used=["p_bob"])),
            "The shoe is sealed (52 cards, root 01020304…; seeds of players in it: 1 other).",
        ),
        (
            TableEvent(
                shoe_ready=e.ShoeReady(size=52, root=b"\1", seeds_used=["p_me", "p_a", "p_b"])
            ),
            "The shoe is sealed (52 cards, root 01…; seeds of players in it: yours and 2 others).",
        ),
        (
            TableEvent(betting_opened=e.BettingOpened(number=4, entry_amount=250, carried_pot=500)),
            "Hand 4: 2.50 to be dealt in, the pot waits with 5.00.",
        ),
        (
            TableEvent(bet_placed=e.BetPlaced(player="p_me", wager="tie", stake=500, box=2)),
            "You stake 5.00 on tie, box 2.",
        ),
        (
            TableEvent(
                cards_dealt=e.CardsDealt(
                    cards=[
                        e.DealtCard(hand="box1", card_plus_one=card("Td")),
                        e.DealtCard(hand="dealer"),
                        e.DealtCard(hand="box1"),
                    ]
                )
            ),
            "Box 1 10♦ 1 face down; dealer 1 face down.",
        ),
        (
            TableEvent(cards_dealt=e.CardsDealt(cards=[e.DealtCard(hand="burn", card_plus_one=1)])),
            "Burned 2♣.",
        ),
        (
            TableEvent(
                decision_made=e.DecisionMade(player="p_bob", box=1, action="raise", amount=400)
            ),
            "Bob raises to 4.00 on box 1.",
        ),
        (
            TableEvent(
                decision_made=e.DecisionMade(
                    player="p_me", box=1, action="exchange", positions=[1, 2]
                )
            ),
            "You exchange 2 cards on box 1.",
        ),
        (
            TableEvent(decision_defaulted=e.DecisionDefaulted(box=3, action="fold")),
            "The clock decides for box 3: fold.",
        ),
        (
            TableEvent(hand_voided=e.HandVoided(why="card_exposed")),
            "The hand is void (card exposed): all stakes go back.",
        ),
        (
            TableEvent(commission_taken=e.CommissionTaken(player="p_me", owed=125, taken=100)),
            "Commission: 1.25 owed, 1.00 taken (BAC-11).",
        ),
        (TableEvent(commission_taken=e.CommissionTaken(player="p_me")), ""),
        (
            TableEvent(
                pot_paid=e.PotPaid(
                    shares=[e.PotShare(player="p_bob", amount=700)], why="lone_entrant"
                )
            ),
            "The pot is paid: Bob 7.00 (lone entrant).",
        ),
        (
            TableEvent(join_failed=e.JoinFailed(player="p_me", why="OBJECTED")),
            "You do not join (objected).",
        ),
        (
            TableEvent(incident_reported=e.IncidentReported(incident="wrong_order", by_pit=True)),
            "The pit reports: wrong order.",
        ),
        (
            TableEvent(incident_reported=e.IncidentReported(incident="card_exposed")),
            "The dealer reports: card exposed.",
        ),
        (
            TableEvent(incident_resolved=e.IncidentResolved(outcome="go_on")),
            "Play goes on (TAB-08).",
        ),
        (
            TableEvent(penalty_given=e.PenaltyGiven(player="p_me", penalty="fine", amount=500)),
            "The pit: fine of 5.00 for you.",
        ),
        (TableEvent(table_opened=e.TableOpened()), ""),
        (TableEvent(), ""),
    ],
)
def test_events_in_sentences(event: TableEvent, sentence: str) -> None:
    assert tell(event, NAMES) == sentence


def test_every_event_that_is_told_can_be_told() -> None:
    for field in TableEvent.DESCRIPTOR.oneofs_by_name["event"].fields:
        event = TableEvent()
        getattr(event, field.name).SetInParent()
        assert isinstance(tell(event, NAMES), str)


def hand(name: str, *cards: str) -> CardHand:
    return CardHand(name=name, cards=[SeenCard(card=card) for card in cards])


def test_how_a_coup_ended() -> None:
    hands = [hand("player", "9c", "4d"), hand("banker", "Kd", "7s")]
    assert result_line("baccarat", e.HandSettled(result="banker"), hands) == "banker wins, 7 to 3"
    assert result_line("baccarat", e.HandSettled(result="tie"), hands[:1]) == "tie at 3"


def test_how_other_hands_ended() -> None:
    dealer = [hand("dealer", "9c", "9d"), hand("board", "2c", "3d", "9s", "Kd", "As")]
    settled = e.HandSettled(result="settled")
    assert result_line("casino_holdem", settled, dealer) == "the dealer has three of a kind"
    hidden = [hand("dealer", "", "", "", "", "2s")]
    assert result_line("oasis_poker", settled, hidden) == "all have folded"
    assert result_line("battle", settled, []) == "the dealer wins"
    lines = [e.SettledLine(box=box, stake=5, returned=10) for box in (4, 2)]
    beaten = e.HandSettled(result="settled", lines=[*lines, e.SettledLine(box=3, stake=5)])
    assert result_line("battle", beaten, []) == "box 2 and 4 beat the dealer"
    won = e.HandSettled(result="showdown", winners=[1, 4])
    assert result_line("draw_poker", won, []) == "showdown: box 1 and 4 take the pot"
    alone = e.HandSettled(result="uncontested", winners=[2])
    assert result_line("draw_poker", alone, []) == "uncontested: box 2 takes the pot"


def test_a_hand_is_named_only_when_all_of_it_is_seen() -> None:
    assert holding("oasis_poker", ["9c", "9d", "2s", "2h", "Kd"]) == "two pair"
    assert holding("oasis_poker", ["9c", "9d", "2s", "2h", ""]) == ""
    assert holding("casino_holdem", ["9c", "9d"], ["2s", "2h"]) == ""
    assert holding("battle", ["9c", "9d", "2s", "2h", "Kd"]) == ""


def test_what_a_player_staked_and_got() -> None:
    result = e.HandSettled(
        lines=[
            e.SettledLine(player="p_me", wager="ante", stake=100, returned=200),
            e.SettledLine(player="p_me", wager="bet", stake=200, returned=200),
            e.SettledLine(player="p_me", wager="bonus", stake=10),
            e.SettledLine(player="p_me", wager="exchange", stake=120),
            e.SettledLine(player="p_me", wager="pot", stake=120, returned=20),
            e.SettledLine(player="p_bob", wager="ante", stake=5, returned=5),
        ]
    )
    staked, returned, said = own_lines(result, "p_me")
    assert (staked, returned) == (550, 420)
    assert said == [
        "ante 1.00 wins 1.00",
        "bet 2.00 comes back",
        "bonus 0.10 loses",
        "exchange 1.20 paid",
        "pot 1.20 gets 0.20 back",
    ]


def test_points_are_those_of_the_rules() -> None:
    for first in DECK:
        for second in DECK[::7]:
            cells = (Cell(0, first), Cell(1, second))
            assert points([str(first), str(second)]) == baccarat.total(cells)


def test_what_incidents_lead_to_is_told_as_the_table_does_it() -> None:
    assert list(RULES) == list(BY_GAME)
    for incident, outcomes in INCIDENTS.items():
        done = [by_incident[incident].replace("_", " ") for by_incident in BY_GAME.values()]
        assert list(outcomes) == done
    assert {outcome for outcomes in INCIDENTS.values() for outcome in outcomes} == set(OUTCOMES)


def test_every_game_is_explained_and_every_clause_it_names() -> None:
    assert set(RULES) == set(GAMES)
    assert clause_text("BAC-05").startswith("BAC-05: ")
    assert clause_text("XYZ-99") == "XYZ-99"
    named = {word.strip("().,;") for text in RULES.values() for word in text.split() if "-" in word}
    assert {clause.split("-")[0] for clause in CLAUSES} <= {word.split("-")[0] for word in named}
