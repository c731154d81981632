"""What each viewer sees: nobody another's hidden card, each what he may do, by the same checks."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from croupier.table.v1 import table_pb2

from shared.errors import CroupierError
from shared.table import events as e
from shared.table.decide import decide
from shared.table.envelope import hand_ids
from shared.table.view import event_view, phase, player_view, public_view, summary
from tests.unit.table.coups import BANKER, NATURAL, betting_closed_on_a_new_shoe
from tests.unit.table.story import START, Story
from tests.unit.table.test_clocks_and_pit import dealing


def commands(options: Iterable[table_pb2.Option]) -> list[str]:
    """Names of the commands on offer, each once."""
    return list(dict.fromkeys(option.command for option in options))


def holdem() -> Story:
    """A hand of hold'em between two boxes that waits for their decisions."""
    story = Story("casino_holdem", chips=("ann", "bob"))
    story.run()
    story.bet("ann", 1, "ante", 100)
    story.bet("bob", 4, "ante", 200)
    story.done("ann", "bob")
    story.expire()  # the cut
    story.run()
    assert phase(story.state) == table_pb2.PHASE_DECIDING
    return story


def test_a_line_in_the_lobby_says_what_table_it_is() -> None:
    line = summary(Story(rules='{"min":5}', chips=("ann",)).state)
    assert (line.table_id, line.name, line.game, line.currency) == ("t1", "One", "baccarat", "EUR")
    assert (line.seats, line.seated, line.node, line.epoch) == (7, 1, "n1", 1)
    assert line.rules_json == '{"min":5}'
    assert line.clocks.betting_ms == 15_000
    assert line.status == table_pb2.TABLE_STATUS_OPEN


def test_phases_follow_the_table() -> None:
    story = Story(chips=("ann",))
    assert phase(story.state) == table_pb2.PHASE_BETTING
    story = betting_closed_on_a_new_shoe()
    assert phase(story.state) == table_pb2.PHASE_SHOE
    assert phase(dealing().state) == table_pb2.PHASE_DEALING
    story = Story()
    story.do(e.TableClosing("op", "", story.now))
    assert phase(story.state) == table_pb2.PHASE_CLOSED
    assert commands(player_view(story.state, "ann").options) == []


def test_a_stranger_may_join_while_there_is_room() -> None:
    story = Story(seats=1)
    assert commands(player_view(story.state, "ann").options) == ["join"]
    story.do(e.JoinAsked("bob", story.now))
    assert commands(player_view(story.state, "ann").options) == []
    assert player_view(story.state, "ann").chips.minor_units == 0


def test_chips_bets_and_the_clock_of_an_open_window() -> None:
    story = Story(rules='{"min": 100, "max": 500}', chips=("ann", "bob"), amount=400)
    view = player_view(story.state, "ann")
    assert commands(view.options) == [
        "buy_chips",
        "cash_out",
        "place_bet",
        "done_betting",
        "leave",
        "sit_out",
    ]
    bets = [option for option in view.options if option.command == "place_bet"]
    assert [(bet.word, bet.minimum, bet.maximum) for bet in bets] == [
        ("player", 100, 400),
        ("banker", 100, 400),
        ("tie", 100, 400),
    ]
    assert not bets[0].HasField("deadline")
    story.bet("ann", 2, "player", 400)
    view = player_view(story.state, "ann")
    assert (view.chips.minor_units, view.free_chips.minor_units) == (400, 0)
    assert commands(view.options) == [
        "buy_chips",
        "take_back_bets",
        "admit_bettor",
        "done_betting",
        "leave",
        "sit_out",
    ]
    (back,) = (option for option in view.options if option.command == "take_back_bets")
    assert (back.box, back.deadline.seconds) == (2, START // 1_000_000 + 15)
    public = public_view(story.state)
    assert public.deadline == back.deadline
    assert [(box.box, box.owner, box.bets[0].stake) for box in public.boxes] == [(2, "ann", 400)]
    assert public.pot.minor_units == 400


def test_who_sits_out_or_leaves_is_offered_no_bets() -> None:
    story = Story(chips=("ann", "bob", "cid"))
    story.do(e.SitOutChanged("ann", True, story.now))
    assert "place_bet" not in commands(player_view(story.state, "ann").options)
    story.bet("bob", 1, "tie", 5)
    story.do(e.LeaveRequested("bob", story.now))
    offered = commands(player_view(story.state, "bob").options)
    assert offered == ["cash_out", "take_back_bets", "admit_bettor", "done_betting", "sit_out"]


def test_pending_chips_are_shown_and_none_more_offered() -> None:
    story = Story()
    story.do(e.JoinAsked("ann", story.now), e.ChipsRequested("ann", 70, story.now))
    view = player_view(story.state, "ann")
    assert view.pending_chips.minor_units == 70
    assert "buy_chips" not in commands(view.options)


def test_the_cut_is_offered_to_its_player_alone() -> None:
    story = betting_closed_on_a_new_shoe()
    (cut,) = (o for o in player_view(story.state, "ann").options if o.command == "cut_shoe")
    assert (cut.minimum, cut.maximum) == (1, 415)
    assert "cut_shoe" not in commands(player_view(story.state, "bob").options)
    assert public_view(story.state).shoe.cut_player == "ann"


def test_seeds_are_offered_to_be_pledged_and_then_revealed() -> None:
    story = Story(chips=("ann", "bob"))
    story.run()
    assert "pledge_seed" in commands(player_view(story.state, "ann").options)
    story.do(story.pledge("ann"))
    assert "pledge_seed" not in commands(player_view(story.state, "ann").options)
    story.bet("ann", 1, "tie", 5)
    story.done("ann", "bob")
    story.do(e.CutChosen("ann", 7, story.now))
    assert "reveal_seed" not in commands(player_view(story.state, "ann").options)
    story.do(story.answer(story.errands()[0]))
    assert "reveal_seed" in commands(player_view(story.state, "ann").options)
    assert "reveal_seed" not in commands(player_view(story.state, "bob").options)


def test_cards_of_a_coup_are_seen_by_all_and_stay_until_the_next_hand() -> None:
    story = Story(cards=NATURAL, chips=("ann",))
    story.hand(("ann", 1, "player", 100))
    view = public_view(story.state)
    shown = {hand.name: [card.card for card in hand.cards] for hand in view.last_hands}
    assert shown == {"player": ["9c", "Kc"], "banker": ["3d", "4d"]}
    assert view.last_result.result == "player"
    assert not view.hands
    assert view.shoe.root == b"r" * 32


def test_commission_owed_is_seen_at_the_seat() -> None:
    story = Story(cards=BANKER, chips=("ann",))
    story.hand(("ann", 1, "banker", 1_000))
    (seat,) = public_view(story.state).seats
    assert (seat.chips.minor_units, seat.owed.minor_units) == (101_000, 50)
    assert player_view(story.state, "ann").free_chips.minor_units == 100_950


def test_nobody_is_shown_anothers_hidden_cards() -> None:
    story = holdem()
    public = {hand.name: [c.card for c in hand.cards] for hand in public_view(story.state).hands}
    assert public["box1"] == public["box4"] == public["dealer"] == ["", ""]
    assert len([card for card in public["board"] if card]) == 3
    mine = {h.name: [c.card for c in h.cards] for h in player_view(story.state, "ann").hands}
    assert list(mine) == ["box1"]
    assert all(mine["box1"])
    assert not player_view(story.state, "cid").hands


def test_events_carry_a_private_card_to_its_viewer_only() -> None:
    story = holdem()
    ids = hand_ids(type(story.state)(), story.log)
    for version, (event, hand_id) in enumerate(zip(story.log, ids, strict=True), 1):
        told = {
            viewer: event_view(event, version, hand_id, viewer) for viewer in ("ann", "bob", "")
        }
        assert {view.type for view in told.values()} == {type(event).__name__}
        if isinstance(event, e.CardsDealt):
            for number, card in enumerate(event.cards):
                codes = {v: t.cards_dealt.cards[number].card_plus_one for v, t in told.items()}
                if card.viewer:
                    assert card.card is not None
                    assert codes.pop(card.viewer) == card.card + 1
                    assert set(codes.values()) == {0}
                else:
                    assert len(set(codes.values())) == 1
    assert any(
        isinstance(x, e.CardsDealt) and x.cards[0].viewer == "bob" for x in story.log
    ) or any(
        isinstance(x, e.CardsDealt) and any(card.viewer == "bob" for card in x.cards)
        for x in story.log
    )


def test_decisions_are_offered_to_the_boxes_owner_with_price_and_clock() -> None:
    story = holdem()
    options = [o for o in player_view(story.state, "bob").options if o.command == "decide"]
    assert {(o.box, o.word, o.price) for o in options} == {(4, "bet", 400), (4, "fold", 0)}
    assert all(o.warn_at.seconds + 120 == o.deadline.seconds for o in options)
    view = public_view(story.state)
    assert list(view.deciding_boxes) == [1, 4]
    assert view.warn_at == options[0].warn_at
    story.do(e.DecisionMade("bob", 4, "fold", at=story.now))
    assert not [o for o in player_view(story.state, "bob").options if o.command == "decide"]
    story.expire()
    assert story.last(e.DecisionDefaulted) == e.DecisionDefaulted(1, "fold")


def draw(chips: tuple[str, ...] = ("ann", "bob")) -> Story:
    """A draw poker table."""
    story = Story("draw_poker", seats=5, chips=chips, ante=10)
    story.run()
    return story


def test_draw_poker_offers_an_entry_at_a_free_box_then_ones_own() -> None:
    story = draw()
    offered = [o for o in player_view(story.state, "ann").options if o.command == "place_bet"]
    assert [(o.box, o.word, o.minimum, o.maximum) for o in offered] == [
        (box, "entry", 10, 10) for box in range(1, 6)
    ]
    story.bet("ann", 2, "entry", 10)
    assert "place_bet" not in commands(player_view(story.state, "ann").options)
    assert [o.box for o in player_view(story.state, "bob").options if o.word == "entry"] == [
        1,
        3,
        4,
        5,
    ]


def test_draw_poker_goes_on_when_only_one_is_left_in_at_the_deadline() -> None:
    story = draw(("ann", "bob", "cid"))
    story.bet("ann", 1, "entry", 10)
    story.bet("bob", 2, "entry", 10)
    story.do(e.BetsTakenBack("bob", 2, story.now))
    story.expire()
    assert story.last(e.WindowPassed) == e.WindowPassed(0)
    assert "place_bet" in commands(player_view(story.state, "bob").options)
    story.bet("bob", 2, "entry", 10)
    story.do(e.BetsDone("cid", story.now))
    assert "BettingClosed" in story.types()


def test_those_seated_are_offered_to_object_to_one_who_joins() -> None:
    story = Story("draw_poker", seats=5, chips=("ann",), ante=10, open_joining=False)
    story.do(e.JoinAsked("bob", story.now))
    (objection,) = (
        o for o in player_view(story.state, "ann").options if o.command == "object_to_join"
    )
    assert objection.word == "bob"
    (asking,) = public_view(story.state).joining
    assert asking.player == "bob"
    assert not public_view(story.state).HasField("deadline")


def test_an_exposed_card_is_offered_to_be_kept_or_dealt_anew() -> None:
    story = draw()
    story.bet("ann", 1, "entry", 10)
    story.bet("bob", 2, "entry", 10)
    story.run()
    position = next(
        cell.position
        for cell in story.state.table.game.cells(
            story.state.hand.play if story.state.hand else None
        )["box2"]
    )
    story.do(e.IncidentReported("pit", "card_exposed", position, "", story.now, True))
    words = [o.word for o in player_view(story.state, "bob").options if o.command == "decide"]
    assert words == ["keep", "redeal"]
    assert "decide" not in commands(player_view(story.state, "ann").options)


def test_every_decision_on_offer_would_be_taken() -> None:
    story = holdem()
    for player in ("ann", "bob"):
        for option in player_view(story.state, player).options:
            if option.command == "decide":
                decide(story.state, e.DecisionMade(player, option.box, option.word, at=story.now))
    with pytest.raises(CroupierError) as refused:
        decide(story.state, e.DecisionMade("ann", 1, "raise", at=story.now))
    assert refused.value.reason == "ILLEGAL_DECISION"


def test_everybody_sees_what_was_reported_until_it_is_over() -> None:
    story = Story("battle", cards="2c 2d 2h 2s 3c 3d 5h Ts", chips=("ann",))
    story.run()
    story.bet("ann", 1, "stake", 100)
    story.done("ann")
    story.expire_cut()
    assert not public_view(story.state).HasField("incident")
    story.do(e.IncidentReported("dealer", "card_exposed", 8, "", story.now))
    seen = public_view(story.state).incident
    assert (seen.incident, seen.position, seen.confirmed) == ("card_exposed", 8, False)
    story.do(e.IncidentConfirmed("pit", story.now))
    assert not public_view(story.state).HasField("incident")
